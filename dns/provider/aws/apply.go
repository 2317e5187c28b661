package aws

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// Apply implements [provider.Provider]. The changes of a name and of its ownership records are in one batch.
// If Route 53 names the refused record sets, the others are sent again. Otherwise the batch is halved.
func (p *route53Provider) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	if err := ctx.Err(); err != nil || len(changes) == 0 {
		return err
	}
	list, z, err := p.Find(ctx, zone)
	if err != nil {
		return fmt.Errorf("change zone %s: %w", zone.Name, err)
	}
	all := z.units(changes, func(name string) error { return list.Outside(z.Zone, name) })
	a := &batch.Applying[*unit]{Zone: z, Outdate: p.Outdate, Name: z.Name, Server: "Route 53", Interval: p.interval}
	return a.Apply(ctx, all, batches(all, z.ID, p.limit), len(changes))
}

// Change implements [batch.Zone].
func (z *hostedZone) Change(ctx context.Context, units []*unit) error {
	var list []types.Change
	for _, u := range units {
		list = append(list, changesOf(u)...)
	}
	return z.change(ctx, list)
}

// Verify implements [batch.Zone].
func (z *hostedZone) Verify(ctx context.Context, units []*unit) (batch.State, error) {
	return batch.Verify(ctx, z.mapping, units, func(ctx context.Context, key dns.Key) (*rawSet, error) { return z.account.getRecordSet(ctx, z.ID, key) })
}

// Refused implements [batch.Zone].
func (*hostedZone) Refused(units []*unit, err error) (rest []*unit, alone error) {
	if !errors.Is(err, provider.ErrRejected) {
		return nil, nil
	}
	if invalid, ok := errors.AsType[*invalidBatch](err); ok {
		units = blame(units, invalid)
	}
	return units, singleError(err)
}
