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

// freshness is how long before a batch its names may have been read.
const freshness = 10 * time.Second

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
	for rest := live(all); len(rest) > 0; rest = live(rest) {
		if err = a.refresh(ctx, rest); err == nil {
			var batch []*unit
			batch, rest = fill(live(rest), z.limits.operations)
			err = a.send(ctx, batch)
		}
		if err != nil {
			err = fmt.Errorf("change zone %s of Cloudflare: %w", z.Name, err)
			if !nothingMade(err) {
				return err
			}
			for _, u := range all {
				if !u.made {
					u.fail(err)
				}
			}
			break
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
	rows, err := a.p.look(ctx, a.zone, rest)
	if err != nil {
		return fmt.Errorf("read the names before they are changed: %w", err)
	}
	a.read = time.Now()
	now := group(rows)
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
			u.prepare(a.mapping, now)
		}
	}
	return nil
}

// fill returns the units for the next batch, and the others. A unit that is larger than a batch fails.
func fill(ready []*unit, limit int) (batch, rest []*unit) {
	size := 0
	for i, u := range ready {
		switch n := u.size(); {
		case n > limit:
			u.fail(fmt.Errorf("%w: the changes of %s need %d operations, and a batch of the plan of the zone has %d", provider.ErrRejected, u.subject, n, limit))
		case size+n > limit:
			return batch, ready[i:]
		case u.err == nil:
			batch, size = append(batch, u), size+n
		}
	}
	return batch, nil
}

// nothingMade reports whether an error says that a request changed nothing.
func nothingMade(err error) bool {
	for _, class := range []error{provider.ErrThrottled, provider.ErrCredentials, provider.ErrDryRun, provider.ErrStale, provider.ErrRejected} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
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
