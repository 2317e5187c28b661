package sourcetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/internal/manifest"
	"github.com/signpostd/signpost/internal/objectserver"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// backend is the storage of a fixture's objects.
type backend interface {
	config() *rest.Config
	apply(manifests string) error
	delete(kind string, key source.Key) error
	// settle waits until the tables have seen everything, if the backend can know that.
	settle(*Fixture)
	// still reports whether, after settle, only the test itself makes changes.
	still() bool
	// own returns the keys of all objects of the source's own kinds, if the backend can know them.
	own() []source.Key
	// all returns all objects, if the backend can know them.
	all() []objectserver.Object
	// has reports whether an object belongs to the fixture.
	has(source.Key) bool
	// written replaces names of the backend in a text with those of the fixture.
	written(text string) string
}

// defaultNamespace is the namespace of objects without one.
const defaultNamespace = objectserver.DefaultNamespace

// memoryBackend keeps its objects in an in-memory API server.
type memoryBackend struct {
	server *objectserver.Server
	// kinds are the source's own kinds.
	kinds []schema.GroupKind
}

func newMemoryBackend(plugin source.Plugin, flags []string) *memoryBackend {
	m := &memoryBackend{}
	var all []schema.GroupKind
	for _, r := range resourcesOf(plugin, flags) {
		all = append(all, r.Kind.GroupKind())
		if !r.Dependency {
			m.kinds = append(m.kinds, r.Kind.GroupKind())
		}
	}
	m.server = objectserver.New(all...)
	return m
}

// resourcesOf returns what a source reads with flags. Invalid flags are reported when the source is opened.
func resourcesOf(plugin source.Plugin, flags []string) []source.Resource {
	config := plugin.New()
	set, _ := flagsOf(plugin, config)
	_ = set.Parse(flags)
	return config.Resources()
}

func (m *memoryBackend) config() *rest.Config { return m.server.Config() }

func (m *memoryBackend) apply(manifests string) error {
	objects, err := manifest.Decode(strings.NewReader(manifests))
	if err != nil {
		return err
	}
	for _, obj := range objects {
		if !m.server.Serves(obj.GroupVersionKind()) {
			return fmt.Errorf("apply %s %s: name the kind in the Resources of the source", obj.GetKind(), obj.GetName())
		}
		if err := checkFields(obj); err != nil {
			return err
		}
		if err := m.server.Put(obj); err != nil {
			return err
		}
	}
	return nil
}

// checkFields returns an error for fields that the Go type of an object lacks. A test with such a field would
// not test what it seems to.
func checkFields(obj *unstructured.Unstructured) error {
	typed, err := scheme.Scheme.New(obj.GroupVersionKind())
	if err != nil {
		return nil // a kind without a type
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, typed, true); err != nil {
		return fmt.Errorf("apply %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return nil
}

func (m *memoryBackend) delete(kind string, key source.Key) error {
	if !m.server.Delete(objectserver.Object{Kind: schema.ParseGroupKind(kind), NamespacedName: types.NamespacedName{Namespace: key.Namespace, Name: key.Name}}) {
		return fmt.Errorf("delete %s %s: there is none", kind, key)
	}
	return nil
}

// settle sends bookmarks and waits until every table has reached them. Then the handlers of the tables were
// called for everything before.
func (m *memoryBackend) settle(s *Fixture) {
	s.t.Helper()
	if len(s.versions) == 0 {
		return
	}
	version := m.server.Bookmark()
	kubetest.Eventually(s.t, patience, func() error {
		for i, at := range s.versions {
			if at() != version {
				return fmt.Errorf("table %d of the source is at version %s, not %s", i, at(), version)
			}
		}
		return nil
	})
}

func (m *memoryBackend) still() bool { return true }

func (m *memoryBackend) own() []source.Key {
	var keys []source.Key
	for _, o := range m.server.Objects() {
		if slices.Contains(m.kinds, o.Kind) {
			keys = append(keys, source.Key{Kind: o.Kind.String(), Namespace: o.Namespace, Name: o.Name})
		}
	}
	return keys
}

func (m *memoryBackend) all() []objectserver.Object { return m.server.Objects() }

func (m *memoryBackend) has(source.Key) bool        { return true }
func (m *memoryBackend) written(text string) string { return text }

// realBackend is a namespace of a real API server. It can't know when tables have seen a change.
type realBackend struct {
	t         testing.TB
	cluster   *kubetest.Cluster
	namespace string
	// global are the names of the cluster-scoped objects, and applied those of all objects.
	global, applied map[string]bool
}

func newRealBackend(t testing.TB, cluster *kubetest.Cluster) *realBackend {
	return &realBackend{t: t, cluster: cluster, namespace: cluster.Namespace(t), global: map[string]bool{}, applied: map[string]bool{}}
}

func (r *realBackend) config() *rest.Config { return r.cluster.Config }

func (r *realBackend) apply(manifests string) error {
	objects, err := manifest.Decode(strings.NewReader(manifests))
	if err != nil {
		return err
	}
	for _, obj := range objects {
		r.applied[obj.GetName()] = true
		if objectserver.ClusterScoped(obj.GetKind()) {
			r.adopt(obj)
		}
	}
	r.cluster.Apply(r.t, manifests, r.namespace)
	return nil
}

// adopt deletes a cluster-scoped object at the end of the test.
func (r *realBackend) adopt(obj *unstructured.Unstructured) {
	if r.global[obj.GetName()] {
		return
	}
	r.global[obj.GetName()] = true
	r.t.Cleanup(func() {
		err := r.delete(obj.GroupVersionKind().GroupKind().String(), source.Key{Name: obj.GetName()})
		if err != nil && !apierrors.IsNotFound(err) {
			r.t.Error(err)
		}
	})
}

func (r *realBackend) delete(kind string, key source.Key) error {
	resource, err := r.resource(schema.ParseGroupKind(kind))
	if err != nil {
		return err
	}
	client := r.cluster.Dynamic.Resource(resource)
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	if key.Namespace == "" {
		return client.Delete(context.Background(), key.Name, now)
	}
	return client.Namespace(r.namespace).Delete(context.Background(), key.Name, now)
}

// resource returns the resource of a kind.
func (r *realBackend) resource(kind schema.GroupKind) (schema.GroupVersionResource, error) {
	lists, err := r.cluster.Client.Discovery().ServerPreferredResources()
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || group.Group != kind.Group {
			continue
		}
		for _, resource := range list.APIResources {
			if resource.Kind == kind.Kind {
				return group.WithResource(resource.Name), nil
			}
		}
	}
	return schema.GroupVersionResource{}, fmt.Errorf("the API server has no %s", kind)
}

func (r *realBackend) settle(*Fixture)            {}
func (r *realBackend) still() bool                { return false }
func (r *realBackend) own() []source.Key          { return nil }
func (r *realBackend) all() []objectserver.Object { return nil }

func (r *realBackend) has(k source.Key) bool {
	return k.Namespace == r.namespace && r.applied[k.Name] || k.Namespace == "" && r.global[k.Name]
}

func (r *realBackend) written(text string) string {
	return strings.ReplaceAll(text, r.namespace, defaultNamespace)
}
