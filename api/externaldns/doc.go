// +groupName=externaldns.k8s.io
// +versionName=v1alpha1
// +kubebuilder:object:generate=true

// Package externaldns has the Go types of the API group externaldns.k8s.io/v1alpha1: DNSEndpoint, with which
// users ask for records, and DNSRecord, in which Signpost stores ownership. In this group an "endpoint" is a
// DNS record set.
//
// The source for DNSEndpoints reads objects with these types and writes their status; the registry that
// stores DNSRecords reads and writes those. The custom resource definitions in deploy/crds are generated from
// the comments here by "make generate".
//
// # Tolerance
//
// A list is decoded as a whole, so one undecodable object would hide all others. Decoding a spec, an endpoint
// or the status of a DNSRecord therefore never fails: the Problem field says what is wrong. One bad endpoint
// leaves the others of its DNSEndpoint usable.
//
// # Versions
//
// If ExternalDNS' definitions are installed, keep them: these types read and write their objects too.
//
// # Concurrency
//
// Values are plain data: safe for concurrent reading, not for writing.
package externaldns
