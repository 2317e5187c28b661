// Package membership keeps track of which workloads each Service selects. The controllers in package
// controllers use it to find the Services that a change affects, and the members of a Service.
//
// An [Index] is updated by the events of Services and workloads. A workload event costs time in
// proportion to the Services that select the workload, or that share a label with it, up to a limit
// beyond which all Services of the namespace count as affected. Reading the members of a Service
// costs time in proportion to the workloads that have the rarest label of its selector.
//
// Workloads that share their labels in memory, as the pods of a Deployment do, form a group. Which
// Services select a group is kept until a Service of the namespace changes, and a workload costs
// the index its name and its position in the group. Pairs of a Service and a workload are not kept,
// because thousands of both would take gigabytes.
//
// # Concurrency
//
// All methods of an Index may be called from any goroutine.
package membership
