// Package frugal makes clients of Endpoints and EndpointSlices whose creates and
// updates are answered with metadata only.
//
// What the API server makes of an object is known but for its metadata, and an answer
// is as large as the object: reading it is a good part of what a write costs. Package
// controllers wraps its clients with [Slices] and [Endpoints]. A webhook that changes
// the rest of an object goes unnoticed until the table has the object.
//
// The clients may be used from any goroutine.
package frugal

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/internal/wire"
)

const protobufType = runtime.ContentTypeProtobuf

// The kinds that are written.
var (
	sliceKind     = discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice")
	endpointsKind = corev1.SchemeGroupVersion.WithKind("Endpoints")
)

// metadataOnly is the Accept header; JSON is for servers that have no protobuf.
const metadataOnly = protobufType + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1," +
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// encoder encodes objects that say of which kind they are.
var encoder = protobuf.NewSerializer(nil, nil)

// message is an io.Writer that keeps the bytes of the only call, which are the caller's to
// keep: what is encoded is not copied once more.
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

// write sends an object and returns it with the metadata of what became of it, without
// the managed fields.
func write[T any, P object[T]](ctx context.Context, request *rest.Request, kind schema.GroupVersionKind, what P) (P, error) {
	sent := *what
	P(&sent).GetObjectKind().SetGroupVersionKind(kind)
	var body message
	if err := encoder.EncodeWithAllocator(P(&sent), &body, &runtime.SimpleAllocator{}); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	result := request.SetHeader("Accept", metadataOnly).SetHeader("Content-Type", protobufType).Body([]byte(body)).Do(ctx)
	made := *what
	if err := readMetadata(result, P(&made).GetObjectMeta().(*metav1.ObjectMeta)); err != nil {
		return nil, err
	}
	return &made, nil
}

// readMetadata reads the metadata of an answer. The managed fields, which are most of it, are
// left out, where a decoder would decode them first.
func readMetadata(result rest.Result, into *metav1.ObjectMeta) error {
	body, err := result.Raw()
	if err != nil {
		return result.Error() // it says more
	}
	if !wire.IsKubernetes(body) {
		var answer metav1.PartialObjectMetadata
		err := result.Into(&answer)
		*into = answer.ObjectMeta
		into.ManagedFields = nil
		return err
	}
	fields, err := metadataFields(body)
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	*into = metav1.ObjectMeta{}
	return into.Unmarshal(fields)
}

// metadataFields returns the metadata of an object in protobuf without its managed fields.
func metadataFields(encoded []byte) ([]byte, error) {
	message, err := wire.Unknown(encoded)
	if err != nil {
		return nil, err
	}
	return wire.AppendMetadata(nil, message)
}

// Slices returns a client of EndpointSlices that does what c does.
func Slices(c discoveryclient.DiscoveryV1Interface) discoveryclient.EndpointSlicesGetter {
	return slicesGetter{c}
}

type slicesGetter struct {
	client discoveryclient.DiscoveryV1Interface
}

// EndpointSlices implements discoveryclient.EndpointSlicesGetter.
func (g slicesGetter) EndpointSlices(namespace string) discoveryclient.EndpointSliceInterface {
	return sliceClient{g.client.EndpointSlices(namespace), g.client.RESTClient(), namespace}
}

type sliceClient struct {
	discoveryclient.EndpointSliceInterface
	rest      rest.Interface
	namespace string
}

// Create implements discoveryclient.EndpointSliceInterface. The options are not used.
func (c sliceClient) Create(ctx context.Context, e *discoveryv1.EndpointSlice, _ metav1.CreateOptions) (*discoveryv1.EndpointSlice, error) {
	return write(ctx, c.rest.Post().Namespace(c.namespace).Resource("endpointslices"), sliceKind, e)
}

// Update implements discoveryclient.EndpointSliceInterface. The options are not used.
func (c sliceClient) Update(ctx context.Context, e *discoveryv1.EndpointSlice, _ metav1.UpdateOptions) (*discoveryv1.EndpointSlice, error) {
	return write(ctx, c.rest.Put().Namespace(c.namespace).Resource("endpointslices").Name(e.Name), sliceKind, e)
}

// Endpoints returns a client of Endpoints that does what c does.
func Endpoints(c corev1client.CoreV1Interface) corev1client.EndpointsGetter {
	return endpointsGetter{c}
}

type endpointsGetter struct {
	client corev1client.CoreV1Interface
}

// Endpoints implements corev1client.EndpointsGetter.
func (g endpointsGetter) Endpoints(namespace string) corev1client.EndpointsInterface {
	return endpointsClient{g.client.Endpoints(namespace), g.client.RESTClient(), namespace}
}

type endpointsClient struct {
	corev1client.EndpointsInterface
	rest      rest.Interface
	namespace string
}

// Create implements corev1client.EndpointsInterface. The options are not used.
func (c endpointsClient) Create(ctx context.Context, e *corev1.Endpoints, _ metav1.CreateOptions) (*corev1.Endpoints, error) {
	return write(ctx, c.rest.Post().Namespace(c.namespace).Resource("endpoints"), endpointsKind, e)
}

// Update implements corev1client.EndpointsInterface. The options are not used.
func (c endpointsClient) Update(ctx context.Context, e *corev1.Endpoints, _ metav1.UpdateOptions) (*corev1.Endpoints, error) {
	return write(ctx, c.rest.Put().Namespace(c.namespace).Resource("endpoints").Name(e.Name), endpointsKind, e)
}
