package membership

import (
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// Index has the Services of a cluster and which workloads, of type W, each of them selects: those of its
// namespace that have all labels of its selector (spec/endpoints.md §4.3). The API server stores an empty
// selector as none, which selects nothing.
//
// The lists of names that its methods return are shared and must not be changed. The index doesn't
// change them either, so callers may keep them. A list may stand for all Services of the namespace:
// it is for [Queue].
type Index[W any] struct {
	describe func(W) (types.NamespacedName, objectmeta.Labels)

	mu         sync.RWMutex
	namespaces map[string]*namespace[W]
}

// New returns an empty index. The function describe returns the name and the labels of a workload, always the
// same for one value. Labels must not be changed. Workloads with equal labels cost least if they share them
// in memory, as package kube makes them do.
func New[W any](describe func(W) (types.NamespacedName, objectmeta.Labels)) *Index[W] {
	return &Index[W]{describe: describe, namespaces: map[string]*namespace[W]{}}
}

// PutService adds a Service, or replaces the one of its name.
func (x *Index[W]) PutService(object *corev1.Service) {
	x.mu.Lock()
	defer x.mu.Unlock()
	ns := x.namespace(object.Namespace)
	if s := ns.services[object.Name]; s != nil {
		if maps.Equal(s.object.Spec.Selector, object.Spec.Selector) {
			s.object = object
			return
		}
		ns.removeService(s)
	}
	ns.addService(object)
}

// DeleteService removes a Service, if it exists.
func (x *Index[W]) DeleteService(key types.NamespacedName) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.service(key)
	if s == nil {
		return
	}
	x.namespaces[key.Namespace].removeService(s)
	x.removeIfEmpty(key.Namespace)
}

// Put adds a workload, or replaces the one of its name, and returns the names of the affected Services: those
// that select the new one or selected the old one.
func (x *Index[W]) Put(value W) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return union(x.put(value))
}

// Relabel is Put for a workload that has changed only in its labels: Services that select the new one and
// selected the old one are not affected.
func (x *Index[W]) Relabel(value W) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return difference(x.put(value))
}

// put returns the names of the Services that selected the old workload, if there was one, and of those that
// select the new one.
func (x *Index[W]) put(value W) (before, after []string) {
	key, labels := x.describe(value)
	ns := x.namespace(key.Namespace)
	at, known := ns.workloads[key.Name]
	if !known {
		g := ns.groupOf(labels)
		ns.workloads[key.Name] = g.add(value)
		return nil, ns.names(g)
	}
	if equal(at.group.labels, labels) {
		at.group.workloads[at.index] = value
		// The position is the same, but the assignment also replaces the key, so that the map doesn't keep
		// the old workload's name in memory.
		ns.workloads[key.Name] = at
		names := ns.names(at.group)
		return names, names
	}
	g := ns.groupOf(labels)
	ns.workloads[key.Name] = g.add(value)
	before = ns.names(at.group)
	x.leave(ns, at)
	return before, ns.names(g)
}

// Delete removes a workload and returns the names of the Services that selected it.
func (x *Index[W]) Delete(key types.NamespacedName) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	ns, at := x.workload(key)
	if at.group == nil {
		return nil
	}
	delete(ns.workloads, key.Name)
	names := ns.names(at.group)
	x.leave(ns, at)
	x.removeIfEmpty(key.Namespace)
	return names
}

// leave removes a workload from its group. The last workload of the group moves into its position; a group
// without workloads is removed.
func (x *Index[W]) leave(ns *namespace[W], at position[W]) {
	g := at.group
	last := len(g.workloads) - 1
	if at.index < last {
		moved := g.workloads[last]
		g.workloads[at.index] = moved
		key, _ := x.describe(moved)
		ns.workloads[key.Name] = at
	}
	clear(g.workloads[last:])
	g.workloads = g.workloads[:last]
	if last == 0 {
		ns.removeGroup(g)
	}
}

// Service returns a Service with the workloads that it selects, in no particular order. The Service is nil if
// there is none of that name. The caller owns the list of workloads.
func (x *Index[W]) Service(key types.NamespacedName) (*corev1.Service, []W) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := x.service(key)
	if s == nil {
		return nil, nil
	}
	var groups []*group[W]
	size := 0
	for g := range x.namespaces[key.Namespace].selected(s) {
		groups = append(groups, g)
		size += len(g.workloads)
	}
	members := make([]W, 0, size)
	for _, g := range groups {
		members = append(members, g.workloads...)
	}
	return s.object, members
}

// Get returns a Service, or nil if there is none of that name.
func (x *Index[W]) Get(key types.NamespacedName) *corev1.Service {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if s := x.service(key); s != nil {
		return s.object
	}
	return nil
}

// Services returns the names of the Services with a selector, in no particular order.
func (x *Index[W]) Services() []types.NamespacedName {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var keys []types.NamespacedName
	for name, ns := range x.namespaces {
		for _, s := range ns.services {
			if s.object.Spec.Selector != nil {
				keys = append(keys, types.NamespacedName{Namespace: name, Name: s.object.Name})
			}
		}
	}
	return keys
}

// ServicesIn returns the names of the Services with a selector in a namespace, in no particular order.
func (x *Index[W]) ServicesIn(namespace string) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	ns := x.namespaces[namespace]
	if ns == nil {
		return nil
	}
	names := make([]string, 0, len(ns.services))
	for name, s := range ns.services {
		if s.object.Spec.Selector != nil {
			names = append(names, name)
		}
	}
	return names
}

// SelectedBy returns the names of the Services that select a workload.
func (x *Index[W]) SelectedBy(key types.NamespacedName) []string {
	x.mu.Lock() // reading the names may change the group
	defer x.mu.Unlock()
	if ns, at := x.workload(key); at.group != nil {
		return ns.names(at.group)
	}
	return nil
}

// service returns nil if there is no Service of that name.
func (x *Index[W]) service(key types.NamespacedName) *service[W] {
	ns := x.namespaces[key.Namespace]
	if ns == nil {
		return nil
	}
	return ns.services[key.Name]
}

// workload returns the namespace and the position of a workload. The position has no group if there is no
// workload of that name.
func (x *Index[W]) workload(key types.NamespacedName) (*namespace[W], position[W]) {
	ns := x.namespaces[key.Namespace]
	if ns == nil {
		return nil, position[W]{}
	}
	return ns, ns.workloads[key.Name]
}

func (x *Index[W]) namespace(name string) *namespace[W] {
	ns := x.namespaces[name]
	if ns == nil {
		ns = newNamespace[W]()
		x.namespaces[name] = ns
	}
	return ns
}

func (x *Index[W]) removeIfEmpty(name string) {
	if ns := x.namespaces[name]; len(ns.services) == 0 && len(ns.workloads) == 0 {
		delete(x.namespaces, name)
	}
}
