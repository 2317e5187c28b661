// Package kube keeps tables of the objects of an API server: one for each kind that somebody
// wants, with what they want of it. Nothing else in Signpost lists or watches objects.
//
// A [Kind] says how objects are requested and what is kept of each. [Kind.Table] makes a
// [Table] with the indexes and handlers of its user. [New] binds tables to one API server, and
// [Cluster.Run] follows that server until its context ends, with one reflector for each
// resource, or for each resource and namespace. Tables of one resource share its watches. The
// roles make the tables, and app/process the clusters.
//
// What a kind is: kind.go, form.go, unstructured.go, problem.go, recent.go. Tables: table.go,
// index.go. What runs: cluster.go, config.go, dial.go, access.go, metrics.go, and for each
// resource feed.go, part.go, namespaces.go and state.go. The way of an object into the tables: source.go and follow.go
// open watches, foreign.go guards those of clusters that aren't ours; envelope.go, message.go, metadata.go, prune.go and recycle.go read events in
// protobuf; entry.go and store.go bring the objects in. catchup.go is for those who must not
// act on old tables, rewind.go for an API server whose versions go back, and discovery.go tells kinds that can't be read
// from those that the cluster lacks.
//
// Handlers are told once about each change of a kept value, in the order of the changes, and
// not about updates that leave the value equal. After a new listing they are told about the
// differences, so that no deletion is missed. An object that can't be used is reported, and
// the table keeps its last good value. While the API server can't be reached, tables keep what
// they have. [Table.ResourceVersion] says which version a table has reached.
//
// # Concurrency
//
// The readers of a Table and of a Cluster may be called from any goroutine, also from
// handlers. Values are shared and must not be changed. The handlers of a table are called one at
// a time, by its reflectors, and must not block. The functions of a Kind may be called
// from any goroutine.
package kube
