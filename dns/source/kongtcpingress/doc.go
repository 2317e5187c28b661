// Package kongtcpingress is the source "kong-tcpingress": records for the hosts of
// configuration.konghq.com/v1beta1 TCPIngress objects (spec/dns.md §6.11).
//
// The names are those of the rules and those in the annotation hostname. The targets are the
// addresses in the status, or those in the annotation target. Templates aren't read, as in
// ExternalDNS. A TCPIngress depends on no other object.
//
// dns/plugins registers it. The source keeps the names, the addresses and the annotations about
// records of each selected TCPIngress.
//
// # Concurrency
//
// See package source.
package kongtcpingress
