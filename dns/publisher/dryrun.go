package publisher

import (
	"errors"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/plan"
)

// objection returns why the registry would refuse a change of the group, or "".
func (p *Publisher) objection(z *zone, g group) string {
	txt := p.txt()
	if txt == nil {
		return ""
	}
	lookup := p.zones.lookup(z)
	// The deletion of a CNAME may be in another batch.
	remaining := func(name string) []*dns.RecordSet {
		return slices.DeleteFunc(slices.Clone(lookup(name)), func(r *dns.RecordSet) bool { return r.Type == dns.TypeCNAME && p.deletes(z, r) })
	}
	reasons := txt.Objections(remaining, g.changes)
	if i := slices.IndexFunc(reasons, func(why string) bool { return why != "" }); i >= 0 {
		return reasons[i]
	}
	return ""
}

func (p *Publisher) deletes(z *zone, r *dns.RecordSet) bool {
	name := dns.Canonical(r.Name)
	w := p.want(z, name)
	out := plan.Name(p.current(z, name), w.wanted, &p.Rules)
	return slices.ContainsFunc(out.Changes, func(c dns.Change) bool { return c.New == nil && c.Old.Key() == r.Key() })
}

// propose records the changes that a dry run would make.
func (p *Publisher) propose(z *zone, groups []group) {
	for _, g := range groups {
		if why := p.objection(z, g); why != "" {
			p.postpone(z, z.names.all[g.name], g, refusal{errors.New(why)})
			continue
		}
		z.names.propose(z.names.all[g.name], g)
		for _, c := range append(slices.Clone(g.changes), g.orphans...) {
			p.Log.Info("Would change a record", "zone", z.Name, "change", describe(c))
		}
	}
}
