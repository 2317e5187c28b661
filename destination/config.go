package destination

import (
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"

	"github.com/signpostd/signpost/internal/clientlimits"
	"github.com/signpostd/signpost/internal/history"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/internal/tracing"
)

// Config is what the answers depend on, besides the state of the cluster. The names in
// parentheses are the flags of spec/destination.md §1.1.
type Config struct {
	// ControllerNamespace is the control plane's namespace. Pods that are meshed by another
	// control plane get no identity (controller-namespace).
	ControllerNamespace string
	// TrustDomain is the suffix of identities; empty means that pods get none
	// (identity-trust-domain).
	TrustDomain string
	// ClusterDomain is the suffix of Service names, such as cluster.local (cluster-domain).
	ClusterDomain string
	// ForceOpaqueTransport sends all meshed traffic through the proxy's inbound port
	// (outbound-transport-mode=transport-header).
	ForceOpaqueTransport bool
	// EnableH2Upgrade adds the hint that meshed endpoints speak HTTP/2 (enable-h2-upgrade).
	EnableH2Upgrade bool
	// EnableIPv6 allows IPv6 addresses and prefers them (enable-ipv6).
	EnableIPv6 bool
	// ZoneWeights gives endpoints in the client's zone ten times the weight
	// (ext-endpoint-zone-weights).
	ZoneWeights bool
	// HTTP2 are the parameters for meshed endpoints, nil for none (meshed-http2-client-params).
	HTTP2 *pb.Http2ClientParams
	// NodeMetrics adds the node of the client to the labels of the endpoint metrics.
	NodeMetrics bool
	// Limits bound what clients can make the server hold.
	Limits clientlimits.Limits
	// Report takes the endpoints that can't be encoded; nil drops them.
	Report objectmeta.Report
	// Outdated says why changes of any of these resources of our own cluster, such as services, can't
	// be seen now; it returns nothing while they can. Nil means that they always can.
	Outdated func(resources ...string) string
	// UnusableLink says why the Secret that links a cluster can't be used; it returns nothing if there
	// is no such Secret. Nil means that there is none.
	UnusableLink func(cluster string) string
	// conflict counts an address that several services or workloads claim. It is nil for answers that no
	// client gets: of these, no conflict is reported either.
	conflict func(claimants string)
	// Tracer begins a span for each call; nil begins none. No answer depends on it.
	Tracer *tracing.Tracer
	// History keeps what streams were told; nil keeps nothing. No answer depends on it.
	History *history.Log
}

func (c *Config) report(p objectmeta.Problem) {
	if c.Report != nil {
		c.Report(p)
	}
}
