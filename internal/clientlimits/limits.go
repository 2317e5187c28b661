package clientlimits

import (
	"reflect"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

// Limits bound the resources of a server that clients can use. The limits per host are far lower than the
// totals, so one host can't exhaust the server. With the defaults, no proxy reaches a limit:
// docs/decisions/0021-serving-limits.md has the reasons. Zero fields stand for the defaults.
type Limits struct {
	// MaxConnections is how many connections are served at a time, and MaxConnectionsPerHost how many of them
	// may come from one other host. Connections from our own host count for MaxConnections only, because the
	// proxy in our pod carries the calls of many clients.
	MaxConnections, MaxConnectionsPerHost int
	// MaxConcurrentStreams is how many calls a connection may have open, and
	// MaxConcurrentStreamsPerHost how many the connections of one other host may have open together.
	// Calls from our own host are limited per connection only.
	MaxConcurrentStreams, MaxConcurrentStreamsPerHost int
	// MaxRecvMsgSize bounds a request in bytes, and MaxHeaderListSize its headers.
	MaxRecvMsgSize, MaxHeaderListSize int
	// ConnectionTimeout bounds the time for the HTTP/2 handshake, and RequestTimeout the time until a
	// call has sent its request.
	ConnectionTimeout, RequestTimeout time.Duration
	// MaxConnectionIdle is how long a connection without calls is kept.
	MaxConnectionIdle time.Duration
	// MaxPendingRequests is how many open calls of one client may not have sent their request. For all
	// clients together the limit is twice as high.
	MaxPendingRequests int
	// MaxQueries is how many different queries are served at a time (the flag --grpc-max-questions), and
	// MaxQueriesPerClient how many of them one client may have been the first to make. A query that another
	// client has open is always allowed.
	MaxQueries, MaxQueriesPerClient int
	// MaxResponseBytesPerClient bounds the memory of the encoded responses that one client was the
	// first to need, in bytes, and that of the responses that one client doesn't read. For all clients
	// together both limits are ten times as high.
	MaxResponseBytesPerClient int
	// MaxUndeclaredPorts is how many different ports of a Service that doesn't declare them are served at
	// a time because one client was the first to query them. The xds role serves none of them.
	MaxUndeclaredPorts int
}

// DefaultLimits returns the default limits.
func DefaultLimits() Limits {
	return Limits{
		MaxConnections:              20_000,
		MaxConnectionsPerHost:       1_000,
		MaxConcurrentStreams:        100_000,
		MaxConcurrentStreamsPerHost: 20_000,
		MaxRecvMsgSize:              16 << 10,
		MaxHeaderListSize:           16 << 10,
		ConnectionTimeout:           10 * time.Second,
		RequestTimeout:              10 * time.Second,
		MaxConnectionIdle:           15 * time.Minute,
		MaxPendingRequests:          1_000,
		MaxQueries:                  200_000,
		MaxQueriesPerClient:         20_000,
		MaxResponseBytesPerClient:   64 << 20,
		MaxUndeclaredPorts:          50,
	}
}

// minPingInterval is the shortest interval between pings of a client. Proxies send one every ten seconds,
// also without calls. With the default of grpc-go they would be disconnected.
const minPingInterval = time.Second

// WithDefaults returns the limits with the defaults for zero fields.
func (l Limits) WithDefaults() Limits {
	fields, defaults := reflect.ValueOf(&l).Elem(), reflect.ValueOf(DefaultLimits())
	for i := range fields.NumField() {
		if f := fields.Field(i); f.IsZero() {
			f.Set(defaults.Field(i))
		}
	}
	return l
}

// ServerOptions returns the options of a gRPC server with the limits.
func (l Limits) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxConcurrentStreams(uint32(l.MaxConcurrentStreams)),
		grpc.MaxRecvMsgSize(l.MaxRecvMsgSize),
		grpc.MaxHeaderListSize(uint32(l.MaxHeaderListSize)),
		grpc.ConnectionTimeout(l.ConnectionTimeout),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: l.MaxConnectionIdle}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPingInterval, PermitWithoutStream: true}),
	}
}

// ErrSlowRequest is the status of a call that has not sent its request in time ([Limits].RequestTimeout).
var ErrSlowRequest = status.Error(codes.DeadlineExceeded, "the request did not arrive in time")

// Refusal is the reason for which a connection, call or query was refused, ignored or ended. It is
// a value of the metric label reason.
type Refusal string

// The reasons for refusals of this package. Servers have further reasons.
const (
	RefusedConnection       Refusal = "connections"
	RefusedConnectionOfHost Refusal = "connections_per_host"
	RefusedStreamOfHost     Refusal = "concurrent_streams_per_host"
	RefusedPending          Refusal = "pending_requests"
	RefusedSlow             Refusal = "request_timeout"
	RefusedHeaders          Refusal = "headers"
	RefusedMessage          Refusal = "message_size"
	RefusedQuery            Refusal = "questions"
	RefusedQueryOfClient    Refusal = "questions_per_client"
	RefusedMemory           Refusal = "response_bytes"
	RefusedMemoryOfClient   Refusal = "response_bytes_per_client"
	RefusedUnread           Refusal = "unread_bytes"
	RefusedUnreadOfClient   Refusal = "unread_bytes_per_client"
)

// NewRefusedCounter returns a counter of refusals by reason, with a series for each reason of this
// package and the own ones of a server.
func NewRefusedCounter(name, help string, own ...Refusal) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"reason"})
	for _, why := range append([]Refusal{
		RefusedConnection, RefusedConnectionOfHost, RefusedStreamOfHost, RefusedPending, RefusedSlow, RefusedHeaders, RefusedMessage, RefusedQuery,
		RefusedQueryOfClient, RefusedMemory, RefusedMemoryOfClient, RefusedUnread, RefusedUnreadOfClient,
	}, own...) {
		c.WithLabelValues(string(why))
	}
	return c
}
