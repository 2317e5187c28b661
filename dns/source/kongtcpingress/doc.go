// Package kongtcpingress is the source "kong-tcpingress": records for the hosts of
// configuration.konghq.com/v1beta1 TCPIngress objects (spec/dns.md §6.11). dns/plugins lists it.
//
// The names are those of the rules and those of the annotation hostname. The targets are the
// addresses in the status, or those of the annotation target. Templates aren't read, as in
// ExternalDNS. A TCPIngress depends on no other object.
//
// The source keeps the names, the addresses and the annotations about records of each selected
// TCPIngress.
package kongtcpingress
