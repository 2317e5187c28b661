package settings

import (
	"slices"
	"time"
)

// Values of settings with a meaning.
const (
	modeTransparent     = "transparent"
	modeTransportHeader = "transport-header"
	defaultDomain       = "cluster.local"
	// linkerdLease is the Lease of Linkerd's controller.
	linkerdLease = "linkerd-destination-endpoint-write"
)

// Process are the settings of the process, whatever its roles.
type Process struct {
	// Kubeconfig is a path; empty means the default rules of client-go.
	Kubeconfig          string
	LogLevel, LogFormat string
	// MetricsAddr is where the admin server listens.
	MetricsAddr string
	EnablePProf bool
	// ShutdownGrace is how long open streams and loops may take to end.
	ShutdownGrace time.Duration
}

// DefaultProcess are the defaults of flags and of config files.
func DefaultProcess() Process {
	return Process{
		LogLevel:      "info",
		LogFormat:     "plain",
		MetricsAddr:   ":9996",
		ShutdownGrace: 10 * time.Second,
	}
}

// Destination are the settings of the destination role (spec/destination.md
// §1.1). They are as given until [Destination.settled] has put usable values in
// the place of those that [Destination.Validate] tolerates.
type Destination struct {
	// Addr is where the gRPC server listens.
	Addr                   string
	ControllerNamespace    string
	OutboundTransportMode  string
	EnableH2Upgrade        bool
	EnableEndpointSlices   bool
	EnableIPv6             bool
	IdentityTrustDomain    string
	ClusterDomain          string
	DefaultOpaquePorts     string
	ExportQueueMetrics     bool
	ExtEndpointZoneWeights bool
	// MeshedHTTP2ClientParams is JSON; [ParseHTTP2Params] reads it.
	MeshedHTTP2ClientParams string
	// EndpointMetricsPerNode adds the node to the labels of the endpoint metrics.
	EndpointMetricsPerNode bool
	// ExternalWorkloadWriter has the role write EndpointSlices for ExternalWorkloads, if it
	// reads EndpointSlices.
	ExternalWorkloadWriter bool
	// Leader is about that writer. Without a namespace the Lease is in the
	// ControllerNamespace.
	Leader Leader
	// StreamQueueCapacity and TraceCollector have no effect.
	StreamQueueCapacity int
	TraceCollector      string
}

// DefaultDestination are the defaults of flags and of config files.
func DefaultDestination() Destination {
	return Destination{
		Addr:                   ":8086",
		ControllerNamespace:    "linkerd",
		OutboundTransportMode:  modeTransparent,
		EnableH2Upgrade:        true,
		EnableEndpointSlices:   true,
		EnableIPv6:             true,
		ExportQueueMetrics:     true,
		ExternalWorkloadWriter: true,
		Leader:                 defaultLeaderOptions(linkerdLease, ""),
		StreamQueueCapacity:    100,
	}
}

// ForceOpaqueTransport reports whether all traffic to meshed pods goes through the
// inbound port of their proxy.
func (o *Destination) ForceOpaqueTransport() bool {
	return o.OutboundTransportMode == modeTransportHeader
}

// Writes reports whether the role writes EndpointSlices for ExternalWorkloads.
func (o *Destination) Writes() bool {
	return o.EnableEndpointSlices && o.ExternalWorkloadWriter
}

// Settings implements [Section].
func (o *Destination) Settings() []Setting {
	return slices.Concat(o.discoverySettings(), o.writerSettings(), o.otherSettings())
}

// Settings implements [Section].
func (o *Process) Settings() []Setting {
	return []Setting{
		{Flag: "kubeconfig", Path: "kubeconfig", Value: textValue{&o.Kubeconfig}, Usage: "`path` of a kubeconfig file; empty for $KUBECONFIG, ~/.kube/config, then the service account of the pod"},
		{Flag: "log-level", Path: "log.level", Value: textValue{&o.LogLevel}, Usage: "least `level` to log: panic, fatal, error, warn, info, debug or trace"},
		{Flag: "log-format", Path: "log.format", Value: textValue{&o.LogFormat}, Usage: "`format` of the log: plain or json"},
		{Flag: "metrics-addr", Path: "admin.address", Value: textValue{&o.MetricsAddr}, Usage: "`address` to serve /metrics, /ready and /ping on"},
		{Flag: "enable-pprof", Path: "admin.pprof", Value: boolValue{&o.EnablePProf}, Usage: "serve profiles under /debug/pprof/ on the metrics address"},
		{Flag: "shutdown-grace", Path: "shutdownGrace", Value: durationValue{&o.ShutdownGrace}, Usage: "how long open streams may take to end after SIGTERM; a second signal ends the process at once"},
	}
}

