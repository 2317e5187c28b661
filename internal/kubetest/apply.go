package kubetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

// establishTimeout bounds the wait for a CustomResourceDefinition to be served.
const establishTimeout = 30 * time.Second

var applyOptions = metav1.ApplyOptions{FieldManager: "kubetest", Force: true}

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Apply applies the documents of manifests on the server side, in their order. A document without a namespace goes to the
// one given. A status in a document is applied too, through the status subresource where there is one.
func (c *Cluster) Apply(t testing.TB, manifests, namespace string) {
	t.Helper()
	objects, err := decode(strings.NewReader(manifests))
	if err != nil {
		t.Fatalf("kubetest: apply: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	for _, object := range objects {
		if err := c.apply(ctx, object, namespace); err != nil {
			t.Fatalf("kubetest: apply %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

// ApplyCRDs applies the CustomResourceDefinitions in the *.yaml files of a directory and waits until they are served.
func (c *Cluster) ApplyCRDs(t testing.TB, dir string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("kubetest: apply CRDs: no *.yaml in %s (%v)", dir, err)
	}
	for _, path := range paths {
		if err := c.applyCRDFile(path); err != nil {
			t.Fatalf("kubetest: apply CRDs of %s: %v", path, err)
		}
	}
	c.mapper.Reset()
}

func (c *Cluster) applyCRDFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	objects, err := decode(file)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout+establishTimeout)
	defer cancel()
	for _, object := range objects {
		unstructured.RemoveNestedField(object.Object, "status") // controller-gen writes one; it is not ours to apply
		if err := c.apply(ctx, object, ""); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if err := poll(establishTimeout, func() error { return c.established(ctx, object.GetName()) }); err != nil {
			return err
		}
	}
	return nil
}

// established returns nil when the API server serves the kind that a CRD defines.
func (c *Cluster) established(ctx context.Context, name string) error {
	crd, err := c.Dynamic.Resource(crdResource).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("look at CRD %s: %w", name, err)
	}
	conditions, _, err := unstructured.NestedSlice(crd.Object, "status", "conditions")
	if err != nil {
		return fmt.Errorf("look at CRD %s: %w", name, err)
	}
	for _, condition := range conditions {
		if condition, ok := condition.(map[string]any); ok && condition["type"] == "Established" && condition["status"] == "True" {
			return nil
		}
	}
	return fmt.Errorf("CRD %s is not established: %v", name, conditions)
}

// apply applies one object, then its status.
func (c *Cluster) apply(ctx context.Context, object *unstructured.Unstructured, namespace string) error {
	client, err := c.clientFor(object, namespace)
	if err != nil {
		return err
	}
	if _, err := client.Apply(ctx, object.GetName(), object, applyOptions); err != nil {
		return err
	}
	status, found := object.Object["status"]
	if !found {
		return nil
	}
	only := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	only.SetGroupVersionKind(object.GroupVersionKind())
	only.SetName(object.GetName())
	only.SetNamespace(object.GetNamespace())
	_, err = client.ApplyStatus(ctx, object.GetName(), only, applyOptions)
	if apierrors.IsNotFound(err) {
		return nil // no such subresource, so the status was part of the object
	}
	return err
}

// clientFor finds the resource of an object, and settles the object's namespace.
func (c *Cluster) clientFor(object *unstructured.Unstructured, namespace string) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset() // the kind may be newer than what was read last
		mapping, err = c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return nil, err
	}
	resource := c.Dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return resource, nil
	}
	if object.GetNamespace() == "" {
		object.SetNamespace(namespace)
	}
	return resource.Namespace(object.GetNamespace()), nil
}

// decode reads YAML documents. A List counts as its items.
func decode(manifests io.Reader) ([]*unstructured.Unstructured, error) {
	documents := yaml.NewYAMLOrJSONDecoder(manifests, 4096)
	var objects []*unstructured.Unstructured
	for number := 1; ; number++ {
		object := &unstructured.Unstructured{}
		err := documents.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", number, err)
		}
		if len(object.Object) == 0 {
			continue // an empty document, or only comments
		}
		if object.GetKind() == "" || object.GetAPIVersion() == "" {
			return nil, fmt.Errorf("document %d has no kind or no apiVersion", number)
		}
		if !object.IsList() {
			objects = append(objects, object)
			continue
		}
		err = object.EachListItem(func(item runtime.Object) error {
			objects = append(objects, item.(*unstructured.Unstructured))
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", number, err)
		}
	}
}
