package kubetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/internal/manifest"
)

// establishTimeout bounds the wait for a CustomResourceDefinition to be served.
const establishTimeout = 30 * time.Second

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Apply applies the documents of manifests with server-side apply, in order. A document without a namespace
// goes to the given one. A status in a document is applied too, through the status subresource if there is
// one.
func (c *Cluster) Apply(t testing.TB, manifests, namespace string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout+establishTimeout)
	defer cancel()
	var err error
	_ = poll(establishTimeout, func() error {
		if err = c.manifests.ApplyAll(ctx, strings.NewReader(manifests), namespace); refusedForNow(err) {
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatalf("kubetest: %v", err)
	}
}

// refusedForNow reports whether an API server will soon accept what it refused: it serves a new kind a moment
// before its discovery lists it, and it is ready a moment before it has read the ServiceCIDRs for cluster
// IPs.
func refusedForNow(err error) bool {
	return meta.IsNoMatchError(err) || err != nil && strings.Contains(err.Error(), "failed to allocate a serviceIP")
}

// ApplyCRDs applies the CustomResourceDefinitions in the *.yaml files of a directory and waits until they are
// served.
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
}

func (c *Cluster) applyCRDFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	objects, err := manifest.Decode(file)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout+establishTimeout)
	defer cancel()
	for _, object := range objects {
		unstructured.RemoveNestedField(object.Object, "status") // controller-gen writes a status, which must not be applied
		if err := c.manifests.Apply(ctx, object, ""); err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if err := poll(establishTimeout, func() error { return c.established(ctx, object.GetName()) }); err != nil {
			return err
		}
	}
	return nil
}

// established returns nil if the API server serves the kind of a CRD.
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
