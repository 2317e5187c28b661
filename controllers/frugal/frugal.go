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

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
	"k8s.io/client-go/rest"
)

// metadataOnly is the Accept header; JSON is for servers that have no protobuf.
const metadataOnly = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1," +
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// write sends an object and returns it with the metadata of what became of it.
func write[T any, P interface {
	*T
	runtime.Object
	metav1.ObjectMetaAccessor
}](ctx context.Context, request *rest.Request, object P) (P, error) {
	var answer metav1.PartialObjectMetadata
	if err := request.SetHeader("Accept", metadataOnly).Body(object).Do(ctx).Into(&answer); err != nil {
		return nil, err
	}
	made := *object
	*P(&made).GetObjectMeta().(*metav1.ObjectMeta) = answer.ObjectMeta
	return &made, nil
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
	return write(ctx, c.rest.Post().Namespace(c.namespace).Resource("endpointslices"), e)
}

// Update implements discoveryclient.EndpointSliceInterface. The options are not used.
func (c sliceClient) Update(ctx context.Context, e *discoveryv1.EndpointSlice, _ metav1.UpdateOptions) (*discoveryv1.EndpointSlice, error) {
	return write(ctx, c.rest.Put().Namespace(c.namespace).Resource("endpointslices").Name(e.Name), e)
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
	return write(ctx, c.rest.Post().Namespace(c.namespace).Resource("endpoints"), e)
}

// Update implements corev1client.EndpointsInterface. The options are not used.
func (c endpointsClient) Update(ctx context.Context, e *corev1.Endpoints, _ metav1.UpdateOptions) (*corev1.Endpoints, error) {
	return write(ctx, c.rest.Put().Namespace(c.namespace).Resource("endpoints").Name(e.Name), e)
}
