package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// After implements [owner.Owner]. It confirms the claims of created and updated record sets, and
// removes those of deleted ones. If the store throttles that, it isn't an error: the claims are good enough until
// the next listing.
func (o *Owner) After(ctx context.Context, applied []dns.Change) error {
	if err := o.begin(ctx); err != nil {
		return err
	}
	defer o.end()
	var next []*Claim
	var keys []dns.Key
	for _, c := range applied {
		key := c.RecordSet().Key()
		_, known := o.entries[key]
		if c.RecordSet().IsOwnershipRecord() || c.New == nil && !known {
			continue
		}
		delete(o.before, key)
		keys = append(keys, key)
		if c.New == nil {
			next = append(next, nil)
		} else {
			next = append(next, (&Claim{Labels: o.labelsOf(c.New)}).confirm(c.New))
		}
	}
	errs := o.write(ctx, next, keys)
	if err := throttled(errs); err != nil {
		o.Log.Warn("The registry throttles claims of records; writing them after the next listing", "err", err)
	}
	return wrap(errs, keys)
}

// throttled removes the errors of throttled claims, and returns the first one.
func throttled(errs []error) (first error) {
	for i, err := range errs {
		if errors.Is(err, provider.ErrThrottled) {
			first, errs[i] = cmp.Or(first, err), nil
		}
	}
	return first
}

func wrap(errs []error, keys []dns.Key) error {
	for i, err := range errs {
		if err != nil {
			errs[i] = fmt.Errorf("write the claim of %s %s: %w", keys[i].Type, keys[i].Name, err)
		}
	}
	return errors.Join(errs...)
}

// Failed implements [owner.Outside]. It refutes the claims of changes that were certainly
// not made. Changes with an unknown outcome stay open until the next listing, as do all if ctx has
// ended.
func (o *Owner) Failed(ctx context.Context, changes []dns.Change, cause error) {
	if o.begin(ctx) != nil {
		return
	}
	defer o.end()
	var next []*Claim
	var keys []dns.Key
	each, whole := provider.Outcomes(cause, len(changes))
	for i, c := range changes {
		err, certain := whole, provider.NothingMade(whole)
		if each != nil {
			err, certain = each[i], true
		}
		key := c.RecordSet().Key()
		if e, there := o.entries[key]; err != nil && there && e.claim != nil && !c.RecordSet().IsOwnershipRecord() {
			next, keys = append(next, o.failed(e.claim, c, err, certain)), append(keys, key)
		}
	}
	o.report(o.write(ctx, next, keys), keys)
}

// failed returns the claim of a record set whose change has failed. certain is false if the change may
// have been made.
func (o *Owner) failed(claim *Claim, c dns.Change, err error, certain bool) *Claim {
	before, asked := o.before[claim.Key]
	if delete(o.before, claim.Key); !asked || !certain {
		return claim.leaveOpen(c, err.Error(), o.ByTarget)
	}
	return before.refute(c, claim.Labels, err.Error())
}

// report logs that claims couldn't be written. They are written again after the next listing.
func (o *Owner) report(errs []error, keys []dns.Key) {
	if err := wrap(errs, keys); err != nil {
		o.Log.Warn("Can't write claims of records; retrying after the next listing", "err", err)
	}
}
