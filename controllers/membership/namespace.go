package membership

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// namespace has the Services and workloads of one namespace.
type namespace[W any] struct {
	services  map[string]*service[W]
	workloads map[string]place[W]
	groups    map[identity]*group[W]
	// byPivot files the Services that select something under one label of their
	// selector; those with an empty selector are under the zero Label.
	byPivot map[objectmeta.Label]set[service[W]]
	// byLabel files the groups under each of their labels.
	byLabel map[objectmeta.Label]set[group[W]]
}

type service[W any] struct {
	object *corev1.Service
	// selector is sorted by key.
	selector objectmeta.Labels
	// groups are those that the Service selects.
	groups set[group[W]]
	// alone has the name of the Service and is never written to. The groups that no other
	// Service selects, which are most groups, all have it as their list.
	alone [1]string
}

// group are workloads that have the same labels, and so are selected by the same Services:
// those of one Deployment, most often. There is at least one. Two groups may have equal
// labels, and a workload may be in either.
type group[W any] struct {
	// labels are kept by the group: while it is there, no others can be where they are.
	labels objectmeta.Labels
	// workloads are in no particular order.
	workloads []W
	// services has the names of the Services that select the group. Callers have it too: it
	// is replaced, and never written to.
	services []string
}

// place says where a workload is.
type place[W any] struct {
	group *group[W]
	index int
}

// identity tells where in memory labels are, which is cheaper to look up than what they
// are. Labels of one identity are equal; those of two may be equal as well.
type identity struct {
	first *objectmeta.Label
	// count is part of it because some labels may be the beginning of others.
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
		services: map[string]*service[W]{}, workloads: map[string]place[W]{}, groups: map[identity]*group[W]{},
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
		g.leave(s)
	}
	// The pivot was the rarest label when the Service came, which it need not be now.
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

// groupOf returns the group of workloads that have these very labels. It may be new, and
// then a workload has to be added.
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

// file puts a group under its labels and into the Services that select it.
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

// removeGroup undoes groupOf, but leaves the group the names of its Services.
func (ns *namespace[W]) removeGroup(g *group[W]) {
	delete(ns.groups, identityOf(g.labels))
	for _, l := range g.labels {
		remove(ns.byLabel, l, g)
	}
	for _, name := range g.services {
		ns.services[name].groups.remove(g)
	}
}

// add returns the place of the workload.
func (g *group[W]) add(value W) place[W] {
	g.workloads = append(g.workloads, value)
	return place[W]{group: g, index: len(g.workloads) - 1}
}

func (g *group[W]) join(s *service[W]) {
	s.groups.add(g)
	if len(g.services) == 0 {
		g.services = s.alone[:]
		return
	}
	g.services = slices.Concat(g.services, s.alone[:])
}

// leave is for a Service that goes: it keeps its list of groups.
func (g *group[W]) leave(s *service[W]) {
	var others []string
	for _, name := range g.services {
		if name != s.alone[0] {
			others = append(others, name)
		}
	}
	g.services = others
}

func (s *service[W]) selects(labels objectmeta.Labels) bool {
	for _, l := range s.selector {
		if v, ok := labels.Get(l.Key); !ok || v != l.Value {
			return false
		}
	}
	return true
}
