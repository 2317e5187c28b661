// Package ambassadorhost is the source "ambassador-host": records for getambassador.io/v3alpha1
// Host objects of Emissary-ingress, formerly Ambassador (spec/dns.md §6.11). dns/plugins lists it.
//
// Only Hosts whose annotation external-dns.ambassador-service names the Service of Ambassador are
// published. The name of the record is spec.hostname. The targets are those of the annotation
// target, or the load balancer addresses of that Service. When the Service changes, its Hosts,
// found by an index, are evaluated again. The annotation controller is ignored, as in ExternalDNS.
//
// The source keeps the name, the reference and the annotations about records of each selected Host,
// and the addresses of Services.
package ambassadorhost
