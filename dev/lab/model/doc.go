// Package model says what must be true of a state of the cluster: what a client of the Destination API must be told,
// and which slices, Endpoints and records must exist. The validators of the lab call it. It is the oracle, so it is
// written anew from docs/spec and imports nothing of catalog, destination, controllers or dns.
//
// state.go has the objects of the cluster at a revision; streams.go what Get and GetProfile say of them. slices.go has what
// slices and Endpoints must say of a pod or an ExternalWorkload, written.go what they say and what a Service must have,
// and records.go which records the objects ask for.
//
// A State belongs to one goroutine at a time. Everything else is pure.
package model
