// Package writeclient makes clients of Endpoints and EndpointSlices for controllers that lead for a term.
//
// Writes are not retried, because the loops of the controllers do that. Everything else is as in client-go.
// Package controllers makes its clients with [Slices] and [Endpoints]. The controllers write through [Write]
// and [Send], so that writes continue after their context has ended, unless leadership was lost or others wait ([ErrYield]).
// After the end of a term, a sync begins no further writes for long ([Finishing]).
//
// # Concurrency
//
// The clients may be used from any goroutine.
package writeclient

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/internal/leader"
)

// Slices returns a client of EndpointSlices with the connection of c.
func Slices(c discoveryclient.DiscoveryV1Interface) discoveryclient.EndpointSlicesGetter {
	return discoveryclient.New(once{c.RESTClient()})
}

// Endpoints returns a client of Endpoints with the connection of c.
func Endpoints(c corev1client.CoreV1Interface) corev1client.EndpointsGetter {
	return corev1client.New(once{c.RESTClient()})
}

// once is a connection whose writes client-go doesn't retry.
type once struct{ rest.Interface }

// Post implements rest.Interface.
func (o once) Post() *rest.Request { return o.Interface.Post().MaxRetries(0) }

// Put implements rest.Interface.
func (o once) Put() *rest.Request { return o.Interface.Put().MaxRetries(0) }

// Delete implements rest.Interface.
func (o once) Delete() *rest.Request { return o.Interface.Delete().MaxRetries(0) }

// Write sends a create or update, with a context of [Detach]. It returns the object in the response, without
// managed fields, which nothing reads.
func Write[O metav1.Object](ctx context.Context, send func(context.Context) (O, error)) (O, error) {
	var made, none O
	err := Send(ctx, func(ctx context.Context) (err error) {
		made, err = send(ctx)
		return err
	})
	if err == nil && (made.GetUID() == "" || made.GetResourceVersion() == "") {
		err = errors.New("read the response: it has no UID or no resource version, so it is not an object")
	}
	if err != nil {
		return none, err
	}
	made.SetManagedFields(nil)
	return made, nil
}

// Send sends a write with a context of [Detach], unless that has ended.
func Send(ctx context.Context, send func(context.Context) error) error {
	ctx, done := Detach(ctx)
	defer done()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return send(ctx)
}

// ErrYield is the cause of a context whose writes end because other Services wait for the worker. Such a write
// may have succeeded, as one that timed out. It is not a failure of the API server.
var ErrYield = errors.New("the write takes long and was cancelled, because other Services wait; it is sent again")

// FinishLimit is how long after the end of a term a sync may begin further writes, so that its plan is complete.
// The work must end within the time between the renew deadline and the end of the Lease, five seconds by default.
// Otherwise the process ends without releasing the Lease, and nobody writes until it expires.
const FinishLimit = 2 * time.Second

// ErrStopped is the error of a write that would begin after [FinishLimit]. The next leader makes it.
var ErrStopped = errors.New("the write was not sent, because this process stops: the next leader makes it")

// mayBegin is the key of the context with which writes may begin, in that of a sync.
type mayBegin struct{}

// Finishing returns the context of a sync, which ends with ctx. Its writes fail with [ErrStopped] if they begin
// later than [FinishLimit] after that. The caller calls done when the sync has ended.
func Finishing(ctx context.Context) (sync context.Context, done func()) {
	begin, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(FinishLimit, func() { end(ErrStopped) })
	})
	return context.WithValue(ctx, mayBegin{}, begin), func() {
		stop()
		end(nil)
	}
}

// Detach returns the context of a write. The API server may carry out a cancelled write even after another
// process has become the leader. So the write doesn't end with ctx but at the timeout of the client. If ctx
// ends because leadership was lost, the write ends at once, because nothing may wait for it, and also if it
// ends with [ErrYield], because this process leads on.
func Detach(ctx context.Context) (write context.Context, done func()) {
	write, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	if begin, limited := ctx.Value(mayBegin{}).(context.Context); limited && begin.Err() != nil {
		cancel(context.Cause(begin))
	}
	stop := context.AfterFunc(ctx, func() {
		if cause := context.Cause(ctx); errors.Is(cause, leader.ErrNotLeading) || errors.Is(cause, ErrYield) {
			cancel(cause)
		}
	})
	return write, func() {
		stop()
		cancel(nil)
	}
}
