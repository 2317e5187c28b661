package membership

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// Index knows the Services of a cluster and which workloads, of type W, each of
// them selects: those of its namespace that have all labels of its selector. A nil
// selector selects nothing, an empty one everything (spec/endpoints.md §4.3).
//
// The lists of names that its methods return are shared, among callers and with the
// index: they must not be changed. The index doesn't change them either, so that they may
// be kept.
type Index[W any] struct {
	describe func(W) (types.NamespacedName, objectmeta.Labels)

	mu         sync.RWMutex
	namespaces map[string]*namespace[W]
}

// New returns an empty index. The function describe returns the name and the labels of a
// workload; for one value always the same. Labels must not be changed. Workloads with equal
// labels cost least when they share them in memory, as package kube has them do.
func New[W any](describe func(W) (types.NamespacedName, objectmeta.Labels)) *Index[W] {
	return &Index[W]{describe: describe, namespaces: map[string]*namespace[W]{}}
}

// PutService adds a Service, or replaces the one of its name.
func (x *Index[W]) PutService(object *corev1.Service) {
	x.mu.Lock()
	defer x.mu.Unlock()
	ns := x.namespace(object.Namespace)
	if s := ns.services[object.Name]; s != nil {
		if sameSelector(s.object.Spec.Selector, object.Spec.Selector) {
			s.object = object
			return
		}
		ns.removeService(s)
	}
	ns.addService(object)
}

// DeleteService removes a Service. It does nothing if there is none of that name.
func (x *Index[W]) DeleteService(key types.NamespacedName) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.service(key)
	if s == nil {
		return
	}
	x.namespaces[key.Namespace].removeService(s)
	x.tidy(key.Namespace)
}

// Put adds a workload, or replaces the one of its name, and returns the names of
// the Services that are concerned: those that select the new one or selected the old one.
func (x *Index[W]) Put(value W) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return union(x.put(value))
}

// Relabel is Put for a workload of which nothing has changed but the labels: the Services
// that select it as they selected the old one are not concerned.
func (x *Index[W]) Relabel(value W) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return difference(x.put(value))
}

// put returns the names of the Services that selected the old workload, none if there was
// none, and of those that select the new one.
func (x *Index[W]) put(value W) (before, after []string) {
	key, labels := x.describe(value)
	ns := x.namespace(key.Namespace)
	at, known := ns.workloads[key.Name]
	if !known {
		g := ns.groupOf(labels)
		ns.workloads[key.Name] = g.add(value)
		return nil, g.services
	}
	if equal(at.group.labels, labels) {
		at.group.workloads[at.index] = value
		// The place is the same. But a map takes over the key of an assignment as well, so that
		// it doesn't keep the name of the old workload in memory beside that of the new one.
		ns.workloads[key.Name] = at
		return at.group.services, at.group.services
	}
	g := ns.groupOf(labels)
	ns.workloads[key.Name] = g.add(value)
	x.leave(ns, at)
	return at.group.services, g.services
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
	x.leave(ns, at)
	x.tidy(key.Namespace)
	return at.group.services
}

// leave takes a workload out of its group. The last one of the group takes its place,
// and the group ends with its last workload.
func (x *Index[W]) leave(ns *namespace[W], at place[W]) {
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

// Service returns a Service with the workloads that it selects, in no particular
// order. The Service is nil when there is none of that name. The list of workloads is the
// caller's.
func (x *Index[W]) Service(key types.NamespacedName) (*corev1.Service, []W) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := x.service(key)
	if s == nil {
		return nil, nil
	}
	size := 0
	for g := range s.groups.all() {
		size += len(g.workloads)
	}
	members := make([]W, 0, size)
	for g := range s.groups.all() {
		members = append(members, g.workloads...)
	}
	return s.object, members
}

// Get returns a Service, or nil when there is none of that name.
func (x *Index[W]) Get(key types.NamespacedName) *corev1.Service {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if s := x.service(key); s != nil {
		return s.object
	}
	return nil
}

// Services returns the names of the Services that select something, in no
// particular order.
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

// SelectedBy returns the names of the Services that select a workload.
func (x *Index[W]) SelectedBy(key types.NamespacedName) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if _, at := x.workload(key); at.group != nil {
		return at.group.services
	}
	return nil
}

// service returns nil when there is no Service of that name.
func (x *Index[W]) service(key types.NamespacedName) *service[W] {
	ns := x.namespaces[key.Namespace]
	if ns == nil {
		return nil
	}
	return ns.services[key.Name]
}

// workload returns the place of a workload and its namespace; no group when there is no
// workload of that name.
func (x *Index[W]) workload(key types.NamespacedName) (*namespace[W], place[W]) {
	ns := x.namespaces[key.Namespace]
	if ns == nil {
		return nil, place[W]{}
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

// tidy forgets a namespace of which nothing is left.
func (x *Index[W]) tidy(name string) {
	if ns := x.namespaces[name]; len(ns.services) == 0 && len(ns.workloads) == 0 {
		delete(x.namespaces, name)
	}
}
