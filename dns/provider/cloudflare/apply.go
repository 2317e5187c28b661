package cloudflare

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
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

// Apply implements [provider.Provider]. The changes of a name, with those of its ownership records, are in one batch.
// Cloudflare can't compare Old as it writes, so Apply reads the names right before.
func (p *cloudflareProvider) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	if err := ctx.Err(); err != nil || len(changes) == 0 {
		return err
	}
	list, z, err := p.managed(ctx, zone)
	if err != nil {
		return fmt.Errorf("change zone %s: %w", zone.Name, err)
	}
	a := &applying{p: p, zone: z, mapping: mapping{wishes: p.wishes.settled(), limits: z.limits, warn: p.warnOnce}}
	a.batches = batch.Applying[*unit]{Zone: a, Name: z.Name + " of Cloudflare", Server: "Cloudflare"}
	all := units(changes, func(name string) error { return batch.Outside(list.finder, z.Zone, name) })
	for rest := batch.Pending(all); len(rest) > 0; rest = batch.Pending(all) {
		err := a.step(ctx, rest)
		if err == nil || a.mayPause(err) {
			continue
		}
		if err = a.batches.Stop(all, err); err != nil {
			return err
		}
	}
	return outcome(all, len(changes))
}

// applying is one call of Apply. It implements [batch.Zone].
type applying struct {
	mapping
	p       *cloudflareProvider
	zone    *managedZone
	batches batch.Applying[*unit]
	// made is the answer to the last batch.
	made operations[record]
	// read is when the names of the pending units were read.
	read time.Time
	// pauses is how often Apply had to wait because there were too many requests.
	pauses int
}

// step makes the changes of as many units as a batch can have.
func (a *applying) step(ctx context.Context, rest []*unit) error {
	if err := a.refresh(ctx, rest); err != nil {
		return err
	}
	return a.send(ctx, fill(batch.Pending(rest), a.zone.limits.operations))
}

// mayPause reports whether to try again after an error because requests were throttled for a short time. The next request
// waits for its turn, and reads the names again.
func (a *applying) mayPause(err error) bool {
	throttled, ok := errors.AsType[*provider.ThrottledError](err)
	a.pauses++
	a.read = time.Time{}
	return ok && throttled.After <= longestHold && a.pauses <= mostPauses
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
		changes = append(changes, u.Changes...)
	}
	errs := provider.Unchanged(changes, now.sets())
	i := 0
	for _, u := range rest {
		for range u.Changes {
			if errs != nil && errs[i] != nil {
				u.Fail(errs[i])
				a.Forget(u)
			}
			i++
		}
		if u.Err == nil {
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
func fill(ready []*unit, limit int) (next []*unit) {
	size := 0
	for _, u := range ready {
		switch n := u.operations.size(); {
		case n > limit:
			u.Fail(fmt.Errorf("%w: the changes of %s need %d operations, and a batch of the plan of the zone has %d", provider.ErrRejected, u.Subject, n, limit))
		case size+n > limit:
			return next
		default:
			next, size = append(next, u), size+n
		}
	}
	return next
}

// outcome returns the error of Apply for units that are done.
func outcome(all []*unit, n int) error {
	errs, late := batch.Errors(all, n), false
	for _, u := range all {
		for i, c := range u.Changes {
			if u.late != nil && belongs(c) {
				errs[u.Places[i]], late = u.late, true
			}
		}
	}
	if late {
		// Records of the unit were made.
		return &provider.ApplyError{Errs: errs}
	}
	return batch.Outcome(errs)
}
