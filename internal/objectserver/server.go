package objectserver

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// DefaultNamespace is the namespace of objects without one.
const DefaultNamespace = "default"

// Server serves the objects it is given. Make one with [New].
type Server struct {
	// kinds are the kinds that are served besides Kubernetes' built-in ones.
	kinds []schema.GroupKind
	// resources are further resources that are served, whose kinds are unknown.
	resources []schema.GroupResource

	mu      sync.Mutex
	version int
	objects map[schema.GroupVersionResource]map[types.NamespacedName]*unstructured.Unstructured
	watches map[*watcher]struct{}
}

// Object names one object.
type Object struct {
	Kind schema.GroupKind
	types.NamespacedName
}

// New returns a server without objects. It serves Kubernetes' built-in kinds and the given ones, in every
// version.
func New(kinds ...schema.GroupKind) *Server {
	return &Server{
		kinds:   kinds,
		objects: map[schema.GroupVersionResource]map[types.NamespacedName]*unstructured.Unstructured{},
		watches: map[*watcher]struct{}{},
	}
}

// ServeResources makes the server also serve resources whose kinds are unknown until there are objects. Call
// it before the server is used.
func (s *Server) ServeResources(resources ...schema.GroupResource) {
	s.resources = append(s.resources, resources...)
}

// Serves reports whether the server serves a kind.
func (s *Server) Serves(kind schema.GroupVersionKind) bool {
	_, known := s.kindOf(ResourceOf(kind))
	return known
}

func (s *Server) kindOf(r schema.GroupVersionResource) (schema.GroupVersionKind, bool) {
	candidates := slices.Collect(maps.Keys(scheme.Scheme.KnownTypes(r.GroupVersion())))
	for _, k := range s.kinds {
		if k.Group == r.Group {
			candidates = append(candidates, k.Kind)
		}
	}
	for _, kind := range candidates {
		gvk := r.GroupVersion().WithKind(kind)
		if ResourceOf(gvk) == r {
			return gvk, true
		}
	}
	if slices.Contains(s.resources, r.GroupResource()) {
		return s.kindIn(r), true
	}
	return schema.GroupVersionKind{}, false
}

// kindIn returns the kind of a resource's objects, or an arbitrary one if there are none, which no client
// sees.
func (s *Server) kindIn(r schema.GroupVersionResource) schema.GroupVersionKind {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, obj := range s.objects[r] {
		return obj.GroupVersionKind()
	}
	return r.GroupVersion().WithKind(r.Resource)
}

// ResourceOf guesses the resource of a kind. The guess of apimachinery is wrong for names such as Gateway.
func ResourceOf(kind schema.GroupVersionKind) schema.GroupVersionResource {
	plural, singular := meta.UnsafeGuessKindToResource(kind)
	if strings.HasSuffix(singular.Resource, "ay") {
		plural.Resource = singular.Resource + "s"
	}
	return plural
}

// clusterKinds are the cluster-scoped kinds that Signpost reads.
var clusterKinds = []string{"Node", "Namespace", "IngressClass", "GatewayClass"}

// ClusterScoped reports whether a kind is cluster-scoped.
func ClusterScoped(kind string) bool { return slices.Contains(clusterKinds, kind) }

// Put creates or replaces an object. An object of a namespaced kind without a namespace goes to
// [DefaultNamespace]. The error names a field of the wrong type.
func (s *Server) Put(obj *unstructured.Unstructured) error {
	kind := obj.GroupVersionKind()
	if !s.Serves(kind) {
		return fmt.Errorf("put %s %s: the kind is not served; name it when the server is made", kind.GroupKind(), obj.GetName())
	}
	obj = obj.DeepCopy()
	if obj.GetNamespace() == "" && !ClusterScoped(kind.Kind) {
		obj.SetNamespace(DefaultNamespace)
	}
	if scheme.Scheme.Recognizes(kind) {
		if _, err := typedOf(obj); err != nil {
			return fmt.Errorf("put %w", err)
		}
	}
	s.put(obj)
	return nil
}

