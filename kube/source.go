package kube

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	restwatch "k8s.io/client-go/rest/watch"
	"k8s.io/klog/v2"
)

const (
	// listTimeout bounds a response with a listing, or with a page of one, which may be large.
	listTimeout = 5 * time.Minute
	// responseTimeout bounds the time until a response begins. kube-apiserver gives up on a request after a
	// minute by default (--request-timeout).
	responseTimeout = 2 * time.Minute
	// watchGrace is how much longer than requested a watch may last before it is cancelled.
	watchGrace = 30 * time.Second
	// streamBuffer is the read buffer of a watch. Each read makes the HTTP client send a window update to the
	// API server, which costs more than copying the bytes: without the buffer, a stream of many objects takes
	// a tenth more CPU. Watches of several namespaces share this size, with leastBuffer as the minimum.
	streamBuffer = 64 << 10
	leastBuffer  = 4 << 10
)

// source lists and watches the objects of one resource. It records in state when watches start and end; the
// feed records the errors that it returns. It doesn't use the retries of client-go's Watch, which hide
// failures for up to a minute.
type source struct {
	client     *rest.RESTClient
	negotiator runtime.ClientNegotiator
	params     runtime.ParameterCodec
	path       []string
	resource   schema.GroupVersionResource
	selector   string
	form       Form
	state      *state
	watches    *watches
	entries    *entries
	// buffer is the size of the read buffer.
	buffer int
	// untrusted is nil for a trusted API server.
	untrusted *UntrustedLimits
	// held returns how many objects the tables have. continued returns nil if a watch may continue at their
	// version.
	held      func() int
	continued func(context.Context) error
}

// connect gives each part of a feed its source. The sources share the client, which knows all types of the
// API group and is large.
func (f *feed) connect(cfg *rest.Config, h *http.Client) error {
	serializer, err := f.form.serializer()
	if err != nil {
		return fmt.Errorf("prepare to read %s: %w", f.resource.Resource, err)
	}
	cfg = rest.CopyConfig(cfg)
	cfg.NegotiatedSerializer = serializer
	cfg.GroupVersion = nil
	cfg.APIPath = "/apis"
	client, err := rest.UnversionedRESTClientForConfigAndClient(cfg, h)
	if err != nil {
		return fmt.Errorf("make client for %s: %w", f.resource.Resource, err)
	}
	options := runtime.NewScheme()
	metav1.AddToGroupVersion(options, metav1.Unversioned)
	negotiator, params := runtime.NewClientNegotiator(serializer, f.resource.GroupVersion()), runtime.NewParameterCodec(options)
	for _, p := range f.parts {
		p.source = &source{
			client: client, negotiator: negotiator, params: params,
			path: resourcePath(f.resource, p.namespace), resource: f.resource, selector: f.selector, form: f.form,
			state: p.state, watches: p.watches, entries: newEntries(f), buffer: max(streamBuffer/len(f.parts), leastBuffer),
			untrusted: f.untrusted, held: f.len, continued: p.continued,
		}
	}
	return nil
}

// resourcePath returns the URL path of the objects of a namespace or, if that is empty, of all.
func resourcePath(r schema.GroupVersionResource, namespace string) []string {
	path := []string{"apis", r.Group, r.Version}
	if r.Group == "" {
		path = []string{"api", r.Version}
	}
	if namespace != "" {
		path = append(path, "namespaces", namespace)
	}
	return append(path, r.Resource)
}

func (s *source) request(opts *metav1.ListOptions, accept string) *rest.Request {
	opts.LabelSelector = s.selector
	return s.client.Get().AbsPath(s.path...).
		SetHeader("Accept", accept).
		SpecificallyVersionedParams(opts, s.params, metav1.Unversioned).
		MaxRetries(0)
}

// untilResponse returns the context of one request, which ends if the response doesn't begin within
// responseTimeout. ctx must end after the request. stop is to be called once the request has returned.
func untilResponse(ctx context.Context) (_ context.Context, stop func() bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(responseTimeout, func() { cancel(context.DeadlineExceeded) })
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotFirstResponseByte: func() { late.Stop() }}), late.Stop
}

