package xds

import (
	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/internal/clientlimits"
)

// What a stream may ask for (§10.4).
const (
	maxNameLength = 512
	// maxNames bounds the resources that a stream is subscribed to, and maxNamesOfEnvoy those of a client other than
	// gRPC, which has one stream for all of its targets.
	maxNames, maxNamesOfEnvoy = 1_000, 20_000
	// maxWildcard bounds the Clusters that a wildcard adds to them, and maxNamespaces the namespaces that it is for.
	maxWildcard, maxNamespaces = 10_000, 64
	maxInitialVersions         = 50_000
	// requestRate is how many requests a second of one stream are handled, after a burst: a client acknowledges each
	// of its first responses with one.
	requestRate, requestBurst = 100, 2_000
	// resendRate bounds the bytes a second that one client causes by subscribing again, after a burst.
	resendRate, resendBurst = 8 << 20, 1 << 20
	// What is used of a node: the bytes of a text, and the entries of its metadata.
	maxNodeText, maxNodeMetadata = 253, 64
	// maxNamespace is the length of the name of a namespace, in bytes.
	maxNamespace = 63
)

// The reasons for which this package refuses something, beside those of package clientlimits.
const (
	refusedUnsynced        clientlimits.Refusal = "unsynced"
	refusedName            clientlimits.Refusal = "name_length"
	refusedNames           clientlimits.Refusal = "names"
	refusedInitialVersions clientlimits.Refusal = "initial_versions"
	refusedNode            clientlimits.Refusal = "node"
	refusedIdentity        clientlimits.Refusal = "identity"
	refusedClusters        clientlimits.Refusal = "clusters"
	refusedNamespaces      clientlimits.Refusal = "namespaces"
)

// refusals returns all reasons.
func refusals() []clientlimits.Refusal {
	return append(clientlimits.Refusals(), refusedUnsynced, refusedName, refusedNames, refusedInitialVersions, refusedNode, refusedIdentity,
		refusedClusters, refusedNamespaces)
}

// checkNames returns the status error of a request whose new names are too many, or too long. It is called
// before any of them costs more than its bytes.
func (s *stream) checkNames(names []string, added int) error {
	for _, name := range names {
		if len(name) > maxNameLength {
			s.server.refused(refusedName)
			return status.Errorf(codes.InvalidArgument, "a resource name has %d bytes, and may have %d", len(name), maxNameLength)
		}
	}
	limit := maxNamesOfEnvoy
	if s.client.grpc {
		limit = maxNames
	}
	if s.names+added <= limit {
		return nil
	}
	s.server.refused(refusedNames)
	return status.Errorf(codes.ResourceExhausted, "the stream would be subscribed to %d resources by name, and may be to %d", s.names+added, limit)
}

// joinResender makes the stream share a limiter with the other streams of its client: each time that a client
// unsubscribes and subscribes again, a resource is sent again (§6.2).
func (s *stream) joinResender() {
	if s.resender == nil {
		s.resender, _ = s.server.resenders.Acquire(s.client.id, func() (*rate.Limiter, error) {
			return rate.NewLimiter(resendRate, resendBurst), nil
		})
	}
}

func (s *stream) leaveResender() {
	if s.resender != nil {
		s.server.resenders.Release(s.client.id, func(*rate.Limiter) {})
	}
}
