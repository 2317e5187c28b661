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
	// repairs is how often a record set is brought into one of its two states, and maxWait how long
	// at most to wait for a service that has too many requests before that.
	repairs = 3
	maxWait = 30 * time.Second
)

// repair gives record sets that a failure has left half written all of their new values, or all of their old ones. In any
// other state a record set looks like somebody else's change. It returns the units that aren't made.
func (w *work) repair(ctx context.Context, units []*unit, failed error) []*unit {
	var left []*unit
	for _, u := range units {
		if !w.repairUnit(ctx, u, failed) {
			left = append(left, u)
		}
	}
	return left
}

// repairUnit reports whether the unit is made.
func (w *work) repairUnit(ctx context.Context, u *unit, failed error) bool {
	for n := 0; n < repairs && w.now != nil && w.half(u); n++ {
		if _, _, found := u.foreignValue(w.now); found || !w.mayRepair(ctx, failed) {
			return false
		}
		w.stopped = nil
		if n == 0 && !errors.Is(failed, provider.ErrRejected) {
			failed = w.try(ctx, []*unit{u})
		} else {
			failed = w.restore(ctx, u)
		}
		w.look(ctx, []*unit{u}, failed)
	}
	return u.finished
}

// mayRepair waits as long as a service with too many requests wants, and reports whether something
// can be written then.
func (w *work) mayRepair(ctx context.Context, failed error) bool {
	throttled, ok := errors.AsType[*provider.ThrottledError](failed)
	if !ok {
		return !batch.StopsAll(failed)
	}
	return throttled.After <= maxWait && pause.For(ctx, throttled.After) == nil
}

// half reports whether a record set of the unit has been written, and is neither as it was nor as
// it is to be, or whether the name has lost all of its answers for others that didn't come.
func (w *work) half(u *unit) bool {
	return !u.finished && len(u.lost(w.now)) > 0 || slices.ContainsFunc(u.Changes, func(c dns.Change) bool {
		return u.wrote[c.RecordSet().Key()] && !made(c, w.now) && !untouched(c, w.now)
	})
}

// restore brings the half written record sets of a unit back to what they were, and the answers that it has deleted for
// others that didn't come.
func (w *work) restore(ctx context.Context, u *unit) error {
	var s steps
	for _, c := range u.lost(w.now) {
		u.swapUndone = true
		if err := w.plan(&s, u, dns.Change{New: c.Old}); err != nil {
			return err
		}
	}
	for _, c := range u.Changes {
		if !u.wrote[c.RecordSet().Key()] || made(c, w.now) || untouched(c, w.now) {
			continue
		}
		if err := w.plan(&s, u, dns.Change{Old: c.New, New: c.Old}); err != nil {
			return err
		}
	}
	// An error that is nil would say that the unit is made.
	if err := w.send(ctx, s); err != nil {
		return err
	}
	return errRestored
}

// errRestored is why a unit isn't made whose record sets are as they were.
var errRestored = errors.New("the change could be made in part only, and was taken back")
