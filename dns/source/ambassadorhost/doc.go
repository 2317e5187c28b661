// Package ambassadorhost is the source "ambassador-host": records for getambassador.io/v3alpha1
// Host objects of Emissary-ingress, formerly Ambassador (spec/dns.md §6.11).
//
// A Host counts if its annotation external-dns.ambassador-service names the Service of Ambassador.
// The name of the record is spec.hostname. The targets are those of the annotation target, or the
// addresses of the load balancer of that Service. When the Service changes, the Hosts that name it
// are evaluated again: an index finds them. The annotation controller doesn't matter, as in
// ExternalDNS.
//
// dns/plugins registers it. The source keeps the name, the reference and the annotations about
// records of each selected Host, and the addresses of Services.
//
// # Concurrency
//
// See package source.
package ambassadorhost
