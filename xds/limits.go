package xds

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/internal/clientlimits"
)

// What a stream may ask for (§10.4).
const (
	maxNameLength = 512
	// maxNames bounds the resources that a stream is subscribed to, and maxNamesOfEnvoy those of a
	// client other than gRPC, which has one stream for all of its targets.
	maxNames, maxNamesOfEnvoy = 1_000, 20_000
	// maxWildcard bounds the Clusters that a wildcard adds to them, and maxNamespaces the namespaces
	// that it is for.
	maxWildcard, maxNamespaces = 10_000, 64
	maxInitialVersions         = 50_000
	// requestRate is how many requests a second of one stream are handled, after a burst: a client
	// acknowledges each of its first responses with one.
	requestRate, requestBurst = 100, 2_000
	// resendRate bounds the bytes a second that one client causes by subscribing again, after a burst.
	resendRate, resendBurst = 8 << 20, 1 << 20
	// intakeRate bounds the bytes a second of the requests of one client, after a burst. A new name
	// counts as many bytes more, because it may be a new topic, and a rejection as many for each
	// resource that it may be about.
	intakeRate, intakeBurst    = 32 << 20, 64 << 20
	newNameCost, rejectionCost = 1 << 10, 16
	// listedCost is the same for a Cluster that a wildcard covers.
	listedCost = 128
	// maxSubscriptions bounds what one client is subscribed to over all of its streams, by name and by
	// wildcards. Each costs about 250 bytes.
	maxSubscriptions = 200_000
	// maxBudgets is how many clients have a budget at a time.
	maxBudgets = 20_000
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
	refusedSubscriptions   clientlimits.Refusal = "subscriptions"
)

// refusals returns all reasons.
func refusals() []clientlimits.Refusal {
	return append(clientlimits.Refusals(), refusedUnsynced, refusedName, refusedNames, refusedInitialVersions, refusedNode, refusedIdentity,
		refusedClusters, refusedNamespaces, refusedSubscriptions)
}

// admit checks the names of a request, and waits until the budget of the client has room for the new ones. The
// names may be that many more than those of the stream. The error is a status. admit is called before any of
// the names costs more than its bytes.
func (s *stream) admit(typ resourceType, names []string, added int) error {
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
	if s.names+added > limit {
		s.server.refused(refusedNames)
		return status.Errorf(codes.ResourceExhausted, "the stream would be subscribed to %d resources by name, and may be to %d", s.names+added, limit)
	}
	return s.budget.take(s.ctx, s.types[typ].countNew(names)*newNameCost)
}

// countNew returns how many names are not yet among those that the client has named.
func (in *typeState) countNew(names []string) (n int) {
	for _, name := range names {
		if sub := in.subscriptions[name]; name != wildcard && (sub == nil || !sub.named) {
			n++
		}
	}
	return n
}

// budget bounds what one client costs, over all of its streams.
type budget struct {
	// intake counts the bytes of requests, and what they cost beside (newNameCost, rejectionCost).
	intake *rate.Limiter
	// resend counts the bytes of resources that the client is sent again because it subscribed again (§6.2).
	resend *rate.Limiter
	// subscriptions counts what the streams are subscribed to.
	subscriptions atomic.Int64
}

// subscribe counts another subscription. It returns false if that is one too many; otherwise one
// unsubscribe follows.
func (b *budget) subscribe() bool {
	if b.subscriptions.Add(1) <= maxSubscriptions {
		return true
	}
	b.unsubscribe()
	return false
}

func (b *budget) unsubscribe() { b.subscriptions.Add(-1) }

// take waits until the budget has room for a request. It fails if the context ends.
func (b *budget) take(ctx context.Context, cost int) error {
	return b.intake.WaitN(ctx, min(cost, intakeBurst))
}

// budgets are those of clients that had a stream lately, so that a client gains nothing if it
// connects again. If they are too many, all begin anew.
type budgets struct {
	mu sync.Mutex
	m  map[clientlimits.ClientID]*budget
}

// of returns the budget of a client.
func (bs *budgets) of(id clientlimits.ClientID) *budget {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	b := bs.m[id]
	if b != nil {
		return b
	}
	if bs.m == nil || len(bs.m) >= maxBudgets {
		bs.m = map[clientlimits.ClientID]*budget{}
	}
	b = &budget{intake: rate.NewLimiter(intakeRate, intakeBurst), resend: rate.NewLimiter(resendRate, resendBurst)}
	bs.m[id] = b
	return b
}
