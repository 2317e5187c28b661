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

// Apply implements [provider.Provider]. The changes of a name, with those of its ownership records, are in
// one batch. Route 53 mostly names the record sets that it refuses, and the others are sent again. Otherwise
// the batch is halved.
func (p *route53Provider) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	if err := ctx.Err(); err != nil || len(changes) == 0 {
		return err
	}
	list, z, err := p.find(ctx, zone)
	if err != nil {
		return fmt.Errorf("change zone %s: %w", zone.Name, err)
	}
	all := z.Units(z.mapping, changes, func(name string) error { return batch.Outside(list.public, z.Zone, name) })
	a := &batch.Applying[*unit]{Zone: &applied{hostedZone: z, provider: p}, Name: z.Name, Server: "Route 53", Interval: p.interval}
	return a.Apply(ctx, all, batches(all, z.ID, p.limit), len(changes))
}

// applied is a zone for one call of Apply.
type applied struct {
	*hostedZone
	provider *route53Provider
}

// Change implements [batch.Zone].
func (a *applied) Change(ctx context.Context, units []*unit) error {
	var list []types.Change
	for _, u := range units {
		list = append(list, changesOf(u)...)
	}
	return a.change(ctx, list)
}

// Verify implements [batch.Zone].
func (a *applied) Verify(ctx context.Context, units []*unit) (batch.State, error) {
	return batch.Verify(ctx, a.mapping, units, func(ctx context.Context, key dns.Key) (*rawSet, error) { return a.account.one(ctx, a.ID, key) })
}

// Refused implements [batch.Zone].
func (*applied) Refused(units []*unit, err error) (rest []*unit, alone error) {
	if !errors.Is(err, provider.ErrRejected) {
		return nil, nil
	}
	if invalid, ok := errors.AsType[*invalidBatch](err); ok {
		units = blame(units, invalid)
	}
	return units, about(err)
}

// Outdate implements [batch.Zone].
func (a *applied) Outdate() { a.provider.zones.Outdate() }
