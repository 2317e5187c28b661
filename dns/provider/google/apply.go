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
	all := z.Units(z, changes, func(name string) error { return list.Outside(z.Zone, name) })
	a := &batch.Applying[*unit]{Zone: &zoneApply{managedZone: z, provider: p}, Name: z.Name, Server: "Cloud DNS", Interval: p.interval}
	return a.Apply(ctx, all, batches(all, p.limit), len(changes))
}

type zoneApply struct {
	*managedZone
	provider *cloudDNS
}

// Change implements [batch.Zone].
func (a *zoneApply) Change(ctx context.Context, units []*unit) error {
	return a.provider.api.change(ctx, a.ID, change(units))
}

// Verify implements [batch.Zone].
func (a *zoneApply) Verify(ctx context.Context, units []*unit) (batch.State, error) {
	return batch.Verify(ctx, a.managedZone, units, func(ctx context.Context, key dns.Key) (*rawSet, error) {
		return a.provider.api.getRecordSet(ctx, a.ID, key)
	})
}

// Refused implements [batch.Zone].
func (*zoneApply) Refused(units []*unit, err error) (rest []*unit, alone error) {
	response, ok := errors.AsType[*apiError](err)
	if !ok || response.refusal() == nil {
		return nil, nil
	}
	return blame(units, change(units), response), response
}

// Outdate implements [batch.Zone].
func (a *zoneApply) Outdate() { a.provider.Outdate() }