// timeoutOf returns the error of a request. If the time for the response is over, it is a timeout also with
// HTTP/2, whose client says that the request was cancelled.
func timeoutOf(ctx context.Context, err error) error {
	failed, ok := errors.AsType[*url.Error](err)
	if !ok || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return err
	}
	return &url.Error{Op: failed.Op, URL: failed.URL, Err: context.DeadlineExceeded}
}

// listings returns a function that lists all objects, or as many as the API server wants to send at
// a time. Only one listing at a time may use it: after a rewind, when the listing before may not
// have ended yet, the next one needs another.
func (s *source) listings() func(context.Context, metav1.ListOptions) (runtime.Object, error) {
	var left *allowance
	return func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		if opts.Continue == "" {
			left = s.untrusted.allowance()
		}
		list, err := s.listPage(ctx, opts, left)
		if err != nil {
			return nil, err
		}
		left.add(meta.LenList(list))
		return list, nil
	}
}

// listPage lists one page, within what is left for the listing.
func (s *source) listPage(ctx context.Context, opts metav1.ListOptions, left *allowance) (runtime.Object, error) {
	bounded, cancel := left.context(ctx)
	defer cancel()
	bounded, stop := untilResponse(bounded)
	defer stop()
	list, err := s.receivePage(bounded, opts, left.check)
	err = timeoutOf(bounded, err)
	if err == nil {
		err = left.check(meta.LenList(list)) // pages may be empty
	}
	if err != nil && opts.Continue != "" && ctx.Err() == nil {
		err = left.overtime(err)
	}
	if err != nil {
		return nil, s.classify(err)
	}
	return list, nil
}

// receivePage returns a page. check returns an error if the page has too many objects.
func (s *source) receivePage(ctx context.Context, opts metav1.ListOptions, check func(objects int) error) (runtime.Object, error) {
	request := s.request(&opts, s.form.acceptList)
	if s.form.protobuf() {
		return s.listEntries(ctx, request, check)
	}
	return s.listJSON(ctx, request, check)
}

func (s *source) listEntries(ctx context.Context, request *rest.Request, check func(objects int) error) (runtime.Object, error) {
	body, err := request.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	objects, err := newObjects(s.form)
	if err != nil {
		return nil, err
	}
	l := &lister{in: bufio.NewReaderSize(body, s.buffer), entries: s.entries, objects: objects, check: check}
	list, err := l.read()
	if err != nil {
		return nil, fmt.Errorf("read list of %s: %w", s.path[len(s.path)-1], err)
	}
	return list, nil
}

// listJSON returns all objects of a page in JSON as entries.
func (s *source) listJSON(ctx context.Context, request *rest.Request, check func(objects int) error) (runtime.Object, error) {
	body, err := request.Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	l, err := newJSONLister(body, s, check)
	if err != nil {
		return nil, err
	}
	list, err := l.list()
	if err != nil {
		return nil, fmt.Errorf("read list of %s: %w", s.path[len(s.path)-1], err)
	}
	return list, nil
}

// classify returns a request's error as it may be shown: without texts of an untrusted server.
func (s *source) classify(err error) error {
	if s.untrusted == nil {
		return err
	}
	return conceal(err)
}

func (s *source) watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	start := s.state.startFollowing
	if startsWithObjects(opts) {
		start = s.state.startFilling
	}
	w, err := s.open(ctx, opts, start)
	switch {
	case err == nil:
		return w, nil
	case outdated(err) || errors.Is(err, errRewound) || ctx.Err() != nil:
		return nil, err
	case startsWithObjects(opts):
		// Returning an error makes the reflector list at once, which also works with API servers that can't
		// stream; others then return the real error. The error is not wrapped, because for some errors the
		// reflector retries by itself and ignores the context.
		return nil, fmt.Errorf("stream objects: %v", err)
	case lasting(err):
		return nil, err
	}
	s.state.failed(err) // the reflector doesn't return this one
	return nil, resumable{err}
}

// startsWithObjects reports whether a watch starts with the existing objects.
func startsWithObjects(opts metav1.ListOptions) bool {
	return opts.SendInitialEvents != nil && *opts.SendInitialEvents
}

