// Package kube is the informer cache of Signpost: it lists and watches objects of an API server and keeps
// what its users need of each. Nothing else in Signpost watches objects; explanations and commands list some
// when asked.
//
// A [Kind] describes how objects are requested and what is kept of each. [Kind.Table] makes a [Table] with
// indexes and handlers. [New] binds tables to one API server. [Cluster.Run] follows that server until its
// context ends, with one reflector per resource, or per resource and namespace. Tables of one resource share
// its watches.
//
// Handlers are called once for each change of a kept value, in the order of the changes; an update that
// leaves the value equal is no change. After a new listing they are called for the differences, so that no
// deletion is missed. An object that can't be used is reported, and the table keeps its last good value.
// While the API server is unreachable, tables keep their objects. [CatchUp] waits for current tables, and
// [Table.ResourceVersion] returns the version that a table has reached.
//
// # Concurrency
//
// Tables and Clusters may be read from any goroutine, handlers included. Values are shared and must not be
// changed. The handlers of a table are called one at a time, by its reflectors, and must not block. The
// functions of a Kind may be called from any goroutine.
package kube
