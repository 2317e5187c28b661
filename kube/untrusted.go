package kube

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
)

// UntrustedLimits bounds what an API server can make this process keep, if the server is run by others. A
// zero field means the default.
//
// The server's error texts are neither logged nor shown, because whoever names the server could use them to
// read what only this process can reach. Errors carry our own text and the status code instead. Redirects are
// not followed, for the same reason.
type UntrustedLimits struct {
	// ListBytes bounds a listing: all of its pages, or its part of a watch; 1 GiB by default. Other responses
	// may have 8 MiB.
	ListBytes int64
	// ListTime bounds a listing, with all of its pages; 5 minutes by default.
	ListTime time.Duration
	// EventBytes bounds one event of a watch, and one object of a listing in JSON; 32 MiB by default.
	EventBytes int64
	// Objects bounds the objects of a kind, over all pages of a listing; 500,000 by default.
	Objects int
	// BytesPerSecond bounds how fast all responses are read once twice ListBytes have been; 16 MiB by default.
	BytesPerSecond int64

	// pace is shared by all requests to the server.
	pace *pace
}

func (f UntrustedLimits) withDefaults() *UntrustedLimits {
	f.ListBytes = cmp.Or(f.ListBytes, 1<<30)
	f.ListTime = cmp.Or(f.ListTime, listTimeout)
	f.EventBytes = cmp.Or(f.EventBytes, 2*frameLimit)
	f.Objects = cmp.Or(f.Objects, 500_000)
	f.BytesPerSecond = cmp.Or(f.BytesPerSecond, 16<<20)
	f.pace = &pace{limiter: rate.NewLimiter(rate.Limit(f.BytesPerSecond), int(min(2*f.ListBytes, math.MaxInt))), slowed: func() {}}
	return &f
}

const (
	// errorBytes bounds a response with an error status.
	errorBytes = 1 << 20
	// documentBytes bounds a response that is read as a whole: a discovery document, an access review, or the
	// metadata of one object, which is smaller than an object in etcd.
	documentBytes = 8 << 20
)

// withoutLog returns a context with which client-go logs nothing, because its log quotes responses.
func withoutLog(ctx context.Context) context.Context {
	return klog.NewContext(ctx, klog.Logger{})
}

// noRedirects makes an HTTP client return a redirect instead of following it.
func noRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// leastCost is the least number of bytes that an event counts as, because a small one costs as much CPU.
const leastCost = 2 << 10

// responseCost is the number of bytes that a response counts as, in addition to its own. A request takes as much
// CPU as that, and a listing may have any number of small pages.
const responseCost = 64 << 10

// pace makes the responses of an untrusted server wait if they are too many. Without it, a server that floods
// its watches, or lets listings expire at once, uses all CPUs that there are.
type pace struct {
	limiter *rate.Limiter
	once    sync.Once
	// slowed is called when a response waits for the first time.
	slowed func()
}

// wait waits until bytes more may be read. It returns an error if ctx ends before.
func (p *pace) wait(ctx context.Context, bytes int64) error {
	n := min(int(bytes), p.limiter.Burst())
	if p.limiter.AllowN(time.Now(), n) {
		return nil
	}
	p.once.Do(p.slowed)
	if p.limiter.WaitN(ctx, n) != nil {
		return limitError("it sends more than may be read of it for now")
	}
	return nil
}

// limitError is the error of an exceeded limit. Its text names the limit.
type limitError string

// Error implements error.
func (t limitError) Error() string { return string(t) }

// limiter cuts off responses that exceed the limits. Watches never end and are limited per event instead.
type limiter struct {
	next      http.RoundTripper
	untrusted *UntrustedLimits
}

// WrappedRoundTripper lets client-go find the connections, to close them.
func (l *limiter) WrappedRoundTripper() http.RoundTripper { return l.next }

