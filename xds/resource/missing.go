package resource

import "github.com/signpostd/signpost/internal/sanitize"

// Client is a kind of client, as far as resources differ.
type Client uint8

// The kinds of client.
const (
	// GRPC is any gRPC client but GRPCGo.
	GRPC Client = iota
	// GRPCGo is grpc-go.
	GRPCGo
	// Envoy is Envoy, or any client that isn't one of gRPC.
	Envoy
)

// MissingListener returns the Listener of a name that doesn't exist, so that RPCs fail at once
// instead of after 15 s (§5.1). Its Cluster is named by the reason, which clients show in errors.
// For grpc-go, it has no route: that is faster.
func MissingListener(resourceName string, reason error, c Client) Resource {
	configuration := message{}.text(1, resourceName)
	if c != GRPCGo {
		cluster := message{}.text(1, sanitize.Shorten(reason.Error(), maxName))
		configuration = configuration.nested(2, virtualHost().route(all(), cluster))
	}
	return listener(resourceName, configuration)
}

// MissingCluster returns the Cluster of a Service or port that doesn't exist. The Cluster equals
// that of the existing Service without a traffic policy. A client waits 15 s for a missing Cluster,
// even if it is one of several with weights (§5.2). Clusters named by a reason exist, too.
func (n Namer) MissingCluster(resourceName string, name Name) Resource {
	if name.Service.Name == "" {
		return newResource(Cluster, resourceName, plainCluster(resourceName, ""))
	}
	_, plain := n.Cluster(resourceName, Input{Name: name, Port: name.PortNumber()}, GRPC)
	return plain
}
