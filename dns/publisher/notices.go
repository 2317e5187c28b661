package publisher

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/tracing"
)

// sendNotice sends a notice if this process leads: only the leader sends Events.
func (p *Publisher) sendNotice(n Notice) {
	if p.term != nil {
		p.Notify(n)
	}
}

// sendProblems sends the notices of all problems that still exist, in the order of the sources and
// objects. It is called at the start of a term, because a standby sends none.
func (p *Publisher) sendProblems() {
	for i := range p.sources {
		if s := &p.sources[i]; s.err != nil {
			p.Notify(s.notice(p.Sources[i].Name))
		}
	}
	for _, problem := range p.objectProblems.list() {
		p.Notify(problemNotice(problem.Problem))
	}
}

// notice returns the notice of a source that can't be read.
func (s *sourceState) notice(name string) Notice {
	return Notice{Action: ActionFailed, Reason: ReasonSource, Message: "source " + name + ": " + s.err.Error() + "; " + s.stay}
}

// problemNotice returns the notice of a part of an object that can't be used.
func problemNotice(problem dns.Problem) Notice {
	return Notice{Objects: []dns.Object{problem.Object}, Action: ActionFailed, Reason: cmp.Or(problem.Event, ReasonInvalid), Message: problem.Text(quote)}
}

// operations counts changes by operation.
type operations struct{ created, updated, deleted int }

func count(changes []dns.Change) (o operations) {
	for _, c := range changes {
		switch {
		case c.Old == nil:
			o.created++
		case c.New == nil:
			o.deleted++
		default:
			o.updated++
		}
	}
	return o
}

// logPlanned logs the result of planning at level debug.
func (p *Publisher) logPlanned(z *zone, names []*nameState) {
	ctx := context.Background()
	if len(names) == 0 || !p.Log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	in := map[phase]int{}
	for _, n := range names {
		in[n.phase]++
	}
	p.Log.LogAttrs(ctx, slog.LevelDebug, "Names are planned", slog.String("zone", z.Name), slog.Int("names", len(names)),
		slog.Int("toChange", in[planned]), slog.Int("held", in[held]), slog.Int("waiting", in[waiting]), slog.Int("done", in[settled]), slog.Int("toAsk", in[dirty]))
}

// logApplied logs a write of the provider at level debug. It is called outside of the loop.
func (p *Publisher) logApplied(part *part, took time.Duration, err error) {
	ctx := context.Background()
	if !p.Log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	o := count(part.changes)
	attrs := []slog.Attr{
		slog.String("zone", part.zone.Name), slog.Int("created", o.created), slog.Int("updated", o.updated), slog.Int("deleted", o.deleted),
		slog.Duration("took", took),
	}
	if err != nil {
		attrs = append(attrs, slog.Int("failed", failures(err, len(part.changes))), slog.Any("err", err))
	}
	p.Log.LogAttrs(ctx, slog.LevelDebug, "Batch is applied", attrs...)
}

// failures returns how many of so many changes failed.
func failures(err error, all int) int {
	each, whole := provider.Outcomes(err, all)
	if whole != nil {
		return all
	}
	return len(slices.DeleteFunc(slices.Clone(each), func(err error) bool { return err == nil }))
}

// trace ends the span of a write of the provider.
func (p *Publisher) trace(span *tracing.Span, part *part, err error) {
	if span == nil {
		return
	}
	o := count(part.changes)
	span.Text("signpost.publisher", p.Name)
	span.Text("signpost.provider", p.ProviderName)
	span.Text("signpost.zone", part.zone.Name)
	span.Number("signpost.created", o.created)
	span.Number("signpost.updated", o.updated)
	span.Number("signpost.deleted", o.deleted)
	if err != nil {
		span.Number("signpost.failed", failures(err, len(part.changes)))
	}
	span.End(err)
}
