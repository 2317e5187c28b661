package catalog

import (
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
)

// state has all objects of the catalog, and the indexes that lead from a changed object to the
// Services that depend on it. The goroutine of Run changes it under the write lock of the
// Catalog. Readers hold the read lock and may only fill the caches, which are atomic.
type state struct {
	services   map[ServiceKey]*Service
	slices     map[ID]*sliceEntry
	slicesOf   map[ServiceKey][]*sliceEntry // sorted by slice name
	namespaces map[namespaceKey]*namespace
	owners     map[ID]*Owner
	ownedBy    map[ID]map[*workloadEntry]struct{}
	nodes      map[nodeKey]*NodeState
	regions    regions
	servers    map[ID]*Server
	profiles   map[ID]*ServiceProfile
	clusters   map[string]*Cluster
	forgotten  map[string][]ID // objects of forgotten clusters that are still to be deleted
	imports    importIndex
	addresses  addressIndex
	facts      facts

	// unknownNode stands for every node that is not in nodes.
	unknownNode *NodeState

	// dirty and moved collect, during one step, the Services whose snapshots are out of date,
	// and the states of nodes that are.
	dirty map[ServiceKey]struct{}
	moved []*NodeState
}

type namespaceKey struct{ cluster, name string }

type nodeKey struct{ cluster, name string }

// namespace holds the workloads of one namespace and the Servers that may
// select them.
type namespace struct {
	workloads map[WorkloadKey]*workloadEntry
	servers   serverIndex
}

// workloadEntry is a workload. Its workload is nil while a slice names it and it hasn't been put.
type workloadEntry struct {
	workload *Workload
	target   atomic.Pointer[Target] // nil until somebody asks, and again after a change
	slices   []*sliceEntry          // those with an endpoint that names the workload
}

// sliceEntry is a slice with the addresses compiled from it.
type sliceEntry struct {
	slice    *EndpointSlice
	targets  []*workloadEntry // in the order of the endpoints; nil where there is no targetRef
	compiled atomic.Pointer[compiledSlice]
	// previous has the addresses before the last change. They are kept until the slice is
	// compiled again, so that unchanged addresses stay the same values.
	previous atomic.Pointer[compiledSlice]
}

func newState() *state {
	return &state{
		services:    map[ServiceKey]*Service{},
		slices:      map[ID]*sliceEntry{},
		slicesOf:    map[ServiceKey][]*sliceEntry{},
		namespaces:  map[namespaceKey]*namespace{},
		owners:      map[ID]*Owner{},
		ownedBy:     map[ID]map[*workloadEntry]struct{}{},
		nodes:       map[nodeKey]*NodeState{},
		regions:     regions{counts: map[string]map[string]int{}},
		servers:     map[ID]*Server{},
		profiles:    map[ID]*ServiceProfile{},
		clusters:    map[string]*Cluster{},
		forgotten:   map[string][]ID{},
		imports:     newImportIndex(),
		addresses:   newAddressIndex(),
		facts:       newFacts(),
		unknownNode: newNodeState("", ""),
		dirty:       map[ServiceKey]struct{}{},
	}
}

// apply makes value, which is nil for a deletion, the state of the object.
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
	s.unfileService(s.services[key])
	s.imports.remove(s.services[key])
	s.imports.add(v)
	if v == nil {
		delete(s.services, key)
	} else {
		s.services[key] = v
	}
	s.fileService(v)
	s.facts.changed(fact{object: (&Service{Key: key}).ID()})
	s.mark(key)
}

// mark makes the snapshots stale that show the Service: its own, and those of the
// Services that have it as a member.
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
	s.facts.changed(fact{object: id})
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
	list := s.slicesOf[e.slice.Service]
	at, _ := slices.BinarySearchFunc(list, e.slice.Name, func(other *sliceEntry, name string) int {
		return strings.Compare(other.slice.Name, name)
	})
	s.slicesOf[e.slice.Service] = slices.Insert(list, at, e)
	s.slicesChanged(e.slice.Service)
	for _, subset := range e.slice.Subsets {
		for i := range subset.Endpoints {
			e.targets = append(e.targets, s.linkTarget(e, subset.Endpoints[i].Target))
		}
	}
}

