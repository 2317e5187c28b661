// Package model computes the required results of a state of the cluster: the responses of the Destination API
// and of xDS, the slices, the Endpoints and the records. The validators of the lab call it. Because the model
// is the oracle, it is implemented separately from docs/spec, and imports nothing of catalog, destination,
// controllers or dns.
//
// state.go has the objects of the cluster at a revision. streams.go has the responses of Get, profiles.go
// those of GetProfile, and assignments.go those of xDS. slices.go has the entries for a pod or an
// ExternalWorkload. written.go parses slices and Endpoints, and has those that a Service must have.
// records.go has the records that objects ask for.
//
// A State belongs to one goroutine at a time. Everything else is pure.
package model
