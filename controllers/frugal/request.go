package frugal

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

const protobufType = runtime.ContentTypeProtobuf

// metadataOnly is the Accept header; JSON is for servers that have no protobuf.
const metadataOnly = protobufType + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1," +
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// requests sends requests about the objects of a kind.
type requests struct {
	client rest.Interface
	// resource is the name of the kind in paths.
	resource string
}

// newRequests returns requests of a client. It returns false for the client of a fake, which
// has no connection.
func newRequests(client rest.Interface, resource string) (requests, bool) {
	if c, ok := client.(*rest.RESTClient); ok && c == nil {
		return requests{}, false
	}
	return requests{client, resource}, client != nil
}

// send sends an object in protobuf and returns the answer. The name is in the path
// if it is not empty. A failure that the API server tells of is an apierrors.APIStatus. It is
// not tried again: the loops of the controllers do that.
func (r *requests) send(ctx context.Context, method, namespace, name string, object []byte) (answer []byte, err error) {
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
