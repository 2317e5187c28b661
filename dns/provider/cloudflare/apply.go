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
	// maxReadAge limits the age of the names' records when a batch is sent. A reading that takes longer than
	// slowRead is repeated, up to maxReads times.
	maxReadAge = 5 * time.Second
	slowRead   = 2 * time.Second
	maxReads   = 3
	// maxPauses limits the pauses of one Apply after throttling. The publisher retries the rest.
	maxPauses = 3
)

// Apply implements [provider.Provider]. The changes of a name, with those of its ownership records,
// are in one batch. Cloudflare can't compare Old as it writes, so Apply reads the names right
// before.
func (p *cloudflareProvider) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	if err := ctx.Err(); err != nil || len(changes) == 0 {
		return err
	}
	list, z, err := p.Find(ctx, zone)
	if err != nil {
		return fmt.Errorf("change zone %s: %w", zone.Name, err)
	}
	a := &applying{p: p, zone: z, mapping: mapping{recordOptions: p.recordOptions.withoutDefaults(), limits: z.limits, warn: p.warnOnce}}
	a.batches = batch.Applying[*unit]{Zone: a, Outdate: p.Outdate, Name: z.Name + " of Cloudflare", Server: "Cloudflare"}
	all := units(changes, func(name string) error { return list.Outside(z.Zone, name) })
	for rest := batch.Pending(all); len(rest) > 0; rest = batch.Pending(all) {
		err := a.step(ctx, rest)
		if err == nil || a.mayRetry(err) {
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
	// made is the response to the last batch.
	made operations[record]
	// read is when the records of the pending units were read.
	read time.Time
	// pauses counts the pauses after throttling.
	pauses int
}

// step makes the changes of as many units as fit into a batch.
func (a *applying) step(ctx context.Context, rest []*unit) error {
	if err := a.refresh(ctx, rest); err != nil {
		return err
	}
	return a.send(ctx, fill(batch.Pending(rest), a.zone.limits.operations))
}

// mayRetry reports whether to retry after a short throttling. The next request waits for the rate limit, and
// reads the names again.
func (a *applying) mayRetry(err error) bool {
	throttled, ok := errors.AsType[*provider.ThrottledError](err)
	a.pauses++
	a.read = time.Time{}
	return ok && throttled.After <= maxHold && a.pauses <= maxPauses
}

// refresh reads the records of units, unless they were just read, and computes the operations. A unit fails
// if its records have changed since the listing.
func (a *applying) refresh(ctx context.Context, rest []*unit) error {
	if !a.read.IsZero() && time.Since(a.read) < maxReadAge {
		return nil
	}
	now, err := a.readCurrent(ctx, rest)
	if err != nil {
		return fmt.Errorf("read the names before they are changed: %w", provider.Unread(err))
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

// readCurrent returns the current records of units. It reads again if the reading was slow, or if a batch
// can't be sent at once because requests are held back: another writer may have changed the records
// meanwhile.
func (a *applying) readCurrent(ctx context.Context, rest []*unit) (now groups, err error) {
	for range maxReads {
		begun := time.Now()
		if now, err = a.p.readCurrent(ctx, a.zone, rest); err != nil {
			return nil, err
		}
		if a.read = time.Now(); a.read.Sub(begun) < slowRead && !a.p.api.pace.isHeld() {
			break
		}
	}
	return now, nil
}

// fill returns the units of the next batch. A unit that is larger than a batch fails.
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

// outcome returns the error of Apply for finished units.
func outcome(all []*unit, n int) error {
	errs, settingsFailed := batch.Errors(all, n), false
	for _, u := range all {
		for i, c := range u.Changes {
			if u.settingsErr != nil && hasSettings(c) {
				errs[u.Places[i]], settingsFailed = u.settingsErr, true
			}
		}
	}
	if settingsFailed {
		// Records of the unit were made, so the outcome differs by change.
		return &provider.ApplyError{Errs: errs}
	}
	return batch.Outcome(errs)
}
