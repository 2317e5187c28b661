package destination

import (
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"

	"github.com/signpostd/signpost/internal/clientlimits"
	"github.com/signpostd/signpost/internal/history"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/internal/tracing"
)

// Config has the settings of a [Server]. The names in parentheses are the flags of spec/destination.md §1.1.
type Config struct {
	// ControllerNamespace is the namespace of the control plane. Pods that are meshed by another control plane
	// get no identity (controller-namespace).
	ControllerNamespace string
	// TrustDomain is the suffix of identities. If it is empty, pods get no identity (identity-trust-domain).
	TrustDomain string
	// ClusterDomain is the suffix of Service names, such as cluster.local (cluster-domain).
	ClusterDomain string
	// ForceOpaqueTransport sends all meshed traffic through the inbound port of the proxy
	// (outbound-transport-mode=transport-header).
	ForceOpaqueTransport bool
	// EnableH2Upgrade adds the hint that meshed endpoints speak HTTP/2 (enable-h2-upgrade).
	EnableH2Upgrade bool
	// EnableIPv6 allows IPv6 addresses and prefers them (enable-ipv6).
	EnableIPv6 bool
	// ZoneWeights multiplies the weight of endpoints in the zone of the client by ten
	// (ext-endpoint-zone-weights).
	ZoneWeights bool
	// HTTP2 are the parameters for meshed endpoints, nil for none (meshed-http2-client-params).
	HTTP2 *pb.Http2ClientParams
	// NodeMetrics adds the node of the client to the labels of the endpoint metrics.
	NodeMetrics bool
	// Limits bound the resources that clients can use.
	Limits clientlimits.Limits
	// Report receives the endpoints that can't be encoded, and address conflicts; nil ignores them.
	Report objectmeta.Report
	// Fixed receives the address conflicts that have ended; nil ignores them.
	Fixed objectmeta.Fixed
	// Outdated returns the reason why the watch of one of these resources of our own cluster, such as
	// services, is interrupted; "" if none is. A nil function means that none is.
	Outdated func(resources ...string) string
	// UnusableLink returns the reason why the Secret that links a cluster can't be used; "" if there is no
	// such Secret. A nil function means that there is none.
	UnusableLink func(cluster string) string
	// conflicts is nil for explanations, whose conflicts are neither counted nor reported.
	conflicts *conflicts
	// Tracer begins a span for each call; nil for none.
	Tracer *tracing.Tracer
	// History keeps the changes that streams were sent; nil keeps nothing. No response depends on it.
	History *history.Log
}

func (c *Config) report(p objectmeta.Problem) {
	if c.Report != nil {
		c.Report(p)
	}
}
