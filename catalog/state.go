package catalog

import (
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
)

// state has all objects of the catalog, and indexes from an object to the Services that depend on it. The
// goroutine of Run changes it under the write lock of the Catalog. Readers hold the read lock and may only
// fill the caches, which are atomic.
type state struct {
	services     map[ServiceKey]*Service
	slices       map[ID]*sliceEntry
	slicesOf     map[ServiceKey]set[*sliceEntry]
	namespaces   map[namespaceKey]*namespace
	owners       map[ID]*Owner
	ownedBy      map[ID]map[*workloadEntry]struct{}
	nodes        map[nodeKey]*NodeState
	regions      regions
	servers      map[ID]*Server
	profiles     map[ID]*ServiceProfile
	clusters     map[string]*Cluster
	forgotten    map[string][]ID // objects of removed clusters that are not deleted yet
	waiting      waitingServers
	imports      importIndex
	addresses    addressIndex
	dependencies dependencies

	// unknownNode is the state of every node that is not in nodes.
	unknownNode *NodeState

	// checks is the number of requirements of Servers that the current step has checked.
	checks int
	// dirty has the Services, and moved the states of nodes, that the current step has made stale.
	dirty map[ServiceKey]struct{}
	moved []*NodeState
}

type namespaceKey struct{ cluster, name string }

type nodeKey struct{ cluster, name string }

// namespace has the workloads of one namespace and its opaque Servers.
type namespace struct {
	workloads map[WorkloadKey]*workloadEntry
	servers   []*Server
}

// workloadEntry is a workload. Its field workload is nil if a slice names the workload before it is put.
type workloadEntry struct {
	workload *Workload
	target   atomic.Pointer[Target] // computed on demand; nil after a change
	// selected has the opaque Servers that select the workload, sorted by name. It is computed on demand, is nil
	// after a change of the labels, and follows changes of Servers.
	selected atomic.Pointer[[]*Server]
	slices   set[*sliceEntry] // the slices with an endpoint that names the workload
}

// sliceEntry is a slice with the addresses compiled from it.
type sliceEntry struct {
	slice    *EndpointSlice
	targets  []*workloadEntry // in the order of the endpoints; nil where there is no targetRef
	compiled atomic.Pointer[compiledSlice]
	// previous has the addresses before the last change. They are kept until the slice is compiled again, so
	// that unchanged addresses keep their pointers.
	previous atomic.Pointer[compiledSlice]
}

func newState() *state {
	return &state{
		services:     map[ServiceKey]*Service{},
		slices:       map[ID]*sliceEntry{},
		slicesOf:     map[ServiceKey]set[*sliceEntry]{},
		namespaces:   map[namespaceKey]*namespace{},
		owners:       map[ID]*Owner{},
		ownedBy:      map[ID]map[*workloadEntry]struct{}{},
		nodes:        map[nodeKey]*NodeState{},
		regions:      regions{counts: map[string]map[string]int{}, counted: map[string]struct{}{}},
		servers:      map[ID]*Server{},
		profiles:     map[ID]*ServiceProfile{},
		clusters:     map[string]*Cluster{},
		forgotten:    map[string][]ID{},
		waiting:      waitingServers{changes: map[namespaceKey]map[ID]Object{}},
		imports:      importIndex{ofService: map[ServiceKey]map[ServiceKey]struct{}{}, ofCluster: map[string]map[ServiceKey]struct{}{}},
		addresses:    newAddressIndex(),
		dependencies: dependencies{watchers: map[dependency]map[*watch]struct{}{}},
		unknownNode:  newNodeState("", ""),
		dirty:        map[ServiceKey]struct{}{},
	}
}

