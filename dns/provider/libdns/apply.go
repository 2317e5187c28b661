package libdns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
	"github.com/signpostd/signpost/internal/pause"
)

const (
	// groupSize is the number of units that are made between two listings of the zone.
	groupSize = 10
	// maxReads limits the listings until the zone shows what was written. firstPause is the pause
	// before the second one, and doubles.
	maxReads   = 4
	firstPause = time.Second
	// unknownPause is the pause before the zone is read after an error with unknown outcome, because
	// an outdated listing would show that nothing was written.
	unknownPause = 5 * time.Second
	// maxFailures limits the units in a row that fail for other reasons than refusals.
	maxFailures = 3
)

// Apply implements [provider.Provider]. libdns has no conditions, and the results of modules aren't
// reliable. So Apply reads the zone before it writes some units, and again after that.
func (a *adapter) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	if len(changes) == 0 {
		return nil
	}
	if a.dryRun {
		return fmt.Errorf("change zone %s with the libdns module %s: %w", zone.Name, a.module.Name, provider.ErrDryRun)
	}
	partition, err := a.Known(ctx)
	if err != nil {
		return err
	}
	if err := a.slot.Acquire(ctx, 1); err != nil {
		return err
	}
	defer a.slot.Release(1)
	units := unitsOf(changes)
	for _, u := range units {
		u.Err = a.checkChanges(zone, partition, u)
	}
	work := &work{adapter: a, zone: zone}
	for group := range slices.Chunk(batch.Pending(units), groupSize) {
		if work.stopped != nil {
			break
		}
		work.group(ctx, group)
	}
	return work.result(changes, units)
}

// checkChanges returns why a unit is impossible, regardless of the zone's content.
func (a *adapter) checkChanges(zone dns.Zone, partition *batch.List[dns.Zone], u *unit) error {
	for _, c := range u.Changes {
		r := c.RecordSet()
		if err := partition.Outside(zone, r.Name); err != nil {
			return err
		}
		if c.New == nil {
			continue
		}
		if err := a.refused(zone, normal(c.New)); err != nil {
			return err
		}
	}
	return nil
}

type work struct {
	*adapter
	zone dns.Zone
	// current is the last listed content of the zone; nil if the zone has to be read.
	current *content
	// uncertain is true if something may have been written.
	uncertain bool
	// unknown is true if the outcome of some change is unknown.
	unknown bool
	// stopped is the error that stops all further units.
	stopped error
}

// group makes some units.
func (w *work) group(ctx context.Context, units []*unit) {
	if w.current == nil {
		current, err := w.read(ctx, w.zone)
		if err != nil {
			w.stopped = provider.Unread(err)
			return
		}
		w.current = current
	}
	w.compare(units)
	if units = batch.Pending(units); len(units) == 0 {
		return
	}
	err := w.try(ctx, units)
	remaining := w.awaitMade(ctx, units, err)
	if err != nil {
		remaining = w.repair(ctx, remaining, err)
	}
	switch {
	case w.stopped != nil || len(remaining) == 0:
	case err == nil || len(units) == 1 || !w.isRefusal(err):
		w.fail(ctx, remaining, err)
	default:
		w.oneByOne(ctx, remaining, err)
	}
}

// compare fails the units that are out of date, and those that conflict with other records of the
// zone.
func (w *work) compare(units []*unit) {
	var changes []dns.Change
	var owners []*unit
	for _, u := range units {
		for _, c := range u.Changes {
			changes, owners = append(changes, c), append(owners, u)
		}
	}
	for i, err := range provider.Unchanged(changes, w.current.sets) {
		if err != nil {
			owners[i].Err = err
		}
	}
	for _, u := range batch.Pending(units) {
		u.Err = u.check(w.current)
		if name := u.typeChange(); u.Err == nil && name != "" {
			u.Err = w.swaps.Paused(name, time.Now())
		}
	}
}

// isRefusal reports whether an error concerns the changes. After any other error, such as a lost
// response, nothing is retried before the publisher has listed the zone.
func (w *work) isRefusal(err error) bool { return errors.Is(err, provider.ErrRejected) }

// oneByOne makes units one by one after an error, to find the ones that the service rejects. A unit
// whose old records had to be restored isn't retried, because that would cause another outage of
// its name.
func (w *work) oneByOne(ctx context.Context, units []*unit, batchErr error) {
	failed := 0
	for _, u := range units {
		one := []*unit{u}
		if u.typeChangeUndone {
			w.fail(ctx, one, batchErr)
			continue
		}
		err := w.try(ctx, one)
		remaining := w.awaitMade(ctx, one, err)
		if err != nil {
			remaining = w.repair(ctx, remaining, err)
		}
		if w.stopped != nil {
			return
		}
		w.fail(ctx, remaining, err)
		if failed++; len(remaining) == 0 || w.isRefusal(err) {
			failed = 0
		}
		if failed == maxFailures {
			w.stopped = fmt.Errorf("%w: %d names in a row failed, the last one with: %v", provider.ErrNotTried, failed, u.Err)
			return
		}
	}
}

