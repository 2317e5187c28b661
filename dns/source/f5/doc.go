// Package f5 has the sources "f5-virtualserver" and "f5-transportserver": records for the
// VirtualServers and TransportServers of F5's Container Ingress Services, cis.f5.com/v1
// (spec/dns.md §6.11). dns/plugins lists both.
//
// The names are spec.host and, of a VirtualServer, spec.hostAliases. The targets are those of the
// annotation target, else spec.virtualServerAddress, else status.vsAddress. While status.vsAddress
// says that BIG-IP has no such server, its names aren't published. The annotation hostname isn't
// read, as in ExternalDNS. An object depends on no other.
//
// The sources keep the names, the addresses and the annotations about records of each selected
// object, and whole objects only for templates.
package f5