// apply sets the value of an object; nil deletes it.
func (s *state) apply(id ID, value Object) {
	switch id.Kind {
	case KindService:
		v, _ := value.(*Service)
		s.setService(ServiceKey{id.Cluster, id.Namespace, id.Name}, v)
	case KindEndpointSlice:
		v, _ := value.(*EndpointSlice)
		s.setSlice(id, v)
	case KindWorkload:
		v, _ := value.(*Workload)
		s.setWorkload(WorkloadKey{WorkloadKind(id.Qualifier), id.Cluster, id.Namespace, id.Name}, v)
	case KindNode:
		v, _ := value.(*Node)
		s.setNode(nodeKey{id.Cluster, id.Name}, v)
	case KindOwner:
		v, _ := value.(*Owner)
		s.setOwner(id, v)
	case KindServer:
		v, _ := value.(*Server)
		s.setServer(id, v)
	case KindServiceProfile:
		v, _ := value.(*ServiceProfile)
		s.setProfile(id, v)
	case KindCluster:
		v, _ := value.(*Cluster)
		s.setCluster(id, v)
	}
}

func (s *state) setService(key ServiceKey, v *Service) {
	s.unindexService(s.services[key])
	s.imports.remove(s.services[key])
	s.serviceListChanged(s.services[key], v)
	s.imports.add(v)
	if v == nil {
		delete(s.services, key)
	} else {
		s.services[key] = v
	}
	s.indexService(v)
	s.dependencies.changed(dependency{object: (&Service{Key: key}).ID()})
	s.mark(key)
}

// mark makes stale the snapshots of the Service and of the Services that have it as a member.
func (s *state) mark(key ServiceKey) {
	s.dirty[key] = struct{}{}
	for importer := range s.imports.ofService[key] {
		s.dirty[importer] = struct{}{}
	}
}

func (s *state) setProfile(id ID, v *ServiceProfile) {
	if v == nil {
		delete(s.profiles, id)
	} else {
		s.profiles[id] = v
	}
	s.dependencies.changed(dependency{object: id})
}

func (s *state) setSlice(id ID, v *EndpointSlice) {
	old := s.slices[id]
	if old != nil {
		s.unlinkSlice(old)
	}
	if v == nil {
		delete(s.slices, id)
		return
	}
	e := &sliceEntry{slice: v}
	if old != nil {
		e.previous.Store(old.latest())
	}
	s.slices[id] = e
	s.linkSlice(e)
}

func (s *state) linkSlice(e *sliceEntry) {
	addTo(s.slicesOf, e.slice.Service, e)
	s.slicesChanged(e.slice.Service)
	for _, subset := range e.slice.Subsets {
		for i := range subset.Endpoints {
			e.targets = append(e.targets, s.linkTarget(e, subset.Endpoints[i].Target))
		}
	}
}

func (s *state) sortedSlices(key ServiceKey) []*sliceEntry {
	return slices.SortedFunc(slices.Values(valuesOf(s.slicesOf, key)), func(a, b *sliceEntry) int {
		return strings.Compare(a.slice.Name, b.slice.Name)
	})
}

func (s *state) slicesChanged(key ServiceKey) {
	s.mark(key)
	s.dependencies.changed(dependency{slicesOf: key})
}

func (s *state) linkTarget(e *sliceEntry, key WorkloadKey) *workloadEntry {
	if key.Kind == "" {
		return nil
	}
	w := s.workload(key)
	w.slices.add(e)
	return w
}

func (s *state) unlinkSlice(e *sliceEntry) {
	key := e.slice.Service
	removeFrom(s.slicesOf, key, e)
	s.slicesChanged(key)
	at := 0
	for _, subset := range e.slice.Subsets {
		for i := range subset.Endpoints {
			if w := e.targets[at]; w != nil {
				w.slices.remove(e)
				s.forget(subset.Endpoints[i].Target, w)
			}
			at++
		}
	}
}

// workload returns the entry of a workload, and creates a missing one.
func (s *state) workload(key WorkloadKey) *workloadEntry {
	ns := s.ensureNamespace(namespaceKey{key.Cluster, key.Namespace})
	w := ns.workloads[key]
	if w == nil {
		w = &workloadEntry{}
		ns.workloads[key] = w
	}
	return w
}