// awaitMade reads the zone until it shows that all units are made, and returns the others. After an
// error it reads once, because there may be nothing to wait for.
func (w *work) awaitMade(ctx context.Context, units []*unit, failed error) []*unit {
	delay := firstPause
	if failed != nil && w.uncertain {
		w.delayListing(w.zone)
	}
	for n := 1; ; n++ {
		var err error
		if w.current, err = w.read(ctx, w.zone); err != nil {
			w.current, w.unknown, w.stopped = nil, true, cmp.Or(failed, err)
			w.delayListing(w.zone)
			return units
		}
		last := failed == nil && n == maxReads
		remaining := slices.DeleteFunc(slices.Clone(units), func(u *unit) bool {
			if u.finished = u.done(w.current) || last && u.doneExceptTTL(w.current); u.finished && u.typeChange() != "" {
				w.swaps.Made(u.typeChange())
			}
			return u.finished
		})
		if len(remaining) == 0 || failed != nil || last {
			if failed == nil {
				w.learnTTLs(units)
			}
			if batch.StopsAll(failed) {
				w.stopped = failed
			}
			return remaining
		}
		if pause.For(ctx, delay) != nil {
			w.unknown, w.stopped = true, ctx.Err()
			w.delayListing(w.zone)
			return remaining
		}
		delay *= 2
	}
}

// learnTTLs learns the TTLs that the zone shows for written record sets. After a failure, the zone
// may show what an earlier write made.
func (w *work) learnTTLs(units []*unit) {
	for _, u := range units {
		for _, c := range u.Changes {
			key := c.RecordSet().Key()
			if r := w.current.by[key]; c.New != nil && r != nil && u.wrote[key] && w.current.has(key, c.New) && (u.finished || made(c, w.current)) {
				w.learn(w.zone, c.New.TTL, r.TTL)
			}
		}
	}
}

// fail fails units that weren't made. err is nil if the module reported success.
func (w *work) fail(ctx context.Context, units []*unit, err error) {
	for _, u := range units {
		if key, value, found := u.unexpectedValue(w.current); found && err == nil {
			u.Err = w.undo(ctx, u, key, value)
			continue
		}
		w.failUnit(u, err)
	}
}

// failUnit fails a unit that wasn't made. A unit that repeatedly fails in the same way counts as
// refused.
func (w *work) failUnit(u *unit, err error) {
	if u.Err = err; err == nil {
		u.Err = fmt.Errorf("change %s: the libdns module %s says that it made the change, but the zone doesn't show it", u.Subject, w.module.Name)
	}
	if name := u.typeChange(); name != "" && u.typeChangeUndone {
		w.swaps.Refused(name, u.Err, time.Now())
	}
	if w.isRefusal(u.Err) || batch.StopsAll(u.Err) {
		return
	}
	w.mu.Lock()
	repeated := w.failureCounts.note(u, u.Err)
	w.mu.Unlock()
	if repeated {
		u.Err = fmt.Errorf("%w: it fails in the same way each time: %w", provider.ErrRejected, u.Err)
		return
	}
	w.unknown = true
}

func (w *work) result(changes []dns.Change, units []*unit) error {
	errs := make([]error, len(changes))
	first, anyMade := error(nil), false
	for _, u := range units {
		for i, c := range u.Changes {
			err := w.outcome(u, c)
			anyMade = anyMade || err == nil
			if errs[u.Places[i]] = err; first == nil {
				first = err
			}
		}
	}
	allStopped := !slices.ContainsFunc(errs, func(err error) bool { return err != w.stopped })
	switch {
	case first == nil:
		return nil
	case !anyMade && allStopped && !w.unknown:
		return w.stopped
	case errors.Is(w.stopped, provider.ErrThrottled) && w.unknown:
		return provider.MaybeMade(w.stopped)
	case w.unknown:
		return fmt.Errorf("change zone %s with the libdns module %s: it is unknown which of %d changes were made: %v", w.zone.Name, w.module.Name, len(changes), first)
	default:
		return &provider.ApplyError{Errs: errs}
	}
}

// outcome returns why a change wasn't made, or nil.
func (w *work) outcome(u *unit, c dns.Change) error {
	err := cmp.Or(u.Err, w.stopped)
	wrote := u.wrote[c.RecordSet().Key()]
	switch {
	case u.finished || err == nil:
		return nil
	case !wrote || u.altered:
		return err
	case w.current == nil || !made(c, w.current) && !unchanged(c, w.current):
		w.unknown = true
		return err
	case made(c, w.current):
		return nil
	default:
		return err
	}
}