func (s *Server) put(obj *unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, key := ResourceOf(obj.GroupVersionKind()), types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if s.objects[r] == nil {
		s.objects[r] = map[types.NamespacedName]*unstructured.Unstructured{}
	}
	kind := watch.Added
	if old := s.objects[r][key]; old != nil {
		kind = watch.Modified
		obj.SetUID(old.GetUID())
	} else if obj.GetUID() == "" {
		obj.SetUID(types.UID(fmt.Sprintf("uid-%d", s.version+1)))
	}
	s.objects[r][key] = obj
	s.broadcast(r, kind, obj)
}

// Delete deletes an object and reports whether it existed.
func (s *Server) Delete(o Object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r, objects := range s.objects {
		if old := objects[o.NamespacedName]; old != nil && old.GroupVersionKind().GroupKind() == o.Kind {
			delete(objects, o.NamespacedName)
			s.broadcast(r, watch.Deleted, old.DeepCopy())
			return true
		}
	}
	return false
}

// broadcast sends an event to all watches of a resource. The object gets the next version.
func (s *Server) broadcast(r schema.GroupVersionResource, kind watch.EventType, obj *unstructured.Unstructured) {
	s.version++
	obj.SetResourceVersion(strconv.Itoa(s.version))
	for w := range s.watches {
		if w.resource == r {
			w.add(event{kind, obj})
		}
	}
}

// Bookmark sends a bookmark with a new version to every watch, and returns the version.
func (s *Server) Bookmark() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	for w := range s.watches {
		w.add(event{watch.Bookmark, s.bookmarkOf(w.kind)})
	}
	return strconv.Itoa(s.version)
}

func (s *Server) bookmarkOf(kind schema.GroupVersionKind) *unstructured.Unstructured {
	b := &unstructured.Unstructured{}
	b.SetGroupVersionKind(kind)
	b.SetResourceVersion(strconv.Itoa(s.version))
	return b
}

// Objects returns the names of all objects, sorted.
func (s *Server) Objects() []Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Object
	for _, objects := range s.objects {
		for key, obj := range objects {
			all = append(all, Object{Kind: obj.GroupVersionKind().GroupKind(), NamespacedName: key})
		}
	}
	slices.SortFunc(all, func(a, b Object) int {
		return cmp.Or(strings.Compare(a.Kind.String(), b.Kind.String()), strings.Compare(a.String(), b.String()))
	})
	return all
}

// open opens a watch with the existing objects and the bookmark that ends them.
func (s *Server) open(r schema.GroupVersionResource, kind schema.GroupVersionKind, namespace string) *watcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &watcher{kind: kind, resource: r, namespace: namespace, wake: make(chan struct{}, 1)}
	for _, obj := range s.objects[w.resource] {
		w.add(event{watch.Added, obj})
	}
	end := s.bookmarkOf(kind)
	end.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	w.add(event{watch.Bookmark, end})
	s.watches[w] = struct{}{}
	return w
}

func (s *Server) close(w *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watches, w)
}

// next returns the buffered events of a watch.
func (s *Server) next(w *watcher) []event {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := w.events
	w.events = nil
	return events
}

// watcher is one open watch. The lock of its server guards it.
type watcher struct {
	kind     schema.GroupVersionKind
	resource schema.GroupVersionResource
	// namespace is the namespace that is watched; empty means all.
	namespace string
	events    []event
	// wake holds a token while there are events to send.
	wake chan struct{}
}

// event is one change of an object, or a bookmark.
type event struct {
	kind   watch.EventType
	object *unstructured.Unstructured
}

func (w *watcher) add(e event) {
	if w.namespace != "" && e.kind != watch.Bookmark && e.object.GetNamespace() != w.namespace {
		return
	}
	w.events = append(w.events, e)
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