// open opens a watch. When the API server has responded, start records the watch as open and returns its
// number.
func (s *source) open(ctx context.Context, opts metav1.ListOptions, start func() int) (watch.Interface, error) {
	opts.Watch = true
	short := false
	if opts.SendInitialEvents == nil {
		opts.TimeoutSeconds, short = s.watches.next(opts.TimeoutSeconds)
	}
	asked := time.Now()
	longest := listTimeout // reflectors always set a timeout
	if opts.TimeoutSeconds != nil {
		longest = time.Duration(*opts.TimeoutSeconds)*time.Second + watchGrace
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	ctx, stop := untilResponse(ctx)
	body, err := s.request(&opts, s.form.acceptWatch).Stream(ctx)
	stop()
	if err != nil {
		cancel()
		return nil, s.classify(timeoutOf(ctx, err))
	}
	if opts.SendInitialEvents == nil {
		// This check comes after the watch is open, because another API server might have answered it before.
		if err := s.continued(ctx); err != nil {
			cancel()
			_ = body.Close()
			return nil, err
		}
	}
	stream := &stream{body: body, cancel: cancel, state: s.state, number: start(), watches: s.watches, asked: asked, short: short}
	s.watches.opened(stream)
	decoder, err := s.guard(ctx, stream)
	if err != nil {
		_ = stream.Close()
		return nil, fmt.Errorf("choose decoder for watch: %w", err)
	}
	return newWatch(decoder), nil
}

// newWatch returns a watch that decodes events until the decoder fails or the watch is stopped. A
// failure other than the end of the stream becomes the last event. Nothing is logged, because
// errors may quote responses.
func newWatch(d watch.Decoder) watch.Interface {
	return watch.NewStreamWatcherWithLogger(klog.Logger{}, d,
		apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding"))
}

// guard returns the decoder of a stream, with the limits for an untrusted server.
func (s *source) guard(ctx context.Context, stream io.ReadCloser) (watch.Decoder, error) {
	if s.untrusted == nil {
		return s.decoder(stream)
	}
	m := &meter{Reader: stream, untrusted: s.untrusted}
	decoder, err := s.decoder(struct {
		io.Reader
		io.Closer
	}{m, stream})
	return &guarded{Decoder: decoder, ctx: ctx, meter: m, filled: s.state.following, held: s.held, failed: s.state.failed}, err
}

func (s *source) decoder(stream io.ReadCloser) (watch.Decoder, error) {
	buffered := struct {
		io.Reader
		io.Closer
	}{bufio.NewReaderSize(stream, s.buffer), stream}
	object, serializer, framer, err := s.negotiator.StreamDecoder(mediaType(s.form.acceptWatch), nil)
	if err != nil {
		return nil, err
	}
	if s.form.protobuf() {
		return newEvents(buffered, s.entries, object)
	}
	return restwatch.NewDecoder(streaming.NewDecoder(framer.NewFrameReader(buffered), serializer), object), nil
}

// stream is the body of a watch. A broken connection reads as the end of the watch, which the reflector then
// resumes. After an error it would list everything.
type stream struct {
	body   io.ReadCloser
	cancel context.CancelFunc
	state  *state
	number int
	once   sync.Once

	watches *watches
	// asked is when the watch was requested. short is true if CatchUp made it short.
	asked time.Time
	short bool
	// complete is true if the API server ended the watch by timeout. The lock of the watches guards it.
	complete bool
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	if n > 0 {
		s.state.received()
	}
	if err != nil {
		s.watches.ended(s, err)
		s.state.ended(s.number, err)
		return n, io.EOF
	}
	return n, nil
}

// Close implements io.Closer.
func (s *stream) Close() error {
	s.state.ended(s.number, nil)
	s.once.Do(s.cancel)
	return s.body.Close()
}

// resumable is a failure after which the reflector resumes the watch. Reflectors resume only after refused
// connections, which they find with errors.As; after other failures they list everything.
type resumable struct{ cause error }

// Error implements error.
func (r resumable) Error() string { return r.cause.Error() }

// Unwrap makes the failure a refused connection.
func (r resumable) Unwrap() error { return syscall.ECONNREFUSED }

// lasting reports whether a resumed watch would fail with this error again.
func lasting(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	switch code := status.Status().Code; code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return false
	default:
		return code < http.StatusInternalServerError
	}
}

func mediaType(accept string) string {
	name, _, _ := strings.Cut(accept, ";")
	return name
}

// outdated reports whether the API server no longer has the requested resource version, or doesn't have it
// yet. Reflectors handle both.
func outdated(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) ||
		apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}
