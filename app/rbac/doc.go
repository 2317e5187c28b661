// Package rbac determines the rights that the roles of a process need in the cluster, and writes
// them as Kubernetes roles. The rights come from the tables and controllers ([Destination], [XDS],
// [Controllers]) and from the sources ([DNS]), so nothing is listed by hand.
//
// `signpost rbac` prints the roles of signpost dns for its flags, deploy/rbac has those of all
// roles, and `signpost check` asks an API server whether they are granted.
//
// # Concurrency
//
// All functions are pure.
package rbac
