package clientlimits

import (
	"cmp"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// Limits bound what clients can make a server hold. A host that asks for too much is refused
// before it can take the places of others. No limit is one that a proxy meets at its default:
// docs/decisions/0021-serving-limits.md has the reasons. A field that is zero has its default.
type Limits struct {
	// MaxConnections is how many connections are served at a time, and MaxConnectionsPerHost
	// how many of them may come from one other host. A connection from our own host may be that
	// of the proxy in our pod, which carries the calls of many clients; it counts for the first
	// only.
	MaxConnections, MaxConnectionsPerHost int
	// MaxConcurrentStreams is how many calls a connection may have open.
	MaxConcurrentStreams int
	// MaxRecvMsgSize is the size of a request in bytes, and MaxHeaderListSize that of its
	// headers.
	MaxRecvMsgSize, MaxHeaderListSize int
	// ConnectionTimeout is how long a client may take to begin to speak HTTP/2, and
	// RequestTimeout how long a call may take to send its request.
	ConnectionTimeout, RequestTimeout time.Duration
	// MaxConnectionIdle is how long a connection without calls is kept.
	MaxConnectionIdle time.Duration
	// MaxPendingRequests is how many calls of one client may be open that have not sent their
	// request; of all clients together, twice as many.
	MaxPendingRequests int
	// MaxQuestions is how many different questions are answered at a time, and
	// MaxQuestionsPerClient how many of them may be there because of one client. Asking what
	// somebody else asks is always allowed.
	MaxQuestions, MaxQuestionsPerClient int
	// MaxUndeclaredPorts is how many different ports of a Service are answered at a time that
	// the Service doesn't declare. The xds role answers none of them.
	MaxUndeclaredPorts int
}

// DefaultLimits returns the limits of a server that is told no others.
func DefaultLimits() Limits {
	return Limits{
		MaxConnections:        20_000,
		MaxConnectionsPerHost: 1_000,
		MaxConcurrentStreams:  100_000,
		MaxRecvMsgSize:        16 << 10,
		MaxHeaderListSize:     16 << 10,
		ConnectionTimeout:     10 * time.Second,
		RequestTimeout:        10 * time.Second,
		MaxConnectionIdle:     15 * time.Minute,
		MaxPendingRequests:    1_000,
		MaxQuestions:          200_000,
		MaxQuestionsPerClient: 20_000,
		MaxUndeclaredPorts:    50,
	}
}

// minPingInterval is how often a client may send pings. Proxies send one each ten seconds, also
// without calls; grpc-go would cut them off by default.
const minPingInterval = time.Second

// WithDefaults returns the limits with the default in the place of each zero.
func (l Limits) WithDefaults() Limits {
	d := DefaultLimits()
	return Limits{
		MaxConnections:        cmp.Or(l.MaxConnections, d.MaxConnections),
		MaxConnectionsPerHost: cmp.Or(l.MaxConnectionsPerHost, d.MaxConnectionsPerHost),
		MaxConcurrentStreams:  cmp.Or(l.MaxConcurrentStreams, d.MaxConcurrentStreams),
		MaxRecvMsgSize:        cmp.Or(l.MaxRecvMsgSize, d.MaxRecvMsgSize),
		MaxHeaderListSize:     cmp.Or(l.MaxHeaderListSize, d.MaxHeaderListSize),
		ConnectionTimeout:     cmp.Or(l.ConnectionTimeout, d.ConnectionTimeout),
		RequestTimeout:        cmp.Or(l.RequestTimeout, d.RequestTimeout),
		MaxConnectionIdle:     cmp.Or(l.MaxConnectionIdle, d.MaxConnectionIdle),
		MaxPendingRequests:    cmp.Or(l.MaxPendingRequests, d.MaxPendingRequests),
		MaxQuestions:          cmp.Or(l.MaxQuestions, d.MaxQuestions),
		MaxQuestionsPerClient: cmp.Or(l.MaxQuestionsPerClient, d.MaxQuestionsPerClient),
		MaxUndeclaredPorts:    cmp.Or(l.MaxUndeclaredPorts, d.MaxUndeclaredPorts),
	}
}

// ServerOptions returns the options of a gRPC server that has the limits.
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

// Refusal is why something of a client was refused or ignored: a value of the label reason.
type Refusal string

// The reasons of what this package refuses. Servers have reasons of their own beside them.
const (
	RefusedConnection       Refusal = "connections"
	RefusedConnectionOfHost Refusal = "connections_per_host"
	RefusedPending          Refusal = "pending_requests"
	RefusedSlow             Refusal = "request_timeout"
	RefusedMessage          Refusal = "message_size"
	RefusedQuestion         Refusal = "questions"
	RefusedQuestionOfClient Refusal = "questions_per_client"
)

// Refusals returns the reasons of this package.
func Refusals() []Refusal {
	return []Refusal{
		RefusedConnection, RefusedConnectionOfHost, RefusedPending, RefusedSlow, RefusedMessage, RefusedQuestion, RefusedQuestionOfClient,
	}
}
