// Package controllers writes Endpoints and EndpointSlices: for Services that select pods or
// ExternalWorkloads, and for hand-written Endpoints. The controllers role (app/process) makes one [Set].
//
// A Set runs the controllers of its configuration over shared tables, which the kube.Cluster of the process
// fills. It always keeps the membership of Services (which workloads a Service selects) up to date, leader or
// not. While it leads ([Set.Lead]), it runs one loop per controller:
//
//	tables of kube ──► membership ──► loop: queue of Services ──► plan ──► API server
//	                                   ▲                           │
//	                                   └──── external changes ◄── overlay of own writes
//
// The file controllers.go makes and runs a Set, handlers.go handles the events of each kind, and
// rights.go lists the RBAC rights. Each of the packages endpoints, endpointslices, mirroring and
// externalworkloads has one controller. They share these packages:
//
//   - watched: the parts of objects that are kept
//   - membership: the workloads that each Service selects
//   - reconcile: the loop and the overlay
//   - slices: reads and writes of EndpointSlices
//   - subsets: packing of Endpoints
//   - writeclient: clients whose writes outlive their context
//
// # Concurrency
//
// New and Tables are called once, before the cluster runs. Lead may be called again after it has returned.
// The other methods may be called from any goroutine.
package controllers
