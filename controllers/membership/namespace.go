package membership

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// namespace has the Services and workloads of one namespace.
type namespace[W any] struct {
	services  map[string]*service[W]
	workloads map[string]position[W]
	groups    map[identity]*group[W]
	// byPivot indexes the Services with a selector under one label of it. Services with an empty selector are
	// under the zero Label.
	byPivot map[objectmeta.Label]set[service[W]]
	// byLabel indexes the groups under each of their labels.
	byLabel map[objectmeta.Label]set[group[W]]
}

type service[W any] struct {
	object *corev1.Service
	// selector is sorted by key.
	selector objectmeta.Labels
	// groups are the groups that the Service selects.
	groups set[group[W]]
	// alone has the name of the Service and never changes. Most groups are selected by only one Service and
	// use alone as their list.
	alone [1]string
}

// group is workloads with the same labels, which therefore are selected by the same Services: mostly those of
// one Deployment. It has at least one workload. Two groups may have equal labels, and a workload may be in
// either.
type group[W any] struct {
	// labels are referenced by the group, so that no other labels can have their address.
	labels objectmeta.Labels
	// workloads are in no particular order.
	workloads []W
	// services has the names of the Services that select the group, and of the last ones that no longer do;
	// see names. Callers share the list, so its names never change: the list grows behind them, or is replaced.
	services []string
	// former is how many names in services are of Services that no longer select the group.
	former int
}

// position is the position of a workload in its group.
type position[W any] struct {
	group *group[W]
	index int
}

// identity is the address of labels in memory, which is cheaper to look up than their contents. Labels with
// the same identity are equal; labels with different identities may be equal, too.
type identity struct {
	first *objectmeta.Label
	// count distinguishes labels that are a prefix of others.
	count int
}

func identityOf(labels objectmeta.Labels) identity {
	if len(labels) == 0 {
		return identity{}
	}
	return identity{first: &labels[0], count: len(labels)}
}

func newNamespace[W any]() *namespace[W] {
	return &namespace[W]{
		services: map[string]*service[W]{}, workloads: map[string]position[W]{}, groups: map[identity]*group[W]{},
		byPivot: map[objectmeta.Label]set[service[W]]{}, byLabel: map[objectmeta.Label]set[group[W]]{},
	}
}

func (ns *namespace[W]) addService(svc *corev1.Service) {
	s := &service[W]{object: svc, alone: [1]string{svc.Name}}
	ns.services[svc.Name] = s
	if svc.Spec.Selector == nil {
		return
	}
	s.selector = objectmeta.NewLabels(svc.Spec.Selector)
	pivot := ns.pivot(s.selector)
	add(ns.byPivot, pivot, s)
	if len(s.selector) == 0 {
		for _, g := range ns.groups {
			g.join(s)
		}
		return
	}
	for g := range ns.byLabel[pivot].all() {
		if s.selects(g.labels) {
			g.join(s)
		}
	}
}

func (ns *namespace[W]) removeService(s *service[W]) {
	delete(ns.services, s.object.Name)
	for g := range s.groups.all() {
		// Removing the name from each list at once would take as long as all Services of the group.
		if g.former++; 2*g.former > len(g.services) {
			ns.names(g)
		}
	}
	// The pivot was the rarest label when the Service was added, and may not be now.
	remove(ns.byPivot, objectmeta.Label{}, s)
	for _, l := range s.selector {
		remove(ns.byPivot, l, s)
	}
}

// pivot returns the label of a selector that the fewest groups have.
func (ns *namespace[W]) pivot(selector objectmeta.Labels) objectmeta.Label {
	var rarest objectmeta.Label
	for i, l := range selector {
		if i == 0 || ns.byLabel[l].size() < ns.byLabel[rarest].size() {
			rarest = l
		}
	}
	return rarest
}

// groupOf returns the group of workloads with these very labels. If the group is new, the caller must add a
// workload.
func (ns *namespace[W]) groupOf(labels objectmeta.Labels) *group[W] {
	id := identityOf(labels)
	g := ns.groups[id]
	if g == nil {
		g = &group[W]{labels: labels}
		ns.groups[id] = g
		ns.file(g)
	}
	return g
}

// file indexes a group under its labels and adds it to the Services that select it.
func (ns *namespace[W]) file(g *group[W]) {
	for s := range ns.byPivot[objectmeta.Label{}].all() {
		g.join(s)
	}
	for _, l := range g.labels {
		add(ns.byLabel, l, g)
		for s := range ns.byPivot[l].all() {
			if s.selects(g.labels) {
				g.join(s)
			}
		}
	}
}

// removeGroup undoes groupOf, but keeps the names of the group's Services.
func (ns *namespace[W]) removeGroup(g *group[W]) {
	delete(ns.groups, identityOf(g.labels))
	for _, l := range g.labels {
		remove(ns.byLabel, l, g)
	}
	for _, name := range ns.names(g) {
		ns.services[name].groups.remove(g)
	}
}

// add adds a workload and returns its position.
func (g *group[W]) add(value W) position[W] {
	g.workloads = append(g.workloads, value)
	return position[W]{group: g, index: len(g.workloads) - 1}
}

func (g *group[W]) join(s *service[W]) {
	s.groups.add(g)
	g.list(s)
}

// list adds the name of a Service to the list.
func (g *group[W]) list(s *service[W]) {
	if len(g.services) == 0 {
		g.services = s.alone[:]
		return
	}
	g.services = append(g.services, s.alone[0])
}

// names returns the names of the Services that select a group. It removes other names from the group's list.
func (ns *namespace[W]) names(g *group[W]) []string {
	if g.former == 0 {
		return g.services
	}
	left := make(map[*service[W]]struct{}, len(g.services)-g.former)
	for _, name := range g.services {
		if s := ns.services[name]; s != nil && s.groups.has(g) {
			left[s] = struct{}{}
		}
	}
	g.services, g.former = nil, 0
	for s := range left {
		g.list(s)
	}
	return g.services
}

func (s *service[W]) selects(labels objectmeta.Labels) bool {
	for _, l := range s.selector {
		if v, ok := labels.Get(l.Key); !ok || v != l.Value {
			return false
		}
	}
	return true
}
