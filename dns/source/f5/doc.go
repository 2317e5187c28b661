// Package f5 has the sources "f5-virtualserver" and "f5-transportserver": records for the
// VirtualServers and TransportServers of F5's Container Ingress Services, cis.f5.com/v1
// (spec/dns.md §6.11).
//
// The names are spec.host and, of a VirtualServer, spec.hostAliases. The targets are those in the
// annotation target, or else spec.virtualServerAddress, or else status.vsAddress. As long as
// status.vsAddress says that BIG-IP has no such server, its names aren't published. The
// annotation hostname isn't read, as in ExternalDNS. An object depends on no other.
//
// dns/plugins registers both. They keep the names, the addresses and the annotations about records
// of each selected object, and whole objects only for templates.
//
// # Concurrency
//
// See package source.
package f5
