// Package gateway has the sources "gateway-httproute", "gateway-grpcroute", "gateway-tlsroute",
// "gateway-tcproute" and "gateway-udproute": records for the routes of the Gateway API (spec/dns.md
// §6.5). dns/plugins lists them. They differ in the kind of the route only.
//
// The names are those that a route has in common with its listeners. The targets are the addresses
// of the Gateways. Only parents that have accepted the route count, and their listeners must admit
// the route by kind, namespace and names. ListenerSets are read with --gateway-listener-sets.
// ReferenceGrants don't affect names or addresses, and are not read (docs/decisions/0035).
//
// A route is evaluated when it changes, when a Gateway or ListenerSet that has accepted it changes,
// and when the labels of its namespace, or of that of such a ListenerSet, change. Indexes find these
// routes.
package gateway
