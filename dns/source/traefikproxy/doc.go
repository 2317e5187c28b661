// Package traefikproxy is the source "traefik-proxy": records for the IngressRoutes,
// IngressRouteTCPs and IngressRouteUDPs of Traefik (spec/dns.md §6.11), of the API group traefik.io
// and, if the user says so, of the older group traefik.containo.us.
//
// The names are those that the rules of a route match, and those in the annotation hostname. The
// targets are those in the annotation target: Traefik writes no address into the status of its
// routes. A route depends on no other object.
//
// dns/plugins registers it. The source keeps the names and the annotations about records of each
// selected route, and whole objects only for templates.
//
// Read it in this order: traefikproxy.go, routes.go, rule.go.
//
// # Concurrency
//
// See package source.
package traefikproxy
