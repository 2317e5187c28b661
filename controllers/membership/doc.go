// Package membership keeps, by events, which workloads each Service selects.
//
// An [Index] is told about Services and workloads as they come, change and go. A
// workload event costs the Services that select the workload, whatever else is in its
// namespace; reading the members of a Service costs its members. The controllers
// in package controllers ask it which Services a change concerns and what a Service
// consists of.
//
// Workloads that share their labels in memory, as the pods of a Deployment do, make a
// group: which Services select them is found out once, and each of them costs the index
// its name and its place in the group.
//
// All methods of an Index may be called from any goroutine.
package membership