// forget deletes the entry of a workload that does not exist and that no slice names.
func (s *state) forget(key WorkloadKey, w *workloadEntry) {
	if w.workload != nil || w.slices.len() > 0 {
		return
	}
	nsKey := namespaceKey{key.Cluster, key.Namespace}
	if ns := s.namespaces[nsKey]; ns != nil && ns.workloads[key] == w {
		delete(ns.workloads, key)
		s.forgetNamespace(nsKey, ns)
	}
}

func (s *state) ensureNamespace(key namespaceKey) *namespace {
	ns := s.namespaces[key]
	if ns == nil {
		ns = &namespace{workloads: map[WorkloadKey]*workloadEntry{}}
		s.namespaces[key] = ns
	}
	return ns
}

func (s *state) forgetNamespace(key namespaceKey, ns *namespace) {
	if len(ns.workloads) == 0 && len(ns.servers) == 0 {
		delete(s.namespaces, key)
	}
}

// namespace returns a namespace, an empty one if it has no objects.
func (s *state) namespace(cluster, name string) *namespace {
	if ns := s.namespaces[namespaceKey{cluster, name}]; ns != nil {
		return ns
	}
	return &namespace{}
}

func (s *state) setWorkload(key WorkloadKey, v *Workload) {
	w := s.workload(key)
	if w.workload != nil && v != nil && w.workload.sameButReady(v) {
		// The readiness of endpoints comes from slices. So no snapshot of a Service changes, and the Target
		// keeps its pointer.
		w.workload = v
		s.workloadChanged(v)
		return
	}
	if w.workload != nil {
		s.workloadChanged(w.workload) // the old value; touch reports the new one
		id := w.workload.ownerID()
		delete(s.ownedBy[id], w)
		if len(s.ownedBy[id]) == 0 {
			delete(s.ownedBy, id)
		}
	}
	s.unindexWorkload(w)
	if w.workload == nil || v == nil || !slices.Equal(w.workload.Labels, v.Labels) {
		w.selected.Store(nil)
	}
	w.workload = v
	s.indexWorkload(w)
	if v != nil && v.Owner != (OwnerRef{}) {
		id := v.ownerID()
		if s.ownedBy[id] == nil {
			s.ownedBy[id] = map[*workloadEntry]struct{}{}
		}
		s.ownedBy[id][w] = struct{}{}
	}
	s.touch(w)
	s.forget(key, w)
}

// sameButReady reports whether the readiness is the only difference.
func (w *Workload) sameButReady(other *Workload) bool {
	if w.Ready == other.Ready {
		return false
	}
	changed := *w
	changed.Ready = other.Ready
	return reflect.DeepEqual(&changed, other)
}

// touch makes stale everything that was derived from a workload.
func (s *state) touch(w *workloadEntry) {
	w.target.Store(nil)
	if w.workload != nil {
		s.workloadChanged(w.workload)
	}
	for _, e := range w.slices.list() {
		e.previous.Store(e.latest())
		e.compiled.Store(nil)
		s.mark(e.slice.Service)
	}
}

func (s *state) setNode(key nodeKey, v *Node) {
	old := s.nodes[key]
	switch {
	case v == nil && old == nil, v != nil && old != nil && old.Zone == v.Zone && old.region == v.Region:
		return
	case v == nil:
		delete(s.nodes, key)
	default:
		s.nodes[key] = newNodeState(v.Zone, v.Region)
	}
	s.countRegion(key, old, -1)
	s.countRegion(key, s.nodes[key], +1)
	if old == nil {
		// Readers that looked up this node before it was known have this state.
		old, s.unknownNode = s.unknownNode, newNodeState("", "")
	}
	s.moved = append(s.moved, old)
}

func (s *state) setOwner(id ID, v *Owner) {
	if v == nil {
		delete(s.owners, id)
	} else {
		s.owners[id] = v
	}
	for w := range s.ownedBy[id] {
		s.touch(w)
	}
}

// latest returns the newest compiled addresses of the slice, or nil.
func (e *sliceEntry) latest() *compiledSlice {
	if c := e.compiled.Load(); c != nil {
		return c
	}
	return e.previous.Load()
}
