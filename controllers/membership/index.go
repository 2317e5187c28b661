package membership

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/catalog"
)

// Index knows the Services of a cluster and which workloads, of type W, each of
// them selects: those of its namespace that have all labels of its selector. A nil
// selector selects nothing, an empty one everything (spec/endpoints.md §4.3).
type Index[W any] struct {
	describe func(W) (types.NamespacedName, catalog.Labels)

	mu         sync.RWMutex
	namespaces map[string]*namespace[W]
}

// namespace has the Services and workloads of one namespace, by name.
type namespace[W any] struct {
	services  map[string]*service[W]
	workloads map[string]*workload[W]
	// byPivot files the Services that select something under one label of their
	// selector; those with an empty selector are under the zero Label.
	byPivot map[catalog.Label]map[*service[W]]struct{}
	// byLabel files the workloads under each of their labels.
	byLabel map[catalog.Label]map[*workload[W]]struct{}
}

type service[W any] struct {
	object *corev1.Service
	// selector is sorted by key.
	selector catalog.Labels
	members  map[*workload[W]]struct{}
}

type workload[W any] struct {
	value    W
	labels   catalog.Labels
	services []*service[W]
}

// New returns an empty index. The function describe returns the name and the labels of a
// workload.
func New[W any](describe func(W) (types.NamespacedName, catalog.Labels)) *Index[W] {
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
	ns := x.namespace(key.Namespace)
	if s := ns.services[key.Name]; s != nil {
		ns.removeService(s)
	}
	x.tidy(key.Namespace)
}

// Put adds a workload, or replaces the one of its name, and returns the names of
// the Services that are concerned: those that select the new one or selected the old
// one. When only the labels changed, so that content is false, those that select both
// are not among them.
func (x *Index[W]) Put(value W, content bool) []string {
	key, labels := x.describe(value)
	x.mu.Lock()
	defer x.mu.Unlock()
	ns := x.namespace(key.Namespace)
	w := ns.workloads[key.Name]
	if w == nil {
		w = &workload[W]{value: value, labels: labels}
		ns.addWorkload(key.Name, w)
		return names(w.services)
	}
	w.value = value
	if equal(w.labels, labels) {
		if content {
			return names(w.services)
		}
		return nil
	}
	old := w.services
	ns.unfile(w)
	w.labels = labels
	ns.file(w)
	return concerned(old, w.services, content)
}

// Delete removes a workload and returns the names of the Services that selected it.
func (x *Index[W]) Delete(key types.NamespacedName) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	ns := x.namespace(key.Namespace)
	defer x.tidy(key.Namespace)
	w := ns.workloads[key.Name]
	if w == nil {
		return nil
	}
	selected := w.services
	ns.unfile(w)
	delete(ns.workloads, key.Name)
	return names(selected)
}

// Service returns a Service with the workloads that it selects, in no particular
// order. The Service is nil when there is none of that name.
func (x *Index[W]) Service(key types.NamespacedName) (*corev1.Service, []W) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := x.service(key)
	if s == nil {
		return nil, nil
	}
	members := make([]W, 0, len(s.members))
	for w := range s.members {
		members = append(members, w.value)
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

// service returns nil when there is no Service of that name.
func (x *Index[W]) service(key types.NamespacedName) *service[W] {
	ns := x.namespaces[key.Namespace]
	if ns == nil {
		return nil
	}
	return ns.services[key.Name]
}

// Services returns the names of the Services that select something, in no
// particular order.
func (x *Index[W]) Services() []types.NamespacedName {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var keys []types.NamespacedName
	for name, ns := range x.namespaces {
		for _, filed := range ns.byPivot {
			for s := range filed {
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
	ns := x.namespaces[key.Namespace]
	if ns == nil || ns.workloads[key.Name] == nil {
		return nil
	}
	return names(ns.workloads[key.Name].services)
}

func (x *Index[W]) namespace(name string) *namespace[W] {
	ns := x.namespaces[name]
	if ns == nil {
		ns = &namespace[W]{
			services: map[string]*service[W]{}, workloads: map[string]*workload[W]{},
			byPivot: map[catalog.Label]map[*service[W]]struct{}{}, byLabel: map[catalog.Label]map[*workload[W]]struct{}{},
		}
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

func (ns *namespace[W]) addService(object *corev1.Service) {
	s := &service[W]{object: object}
	ns.services[object.Name] = s
	if object.Spec.Selector == nil {
		return
	}
	s.selector, s.members = catalog.NewLabels(object.Spec.Selector), map[*workload[W]]struct{}{}
	pivot := ns.pivot(s.selector)
	add(ns.byPivot, pivot, s)
	if len(s.selector) == 0 {
		for _, w := range ns.workloads {
			s.join(w)
		}
		return
	}
	for w := range ns.byLabel[pivot] {
		if s.selects(w.labels) {
			s.join(w)
		}
	}
}

func (ns *namespace[W]) removeService(s *service[W]) {
	delete(ns.services, s.object.Name)
	for w := range s.members {
		w.leave(s)
	}
	// The pivot was the rarest label when the Service came, which it need not be now.
	remove(ns.byPivot, catalog.Label{}, s)
	for _, l := range s.selector {
		remove(ns.byPivot, l, s)
	}
}

// pivot returns the label of a selector that the fewest workloads have.
func (ns *namespace[W]) pivot(selector catalog.Labels) catalog.Label {
	var rarest catalog.Label
	for i, l := range selector {
		if i == 0 || len(ns.byLabel[l]) < len(ns.byLabel[rarest]) {
			rarest = l
		}
	}
	return rarest
}

func (ns *namespace[W]) addWorkload(name string, w *workload[W]) {
	ns.workloads[name] = w
	ns.file(w)
}

// file puts a workload under its labels and into the Services that select it.
func (ns *namespace[W]) file(w *workload[W]) {
	for s := range ns.byPivot[catalog.Label{}] {
		s.join(w)
	}
	for _, l := range w.labels {
		add(ns.byLabel, l, w)
		for s := range ns.byPivot[l] {
			if s.selects(w.labels) {
				s.join(w)
			}
		}
	}
}

// unfile undoes file. The list of Services is not written to: callers may keep it.
func (ns *namespace[W]) unfile(w *workload[W]) {
	for _, l := range w.labels {
		remove(ns.byLabel, l, w)
	}
	for _, s := range w.services {
		delete(s.members, w)
	}
	w.services = nil
}

func (s *service[W]) join(w *workload[W]) {
	s.members[w] = struct{}{}
	w.services = append(w.services, s)
}

func (w *workload[W]) leave(s *service[W]) {
	for i, other := range w.services {
		if other == s {
			last := len(w.services) - 1
			w.services[i] = w.services[last]
			w.services[last] = nil
			w.services = w.services[:last]
			return
		}
	}
}

func (s *service[W]) selects(labels catalog.Labels) bool {
	for _, l := range s.selector {
		if v, ok := labels.Get(l.Key); !ok || v != l.Value {
			return false
		}
	}
	return true
}
