package settings

import (
	"cmp"
	"slices"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/clientlimits"
	"github.com/signpostd/signpost/kube/kinds"
)

// Special values of settings.
const (
	modeTransparent     = "transparent"
	modeTransportHeader = "transport-header"
	defaultDomain       = "cluster.local"
	// defaultControllerNamespace is that of Linkerd.
	defaultControllerNamespace = "linkerd"
	// linkerdLease is the Lease of Linkerd's controller.
	linkerdLease = "linkerd-destination-endpoint-write"
)

// Destination is the settings of the destination role (spec/destination.md §1.1), as given.
// [Destination.Settled] replaces tolerated values that can't be used.
type Destination struct {
	// Addr is the address of the gRPC server.
	Addr                string
	ControllerNamespace string
	// LinkNamespace is the namespace of the Secrets that link clusters; empty means
	// ControllerNamespace.
	LinkNamespace          string
	OutboundTransportMode  string
	EnableH2Upgrade        bool
	EnableEndpointSlices   bool
	EnableIPv6             bool
	IdentityTrustDomain    string
	ClusterDomain          string
	DefaultOpaquePorts     string
	ExportQueueMetrics     bool
	ExtEndpointZoneWeights bool
	// MeshedHTTP2ClientParams is JSON; see [ParseHTTP2Params].
	MeshedHTTP2ClientParams string
	// EndpointMetricsPerNode adds the node to the labels of the endpoint metrics.
	EndpointMetricsPerNode bool
	// ExternalWorkloadWriter makes the role write EndpointSlices for ExternalWorkloads, if it reads
	// EndpointSlices.
	ExternalWorkloadWriter bool
	// LinkedClustersThroughProxies allows kubeconfigs of linked clusters to use a proxy, or a server
	// URL with a path.
	LinkedClustersThroughProxies bool
	// Leader is the election of that writer. If it names no namespace, the Lease is in the
	// ControllerNamespace.
	Leader Leader
	// Limits bound what clients can make the server hold.
	Limits clientlimits.Limits
	// StreamQueueCapacity has no effect.
	StreamQueueCapacity int
}

func defaultDestination() Destination {
	return Destination{
		Addr:                   ":8086",
		ControllerNamespace:    defaultControllerNamespace,
		OutboundTransportMode:  modeTransparent,
		EnableH2Upgrade:        true,
		EnableEndpointSlices:   true,
		EnableIPv6:             true,
		ExportQueueMetrics:     true,
		ExternalWorkloadWriter: true,
		Leader:                 defaultLeader(linkerdLease, ""),
		Limits:                 clientlimits.DefaultLimits(),
		StreamQueueCapacity:    100,
	}
}

// ForceOpaqueTransport reports whether all traffic to meshed pods goes to the inbound port of their
// proxy.
func (o *Destination) ForceOpaqueTransport() bool {
	return o.OutboundTransportMode == modeTransportHeader
}

// writes reports whether the role writes EndpointSlices for ExternalWorkloads.
func (o *Destination) writes() bool {
	return o.EnableEndpointSlices && o.ExternalWorkloadWriter
}

// EndpointsFrom returns the kind that endpoints are read from.
func (o *Destination) EndpointsFrom() kinds.EndpointsFrom {
	if o.EnableEndpointSlices {
		return kinds.FromEndpointSlices
	}
	return kinds.FromEndpoints
}

// Settings implements [Section].
func (o *Destination) Settings() []Setting {
	return slices.Concat(o.discoverySettings(), o.writerSettings(), limitSettings(&o.Limits, DestinationSection), o.otherSettings())
}

func (o *Destination) discoverySettings() []Setting {
	return []Setting{
		{Flag: "addr", Path: DestinationAddress, Value: textValue{&o.Addr}, Usage: "`address` to serve the Destination API on, without TLS"},
		{Flag: "controller-namespace", Path: "destination.controllerNamespace", Value: textValue{&o.ControllerNamespace}, Usage: "`namespace` of the mesh's control plane", pattern: namespacePattern},
		{Flag: "link-namespace", Path: "destination.linkNamespace", Value: textValue{&o.LinkNamespace}, Usage: "`namespace` of the Secrets that link clusters, all of which this process may read; empty for that of the mesh's control plane, which also has the key of the identity issuer", pattern: optionalNamespace},
		{Flag: "outbound-transport-mode", Path: "destination.outboundTransportMode", Value: textValue{&o.OutboundTransportMode}, Usage: "`mode`: with transport-header, proxies send all traffic for a meshed pod to the inbound port of its proxy; with transparent, only that for opaque ports"},
		{Flag: "enable-h2-upgrade", Path: "destination.enableH2Upgrade", Value: boolValue(&o.EnableH2Upgrade), Usage: "tell proxies that they may speak HTTP/2 with meshed pods and gateways"},
		{Flag: "enable-endpoint-slices", Path: "destination.enableEndpointSlices", Value: boolValue(&o.EnableEndpointSlices), Usage: "read EndpointSlices instead of Endpoints; without this, ExternalWorkloads are not served"},
		{Flag: "enable-ipv6", Path: "destination.enableIPv6", Value: boolValue(&o.EnableIPv6), Usage: "serve IPv6 addresses, and prefer them to the IPv4 address of the same pod; needs --enable-endpoint-slices"},
		{Flag: "identity-trust-domain", Path: "destination.identityTrustDomain", Value: textValue{&o.IdentityTrustDomain}, Usage: "`domain` that TLS identities end in; empty for " + defaultDomain},
		{Flag: "cluster-domain", Path: "destination.clusterDomain", Value: textValue{&o.ClusterDomain}, Usage: "`domain` that the names of Services end in; empty for " + defaultDomain},
		{Flag: "default-opaque-ports", Path: "destination.defaultOpaquePorts", Value: portsValue{textValue{&o.DefaultOpaquePorts}}, Usage: "`ports` and ranges that are opaque unless an annotation says otherwise, such as 25,4000-4100"},
		{Flag: "ext-endpoint-zone-weights", Path: "destination.extEndpointZoneWeights", Value: boolValue(&o.ExtEndpointZoneWeights), Usage: "give endpoints in the zone of the client ten times the weight (experimental)"},
		{Flag: "meshed-http2-client-params", Path: "destination.meshedHttp2ClientParams", Value: jsonValue{textValue{&o.MeshedHTTP2ClientParams}}, Usage: "`JSON` of the Http2ClientParams that proxies use towards meshed pods; field names have underscores"},
	}
}

