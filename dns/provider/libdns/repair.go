package libdns

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
	"github.com/signpostd/signpost/internal/pause"
)

const (
	// maxRepairs limits the attempts to complete or restore a record set. maxWait limits the wait for
	// a throttling service before that.
	maxRepairs = 3
	maxWait    = 30 * time.Second
)

// repair completes or restores record sets that a failure has left partly written, because a mixed
// state looks like an external change. It returns the units that aren't made.
func (w *work) repair(ctx context.Context, units []*unit, failed error) []*unit {
	var remaining []*unit
	for _, u := range units {
		if !w.repairUnit(ctx, u, failed) {
			remaining = append(remaining, u)
		}
	}
	return remaining
}

func (w *work) repairUnit(ctx context.Context, u *unit, failed error) bool {
	for n := 0; n < maxRepairs && w.current != nil && w.isPartial(u); n++ {
		if _, _, found := u.unexpectedValue(w.current); found || !w.mayRepair(ctx, failed) {
			return false
		}
		w.stopped = nil
		if n == 0 && !errors.Is(failed, provider.ErrRejected) {
			failed = w.try(ctx, []*unit{u})
		} else {
			failed = w.restore(ctx, u)
		}
		w.awaitMade(ctx, []*unit{u}, failed)
	}
	return u.finished
}

// mayRepair waits for a throttling service, and reports whether it can be written to then.
func (w *work) mayRepair(ctx context.Context, failed error) bool {
	throttled, ok := errors.AsType[*provider.ThrottledError](failed)
	if !ok {
		return !batch.StopsAll(failed)
	}
	return throttled.After <= maxWait && pause.For(ctx, throttled.After) == nil
}

// isPartial reports whether a written record set has neither its old nor its new values, or a type
// change has left the name without records.
func (w *work) isPartial(u *unit) bool {
	return !u.finished && len(u.lostRecords(w.current)) > 0 || slices.ContainsFunc(u.Changes, func(c dns.Change) bool {
		return u.wrote[c.RecordSet().Key()] && !made(c, w.current) && !unchanged(c, w.current)
	})
}

// restore restores the partly written record sets of a unit, and the record sets that a type change
// has deleted.
func (w *work) restore(ctx context.Context, u *unit) error {
	var s steps
	for _, c := range u.lostRecords(w.current) {
		u.typeChangeUndone = true
		if err := w.plan(&s, u, dns.Change{New: c.Old}); err != nil {
			return err
		}
	}
	for _, c := range u.Changes {
		if !u.wrote[c.RecordSet().Key()] || made(c, w.current) || unchanged(c, w.current) {
			continue
		}
		if err := w.plan(&s, u, dns.Change{Old: c.New, New: c.Old}); err != nil {
			return err
		}
	}
	// Without an error, the unit would count as made.
	if err := w.send(ctx, s); err != nil {
		return err
	}
	return errRestored
}

var errRestored = errors.New("the change could be made in part only, and was taken back")
