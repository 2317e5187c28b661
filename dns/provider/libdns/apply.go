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
	// groupSize is how many units are made between two readings of the zone.
	groupSize = 10
	// looks is how often the zone is read until it shows what was written, and firstPause the time
	// before the second one; each further one is twice as long.
	looks      = 4
	firstPause = time.Second
	// errorPause is the time before the zone is read after an error, when it isn't known what was
	// written: a listing that lags behind would say that nothing was.
	errorPause = 5 * time.Second
	// outage is how many units may fail in a row for no reason that is theirs.
	outage = 3
)

// Apply implements [provider.Provider]. libdns can't write on a condition, so the zone is read
// right before some units are written, and again after that: the answers of modules don't say
// enough.
func (a *adapter) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	if len(changes) == 0 {
		return nil
	}
	if a.dryRun {
		return fmt.Errorf("change zone %s with the libdns module %s: %w", zone.Name, a.module.Name, provider.ErrDryRun)
	}
	parts, err := a.zones.Known(ctx, a.divide)
	if err != nil {
		return err
	}
	end, err := a.take(ctx)
	if err != nil {
		return err
	}
	defer end()
	units := unitsOf(changes)
	for _, u := range units {
		u.Err = a.acceptable(zone, parts, u)
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

// acceptable says why a unit can't be made, whatever the zone has.
func (a *adapter) acceptable(zone dns.Zone, parts *batch.Partition, u *unit) error {
	for _, c := range u.Changes {
		r := c.RecordSet()
		if err := parts.Outside(zone, r.Name); err != nil {
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

// work is a call of Apply.
type work struct {
	*adapter
	zone dns.Zone
	// now is what the zone has as far as is known; nil if it has to be read.
	now *reading
	// uncertain is true when something may have been written.
	uncertain bool
	// unknown is true when nobody knows of some change whether it was made.
	unknown bool
	// stopped is why no more units are made.
	stopped error
}

// group makes some units.
func (w *work) group(ctx context.Context, units []*unit) {
	if w.now == nil {
		if w.now, w.stopped = w.read(ctx, w.zone); w.stopped != nil {
			return
		}
	}
	w.compare(units)
	if units = batch.Pending(units); len(units) == 0 {
		return
	}
	err := w.try(ctx, units)
	left := w.look(ctx, units, err)
	if err != nil {
		left = w.repair(ctx, left, err)
	}
	switch {
	case w.stopped != nil || len(left) == 0:
	case err == nil || len(units) == 1 || !w.theirs(err):
		w.fail(ctx, left, err)
	default:
		w.alone(ctx, left, err)
	}
}

// compare ends the units that are out of date, and those that can't be made beside what is there.
func (w *work) compare(units []*unit) {
	var changes []dns.Change
	var of []*unit
	for _, u := range units {
		for _, c := range u.Changes {
			changes, of = append(changes, c), append(of, u)
		}
	}
	for i, err := range provider.Unchanged(changes, w.now.sets) {
		if err != nil {
			of[i].Err = err
		}
	}
	for _, u := range batch.Pending(units) {
		u.Err = u.check(w.now)
		if name := u.swap(); u.Err == nil && name != "" {
			u.Err = w.swaps.Paused(name, time.Now())
		}
	}
}

// theirs reports whether an error is about the changes. After any other error, such as a lost answer, nothing is tried
// again before the publisher has listed the zone.
func (w *work) theirs(err error) bool { return errors.Is(err, provider.ErrRejected) }

// alone makes units one by one, to find those at fault after an error. A unit whose old answers had to be restored is not
// tried again, because that would cost its name another gap.
func (w *work) alone(ctx context.Context, units []*unit, together error) {
	failed := 0
	for _, u := range units {
		one := []*unit{u}
		if u.swapUndone {
			w.fail(ctx, one, together)
			continue
		}
		err := w.try(ctx, one)
		left := w.look(ctx, one, err)
		if err != nil {
			left = w.repair(ctx, left, err)
		}
		switch {
		case w.stopped != nil:
			return
		case len(left) == 0:
			failed = 0
		default:
			w.fail(ctx, left, err)
			if failed++; !w.theirs(err) && failed == outage {
				w.stopped = err
				return
			}
		}
	}
}

// look reads the zone until it shows that all units are made, and returns those that are not.
// After an error it reads once, because there may be nothing to see.
func (w *work) look(ctx context.Context, units []*unit, failed error) []*unit {
	delay := firstPause
	if failed != nil && w.uncertain {
		w.hush(w.zone)
	}
	for n := 1; ; n++ {
		var err error
		if w.now, err = w.read(ctx, w.zone); err != nil {
			w.now, w.unknown, w.stopped = nil, true, cmp.Or(failed, err)
			w.hush(w.zone)
			return units
		}
		last := failed == nil && n == looks
		left := slices.DeleteFunc(slices.Clone(units), func(u *unit) bool {
			if u.finished = u.done(w.now) || last && u.doneButTTL(w.now); u.finished && u.swap() != "" {
				w.swaps.Made(u.swap())
			}
			return u.finished
		})
		if len(left) == 0 || failed != nil || last {
			w.settled(units)
			if batch.StopsAll(failed) {
				w.stopped = failed
			}
			return left
		}
		if pause.For(ctx, delay) != nil {
			w.unknown, w.stopped = true, ctx.Err()
			w.hush(w.zone)
			return left
		}
		delay *= 2
	}
}

// settled learns the TTLs that the zone shows for record sets that were written.
func (w *work) settled(units []*unit) {
	for _, u := range units {
		for _, c := range u.Changes {
			key := c.RecordSet().Key()
			if r := w.now.by[key]; c.New != nil && r != nil && u.wrote[key] && w.now.has(key, c.New) && (u.finished || made(c, w.now)) {
				w.learn(w.zone, c.New.TTL, r.TTL)
			}
		}
	}
}

// fail ends units that weren't made. An error is nil if the module says that it did.
func (w *work) fail(ctx context.Context, units []*unit, err error) {
	for _, u := range units {
		if key, value, found := u.foreignValue(w.now); found && err == nil {
			u.Err = w.undo(ctx, u, key, value)
			continue
		}
		w.blame(u, err)
	}
}

// blame fails a unit that wasn't made. A unit that fails in the same way each time counts as the cause itself.
func (w *work) blame(u *unit, err error) {
	if u.Err = err; err == nil {
		u.Err = fmt.Errorf("change %s: the libdns module %s says that it made the change, but the zone doesn't show it", u.Subject, w.module.Name)
	}
	if name := u.swap(); name != "" && u.swapUndone {
		w.swaps.Refused(name, u.Err, time.Now())
	}
	if w.theirs(u.Err) || batch.StopsAll(u.Err) {
		return
	}
	w.mu.Lock()
	often := w.repeats.note(u, u.Err)
	w.mu.Unlock()
	if often {
		u.Err = fmt.Errorf("%w: it fails in the same way each time: %w", provider.ErrRejected, u.Err)
		return
	}
	w.unknown = true
}

// result returns the error of Apply.
func (w *work) result(changes []dns.Change, units []*unit) error {
	errs := make([]error, len(changes))
	first, some := error(nil), false
	for _, u := range units {
		for i, c := range u.Changes {
			err := w.outcome(u, c)
			some = some || err == nil
			if errs[u.Places[i]] = err; first == nil {
				first = err
			}
		}
	}
	alike := !slices.ContainsFunc(errs, func(err error) bool { return err != w.stopped })
	switch {
	case first == nil:
		return nil
	case !some && alike && !w.unknown, errors.Is(w.stopped, provider.ErrThrottled) && w.unknown:
		// Apply compares what is there before it writes. So it does no harm to ask for the same again
		// after the pause, whatever was made.
		return w.stopped
	case w.unknown:
		return fmt.Errorf("change zone %s with the libdns module %s: nobody knows which of %d changes were made: %v", w.zone.Name, w.module.Name, len(changes), first)
	default:
		return &provider.ApplyError{Errs: errs}
	}
}

// outcome returns why a change wasn't made; nil if it was.
func (w *work) outcome(u *unit, c dns.Change) error {
	err := cmp.Or(u.Err, w.stopped)
	wrote := u.wrote[c.RecordSet().Key()]
	switch {
	case u.finished || err == nil:
		return nil
	case !wrote || u.altered:
		return err
	case w.now == nil || !made(c, w.now) && !untouched(c, w.now):
		w.unknown = true
		return err
	case made(c, w.now):
		return nil
	default:
		return err
	}
}
