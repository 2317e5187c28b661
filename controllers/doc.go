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
// controllers.go makes a set and runs it, and handlers.go is what a change of
// each kind leads to. Each of the packages endpoints,
// endpointslices, mirroring and externalworkloads has one controller. They share watched
// (what is kept of objects), membership (who selects whom), reconcile (the loop, the
// overlay), slices (reading and writing EndpointSlices), subsets (packing of Endpoints) and
// writeclient (clients whose writes outlive their context). rights.go says which rights the
// controllers need.
//
// # Concurrency
//
// New and Tables are called once, before the cluster runs. Lead may be called again after it has returned.
// The other methods may be called from any goroutine.
package controllers
