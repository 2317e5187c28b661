package settings

import (
	"math"
	"time"

	"github.com/signpostd/signpost/internal/clientlimits"
)

// smallestRequest is the minimum setting of request and header sizes in bytes, enough for a proxy.
const smallestRequest = 4 << 10

// smallestResponses is the minimum setting of the responses of a client in bytes, enough for the largest
// Services.
const smallestResponses = 8 << 20

// limitSettings are the limits of the gRPC server of a role.
func limitSettings(o *clientlimits.Limits, section string) []Setting {
	return []Setting{
		{Flag: "grpc-max-connections", Path: section + ".limits.maxConnections", Value: intValue(&o.MaxConnections), Usage: "connections that are served at a time; others are reset", bounds: between(1, math.MaxInt32)},
		{Flag: "grpc-max-connections-per-host", Path: section + ".limits.maxConnectionsPerHost", Value: intValue(&o.MaxConnectionsPerHost), Usage: "connections of one other host that are served at a time; set it to more if many proxies share an address", bounds: between(1, math.MaxInt32)},
		{Flag: "grpc-max-concurrent-streams", Path: section + ".limits.maxConcurrentStreams", Value: intValue(&o.MaxConcurrentStreams), Usage: "calls that one connection may have open; the proxy in the pod may put the calls of many proxies on one connection", bounds: between(1, math.MaxInt32)},
		{Flag: "grpc-max-concurrent-streams-per-host", Path: section + ".limits.maxConcurrentStreamsPerHost", Value: intValue(&o.MaxConcurrentStreamsPerHost), Usage: "calls that the connections of one other host may have open together; set it to more if many proxies share an address", bounds: between(1, math.MaxInt32)},
		{Flag: "grpc-max-recv-msg-size", Path: section + ".limits.maxRecvMsgSize", Value: intValue(&o.MaxRecvMsgSize), Usage: "largest request, in bytes", bounds: between(smallestRequest, math.MaxInt32)},
		{Flag: "grpc-max-header-list-size", Path: section + ".limits.maxHeaderListSize", Value: intValue(&o.MaxHeaderListSize), Usage: "largest headers of a request, in bytes", bounds: between(smallestRequest, math.MaxInt32)},
		{Flag: "grpc-connection-timeout", Path: section + ".limits.connectionTimeout", Value: durationValue(&o.ConnectionTimeout), Usage: "how long a new connection may take to begin with HTTP/2"},
		{Flag: "grpc-max-connection-idle", Path: section + ".limits.maxConnectionIdle", Value: durationValue(&o.MaxConnectionIdle), Usage: "how long a connection without calls is kept"},
		{Flag: "grpc-request-timeout", Path: section + ".limits.requestTimeout", Value: durationValue(&o.RequestTimeout), Usage: "how long a call may take to send its request; calls that have sent it last as long as they like"},
		{Flag: "grpc-max-pending-requests", Path: section + ".limits.maxPendingRequests", Value: intValue(&o.MaxPendingRequests), Usage: "open calls of one client that have not sent their request; of all together twice as many", bounds: between(1, math.MaxInt32)},
		{Flag: "grpc-max-questions", Path: section + ".limits.maxQuestions", Value: intValue(&o.MaxQueries), Usage: "different questions that are answered at a time; any number of clients may ask each of them", bounds: between(1, math.MaxInt32)},
		{Flag: "grpc-max-questions-per-client", Path: section + ".limits.maxQuestionsPerClient", Value: intValue(&o.MaxQueriesPerClient), Usage: "different questions that are answered at a time because one client asked first", bounds: between(1, math.MaxInt32)},
		{Flag: "grpc-max-response-bytes-per-client", Path: section + ".limits.maxResponseBytesPerClient", Value: intValue(&o.MaxResponseBytesPerClient), Usage: "bytes of the encoded responses that are kept because one client needed them first, and of those that it doesn't read; of all together ten times as many", bounds: between(smallestResponses, math.MaxInt32)},
		{Flag: "grpc-max-undeclared-ports", Path: section + ".limits.maxUndeclaredPorts", Value: intValue(&o.MaxUndeclaredPorts), Usage: "ports of a Service that are answered at a time for one client although the Service doesn't declare them", bounds: between(1, math.MaxInt32)},
	}
}

// checkLimits returns the limits with which no client could be served.
func checkLimits(o clientlimits.Limits) []problem {
	settings := limitSettings(&o, "")
	found := checkBounds(settings, "; for no limit, set a large number")
	for _, s := range settings {
		if v, is := s.Value.(scalarValue[time.Duration]); is && *v.target < time.Second {
			found = append(found, problem{flags: []string{s.Flag}, reason: "must be at least 1s"})
		}
	}
	return found
}
