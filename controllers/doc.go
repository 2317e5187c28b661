// Package controllers writes what other programs read about endpoints: Endpoints and
// EndpointSlices, for Services that select pods or ExternalWorkloads, and for Endpoints
// that somebody wrote by hand.
//
// A [Set] is made of the controllers that the command asks for. It has tables for the
// kube.Cluster of the process, keeps the membership of Services up to date from
// them whether it leads or not, and while it leads ([Set.Lead]) it runs one loop
// for each controller:
//
//	tables of kube ──► membership ──► loop: queue of Services ──► plan ──► API server
//	                                   ▲                           │
//	                                   └── what others changed ◄── overlay of own writes
//
// controllers.go makes a set and runs it, and handlers.go is what a change of
// each kind leads to. Each of the packages endpoints,
// endpointslices, mirroring and externalworkloads has one controller. They share watched
// (what is kept of objects), membership (who selects whom), reconcile (the loop, the
// overlay), slices (reading and writing EndpointSlices), subsets (packing of Endpoints) and
// frugal (clients whose writes cost less). rights.go says which rights the controllers need.
//
// New and Tables are called once, before the cluster runs; Lead may be called again
// after it has returned.
package controllers
