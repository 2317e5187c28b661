package membership

import (
	"iter"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// namespace has the Services and workloads of one namespace.
type namespace[W any] struct {
	services  map[string]*service[W]
	workloads map[string]position[W]
	groups    map[identity]*group[W]
	// byPivot indexes the Services with a selector under one label of it.
	byPivot map[objectmeta.Label]set[service[W]]
	// byLabel indexes the groups under each of their labels.
	byLabel map[objectmeta.Label]set[group[W]]
	// version counts the changes of Services and selectors.
	version uint64
}

type service[W any] struct {
	object *corev1.Service
	// selector is sorted by key.
	selector objectmeta.Labels
	// alone has the name of the Service and never changes. Most workloads are selected by only one Service, and
	// alone is the list of its name.
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
	// services has the names of the Services that select the group, as of a version of the namespace. Callers
	// share the list, so it never changes.
	services []string
	version  uint64
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
		byPivot: map[objectmeta.Label]set[service[W]]{}, byLabel: map[objectmeta.Label]set[group[W]]{}, version: 1,
	}
}

func (ns *namespace[W]) addService(svc *corev1.Service) {
	s := &service[W]{object: svc, alone: [1]string{svc.Name}}
	ns.services[svc.Name] = s
	ns.version++
	if len(svc.Spec.Selector) == 0 {
		return
	}
	s.selector = objectmeta.NewLabels(svc.Spec.Selector)
	add(ns.byPivot, ns.pivot(s.selector), s)
}

func (ns *namespace[W]) removeService(s *service[W]) {
	delete(ns.services, s.object.Name)
	ns.version++
	// The pivot was the rarest label when the Service was added, and may not be now.
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
		for _, l := range labels {
			add(ns.byLabel, l, g)
		}
	}
	return g
}

// removeGroup undoes groupOf.
func (ns *namespace[W]) removeGroup(g *group[W]) {
	delete(ns.groups, identityOf(g.labels))
	for _, l := range g.labels {
		remove(ns.byLabel, l, g)
	}
}

func (ns *namespace[W]) selected(s *service[W]) iter.Seq[*group[W]] {
	return func(yield func(*group[W]) bool) {
		for g := range ns.byLabel[ns.pivot(s.selector)].all() {
			if s.selects(g.labels) && !yield(g) {
				return
			}
		}
	}
}

// keptNames is how many names a group keeps. With more of them, the lists of thousands of workloads that
// thousands of Services select would take gigabytes.
const keptNames = 16

// names returns the names of the Services that select a group.
func (ns *namespace[W]) names(g *group[W]) []string {
	if g.version == ns.version {
		return g.services
	}
	names := ns.find(g)
	if g.services, g.version = nil, 0; len(names) <= keptNames {
		g.services, g.version = names, ns.version
	}
	return names
}

// mostNames is how many Services may be affected by a change of a workload before all of the namespace count
// as affected, and mostCompared how many are compared with its labels. All namespaces wait meanwhile.
const mostNames, mostCompared = 1000, 20_000

// every stands for the names of all Services of the namespace. No Service has an empty name.
var every = []string{""}

// isEvery reports whether names stand for all Services of the namespace.
func isEvery(names []string) bool { return len(names) == 1 && names[0] == "" }

// Queue queues the Services of a namespace whose names a method of an [Index] returned: these or, if a change
// would have to be compared with too many of them, all.
func Queue(to Queuer, namespace string, names []string) {
	if isEvery(names) {
		to.AddNamespace(namespace)
		return
	}
	to.AddBatched(namespace, names...)
}

// Queuer is a queue of Services, such as a loop of package reconcile.
type Queuer interface {
	AddBatched(namespace string, names ...string)
	AddNamespace(namespace string)
}

// find is names without the group's list.
func (ns *namespace[W]) find(g *group[W]) (names []string) {
	compared := 0
	for _, l := range g.labels {
		compared += ns.byPivot[l].size()
	}
	if compared > mostCompared {
		return every
	}
	for _, l := range g.labels {
		for s := range ns.byPivot[l].all() {
			switch {
			case !s.selects(g.labels):
			case len(names) == mostNames:
				return every
			case len(names) == 0:
				names = s.alone[:]
			default:
				names = append(names, s.alone[0])
			}
		}
	}
	return names
}

func (g *group[W]) add(value W) position[W] {
	g.workloads = append(g.workloads, value)
	return position[W]{group: g, index: len(g.workloads) - 1}
}

func (s *service[W]) selects(labels objectmeta.Labels) bool {
	for _, l := range s.selector {
		if v, ok := labels.Get(l.Key); !ok || v != l.Value {
			return false
		}
	}
	return true
}
