// Package service is the source "service": records for core/v1 Services (spec/dns.md §6.3).
// dns/plugins lists it.
//
// The names are those of the annotations hostname and internal-hostname, of templates, and with
// --compatibility of annotations of older programs. The targets depend on the type of the Service:
// the addresses of its load balancer, of nodes or of pods, its cluster IP, or another name. The
// annotation target overrides them. The label resource is service/<namespace>/<name>.
//
// Memory: only Services that may get a name are kept. Other kinds are only read if Services of a
// selected type need them: EndpointSlices and Pods for headless Services, Pods and Nodes for
// NodePort Services. A pod takes less than 350 bytes, one of a StatefulSet less than 900, because its
// labels are its own; of finished pods, and of the slices of Services that aren't headless, only the
// name is kept. When one of these objects changes, only the Services that depend on it are evaluated
// again.
//
// # Concurrency
//
// See package source. Run starts a few lookups in parallel, and waits for them.
package service
