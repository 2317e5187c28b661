package xds

import (
	"context"
	"sync"

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

// resenders slow down clients that unsubscribe and subscribe again: each time a resource is sent again (§6.2).
type resenders struct {
	mu sync.Mutex
	m  map[clientlimits.ClientID]*resender
}

type resender struct {
	users   int
	limiter *rate.Limiter
}

// join returns the resender of a client, which is kept until leave.
func (rs *resenders) join(id clientlimits.ClientID) *resender {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.m[id]
	if r == nil {
		r = &resender{limiter: rate.NewLimiter(resendRate, resendBurst)}
		rs.m[id] = r
	}
	r.users++
	return r
}

func (rs *resenders) leave(id clientlimits.ClientID) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r := rs.m[id]
	if r.users--; r.users == 0 {
		delete(rs.m, id)
	}
}

// wait waits until the bytes may be sent, or the context ends.
func (r *resender) wait(ctx context.Context, bytes int) {
	_ = r.limiter.WaitN(ctx, min(bytes, resendBurst)) // it fails if the context ends, which sending notices
}
