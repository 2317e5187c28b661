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
	maxInitialVersions        = 50_000
	// requestRate is how many requests a second of one stream are handled, after a burst: a client acknowledges each
	// of its first responses with one.
	requestRate, requestBurst = 100, 2_000
	// resendRate bounds the bytes a second that one client causes by subscribing again, after a burst.
	resendRate, resendBurst = 8 << 20, 1 << 20
	// What is used of a node: the bytes of a text, and the entries of its metadata.
	maxNodeText, maxNodeMetadata = 253, 64
)

// The reasons for which this package refuses something, beside those of package clientlimits.
const (
	refusedUnsynced        clientlimits.Refusal = "unsynced"
	refusedName            clientlimits.Refusal = "name_length"
	refusedNames           clientlimits.Refusal = "names"
	refusedInitialVersions clientlimits.Refusal = "initial_versions"
	refusedNode            clientlimits.Refusal = "node"
	refusedIdentity        clientlimits.Refusal = "identity"
)

// refusals returns all reasons.
func refusals() []clientlimits.Refusal {
	return append(clientlimits.Refusals(), refusedUnsynced, refusedName, refusedNames, refusedInitialVersions, refusedNode, refusedIdentity)
}

// checkName returns the status error of a name that is too long.
func (s *stream) checkName(name string) error {
	if len(name) <= maxNameLength {
		return nil
	}
	s.server.refused(refusedName)
	return status.Errorf(codes.InvalidArgument, "a resource name has %d bytes, and may have %d", len(name), maxNameLength)
}

// checkNames returns the status error of a subscription that is one too many.
func (s *stream) checkNames() error {
	limit := maxNamesOfEnvoy
	if s.client.grpc {
		limit = maxNames
	}
	if s.names < limit {
		return nil
	}
	s.server.refused(refusedNames)
	return status.Errorf(codes.ResourceExhausted, "the stream is subscribed to %d resources, which is the limit", s.names)
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
