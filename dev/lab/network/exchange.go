package network

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
)

// exchange is a request and its answer.
type exchange struct {
	api     *API
	conn    *downstream
	request request
	ctx     context.Context
	cancel  context.CancelFunc
	hits    []*fault[failing]

	arrived time.Duration
	done    time.Duration // when the answer was passed back
	status  int           // what is answered
	reached atomic.Bool
}

// errLost is the error of an answer that a Failure replaces.
var errLost = errors.New("the answer gets lost")

type (
	exchangeKey   struct{}
	downstreamKey struct{}
)

// exchangeOf returns the exchange that a request to the API server belongs to.
func exchangeOf(r *http.Request) *exchange { return r.Context().Value(exchangeKey{}).(*exchange) }

// withDownstream adds a connection to the context of its requests.
func withDownstream(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, downstreamKey{}, conn.(*tls.Conn).NetConn())
}

func downstreamOf(r *http.Request) *downstream {
	return r.Context().Value(downstreamKey{}).(*downstream)
}

// serve answers the request. If it panics, there is no answer.
func (x *exchange) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	x.hits = draw(x.api.faults.now(), x.request)
	x.delay(false)
	if f := x.failure(); f != nil && !f.Applied {
		x.fail(w, f)
	} else {
		x.pass(w, r, body)
	}
	x.done = x.api.recorder.Now()
}

// pass lets the API server answer.
func (x *exchange) pass(w http.ResponseWriter, r *http.Request, body []byte) {
	r = r.WithContext(x.ctx)
	if len(body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(body))
	} else {
		r.Body = http.NoBody
	}
	r.ContentLength = int64(len(body))
	x.api.proxy.ServeHTTP(w, r)
}

// roundTripper sends a request to the API server, on the connections that belong to that of the replica.
type roundTripper struct{}

// RoundTrip implements http.RoundTripper.
func (roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	x := exchangeOf(r)
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { x.reached.Store(true) }}
	return x.conn.up.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
}

// answered is called with the beginning of the API server's answer.
func (x *exchange) answered(r *http.Response) error {
	x.delay(true)
	if err := x.ctx.Err(); err != nil { // nobody waits for it any more
		return err
	}
	if x.failure() != nil {
		return errLost
	}
	x.status = r.StatusCode
	return nil
}

// failed is called instead if there is no answer to pass back.
func (x *exchange) failed(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errLost) {
		x.fail(w, x.failure())
		return
	}
	if r.Context().Err() == nil { // nobody has broken it off on this side
		x.conn.reset()
	}
	panic(http.ErrAbortHandler)
}

// delay waits as long as the failures say, before the request is passed on or after it was applied.
func (x *exchange) delay(applied bool) {
	for _, f := range x.hits {
		if f.what.Applied == applied {
			wait(f.what.Delay, f.over, x.ctx.Done())
		}
	}
}

// failure is what is answered instead of what the API server says; nil if that is passed back.
func (x *exchange) failure() *Failure {
	if len(x.hits) == 0 || !x.hits[len(x.hits)-1].what.fails() {
		return nil
	}
	return &x.hits[len(x.hits)-1].what.Failure
}

func (x *exchange) fail(w http.ResponseWriter, f *Failure) {
	if f.Reset {
		x.conn.reset()
		panic(http.ErrAbortHandler)
	}
	if err := f.answer(w); err != nil {
		panic(http.ErrAbortHandler)
	}
	x.status = f.Status
}

// record records what has become of the request.
func (x *exchange) record() {
	write := x.request.KubernetesWrite
	write.Reached = x.reached.Load()
	status := x.status
	if x.done == 0 {
		status = -1
	}
	x.api.recorder.Record(history.Entry{
		At:    x.arrived,
		Write: &history.Write{Replica: x.api.replica, Answered: x.done, Status: status, Kubernetes: &write},
	})
}