func (o *Destination) discoverySettings() []Setting {
	return []Setting{
		{Flag: "addr", Path: "destination.addr", Value: textValue{&o.Addr}, Usage: "`address` to serve the Destination API on, without TLS"},
		{Flag: "controller-namespace", Path: "destination.controllerNamespace", Value: textValue{&o.ControllerNamespace}, Usage: "`namespace` of the mesh's control plane"},
		{Flag: "outbound-transport-mode", Path: "destination.outboundTransportMode", Value: textValue{&o.OutboundTransportMode}, Usage: "`mode`: transport-header sends everything for meshed pods to their proxy's inbound port, transparent only opaque ports"},
		{Flag: "enable-h2-upgrade", Path: "destination.enableH2Upgrade", Value: boolValue{&o.EnableH2Upgrade}, Usage: "tell proxies that they may speak HTTP/2 with meshed pods and gateways"},
		{Flag: "enable-endpoint-slices", Path: "destination.enableEndpointSlices", Value: boolValue{&o.EnableEndpointSlices}, Usage: "read EndpointSlices, not Endpoints, and serve ExternalWorkloads"},
		{Flag: "enable-ipv6", Path: "destination.enableIPv6", Value: boolValue{&o.EnableIPv6}, Usage: "discover IPv6 addresses, and prefer them to the IPv4 address of the same pod; needs EndpointSlices"},
		{Flag: "identity-trust-domain", Path: "destination.identityTrustDomain", Value: textValue{&o.IdentityTrustDomain}, Usage: "`domain` that TLS identities end in; empty for " + defaultDomain},
		{Flag: "cluster-domain", Path: "destination.clusterDomain", Value: textValue{&o.ClusterDomain}, Usage: "`domain` that the names of Services end in; empty for " + defaultDomain},
		{Flag: "default-opaque-ports", Path: "destination.defaultOpaquePorts", Value: portsValue{textValue{&o.DefaultOpaquePorts}}, Usage: "`ports` and ranges that are opaque unless an annotation says otherwise, such as 25,4000-4100"},
		{Flag: "ext-endpoint-zone-weights", Path: "destination.extEndpointZoneWeights", Value: boolValue{&o.ExtEndpointZoneWeights}, Usage: "give endpoints in the zone of the client ten times the weight (experimental)"},
		{Flag: "meshed-http2-client-params", Path: "destination.meshedHttp2ClientParams", Value: jsonValue{textValue{&o.MeshedHTTP2ClientParams}}, Usage: "`JSON` of the Http2ClientParams that proxies use towards meshed pods; field names have underscores"},
	}
}

func (o *Destination) writerSettings() []Setting {
	return append([]Setting{
		{Flag: "external-workload-writer", Path: "destination.externalWorkloadWriter", Value: boolValue{&o.ExternalWorkloadWriter}, Usage: "write EndpointSlices for Services that select ExternalWorkloads; needs EndpointSlices"},
		{Flag: "export-queue-metrics", Path: "destination.exportQueueMetrics", Value: boolValue{&o.ExportQueueMetrics}, Usage: "export the metrics of the work queue of that writer"},
	}, o.Leader.Settings(DestinationSection, "`namespace` of the Lease; empty for that of the mesh's control plane")...)
}

func (o *Destination) otherSettings() []Setting {
	return []Setting{
		{Flag: "endpoint-metrics-per-node", Path: "destination.endpointMetricsPerNode", Value: boolValue{&o.EndpointMetricsPerNode}, Usage: "add the node of the client to the labels of the endpoint metrics: more series, as Linkerd has them"},
		{Flag: "stream-queue-capacity", Path: "destination.streamQueueCapacity", Value: intValue{&o.StreamQueueCapacity}, Usage: "accepted for compatibility, without effect: streams have no queue, and a slow client is never cut off"},
		{Flag: "trace-collector", Path: "destination.traceCollector", Value: textValue{&o.TraceCollector}, Usage: "`address`; accepted for compatibility, without effect: no traces are sent"},
	}
}
