package google

import (
	"context"
	"errors"
	"fmt"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// Apply implements [provider.Provider]. The changes of a name and of its ownership records are in one
// request. If Cloud DNS names the refused record sets, the others are sent again. Otherwise the batch is
// halved.
func (p *cloudDNS) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	if err := ctx.Err(); err != nil || len(changes) == 0 {
		return err
	}
	list, z, err := p.Find(ctx, zone)
	if err != nil {
		return fmt.Errorf("change zone %s: %w", zone.Name, err)
	}
	all := z.Units(z, changes, func(dns.Change) error { return nil }, func(name string) error { return list.Outside(z.Zone, name) })
	a := &batch.Applying[*unit]{Zone: z, Outdate: p.Outdate, Name: z.Name, Server: "Cloud DNS", Interval: p.interval}
	return a.Apply(ctx, all, batches(all, p.limit), len(changes))
}

// Change implements [batch.Zone].
func (z *managedZone) Change(ctx context.Context, units []*unit) error {
	return z.api.change(ctx, z.ID, change(units))
}

// Verify implements [batch.Zone].
func (z *managedZone) Verify(ctx context.Context, units []*unit) (batch.State, error) {
	return batch.Verify(ctx, z, units, func(ctx context.Context, key dns.Key) (*rawSet, error) {
		return z.api.getRecordSet(ctx, z.ID, key)
	})
}

// Refused implements [batch.Zone].
func (*managedZone) Refused(units []*unit, err error) (rest []*unit, alone error) {
	response, ok := errors.AsType[*apiError](err)
	if !ok || response.refusal() == nil {
		return nil, nil
	}
	return blame(units, change(units), response), response
}
