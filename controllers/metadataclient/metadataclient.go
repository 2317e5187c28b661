// Package metadataclient makes clients of Endpoints and EndpointSlices whose creates and updates are answered
// with metadata only.
//
// A full response is as large as the object, and reading it is a good part of the cost of a write. But apart
// from a few fields of the metadata, the caller knows the object already. Package controllers wraps its
// clients with [Slices] and [Endpoints]. Requests still go through client-go, with its credential rotation,
// limits and metrics. If a webhook changes the rest of an object, that is noticed only when the table has the
// object.
//
// A write continues after its context has ended, unless leadership was lost: see detachFromCancel. It is not
// retried.
//
// # Concurrency
//
// The clients may be used from any goroutine.
package metadataclient

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"

	"github.com/signpostd/signpost/internal/wire"
	"github.com/signpostd/signpost/kube"
)

// The kinds that are written.
var (
	sliceKind     = discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice")
	endpointsKind = corev1.SchemeGroupVersion.WithKind("Endpoints")
)

// encoder encodes objects that carry their kind.
var encoder = protobuf.NewSerializer(nil, nil)

// message is an io.Writer that keeps the bytes of a single call. It doesn't copy them, because the encoder
// doesn't reuse them.
type message []byte

// Write implements io.Writer.
func (m *message) Write(encoded []byte) (int, error) {
	*m = encoded
	return len(encoded), nil
}

// object is a pointer to an API type.
type object[T any] interface {
	*T
	runtime.Object
	metav1.ObjectMetaAccessor
}

// write sends an object. The name is part of the URL, and empty for a create. The returned object has the
// metadata that the API server has set.
func write[T any, P object[T]](ctx context.Context, r *requests, method, namespace, name string, kind schema.GroupVersionKind, what P) (P, error) {
	sent := *what
	P(&sent).GetObjectKind().SetGroupVersionKind(kind)
	var body message
	if err := encoder.EncodeWithAllocator(P(&sent), &body, &runtime.SimpleAllocator{}); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	answer, err := r.send(ctx, method, namespace, name, body)
	if err != nil {
		return nil, err
	}
	made := *what
	metadata := P(&made).GetObjectMeta().(*metav1.ObjectMeta)
	metadata.Namespace, metadata.UID, metadata.ResourceVersion = namespace, "", ""
	if err := readResponse(answer, metadata); err != nil {
		return nil, fmt.Errorf("read the response: %w", err)
	}
	if metadata.UID == "" || metadata.ResourceVersion == "" {
		return nil, errors.New("read the response: it has no UID or no resource version, so it is not an object")
	}
	return &made, nil
}

// metadataFields are the fields that the API server sets.
var metadataFields = wire.Fields{
	Bytes:   1<<wire.MetadataUID | 1<<wire.MetadataResourceVersion | 1<<wire.MetadataCreationTimestamp | 1<<wire.MetadataDeletionTimestamp,
	Varints: 1 << wire.MetadataGeneration,
}

// readResponse reads the metadata fields of a response that the API server sets. It skips the others, of
// which the managed fields are the largest.
func readResponse(answer []byte, into *metav1.ObjectMeta) error {
	if !kube.IsProtobuf(answer) {
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(answer, &object); err != nil {
			return err
		}
		into.UID, into.ResourceVersion, into.Generation = object.UID, object.ResourceVersion, object.Generation
		into.CreationTimestamp, into.DeletionTimestamp = object.CreationTimestamp, object.DeletionTimestamp
		return nil
	}
	object, err := kube.Unwrap(answer)
	if err != nil {
		return err
	}
	r := wire.Read(object)
	for r.Next(wire.Fields{Bytes: 1 << wire.Metadata}) {
		if err := readMetadata(r.Bytes(), into); err != nil {
			return err
		}
	}
	return r.Err()
}

func readMetadata(fields []byte, into *metav1.ObjectMeta) (err error) {
	r := wire.Read(fields)
	for err == nil && r.Next(metadataFields) {
		switch r.Number {
		case wire.MetadataUID:
			into.UID = types.UID(r.Bytes())
		case wire.MetadataResourceVersion:
			into.ResourceVersion = string(r.Bytes())
		case wire.MetadataGeneration:
			into.Generation = int64(r.Varint)
		case wire.MetadataCreationTimestamp:
			err = into.CreationTimestamp.Unmarshal(r.Bytes())
		case wire.MetadataDeletionTimestamp:
			into.DeletionTimestamp = &metav1.Time{}
			err = into.DeletionTimestamp.Unmarshal(r.Bytes())
		}
	}
	return errors.Join(err, r.Err())
}

// writer implements Create, Update and Delete of a client of one kind in one namespace.
type writer[T any, P object[T]] struct {
	requests  *requests
	namespace string
	kind      *schema.GroupVersionKind
}

// Create creates an object. The options are ignored.
func (w writer[T, P]) Create(ctx context.Context, what P, _ metav1.CreateOptions) (P, error) {
	return write(ctx, w.requests, http.MethodPost, w.namespace, "", *w.kind, what)
}

// Update replaces an object. The options are ignored.
func (w writer[T, P]) Update(ctx context.Context, what P, _ metav1.UpdateOptions) (P, error) {
	return write(ctx, w.requests, http.MethodPut, w.namespace, what.GetObjectMeta().GetName(), *w.kind, what)
}

// Delete deletes an object.
func (w writer[T, P]) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	return w.requests.delete(ctx, w.namespace, name, &options)
}

// Slices returns a client of EndpointSlices that wraps c.
func Slices(c discoveryclient.DiscoveryV1Interface) discoveryclient.EndpointSlicesGetter {
	r, ok := newRequests(c.RESTClient(), "endpointslices")
	if !ok {
		return c
	}
	return slicesGetter{c, &r}
}

type slicesGetter struct {
	client   discoveryclient.DiscoveryV1Interface
	requests *requests
}

// EndpointSlices implements discoveryclient.EndpointSlicesGetter.
func (g slicesGetter) EndpointSlices(namespace string) discoveryclient.EndpointSliceInterface {
	return sliceClient{
		writer[discoveryv1.EndpointSlice, *discoveryv1.EndpointSlice]{g.requests, namespace, &sliceKind},
		otherSliceMethods{g.client.EndpointSlices(namespace)},
	}
}

// sliceClient is the client of one namespace. Its writer hides the methods of the same names that are
// embedded one level deeper.
type sliceClient struct {
	writer[discoveryv1.EndpointSlice, *discoveryv1.EndpointSlice]
	otherSliceMethods
}

type otherSliceMethods struct {
	discoveryclient.EndpointSliceInterface
}

// Endpoints returns a client of Endpoints that wraps c.
func Endpoints(c corev1client.CoreV1Interface) corev1client.EndpointsGetter {
	r, ok := newRequests(c.RESTClient(), "endpoints")
	if !ok {
		return c
	}
	return endpointsGetter{c, &r}
}

type endpointsGetter struct {
	client   corev1client.CoreV1Interface
	requests *requests
}

// Endpoints implements corev1client.EndpointsGetter.
func (g endpointsGetter) Endpoints(namespace string) corev1client.EndpointsInterface {
	return endpointsClient{
		writer[corev1.Endpoints, *corev1.Endpoints]{g.requests, namespace, &endpointsKind},
		otherEndpointsMethods{g.client.Endpoints(namespace)},
	}
}

// endpointsClient is to Endpoints what sliceClient is to EndpointSlices.
type endpointsClient struct {
	writer[corev1.Endpoints, *corev1.Endpoints]
	otherEndpointsMethods
}

type otherEndpointsMethods struct {
	corev1client.EndpointsInterface
}
