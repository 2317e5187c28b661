package mirroring

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	slicestore "github.com/signpostd/signpost/controllers/slices"
)

// Plan is the writes that mirror Endpoints.
type Plan struct {
	slicestore.Plan
	// Problems lists the parts of the Endpoints that aren't mirrored.
	Problems []Problem
	Stats    Stats
}

// Stats counts the effects of a plan.
type Stats struct {
	// Added, Updated and Removed are the numbers of changed endpoints.
	Added, Updated, Removed int
	// Skipped is the number of addresses that aren't mirrored.
	Skipped int
	// Endpoints and Slices are the numbers after the plan.
	Endpoints, Slices int
}

// Compute returns what to write for the Endpoints and the Service of a name, which are nil if they don't
// exist (spec/endpoints.md §14). The existing slices are those that mirror the Endpoints, in the order of
// their names. At most maxPerSubset addresses of each packed subset are mirrored.
func Compute(endpoints *corev1.Endpoints, service *corev1.Service, existing []*discoveryv1.EndpointSlice, maxPerSubset int) Plan {
	p := &planner{current: map[groupKey][]*discoveryv1.EndpointSlice{}}
	for _, s := range existing {
		of := keyOfSlice(s)
		p.current[of] = append(p.current[of], s)
	}
	if isMirrored(endpoints, service) {
		p.mirror(endpoints, maxPerSubset)
	}
	p.remove()
	return p.plan
}

// isMirrored reports whether the Endpoints of a Service are mirrored (§14.1). Endpoints of Services that
// select pods are not, because the EndpointSlice controllers serve those Services.
func isMirrored(endpoints *corev1.Endpoints, service *corev1.Service) bool {
	return endpoints != nil && isWanted(endpoints) && service != nil && !selects(service)
}

// isWanted reports whether the labels and annotations of Endpoints allow mirroring. Endpoints that an old
// program uses as its leader election lock are not mirrored.
func isWanted(endpoints *corev1.Endpoints) bool {
	_, lock := endpoints.Annotations[resourcelock.LeaderElectionRecordAnnotationKey]
	return !lock && endpoints.Labels[discoveryv1.LabelSkipMirror] != "true"
}

// selects reports whether a Service has a selector, whatever its type.
func selects(service *corev1.Service) bool { return service.Spec.Selector != nil }

// planner makes one plan.
type planner struct {
	// current has the existing slices, by name. Slices that are kept are removed from it.
	current map[groupKey][]*discoveryv1.EndpointSlice
	plan    Plan
}

// mirror plans the desired slices (§14.4).
func (p *planner) mirror(endpoints *corev1.Endpoints, maxPerSubset int) {
	t := newTemplate(endpoints)
	want := desire(endpoints.Subsets, maxPerSubset, t.maxSlices())
	p.plan.Problems = want.problems()
	p.plan.Stats.Skipped = want.invalid + want.overLimit + want.overTotal + want.overSlices
	p.plan.Stats.Slices = len(want.groups)
	var missing []*group
	for _, g := range want.groups {
		p.plan.Stats.Endpoints += len(g.endpoints)
		if kept := p.take(g.key); kept == nil {
			missing = append(missing, g)
		} else if d := g.compare(kept); d != (difference{}) || !t.describes(kept) {
			p.update(t, kept, g, d)
		}
	}
	for _, g := range missing {
		if kept := p.reuse(g.key.family); kept != nil {
			p.update(t, kept, g, g.compare(kept))
		} else if endpoints.DeletionTimestamp == nil {
			p.plan.Stats.Added += len(g.endpoints)
			p.plan.Create = append(p.plan.Create, t.slice(g, metav1.ObjectMeta{Namespace: t.namespace, GenerateName: t.prefix}))
		}
	}
}

func (p *planner) update(t *template, s *discoveryv1.EndpointSlice, g *group, d difference) {
	p.plan.Stats.Added += d.added
	p.plan.Stats.Updated += d.updated
	p.plan.Stats.Removed += d.removed
	p.plan.Update = append(p.plan.Update, t.slice(g, *s.ObjectMeta.DeepCopy()))
}

// take removes the first slice of a group from current and returns it; nil if there is none.
func (p *planner) take(of groupKey) *discoveryv1.EndpointSlice {
	list := p.current[of]
	if len(list) == 0 {
		return nil
	}
	p.current[of] = list[1:]
	return list[0]
}

// reuse takes the first unneeded slice of a family, which saves a create and a delete for one update. It must
// be called after all groups have taken theirs.
func (p *planner) reuse(family discoveryv1.AddressType) *discoveryv1.EndpointSlice {
	var first *discoveryv1.EndpointSlice
	for of, list := range p.current {
		if of.family == family && len(list) > 0 && (first == nil || list[0].Name < first.Name) {
			first = list[0]
		}
	}
	if first == nil {
		return nil
	}
	return p.take(keyOfSlice(first))
}

// remove plans to delete the slices that are not needed.
func (p *planner) remove() {
	for _, list := range p.current {
		for _, s := range list {
			p.plan.Stats.Removed += len(s.Endpoints)
			p.plan.Delete = append(p.plan.Delete, s)
		}
	}
	slices.SortFunc(p.plan.Delete, slicestore.ByName)
}
