package publisher

import (
	"context"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/plan"
)

// rewriteOwnership returns changes that rewrite the ownership records of record sets before a CNAME
// replaces them, or none if that isn't needed. An ownership record of the format without a type has
// the name of its record set, and can't stand beside the CNAME. A provider that applies changes in
// order must delete it first, and the record set would have no ownership record until it is deleted
// itself.
func (p *Publisher) rewriteOwnership(z *zone, current []plan.Current, changes []dns.Change) []dns.Change {
	createsCNAME := slices.ContainsFunc(changes, func(c dns.Change) bool { return c.Old == nil && c.New.Type == dns.TypeCNAME })
	if p.txt() == nil || !p.capabilities.Stepwise || !createsCNAME || p.DryRun {
		// A dry run shows the final changes only.
		return nil
	}
	var first []dns.Change
	for _, c := range current {
		deleted := slices.ContainsFunc(changes, func(g dns.Change) bool { return g.New == nil && g.Old.Key() == c.Set.Key() })
		if c.RewriteOwnership && deleted {
			first = append(first, dns.Change{Old: c.Set, New: c.Set.Clone()})
		}
	}
	// The registry may have nothing to write, or can't write it under the required name.
	send, _, err := p.Owner.Before(context.Background(), p.zones.lookup(z), first)
	if err != nil || !slices.ContainsFunc(send, changesOwnership) {
		return nil
	}
	for _, c := range send {
		if !canOwn(p.zones, z, c.RecordSet().Key().Name) {
			return nil
		}
	}
	return first
}