// RoundTrip implements http.RoundTripper.
func (l *limiter) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if waited := l.untrusted.pace.wait(r.Context(), responseCost); waited != nil {
		_ = response.Body.Close()
		return nil, waited
	}
	if r.URL.Query().Get("watch") == "" || response.StatusCode != http.StatusOK {
		response.Body = &paced{response.Body, r.Context(), l.untrusted.pace}
	}
	limit := min(l.untrusted.ListBytes, documentBytes)
	listing, _ := r.Context().Value(allowanceKey{}).(*allowance)
	switch {
	case response.StatusCode != http.StatusOK:
		limit = min(limit, errorBytes)
	case r.URL.Query().Get("watch") != "":
		return response, nil
	case listing != nil:
		response.Body = &limited{response.Body, "listing", l.untrusted.ListBytes, &listing.bytes}
		return response, nil
	}
	left := limit
	response.Body = &limited{response.Body, "response", limit, &left}
	return response, nil
}

// paced is a response body that is read at the pace of its server.
type paced struct {
	io.ReadCloser
	ctx  context.Context
	pace *pace
}

// Read implements io.Reader.
func (b *paced) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if waited := b.pace.wait(b.ctx, int64(n)); waited != nil {
		return 0, waited
	}
	return n, err
}

// limited is a response body with a size limit.
type limited struct {
	io.ReadCloser
	what  string
	limit int64
	left  *int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if *l.left -= int64(n); *l.left < 0 {
		return 0, larger(l.what, l.limit)
	}
	return n, err
}

func larger(what string, limit int64) error {
	return limitError(fmt.Sprintf("its %s is larger than %d bytes", what, limit))
}

// allowance is what is left of the limits for one listing, whose pages may each announce another
// page. It has one user at a time. The allowance of a listing of a trusted server is nil.
type allowance struct {
	untrusted *UntrustedLimits
	ends      time.Time
	bytes     int64
	// objects is how many objects the pages so far had, at least one each.
	objects int
}

// allowanceKey is the key of the allowance in the context of requests.
type allowanceKey struct{}

// allowance returns the allowance of a new listing.
func (f *UntrustedLimits) allowance() *allowance {
	if f == nil {
		return nil
	}
	return &allowance{untrusted: f, ends: time.Now().Add(f.ListTime), bytes: f.ListBytes}
}

// context returns the context of the next page.
func (a *allowance) context(ctx context.Context) (context.Context, context.CancelFunc) {
	if a == nil {
		return context.WithTimeout(ctx, listTimeout)
	}
	return context.WithDeadline(context.WithValue(ctx, allowanceKey{}, a), a.ends)
}

// check returns an error if a page with so many objects makes more of them than the limits allow.
func (a *allowance) check(objects int) error {
	if a == nil {
		return nil
	}
	return a.untrusted.check(a.objects + objects)
}

// add counts a page.
func (a *allowance) add(objects int) {
	if a != nil {
		a.objects += max(1, objects)
	}
}

// overtime returns what the error of a page means: the time of the listing is over, or the error itself.
func (a *allowance) overtime(err error) error {
	if a == nil || time.Now().Before(a.ends) {
		return err
	}
	return limitError(fmt.Sprintf("its listing takes longer than %s", a.untrusted.ListTime))
}

// meter counts the bytes of an event.
type meter struct {
	io.Reader
	untrusted *UntrustedLimits
	read      int64
}

// Read implements io.Reader.
func (m *meter) Read(p []byte) (int, error) {
	if m.read > m.untrusted.EventBytes {
		return 0, m.exceeded()
	}
	n, err := m.Reader.Read(p)
	m.read += int64(n)
	return n, err
}

func (m *meter) exceeded() error {
	return limitError(fmt.Sprintf("an event is larger than %d bytes", m.untrusted.EventBytes))
}

// guarded decodes the events of an untrusted server and enforces the limits.
type guarded struct {
	watch.Decoder
	// ctx is that of the watch.
	ctx   context.Context
	meter *meter
	// filled reports whether the tables have the objects that existed, and held returns how many objects they
	// have.
	filled func() bool
	held   func() int
	// failed records an exceeded limit, because a reflector doesn't report the error that ends a watch.
	failed func(error)
	// Until the tables are filled, sent counts the added and modified objects, and bytes the bytes of their
	// events.
	sent  int
	bytes int64
}

