package publisher

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/tracing"
)

// maxPendingNotices limits the notices that are kept for the next term.
const maxPendingNotices = 1000

// pendingNotices are the notices of a standby. A standby evaluates all objects too, but only the leader
// sends Events. When it takes over, it sends the notices that still apply.
type pendingNotices struct {
	of map[desired.Origin][]Notice
	n  int
}

func (u *pendingNotices) keep(origin desired.Origin, n Notice) {
	if u.n == maxPendingNotices {
		return
	}
	if u.of == nil {
		u.of = map[desired.Origin][]Notice{}
	}
	u.of[origin] = append(u.of[origin], n)
	u.n++
}

// drop removes the notices about an object that is being evaluated again.
func (u *pendingNotices) drop(origin desired.Origin) {
	u.n -= len(u.of[origin])
	delete(u.of, origin)
}

// send sends all notices, in the order of the objects.
func (u *pendingNotices) send(notify func(Notice)) {
	for _, origin := range slices.SortedFunc(maps.Keys(u.of), compareOrigins) {
		for _, n := range u.of[origin] {
			notify(n)
		}
	}
	*u = pendingNotices{}
}

func compareOrigins(a, b desired.Origin) int {
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// sendNotice sends a notice about an object, or keeps it until there is a term.
func (p *Publisher) sendNotice(origin desired.Origin, n Notice) {
	if p.term == nil {
		p.pendingNotices.keep(origin, n)
		return
	}
	p.Notify(n)
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
