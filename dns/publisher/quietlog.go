package publisher

import (
	"log/slog"

	"github.com/signpostd/signpost/dns"
)

// maxLogged limits the lines of one kind in one pass at level info or above. Further lines are
// only counted.
const maxLogged = 20

// lineLimit counts the lines of one kind in one pass.
type lineLimit struct{ lines int }

// allow reports whether a further line may be written.
func (a *lineLimit) allow() bool {
	a.lines++
	return a.lines <= maxLogged
}

// reset starts a new pass, and logs how many lines were left out.
func (a *lineLimit) reset(log *slog.Logger, message string) {
	if out := a.lines - maxLogged; out > 0 {
		log.Warn(message, "leftOut", out)
	}
	a.lines = 0
}

// logChanges logs the changes that were made in a zone: one line for each, or a summary if there
// are many.
func (p *Publisher) logChanges(z *zone, made []group) {
	var all []dns.Change
	for _, g := range made {
		all = append(all, g.changes...)
	}
	level := slog.LevelInfo
	if len(all) > maxLogged {
		o := count(all)
		p.Log.Info("Changed records", "zone", z.Name, "created", o.created, "updated", o.updated, "deleted", o.deleted)
		level = slog.LevelDebug
	}
	ctx := p.term.ctx
	if !p.Log.Enabled(ctx, level) {
		return
	}
	for _, c := range all {
		p.Log.Log(ctx, level, "Changed a record", "zone", z.Name, "change", describe(c), "object", c.RecordSet().Labels[dns.LabelResource])
	}
}
