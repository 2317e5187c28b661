package resource

import "github.com/signpostd/signpost/internal/sanitize"

// The types of the messages in a Listener.
const (
	connectionManager = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
	router            = "envoy.extensions.filters.http.router.v3.Router"
)

// Routes returns the Listener with this name, which has its routes inline (§3.1), or the
// RouteConfiguration. The problems are the parts of a ServiceProfile that xDS can't express.
func (n Namer) Routes(t Type, resourceName string, s Input, c Client) (r Resource, problems []string) {
	host, names, problems := n.routes(s, c)
	configuration := message{}.text(1, resourceName).nested(2, host)
	if t == Listener {
		r = listener(resourceName, configuration)
	} else {
		r = newResource(RouteConfiguration, resourceName, configuration)
	}
	r.References = names
	return r, problems
}

// listener returns the Listener for a client library with a RouteConfiguration.
func listener(resourceName string, configuration message) Resource {
	filter := message{}.text(1, "router").any(4, router, nil)
	manager := message{}.text(2, "xds").nested(4, configuration).nested(5, filter)
	return newResource(Listener, resourceName, message{}.text(1, resourceName).nested(19, message{}.any(1, connectionManager, manager)))
}

// virtualHost returns a VirtualHost for all names, without routes.
func virtualHost() message { return message{}.text(1, "all").text(2, "*") }

// route appends a route to a VirtualHost.
func (m message) route(match, action message) message {
	return m.nested(3, message{}.nested(1, match).nested(2, action))
}

// all returns the RouteMatch of every request.
func all() message { return message{}.nested(1, nil) }

// Client is a kind of client, as far as resources differ.
type Client uint8

// The kinds of client.
const (
	GRPC   Client = iota // any gRPC client but grpc-go
	GRPCGo               // grpc-go
	Envoy                // Envoy, or any client that isn't one of gRPC
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

// MissingCluster returns the Cluster of a Service or port that doesn't exist, or a Cluster that is
// named by a reason (§5.2). It equals the Cluster of the existing Service without a traffic policy.
func (n Namer) MissingCluster(resourceName string, name Name) Resource {
	if name.Service.Name == "" {
		return newResource(Cluster, resourceName, plainCluster(resourceName, ""))
	}
	_, plain := n.Cluster(resourceName, Input{Name: name, Port: name.PortNumber()}, GRPC)
	return plain
}
