// +groupName=externaldns.k8s.io
// +versionName=v1alpha1
// +kubebuilder:object:generate=true

// Package externaldns holds the Go types of the API group
// externaldns.k8s.io/v1alpha1: DNSEndpoint, in which users ask for records, and
// DNSRecord, in which Signpost keeps which records are its own. In this group
// an "endpoint" is a DNS record set: endpoint.go has it, dnsendpoint.go and
// dnsrecord.go the kinds, register.go the scheme.
//
// The source for DNSEndpoints reads objects with these types and writes their
// status; the owner that keeps DNSRecords reads and writes those. The custom
// resource definitions in deploy/crds are generated from the comments here by
// "make generate".
//
// # Tolerance
//
// A list is decoded as a whole, so one object that does not decode would hide
// all others. Decoding a spec, an endpoint or the status of a DNSRecord
// therefore never fails: the Problem field says what does not fit. One bad
// endpoint leaves the others of its DNSEndpoint usable.
//
// # Versions
//
// Where the definitions of ExternalDNS are installed, leave them: these types
// read and write their objects too.
//
// Values are plain data: safe for concurrent reading, not for writing.
package externaldns
