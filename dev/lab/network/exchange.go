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

// exchange is a request and its response.
type exchange struct {
	api     *API
	conn    *downstream
	request request
	ctx     context.Context
	cancel  context.CancelFunc
	failure *Failure // replaces the response, or nil

	arrived time.Duration
	done    time.Duration // when the response was sent
	status  int           // of the response
	reached atomic.Bool
}

// errLost is the error of a response that a Failure replaces.
var errLost = errors.New("the answer gets lost")

type (
	exchangeKey   struct{}
	downstreamKey struct{}
)

// exchangeOf returns the exchange of a request to the API server.
func exchangeOf(r *http.Request) *exchange { return r.Context().Value(exchangeKey{}).(*exchange) }

// withDownstream adds a connection to the context of its requests.
func withDownstream(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, downstreamKey{}, conn.(*tls.Conn).NetConn())
}

func downstreamOf(r *http.Request) *downstream {
	return r.Context().Value(downstreamKey{}).(*downstream)
}

// serve serves the request. If it panics, there is no response.
func (x *exchange) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	x.failure = draw(x.api.faults.now(), x.request)
	if x.failure != nil && !x.failure.Applied {
		x.fail(w)
	} else {
		x.pass(w, r, body)
	}
	x.done = x.api.recorder.Now()
}

// pass forwards the request to the API server.
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

// roundTripper sends a request to the API server, on the upstream connections of the replica's connection.
type roundTripper struct{}

// RoundTrip implements [http.RoundTripper].
func (roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	x := exchangeOf(r)
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { x.reached.Store(true) }}
	return x.conn.up.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
}

// received is called with the header of the API server's response.
func (x *exchange) received(r *http.Response) error {
	if err := x.ctx.Err(); err != nil { // the client has given up
		return err
	}
	if x.failure != nil {
		return errLost
	}
	x.status = r.StatusCode
	return nil
}

// failed is called if there is no response to forward.
func (x *exchange) failed(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errLost) {
		x.fail(w)
		return
	}
	if r.Context().Err() == nil { // the client hasn't given up
		x.conn.reset()
	}
	panic(http.ErrAbortHandler)
}

func (x *exchange) fail(w http.ResponseWriter) {
	if x.failure.Reset {
		x.conn.reset()
		panic(http.ErrAbortHandler)
	}
	if err := x.failure.respond(w); err != nil {
		panic(http.ErrAbortHandler)
	}
	x.status = x.failure.Status
}

// record records the request with its result.
func (x *exchange) record() {
	write := x.request.KubernetesWrite
	write.Reached = x.reached.Load()
	status := x.status
	if x.done == 0 {
		status = -1
	}
	x.api.recorder.Record(history.Entry{
		At:    x.arrived,
		Write: &history.Write{Replica: x.api.replica, Responded: x.done, Status: status, Kubernetes: &write},
	})
}
