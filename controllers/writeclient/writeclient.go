// Package writeclient makes clients of Endpoints and EndpointSlices for controllers that lead for a term.
//
// A write continues after its context has ended, unless leadership was lost: see detachFromCancel. Writes are
// not retried, because the loops of the controllers do that. Everything else is as in client-go. Package
// controllers wraps its clients with [Slices] and [Endpoints].
//
// # Concurrency
//
// The clients may be used from any goroutine.
package writeclient

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/internal/leader"
)

// object is a pointer to an API type.
type object[T any] interface {
	*T
	runtime.Object
	metav1.Object
}

// writer implements Create, Update and Delete of a client of one kind in one namespace.
type writer[T any, P object[T]] struct {
	client rest.Interface
	// resource is the plural name of the kind in URLs.
	resource  string
	namespace string
}

// Create creates an object. The options are ignored.
func (w writer[T, P]) Create(ctx context.Context, what P, _ metav1.CreateOptions) (P, error) {
	return w.write(ctx, w.client.Post(), what)
}

// Update replaces an object. The options are ignored.
func (w writer[T, P]) Update(ctx context.Context, what P, _ metav1.UpdateOptions) (P, error) {
	return w.write(ctx, w.client.Put().Name(what.GetName()), what)
}

// Delete deletes an object.
func (w writer[T, P]) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	ctx, done := detachFromCancel(ctx)
	defer done()
	return w.to(w.client.Delete().Name(name)).Body(&options).Do(ctx).Error()
}

// write sends an object and returns the object in the response, without managed fields, which nothing reads.
func (w writer[T, P]) write(ctx context.Context, r *rest.Request, what P) (P, error) {
	ctx, done := detachFromCancel(ctx)
	defer done()
	made := P(new(T))
	if err := w.to(r).Body(what).Do(ctx).Into(made); err != nil {
		return nil, err
	}
	if made.GetUID() == "" || made.GetResourceVersion() == "" {
		return nil, errors.New("read the response: it has no UID or no resource version, so it is not an object")
	}
	made.SetManagedFields(nil)
	return made, nil
}

// to completes a request, so that client-go doesn't retry it.
func (w writer[T, P]) to(r *rest.Request) *rest.Request {
	return r.Namespace(w.namespace).Resource(w.resource).MaxRetries(0)
}

// detachFromCancel returns the context of a write. The API server may carry out a cancelled write even after
// another process has become the leader. So the write doesn't end with ctx but at the timeout of the client.
// If ctx ends because leadership was lost, the write ends at once, because nothing may wait for it.
func detachFromCancel(ctx context.Context) (write context.Context, done func()) {
	write, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); errors.Is(cause, leader.ErrNotLeading) {
			cancel(cause)
		}
	})
	return write, func() {
		stop()
		cancel(nil)
	}
}

// isFake reports whether a client is that of a fake clientset, which has no connection.
func isFake(client rest.Interface) bool {
	c, ok := client.(*rest.RESTClient)
	return client == nil || ok && c == nil
}

// Slices returns a client of EndpointSlices that wraps c.
func Slices(c discoveryclient.DiscoveryV1Interface) discoveryclient.EndpointSlicesGetter {
	if isFake(c.RESTClient()) {
		return c
	}
	return slicesGetter{c}
}

type slicesGetter struct {
	client discoveryclient.DiscoveryV1Interface
}

// EndpointSlices implements discoveryclient.EndpointSlicesGetter.
func (g slicesGetter) EndpointSlices(namespace string) discoveryclient.EndpointSliceInterface {
	return sliceClient{
		writer[discoveryv1.EndpointSlice, *discoveryv1.EndpointSlice]{g.client.RESTClient(), "endpointslices", namespace},
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
	if isFake(c.RESTClient()) {
		return c
	}
	return endpointsGetter{c}
}

type endpointsGetter struct{ client corev1client.CoreV1Interface }

// Endpoints implements corev1client.EndpointsGetter.
func (g endpointsGetter) Endpoints(namespace string) corev1client.EndpointsInterface {
	return endpointsClient{
		writer[corev1.Endpoints, *corev1.Endpoints]{g.client.RESTClient(), "endpoints", namespace},
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
