// Package manifest reads YAML manifests and applies them to an API server, like `kubectl apply
// --server-side`. The demo and kubetest apply manifests; `signpost plan` and `signpost check` read them
// with [ReadPath].
//
// # Concurrency
//
// A Client may be used from any goroutine.
package manifest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Client applies objects to one API server.
type Client struct {
	// Manager is the field manager that owns the applied fields.
	Manager string
	dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

// NewClient returns a client that applies as the given field manager.
func NewClient(config *rest.Config, manager string) (*Client, error) {
	d, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client to apply manifests: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client to apply manifests: %w", err)
	}
	return &Client{Manager: manager, dynamic: d, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))}, nil
}

// ApplyAll applies the documents of a manifest in order. A document without a namespace goes to the given
// one.
func (c *Client) ApplyAll(ctx context.Context, manifests io.Reader, namespace string) error {
	objects, err := Decode(manifests)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := c.Apply(ctx, object, namespace); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// Apply applies one object and then its status, if it has one, through the status subresource if the kind has
// that. An object without a namespace goes to the given one.
func (c *Client) Apply(ctx context.Context, object *unstructured.Unstructured, namespace string) error {
	client, err := c.resource(object, namespace)
	if err != nil {
		return err
	}
	options := metav1.ApplyOptions{FieldManager: c.Manager, Force: true}
	if _, err := client.Apply(ctx, object.GetName(), object, options); err != nil {
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
	_, err = client.ApplyStatus(ctx, object.GetName(), only, options)
	if apierrors.IsNotFound(err) {
		return nil // there is no status subresource: the status was applied with the object
	}
	return err
}

// resource finds the resource of an object, and sets the object's namespace if it has none.
func (c *Client) resource(object *unstructured.Unstructured, namespace string) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset() // the kind may be newer than the last discovery
		mapping, err = c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return nil, err
	}
	resource := c.dynamic.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return resource, nil
	}
	if object.GetNamespace() == "" {
		object.SetNamespace(namespace)
	}
	return resource.Namespace(object.GetNamespace()), nil
}

// DecodeAtMost is [Decode] with a limit in bytes. Longer input is an error, and never truncated.
func DecodeAtMost(manifests io.Reader, limit int) ([]*unstructured.Unstructured, error) {
	bounded := http.MaxBytesReader(nil, io.NopCloser(manifests), int64(limit))
	objects, err := Decode(bounded)
	// The decoder may report an incomplete document. The reader repeats its own error.
	_, last := bounded.Read(nil)
	if _, exceeded := errors.AsType[*http.MaxBytesError](last); exceeded {
		return nil, fmt.Errorf("read manifests: there are more than %d MiB of them: leave out those that aren't needed, or name several files", limit>>20)
	}
	return objects, err
}

// ReadPath returns the objects of a file, of the *.yaml, *.yml and *.json files of a directory or, for -, of
// standard input. A file may have as many bytes as the limit. The errors don't have the path.
func ReadPath(path string, stdin io.Reader, limit int) ([]*unstructured.Unstructured, error) {
	if path == "-" {
		return DecodeAtMost(stdin, limit)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	if !info.IsDir() {
		return decodeFile(path, limit)
	}
	var files []string
	for _, pattern := range []string{"*.yaml", "*.yml", "*.json"} {
		// Glob only fails for malformed patterns.
		found, _ := filepath.Glob(filepath.Join(path, pattern))
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, errors.New("the directory has no *.yaml, *.yml or *.json file")
	}
	slices.Sort(files)
	var objects []*unstructured.Unstructured
	for _, file := range files {
		found, err := decodeFile(file, limit)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

func decodeFile(path string, limit int) ([]*unstructured.Unstructured, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer f.Close()
	return DecodeAtMost(f, limit)
}

// Decode reads YAML documents. The items of a List are returned one by one.
func Decode(manifests io.Reader) ([]*unstructured.Unstructured, error) {
	documents := yaml.NewYAMLOrJSONDecoder(manifests, 4096)
	var objects []*unstructured.Unstructured
	for number := 1; ; number++ {
		object := &unstructured.Unstructured{}
		err := documents.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, documentError(number, err)
		}
		if len(object.Object) == 0 {
			continue // an empty document, or only comments
		}
		if object.GetKind() == "" || object.GetAPIVersion() == "" {
			return nil, fmt.Errorf("document %d has no kind or no apiVersion; set both", number)
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

// documentError returns the error about a document that can't be decoded, in words for users.
func documentError(number int, err error) error {
	text := err.Error()
	if reason, ok := strings.CutPrefix(text, "error converting YAML to JSON: yaml: "); ok {
		return fmt.Errorf("document %d is not YAML: %s", number, reason)
	}
	if strings.Contains(text, "cannot unmarshal") {
		return fmt.Errorf("document %d is no manifest: it must be a mapping with apiVersion and kind", number)
	}
	return fmt.Errorf("document %d: %w", number, err)
}