func (o *Destination) writerSettings() []Setting {
	return append([]Setting{
		{Flag: "external-workload-writer", Path: "destination.externalWorkloadWriter", Value: boolValue(&o.ExternalWorkloadWriter), Usage: "write EndpointSlices for Services that select ExternalWorkloads; needs --enable-endpoint-slices"},
		{Flag: "export-queue-metrics", Path: "destination.exportQueueMetrics", Value: boolValue(&o.ExportQueueMetrics), Usage: "export the metrics of the ExternalWorkload writer's work queue"},
	}, o.Leader.settings(DestinationSection, "`namespace` of the Lease; empty for that of the mesh's control plane", optionalNamespace)...)
}

func (o *Destination) otherSettings() []Setting {
	return []Setting{
		{Flag: "linked-clusters-through-proxies", Path: "destination.linkedClustersThroughProxies", Value: boolValue(&o.LinkedClustersThroughProxies), Usage: "accept kubeconfigs of linked clusters that name a proxy (proxy-url) or a server with a path in its URL, as Rancher's do; whoever may write these Secrets can then make this process send requests to any URL that it can reach"},
		{Flag: "endpoint-metrics-per-node", Path: "destination.endpointMetricsPerNode", Value: boolValue(&o.EndpointMetricsPerNode), Usage: "add the node of the client to the labels of the endpoint metrics, as Linkerd does; this makes more series"},
		{Flag: "stream-queue-capacity", Path: "destination.streamQueueCapacity", Value: intValue(&o.StreamQueueCapacity), Usage: "accepted for compatibility, without effect: streams have no queue, and a slow client is never cut off", bounds: atLeast(1)},
	}
}

// Settled returns the settings with usable values instead of tolerated ones.
func (o Destination) Settled() Destination {
	if o.OutboundTransportMode != modeTransportHeader {
		o.OutboundTransportMode = modeTransparent
	}
	o.IdentityTrustDomain = cmp.Or(o.IdentityTrustDomain, defaultDomain)
	o.ClusterDomain = cmp.Or(o.ClusterDomain, defaultDomain)
	o.LinkNamespace = cmp.Or(o.LinkNamespace, o.ControllerNamespace)
	o.Leader.ResourceNamespace = cmp.Or(o.Leader.ResourceNamespace, o.ControllerNamespace)
	return o
}

// validate implements [Section].
func (o *Destination) validate() []problem {
	found := checkAddress("addr", o.Addr)
	if m := o.OutboundTransportMode; m != modeTransparent && m != modeTransportHeader {
		found = append(found, problem{
			severity: refusedInFile, flags: []string{"outbound-transport-mode"},
			reason: "must be transport-header or transparent", instead: "transparent is used",
		})
	}
	if o.EnableIPv6 && !o.EnableEndpointSlices {
		found = append(found, problem{
			flags:  []string{"enable-ipv6", "enable-endpoint-slices"},
			reason: "IPv6 addresses are in EndpointSlices only: set {enable-ipv6} to false or {enable-endpoint-slices} to true",
		})
	}
	found = append(found, checkNamespace("controller-namespace", o.ControllerNamespace)...)
	if o.LinkNamespace != "" {
		found = append(found, checkNamespace("link-namespace", o.LinkNamespace)...)
	}
	found = append(found, checkDomain(refusedInFile, "cluster-domain", o.ClusterDomain)...)
	found = append(found, checkDomain(refusedInFile, "identity-trust-domain", o.IdentityTrustDomain)...)
	_, bad := catalog.ParsePortList(o.DefaultOpaquePorts)
	for _, err := range bad {
		found = append(found, problem{
			severity: refusedInFile, flags: []string{"default-opaque-ports"},
			reason: err.Error(), instead: "that item is left out",
		})
	}
	found = append(found, checkBounds(o.otherSettings(), ", although it has no effect")...)
	found = append(found, o.checkHTTP2Params()...)
	found = append(found, checkLimits(o.Limits)...)
	lease := o.Leader
	lease.ResourceNamespace = cmp.Or(lease.ResourceNamespace, "default") // Settled sets it
	return append(found, lease.validate()...)
}
