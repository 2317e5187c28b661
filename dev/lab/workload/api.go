package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// createdBy is the annotation with the number of the edit that created an object. A repeated creation
// recognises its own object by it.
const createdBy = "lab.example/created-by"

// outcome is the result of an attempt to make an edit.
type outcome string

const (
	made      outcome = "made"
	pointless outcome = "pointless" // the object is missing, or the zone doesn't meet the requirement
	retry     outcome = "again"     // refused for now, or the result is unknown
	failed    outcome = "failed"    // can never succeed: a bug of the lab
)

// cluster makes edits of objects of any kind, because an edit is a whole object or a patch.
type cluster struct {
	client dynamic.Interface
	// restored is true after an etcd restore, when objects may differ from the plan.
	restored atomic.Bool
}

// attempt tries an edit once. The error explains the outcomes retry and failed.
func (c *cluster) attempt(ctx context.Context, e Edit) (outcome, error) {
	resource := c.resource(e.Object)
	var err error
	switch e.Verb {
	case Create:
		var content map[string]any
		if content, err = runtime.DefaultUnstructuredConverter.ToUnstructured(e.Object); err != nil {
			return failed, err
		}
		return c.create(ctx, e, &unstructured.Unstructured{Object: content})
	case Delete:
		err = resource.Delete(ctx, e.Object.GetName(), metav1.DeleteOptions{GracePeriodSeconds: &e.Grace})
		if isGone(err) {
			return made, nil
		}
	default:
		var patch []byte
		if patch, err = patchOf(e); err != nil {
			return failed, err
		}
		var subresources []string
		if e.Verb == SetStatus {
			subresources = []string{"status"}
		}
		_, err = resource.Patch(ctx, e.Object.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{}, subresources...)
		if isGone(err) {
			return pointless, nil
		}
	}
	return c.judge(err), err
}

// create creates an object. An existing object of the name is the same one, if the response of an earlier
// attempt was lost, or an older one that an etcd restore brought back. Any other one is a bug of the lab.
func (c *cluster) create(ctx context.Context, e Edit, content *unstructured.Unstructured) (outcome, error) {
	resource := c.resource(e.Object)
	_, err := resource.Create(ctx, content, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return c.judge(err), err
	}
	there, err := resource.Get(ctx, content.GetName(), metav1.GetOptions{})
	if err != nil {
		return retry, err // the next attempt checks it
	}
	by := there.GetAnnotations()[createdBy]
	switch {
	case by == content.GetAnnotations()[createdBy]:
		return made, nil
	case c.restored.Load():
		return retry, errors.Join(fmt.Errorf("an older object of this name, made by edit %q, is deleted first", by), remove(ctx, resource, there.GetName()))
	}
	return failed, fmt.Errorf("an object of this name is there, made by edit %q", by)
}

// remove deletes an object at once, despite finalizers.
func remove(ctx context.Context, resource dynamic.ResourceInterface, name string) error {
	_, err := resource.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	return resource.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
}

// judge is the function judge, but after an etcd restore no edit fails for ever, because its object may be an
// older one.
func (c *cluster) judge(err error) outcome {
	became := judge(err)
	if became == failed && c.restored.Load() {
		return pointless
	}
	return became
}

// judge classifies an error of the API server. Only an error of the request itself is final, because a
// starting API server responds 403 and 404 too, and one that can't store the address of a Service says that
// the Service is invalid, with the error of etcd or of the connection to it.
func judge(err error) outcome {
	switch {
	case err == nil:
		return made
	case strings.Contains(err.Error(), "etcdserver: "), strings.Contains(err.Error(), "failed to allocate IP: rpc error: "):
		return retry
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		switch status.Status().Code {
		case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType, http.StatusRequestEntityTooLarge:
			return failed
		}
	}
	return retry
}

// isGone reports whether an error says that an object is missing. The 404 of a starting API server, which
// doesn't know the kind yet, has no object name.
func isGone(err error) bool {
	if !apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return false
	}
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Name != ""
}

// operation is an operation of a JSON patch (RFC 6902). Adding an existing member replaces it.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patchOf returns the patch that replaces the fields of an edit. It has no resource version, because nobody
// else writes these fields.
func patchOf(e Edit) ([]byte, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(e.Object)
	if err != nil {
		return nil, err
	}
	var operations []operation
	for _, pointer := range e.Fields {
		path := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
		value, _, err := unstructured.NestedFieldNoCopy(content, path...)
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", pointer, err)
		}
		operations = append(operations, operation{"add", pointer, value})
	}
	return json.Marshal(operations)
}

// resources maps the kinds of edits to resources.
var resources = map[string]string{
	"Service": "services", "Pod": "pods", "Node": "nodes", "Endpoints": "endpoints", "EndpointSlice": "endpointslices",
	"DNSEndpoint": "dnsendpoints", "ServiceProfile": "serviceprofiles", "Server": "servers", "ExternalWorkload": "externalworkloads",
}

func (c *cluster) resource(o Object) dynamic.ResourceInterface {
	kind := o.GetObjectKind().GroupVersionKind()
	resource := c.client.Resource(schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: resources[kind.Kind]})
	if o.GetNamespace() == "" {
		return resource
	}
	return resource.Namespace(o.GetNamespace())
}
