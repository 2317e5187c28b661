// Package gateway has the sources "gateway-httproute", "gateway-grpcroute", "gateway-tlsroute",
// "gateway-tcproute" and "gateway-udproute": records for the routes of the Gateway API
// (spec/dns.md §6.5).
//
// The names are those that a route and the listeners it is attached to have in common, and the
// targets are the addresses of the Gateways. The five sources differ in the kind of the route
// only. A route has records for the parents that have accepted it; the listeners of a parent
// have to admit the route by its kind, namespace and names. ListenerSets are read with
// --gateway-listener-sets. ReferenceGrants don't matter for names or addresses, and are not read
// (docs/decisions/0035).
//
// A route is evaluated when it changes, and when one of these does in a way that may matter:
// a Gateway or ListenerSet that has accepted it, and the labels of namespaces that a selector
// of such a parent is about. Indexes find these routes, so that the others cost nothing.
//
// Read it in this order: plugins.go, routes.go, fields.go, objects.go, owners.go, limits.go, match.go, skips.go.
//
// # Concurrency
//
// See package source.
package gateway
