package metadataclient

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/internal/leader"
)

const protobufType = runtime.ContentTypeProtobuf

// metadataOnly is the Accept header. JSON is for servers without protobuf.
const metadataOnly = protobufType + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1," +
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// requests sends requests for the objects of a kind.
type requests struct {
	client rest.Interface
	// resource is the plural name of the kind in URLs.
	resource string
}

// newRequests returns requests over a client. It returns false for a fake client, which has no connection.
func newRequests(client rest.Interface, resource string) (requests, bool) {
	if c, ok := client.(*rest.RESTClient); ok && c == nil {
		return requests{}, false
	}
	return requests{client, resource}, client != nil
}

// send sends an object in protobuf and returns the response body. The URL includes the name unless it is
// empty. An error from the API server is an apierrors.APIStatus. Requests are not retried, because the loops
// of the controllers do that.
func (r *requests) send(ctx context.Context, method, namespace, name string, object []byte) (answer []byte, err error) {
	ctx, done := detachFromCancel(ctx)
	defer done()
	request := r.client.Verb(method).Namespace(namespace).Resource(r.resource)
	if name != "" {
		request = request.Name(name)
	}
	result := request.SetHeader("Accept", metadataOnly).SetHeader("Content-Type", protobufType).
		Body(object).MaxRetries(0).Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// delete deletes an object. Errors are as for send, and it isn't retried either.
func (r *requests) delete(ctx context.Context, namespace, name string, options *metav1.DeleteOptions) error {
	ctx, done := detachFromCancel(ctx)
	defer done()
	return r.client.Delete().Namespace(namespace).Resource(r.resource).Name(name).Body(options).MaxRetries(0).Do(ctx).Error()
}

// detachFromCancel returns the context of a write. The API server may carry out a cancelled write even after
// another process has become the leader. So the write doesn't end with ctx but by the client's timeout,
// unless ctx ends because leadership was lost: then no write may be waited for.
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
