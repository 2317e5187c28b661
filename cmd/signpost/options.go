package main

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

// processOptions are the settings of the process, whatever its roles.
type processOptions struct {
	// Kubeconfig is a path; empty means the default rules of client-go.
	Kubeconfig          string
	LogLevel, LogFormat string
	// MetricsAddr is where the admin server listens.
	MetricsAddr string
	EnablePProf bool
	// ShutdownGrace is how long open streams and loops may take to end.
	ShutdownGrace time.Duration
}

// defaultProcessOptions are the defaults of flags and of config files.
func defaultProcessOptions() processOptions {
	return processOptions{
		LogLevel:      "info",
		LogFormat:     "plain",
		MetricsAddr:   ":9996",
		ShutdownGrace: 10 * time.Second,
	}
}

// destinationOptions are the settings of the destination role (spec/destination.md
// §1.1). They are as given until [destinationOptions.settled] has put usable values in
// the place of those that [destinationOptions.Validate] tolerates.
type destinationOptions struct {
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
	// MeshedHTTP2ClientParams is JSON; [parseHTTP2Params] reads it.
	MeshedHTTP2ClientParams string
	// EndpointMetricsPerNode adds the node to the labels of the endpoint metrics.
	EndpointMetricsPerNode bool
	// ExternalWorkloadWriter has the role write EndpointSlices for ExternalWorkloads, if it
	// reads EndpointSlices.
	ExternalWorkloadWriter bool
	// Leader is about that writer. Without a namespace the Lease is in the
	// ControllerNamespace.
	Leader leaderOptions
	// StreamQueueCapacity and TraceCollector have no effect.
	StreamQueueCapacity int
	TraceCollector      string
}

// defaultDestinationOptions are the defaults of flags and of config files.
func defaultDestinationOptions() destinationOptions {
	return destinationOptions{
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
func (o *destinationOptions) ForceOpaqueTransport() bool {
	return o.OutboundTransportMode == modeTransportHeader
}

// writes reports whether the role writes EndpointSlices for ExternalWorkloads.
func (o *destinationOptions) writes() bool {
	return o.EnableEndpointSlices && o.ExternalWorkloadWriter
}

func (o *destinationOptions) settings() []setting {
	return slices.Concat(o.discoverySettings(), o.writerSettings(), o.otherSettings())
}

func (o *processOptions) settings() []setting {
	return []setting{
		{flag: "kubeconfig", path: "kubeconfig", value: textValue{&o.Kubeconfig}, usage: "`path` of a kubeconfig file; empty for $KUBECONFIG, ~/.kube/config, then the service account of the pod"},
		{flag: "log-level", path: "log.level", value: textValue{&o.LogLevel}, usage: "least `level` to log: panic, fatal, error, warn, info, debug or trace"},
		{flag: "log-format", path: "log.format", value: textValue{&o.LogFormat}, usage: "`format` of the log: plain or json"},
		{flag: "metrics-addr", path: "admin.address", value: textValue{&o.MetricsAddr}, usage: "`address` to serve /metrics, /ready and /ping on"},
		{flag: "enable-pprof", path: "admin.pprof", value: boolValue{&o.EnablePProf}, usage: "serve profiles under /debug/pprof/ on the metrics address"},
		{flag: "shutdown-grace", path: "shutdownGrace", value: durationValue{&o.ShutdownGrace}, usage: "how long open streams may take to end after SIGTERM; a second signal ends the process at once"},
	}
}

func (o *destinationOptions) discoverySettings() []setting {
	return []setting{
		{flag: "addr", path: "destination.addr", value: textValue{&o.Addr}, usage: "`address` to serve the Destination API on, without TLS"},
		{flag: "controller-namespace", path: "destination.controllerNamespace", value: textValue{&o.ControllerNamespace}, usage: "`namespace` of the mesh's control plane"},
		{flag: "outbound-transport-mode", path: "destination.outboundTransportMode", value: textValue{&o.OutboundTransportMode}, usage: "`mode`: transport-header sends everything for meshed pods to their proxy's inbound port, transparent only opaque ports"},
		{flag: "enable-h2-upgrade", path: "destination.enableH2Upgrade", value: boolValue{&o.EnableH2Upgrade}, usage: "tell proxies that they may speak HTTP/2 with meshed pods and gateways"},
		{flag: "enable-endpoint-slices", path: "destination.enableEndpointSlices", value: boolValue{&o.EnableEndpointSlices}, usage: "read EndpointSlices, not Endpoints, and serve ExternalWorkloads"},
		{flag: "enable-ipv6", path: "destination.enableIPv6", value: boolValue{&o.EnableIPv6}, usage: "discover IPv6 addresses, and prefer them to the IPv4 address of the same pod; needs EndpointSlices"},
		{flag: "identity-trust-domain", path: "destination.identityTrustDomain", value: textValue{&o.IdentityTrustDomain}, usage: "`domain` that TLS identities end in; empty for " + defaultDomain},
		{flag: "cluster-domain", path: "destination.clusterDomain", value: textValue{&o.ClusterDomain}, usage: "`domain` that the names of Services end in; empty for " + defaultDomain},
		{flag: "default-opaque-ports", path: "destination.defaultOpaquePorts", value: portsValue{textValue{&o.DefaultOpaquePorts}}, usage: "`ports` and ranges that are opaque unless an annotation says otherwise, such as 25,4000-4100"},
		{flag: "ext-endpoint-zone-weights", path: "destination.extEndpointZoneWeights", value: boolValue{&o.ExtEndpointZoneWeights}, usage: "give endpoints in the zone of the client ten times the weight (experimental)"},
		{flag: "meshed-http2-client-params", path: "destination.meshedHttp2ClientParams", value: jsonValue{textValue{&o.MeshedHTTP2ClientParams}}, usage: "`JSON` of the Http2ClientParams that proxies use towards meshed pods; field names have underscores"},
	}
}

func (o *destinationOptions) writerSettings() []setting {
	return append([]setting{
		{flag: "external-workload-writer", path: "destination.externalWorkloadWriter", value: boolValue{&o.ExternalWorkloadWriter}, usage: "write EndpointSlices for Services that select ExternalWorkloads; needs EndpointSlices"},
		{flag: "export-queue-metrics", path: "destination.exportQueueMetrics", value: boolValue{&o.ExportQueueMetrics}, usage: "export the metrics of the work queue of that writer"},
	}, o.Leader.settings(destinationSection, "`namespace` of the Lease; empty for that of the mesh's control plane")...)
}

func (o *destinationOptions) otherSettings() []setting {
	return []setting{
		{flag: "endpoint-metrics-per-node", path: "destination.endpointMetricsPerNode", value: boolValue{&o.EndpointMetricsPerNode}, usage: "add the node of the client to the labels of the endpoint metrics: more series, as Linkerd has them"},
		{flag: "stream-queue-capacity", path: "destination.streamQueueCapacity", value: intValue{&o.StreamQueueCapacity}, usage: "accepted for compatibility, without effect: streams have no queue, and a slow client is never cut off"},
		{flag: "trace-collector", path: "destination.traceCollector", value: textValue{&o.TraceCollector}, usage: "`address`; accepted for compatibility, without effect: no traces are sent"},
	}
}
