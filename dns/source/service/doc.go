// Package service is the source "service": records for core/v1 Services (spec/dns.md §6.3).
//
// The names are those in the annotations hostname and internal-hostname, those of templates,
// and with --compatibility those in annotations of older programs. The targets depend on the
// type of the Service: the addresses of its load balancer, of nodes or of pods, its cluster
// IP, or another name. The annotation target replaces them. The label resource is
// service/<namespace>/<name>.
//
// Only Services that may get a name are kept. Other kinds are only read if Services of an
// admitted type need them: EndpointSlices and Pods for headless Services, Pods and Nodes for
// NodePort Services. A pod takes less than 300 bytes; of finished pods, and of the slices of
// Services that aren't headless, only the name is kept. When one of these objects changes,
// only the Services whose result may change are evaluated again.
//
// Read it in this order: config.go, service.go, services.go, evaluate.go, headless.go,
// nodeport.go, legacy.go, skips.go; slice.go, pod.go, labels.go and node.go have what is kept of other
// objects; dependencies.go says what a change concerns; resolve.go looks up names of load
// balancers.
//
// # Concurrency
//
// See package source. Run starts a few lookups at a time, and waits for them.
package service
