// Package traefikproxy is the source "traefik-proxy": records for the IngressRoutes,
// IngressRouteTCPs and IngressRouteUDPs of Traefik (spec/dns.md §6.11), of the API group traefik.io
// and optionally of the older group traefik.containo.us. dns/plugins lists it.
//
// The names are those that the rules of a route match, and those of the annotation hostname. The
// targets are those of the annotation target, because Traefik writes no address into the status of
// its routes. A route depends on no other object.
//
// The source keeps the names and the annotations about records of each selected route, and whole
// objects only for templates.
package traefikproxy
