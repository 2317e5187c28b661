// Package service is the source "service": records for core/v1 Services (spec/dns.md §6.3).
//
// The names in the annotations hostname and internal-hostname, those of templates, and with
// --compatibility those of older programs point to what a Service of their type is reached
// at: a load balancer, the nodes, the pods, the virtual address, another name. The
// annotation target takes the place of all that. The label resource is
// service/<namespace>/<name>.
//
// Only Services that may be given a name are kept. Of the other kinds only those tables
// exist that a Service of an admitted type can need: EndpointSlices for headless Services,
// Pods for those and for NodePort Services, Nodes for NodePort Services. A pod costs less than
// 300 bytes, a pod that has finished its name only, and so do the slices of Services that
// aren't headless. A change of one of these objects has only those Services evaluated again
// whose answer can be another one: see dependencies.go.
//
// With --resolve-service-load-balancer-hostname, names of load balancers are looked up
// in the background (resolve.go). Services of the same name in DNS are put together by
// dns/desired, by their label.
//
// dns/plugins registers it.
//
// # Concurrency
//
// As package source says. Run starts lookups, a few at a time, and waits for them.
package service
