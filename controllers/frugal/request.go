package frugal

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

const protobufType = runtime.ContentTypeProtobuf

// metadataOnly is the Accept header; JSON is for servers that have no protobuf.
const metadataOnly = protobufType + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1," +
	"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// headers are those of all requests. Transports don't change the headers of requests.
var headers = http.Header{"Accept": {metadataOnly}, "Content-Type": {protobufType}}

// mostAnswer is the largest answer that is read, in bytes: several times what the API server
// stores of an object.
const mostAnswer = 16 << 20

// requests sends requests about the objects of a kind over the connections of a client. A
// rest.Request does the same, but joins and cleans the path, logs and measures, which is a
// fifth of what a small request costs.
type requests struct {
	transport http.RoundTripper
	limiter   flowcontrol.RateLimiter // nil for none
	// prefix is the URL of the kind's group and version.
	prefix   *url.URL
	resource schema.GroupResource
}

// newRequests returns requests that go where those of a client go. It returns false if the
// client is of another type than *rest.RESTClient, or has a timeout.
func newRequests(client rest.Interface, resource schema.GroupResource) (requests, bool) {
	c, ok := client.(*rest.RESTClient)
	if !ok || c == nil || c.Client == nil || c.Client.Transport == nil || c.Client.Timeout != 0 {
		return requests{}, false
	}
	return requests{c.Client.Transport, c.GetRateLimiter(), c.Get().URL(), resource}, true
}

// send sends an object in protobuf and returns the answer. The name is in the path
// if it is not empty. A failure that the API server tells of is an apierrors.APIStatus.
func (r *requests) send(ctx context.Context, method, namespace, name string, object []byte) (answer []byte, err error) {
	if r.limiter != nil {
		if err := r.limiter.Wait(ctx); err != nil {
			return nil, fmt.Errorf("wait for the limit of requests: %w", err)
		}
	}
	where := r.url(namespace, name)
	request := &http.Request{
		Method: method, URL: where, Host: where.Host, Header: headers, ContentLength: int64(len(object)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		// A connection that turns out to be closed is replaced, and the object sent again.
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(object)), nil },
		Body:    io.NopCloser(bytes.NewReader(object)),
	}
	response, err := r.transport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, where.Redacted(), err)
	}
	defer response.Body.Close()
	if answer, err = readBody(response); err != nil {
		return nil, fmt.Errorf("read the answer to %s %s: %w", method, where.Redacted(), err)
	}
	if response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusMultipleChoices {
		return nil, r.failure(method, name, response, answer)
	}
	return answer, nil
}

// url returns that of an object, or of all objects in a namespace if the name is empty. No
// name that the API server takes needs to be escaped.
func (r *requests) url(namespace, name string) *url.URL {
	where := *r.prefix
	where.Path += "/namespaces/" + namespace + "/" + r.resource.Resource
	if name != "" {
		where.Path += "/" + name
	}
	return &where
}

// readBody reads the body of an answer.
func readBody(response *http.Response) ([]byte, error) {
	if n := response.ContentLength; n >= 0 && n <= mostAnswer {
		body := make([]byte, n)
		_, err := io.ReadFull(response.Body, body)
		return body, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer+1))
	if len(body) > mostAnswer {
		return nil, fmt.Errorf("it is larger than %d bytes", mostAnswer)
	}
	return body, err
}

// failure returns the error that an answer without success stands for.
func (r *requests) failure(method, name string, response *http.Response, answer []byte) error {
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(answer, nil, nil)
	if status, ok := object.(*metav1.Status); err == nil && ok && status.Status != metav1.StatusSuccess {
		return apierrors.FromObject(status)
	}
	// The answer is not from the API server, but from something in between.
	wait, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	return apierrors.NewGenericServerResponse(response.StatusCode, method, r.resource, name, string(answer), wait, true)
}
