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

// The limits of streams and clients (§10.4).
const (
	maxNameLength = 512
	// maxNames limits the names that a stream of a gRPC client is subscribed to. maxNamesOfEnvoy is
	// that of other clients, which have one stream for all of their targets.
	maxNames, maxNamesOfEnvoy = 1_000, 20_000
	// maxWildcard limits the Clusters of a wildcard, and maxNamespaces its namespaces.
	maxWildcard, maxNamespaces = 10_000, 64
	maxInitialVersions         = 50_000
	// requestRate limits the requests of a stream a second. The burst is for the first responses,
	// because a client acknowledges each of them.
	requestRate, requestBurst = 100, 2_000
	// resendRate limits the bytes a second that a client is sent again after a new subscription.
	resendRate, resendBurst = 8 << 20, 1 << 20
	// intakeRate limits the cost of the requests of a client a second. The cost is their bytes,
	// newNameCost for each new name, which may need a topic, and rejectionCost for each resource of
	// a rejected type.
	intakeRate, intakeBurst    = 32 << 20, 64 << 20
	newNameCost, rejectionCost = 1 << 10, 16
	listedCost                 = 128 // for each Cluster that a wildcard covers
	// maxSubscriptions limits the subscriptions of a client over all of its streams, by name and by
	// wildcard. Each needs about 250 bytes.
	maxSubscriptions = 200_000
	maxBudgets       = 20_000 // more budgets are not kept
	// maxNodeText limits a text of a node in bytes, and maxNodeMetadata the entries of its
	// metadata.
	maxNodeText, maxNodeMetadata = 253, 64
	maxNamespace                 = 63      // bytes
	maxReason                    = 4 << 10 // bytes of the reason of a rejection that are searched for names
)

// The reasons of refusals, besides those of package clientlimits.
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

// admit checks the names of a request, and charges the new ones to the budget of the client. added
// is how many names the stream gets in addition. The error is a status.
func (s *stream) admit(typ resourceType, names []string, added int) error {
	for _, name := range names {
		if len(name) > maxNameLength {
			s.server.refusedClient(refusedName, s.client.id)
			return status.Errorf(codes.InvalidArgument, "a resource name has %d bytes, and may have %d", len(name), maxNameLength)
		}
	}
	limit := maxNamesOfEnvoy
	if s.client.grpc {
		limit = maxNames
	}
	if s.names+added > limit {
		s.server.refusedClient(refusedNames, s.client.id)
		return status.Errorf(codes.ResourceExhausted, "the stream would be subscribed to %d resources by name, and may be to %d", s.names+added, limit)
	}
	return s.budget.take(s.ctx, s.types[typ].countNew(names)*newNameCost)
}

// countNew returns how many of the names the client has not named yet.
func (in *typeState) countNew(names []string) (n int) {
	for _, name := range names {
		if sub := in.subscriptions[name]; name != wildcard && (sub == nil || !sub.named) {
			n++
		}
	}
	return n
}

// budget limits the cost of a client over all of its streams: of requests (intake), of resources
// that are sent again after a new subscription (resend, §6.2), and the number of subscriptions.
type budget struct {
	intake, resend *rate.Limiter
	subscriptions  atomic.Int64
}

// take charges the cost of a request, and waits while the budget is used up.
func (b *budget) take(ctx context.Context, cost int) error {
	return b.intake.WaitN(ctx, min(cost, intakeBurst))
}

// budgets has the budgets of clients, also after their last stream: connecting again doesn't reset
// a budget. If there are maxBudgets, all are reset.
type budgets struct {
	mu sync.Mutex
	m  map[clientlimits.ClientID]*budget
}

func (bs *budgets) of(id clientlimits.ClientID) *budget {
	bs.mu.Lock()
	defer bs.mu.Unlock()
	if b := bs.m[id]; b != nil {
		return b
	}
	if bs.m == nil || len(bs.m) >= maxBudgets {
		bs.m = map[clientlimits.ClientID]*budget{}
	}
	b := &budget{intake: rate.NewLimiter(intakeRate, intakeBurst), resend: rate.NewLimiter(resendRate, resendBurst)}
	bs.m[id] = b
	return b
}