// Decode implements watch.Decoder.
func (g *guarded) Decode() (watch.EventType, runtime.Object, error) {
	g.meter.read = 0
	kind, object, err := g.Decoder.Decode()
	waited := g.meter.untrusted.pace.wait(g.ctx, max(g.meter.read, leastCost))
	switch {
	case err == nil && waited != nil:
		err = conceal(waited)
	case err != nil && g.meter.read > g.meter.untrusted.EventBytes:
		err = conceal(g.meter.exceeded())
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		err = conceal(err)
	case kind == watch.Added, kind == watch.Modified:
		if exceeded := g.check(); exceeded != nil {
			err = conceal(exceeded)
			g.failed(err)
		}
	case kind == watch.Error:
		object = concealedStatus(apierrors.FromObject(object))
	}
	return kind, object, err
}

// check returns an error if the server makes this process keep too many objects, a few events late, or sends too
// large a listing. Before the tables are filled, each added or modified object counts as another one. Deletions
// don't reduce the number, because a deleted object may never have existed.
func (g *guarded) check() error {
	limits := g.meter.untrusted
	if g.filled() {
		return limits.check(g.held())
	}
	g.sent++
	if g.bytes += g.meter.read; g.bytes > limits.ListBytes {
		return larger("listing", limits.ListBytes)
	}
	return limits.check(g.sent)
}

// check returns an error if there are too many objects.
func (f *UntrustedLimits) check(objects int) error {
	if objects <= f.Objects {
		return nil
	}
	return limitError(fmt.Sprintf("it has more than %d objects of the kind", f.Objects))
}

// conceal returns err without any text from the server, for logs and status. What callers find with errors.As
// and apierrors' functions is kept.
func conceal(err error) error {
	var exceeded limitError
	if status := apierrors.APIStatus(nil); errors.As(err, &status) || errors.As(err, &exceeded) {
		return &apierrors.StatusError{ErrStatus: *concealedStatus(err)}
	}
	return &concealed{text: noResponse(err), cause: err}
}

// concealedStatus returns what may be shown of an error response.
func concealedStatus(err error) *metav1.Status {
	shown := &metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: badResponse}
	if exceeded := limitError(""); errors.As(err, &exceeded) {
		shown.Message = exceeded.Error()
		return shown
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return shown
	}
	original := status.Status()
	if original.Code >= 100 && original.Code <= 599 {
		shown.Code, shown.Message = original.Code, fmt.Sprintf("it responds with HTTP status %d", original.Code)
	}
	if original.Reason == metav1.StatusReasonExpired {
		shown.Reason = metav1.StatusReasonExpired
	}
	shown.Details = &metav1.StatusDetails{}
	if original.Details != nil {
		shown.Details.RetryAfterSeconds = original.Details.RetryAfterSeconds
	}
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		shown.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	}
	return shown
}

// concealed is an error with a text of our own.
type concealed struct {
	text  string
	cause error
}

// Error implements error.
func (c *concealed) Error() string { return c.text }

// Unwrap lets callers classify the failure.
func (c *concealed) Unwrap() error { return c.cause }

// badResponse is shown for a response that isn't valid.
const badResponse = "its response isn't that of a Kubernetes API server"

// noResponse says in our own words why there is no response. Texts of the network and of TLS may quote the
// server.
func noResponse(err error) string {
	var (
		timeout   net.Error
		name      *net.DNSError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		bad       *tls.CertificateVerificationError
		alert     tls.AlertError
		plain     tls.RecordHeaderError
		connect   *net.OpError
	)
	switch {
	case errors.Is(err, context.Canceled):
		return "the request was cancelled"
	case errors.As(err, &name):
		return "the name of its host can't be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection is refused"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.As(err, &authority):
		return "its certificate isn't signed by the authority in the kubeconfig"
	case errors.As(err, &host):
		return "its certificate is that of another host"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate has expired, or isn't valid yet"
	case errors.As(err, &bad), errors.As(err, &invalid):
		return "its certificate isn't valid"
	case errors.As(err, &alert):
		return "it refuses the TLS handshake"
	case errors.As(err, &plain):
		return "it doesn't speak TLS"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, net.ErrClosed):
		return "it closes the connection"
	case errors.As(err, &connect):
		return "there is no connection"
	default:
		return badResponse
	}
}
