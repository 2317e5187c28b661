package externalworkloads

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	slicestore "github.com/signpostd/signpost/controllers/slices"
)

// DefaultMaxPerSlice is how many endpoints go into one slice (spec/destination.md §8.4.6).
const DefaultMaxPerSlice = 100

// Plan is the writes that bring the slices of a Service into their desired state (spec/destination.md §8.4).
type Plan struct {
	slicestore.Plan
	// Problems lists the unusable parts of the objects.
	Problems []Problem
}

// Compute returns what to write for a Service (spec/destination.md §8.3, §8.4), from the workloads that it
// selects and its existing slices, in the order of their names. Slices get at most maxPerSlice endpoints.
//
// Without workloads there are no slices, not even an empty one, because nearly every Service selects pods
// only.
func Compute(service *corev1.Service, workloads []*Workload, existing []*discoveryv1.EndpointSlice, maxPerSlice int) Plan {
	if !selective(service) {
		return Plan{}
	}
	p := &planner{
		slices:      newTemplate(service),
		creates:     service.DeletionTimestamp == nil,
		maxPerSlice: maxPerSlice,
	}
	candidates, problems := read(service, workloads)
	p.plan.Problems = problems
	families := familiesOf(service)
	current := p.adopt(service, existing, families)
	for _, family := range families {
		p.family(family, candidates, current[family])
	}
	return p.plan
}

// familiesOf returns the address types for which a Service has slices (spec/destination.md §8.4.1).
func familiesOf(service *corev1.Service) []discoveryv1.AddressType {
	if len(service.Spec.IPFamilies) == 0 {
		return []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6}
	}
	families := make([]discoveryv1.AddressType, len(service.Spec.IPFamilies))
	for i, f := range service.Spec.IPFamilies {
		families[i] = discoveryv1.AddressType(f) // spelled the same
	}
	return families
}

// planner makes one plan.
type planner struct {
	slices *template
	// creates is false for a Service that is being deleted.
	creates     bool
	maxPerSlice int
	plan        Plan
}

// adopt returns the slices that can be kept, by address type. It plans to delete the others
// (spec/destination.md §8.4.1, §8.4.2).
func (p *planner) adopt(
	service *corev1.Service, existing []*discoveryv1.EndpointSlice, families []discoveryv1.AddressType,
) map[discoveryv1.AddressType][]*discoveryv1.EndpointSlice {
	current := map[discoveryv1.AddressType][]*discoveryv1.EndpointSlice{}
	for _, s := range existing {
		if ownedBy(s, service) && slices.Contains(families, s.AddressType) {
			current[s.AddressType] = append(current[s.AddressType], s)
		} else {
			p.plan.Delete = append(p.plan.Delete, s)
		}
	}
	return current
}

// family plans the slices of one address type (spec/destination.md §8.4.5 to §8.4.7).
func (p *planner) family(family discoveryv1.AddressType, candidates []candidate, current []*discoveryv1.EndpointSlice) {
	byPorts := map[slicestore.PortSet][]*discoveryv1.EndpointSlice{}
	for _, s := range current {
		set := slicestore.PortSetOf(s.Ports)
		byPorts[set] = append(byPorts[set], s)
	}
	var written []*bin
	kept := map[*discoveryv1.EndpointSlice]bool{}
	for _, g := range groupsOf(family, candidates) {
		for _, b := range p.pack(g, byPorts[g.set]) {
			kept[b.slice] = true
			if b.changed {
				written = append(written, b)
			}
		}
	}
	p.write(written, slices.DeleteFunc(current, func(s *discoveryv1.EndpointSlice) bool { return kept[s] }))
}

// write adds bins to the plan. Bins without a slice take over slices that are no longer needed, which saves a
// create and a delete for one update (spec/destination.md §8.4.7).
func (p *planner) write(bins []*bin, unneeded []*discoveryv1.EndpointSlice) {
	m := movesOf(bins)
	for _, b := range bins {
		if b.slice != nil {
			continue
		}
		if i := m.reusable(b, unneeded); i >= 0 {
			b.slice = unneeded[i]
			unneeded = slices.Delete(unneeded, i, i+1)
		}
	}
	for _, b := range m.sorted(bins) {
		switch {
		case b.slice != nil:
			p.plan.Update = append(p.plan.Update, p.slices.slice(b))
		case p.creates:
			p.plan.Create = append(p.plan.Create, p.slices.slice(b))
		}
	}
	p.plan.Delete = append(p.plan.Delete, unneeded...)
}
