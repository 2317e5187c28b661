package cloudflare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

const (
	// freshness is how long before a batch its names may have been read, and slow how long a reading
	// may take that isn't repeated. It is done readings times at most.
	freshness = 5 * time.Second
	slow      = 2 * time.Second
	readings  = 3
	// mostPauses is how often Apply waits because there are too many requests. What is left then is
	// for the publisher to try again.
	mostPauses = 3
)

// Apply implements [provider.Provider]. The changes of a name, with those of its ownership
// records, are in one batch. Cloudflare can't compare Old as it writes, so the names are read
// right before.
func (p *cloudflareProvider) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	if len(changes) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	list, z, err := p.managed(ctx, zone)
	if err != nil {
		return fmt.Errorf("change zone %s: %w", zone.Name, err)
	}
	a := &applying{p: p, zone: z, mapping: mapping{wishes: p.wishes.settled(), limits: z.limits, warn: p.warnOnce}}
	all := units(changes, func(name string) error { return list.outside(z, name) })
	for rest := live(all); len(rest) > 0; rest = live(all) {
		err := a.step(ctx, rest)
		if err == nil || a.mayPause(err) {
			continue
		}
		err = fmt.Errorf("change zone %s of Cloudflare: %w", z.Name, err)
		if !provider.NothingMade(err) {
			return err
		}
		for _, u := range rest {
			if !u.made {
				u.fail(err)
			}
		}
	}
	return outcome(all, len(changes))
}

// applying is one call of Apply.
type applying struct {
	mapping
	p    *cloudflareProvider
	zone *managedZone
	// read is when the names of the units were read that aren't made yet.
	read time.Time
	// refusals is how many batches were refused.
	refusals int
	// pauses is how often it had to wait because there were too many requests.
	pauses int
}

// step makes the changes of as many units as a batch can have.
func (a *applying) step(ctx context.Context, rest []*unit) error {
	if err := a.refresh(ctx, rest); err != nil {
		return err
	}
	return a.send(ctx, fill(live(rest), a.zone.limits.operations))
}

// mayPause reports whether to try again after an error, because there were too many requests only for a
// while. The next request waits as long as it has to, and reads the names again.
func (a *applying) mayPause(err error) bool {
	throttled, ok := errors.AsType[*provider.ThrottledError](err)
	a.pauses++
	a.read = time.Time{}
	return ok && throttled.After <= longestHold && a.pauses <= mostPauses
}

// live returns the units that are neither made nor failed.
func live(all []*unit) []*unit {
	return slices.DeleteFunc(slices.Clone(all), func(u *unit) bool { return u.made || u.err != nil })
}

// refresh reads the names of units, unless that has just been done, and works out what has to be
// sent for them. A unit of which something has changed since it was listed fails.
func (a *applying) refresh(ctx context.Context, rest []*unit) error {
	if !a.read.IsZero() && time.Since(a.read) < freshness {
		return nil
	}
	now, err := a.look(ctx, rest)
	if err != nil {
		return fmt.Errorf("read the names before they are changed: %w", err)
	}
	var changes []dns.Change
	for _, u := range rest {
		changes = append(changes, u.changes...)
	}
	errs := provider.Unchanged(changes, now.sets())
	i := 0
	for _, u := range rest {
		for range u.changes {
			if errs != nil && errs[i] != nil {
				u.fail(errs[i])
				a.zone.forget(u)
			}
			i++
		}
		if u.err == nil {
			u.prepare(a.mapping, a.zone, now)
		}
	}
	return nil
}

// look returns what there is now under the names of units. It reads again what has taken long, or what
// can't be used at once because requests are held back: somebody may have changed it meanwhile.
func (a *applying) look(ctx context.Context, rest []*unit) (now groups, err error) {
	for range readings {
		begun := time.Now()
		if now, err = a.p.look(ctx, a.zone, rest); err != nil {
			return nil, err
		}
		if a.read = time.Now(); a.read.Sub(begun) < slow && !a.p.api.pace.isHeld() {
			break
		}
	}
	return now, nil
}

// fill returns the units for the next batch. A unit that is larger than a batch fails.
func fill(ready []*unit, limit int) (batch []*unit) {
	size := 0
	for _, u := range ready {
		switch n := u.size(); {
		case n > limit:
			u.fail(fmt.Errorf("%w: the changes of %s need %d operations, and a batch of the plan of the zone has %d", provider.ErrRejected, u.subject, n, limit))
		case size+n > limit:
			return batch
		default:
			batch, size = append(batch, u), size+n
		}
	}
	return batch
}

// outcome returns the error of Apply for units that are done.
func outcome(all []*unit, n int) error {
	errs := make([]error, n)
	var first error
	failed, same := 0, true
	for _, u := range all {
		if !u.report(errs) {
			continue
		}
		same = same && u.err != nil && (failed == 0 || u.err == first)
		first = u.err
		failed++
	}
	switch {
	case failed == 0:
		return nil
	case failed == len(all) && same && (errors.Is(first, provider.ErrThrottled) || errors.Is(first, provider.ErrCredentials) || errors.Is(first, provider.ErrDryRun)):
		// It is about all of them.
		return first
	}
	return &provider.ApplyError{Errs: errs}
}