func (s *state) slicesChanged(key ServiceKey) {
	s.mark(key)
	s.facts.changed(fact{slicesOf: key})
}

func (s *state) linkTarget(e *sliceEntry, key WorkloadKey) *workloadEntry {
	if key.Kind == "" {
		return nil
	}
	w := s.workload(key)
	if !slices.Contains(w.slices, e) {
		w.slices = append(w.slices, e)
	}
	return w
}

func (s *state) unlinkSlice(e *sliceEntry) {
	key := e.slice.Service
	list := slices.DeleteFunc(s.slicesOf[key], func(other *sliceEntry) bool { return other == e })
	if len(list) == 0 {
		delete(s.slicesOf, key)
	} else {
		s.slicesOf[key] = list
	}
	s.slicesChanged(key)
	at := 0
	for _, subset := range e.slice.Subsets {
		for i := range subset.Endpoints {
			if w := e.targets[at]; w != nil {
				w.slices = slices.DeleteFunc(w.slices, func(other *sliceEntry) bool { return other == e })
				s.forget(subset.Endpoints[i].Target, w)
			}
			at++
		}
	}
}

// workload returns the entry of a workload, and makes one if there is none.
func (s *state) workload(key WorkloadKey) *workloadEntry {
	ns := s.ensureNamespace(namespaceKey{key.Cluster, key.Namespace})
	w := ns.workloads[key]
	if w == nil {
		w = &workloadEntry{}
		ns.workloads[key] = w
	}
	return w
}

// forget drops the entry of a workload that doesn't exist and that no slice names.
func (s *state) forget(key WorkloadKey, w *workloadEntry) {
	if w.workload != nil || len(w.slices) > 0 {
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
	if len(ns.workloads) == 0 && ns.servers.empty() {
		delete(s.namespaces, key)
	}
}

// namespace returns a namespace, an empty one if the state has none.
func (s *state) namespace(cluster, name string) *namespace {
	if ns := s.namespaces[namespaceKey{cluster, name}]; ns != nil {
		return ns
	}
	return &namespace{}
}

func (s *state) setWorkload(key WorkloadKey, v *Workload) {
	w := s.workload(key)
	if w.workload != nil && v != nil && w.workload.sameButReady(v) {
		// Slices say themselves which endpoints are ready, so that no answer about a Service changes
		// and the Target stays the same value in all of them.
		w.workload = v
		s.workloadChanged(v)
		return
	}
	if w.workload != nil {
		s.workloadChanged(w.workload) // the old value; touch does it for the new one
		id := w.workload.ownerID()
		delete(s.ownedBy[id], w)
		if len(s.ownedBy[id]) == 0 {
			delete(s.ownedBy, id)
		}
	}
	s.unfileWorkload(w)
	w.workload = v
	s.fileWorkload(w)
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

// sameButReady reports whether only the readiness of two versions differs.
func (w *Workload) sameButReady(other *Workload) bool {
	if w.Ready == other.Ready {
		return false
	}
	changed := *w
	changed.Ready = other.Ready
	return reflect.DeepEqual(&changed, other)
}

// touch makes everything stale that was derived from a workload.
func (s *state) touch(w *workloadEntry) {
	w.target.Store(nil)
	if w.workload != nil {
		s.workloadChanged(w.workload)
	}
	for _, e := range w.slices {
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
		// Who asked for this node before it was known has this state.
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

func (s *state) setServer(id ID, v *Server) {
	nsKey := namespaceKey{id.Cluster, id.Namespace}
	ns := s.ensureNamespace(nsKey)
	old := s.servers[id]
	if old != nil {
		ns.servers.remove(old)
		delete(s.servers, id)
	}
	if v != nil {
		ns.servers.add(v)
		s.servers[id] = v
	}
	for _, w := range ns.workloads {
		if w.workload != nil && (old.affects(w.workload) || v.affects(w.workload)) {
			s.touch(w)
		}
	}
	s.forgetNamespace(nsKey, ns)
}

// latest returns the newest addresses compiled for the slice, nil when it has
// never been compiled.
func (e *sliceEntry) latest() *compiledSlice {
	if c := e.compiled.Load(); c != nil {
		return c
	}
	return e.previous.Load()
}
