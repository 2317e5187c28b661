// Package kube is the only reader of the API server: it keeps tables of each
// kind of object that somebody wants, in the forms in which they want it.
//
// A [Kind] says how objects of one kind are asked for and what is kept of them (what informers
// call a transform). [Kind.Table] makes a [Table] of it, with the indexes and handlers of its
// user; nothing can be added later, so that all is in place before [New] binds tables to one
// API server, and [Cluster.Run] follows that server until its context ends: one reflector
// per resource, or per resource and namespace, retrying for ever. The command builds both.
//
// Tables of one resource share its watch: each object is trimmed for every one of them, or
// read in protobuf; then table after table, in the order given to New, holds what is kept and
// tells its handlers. The watches of several namespaces ([Options]) fill the same tables.
// [Retrim], [TrimOf] and [Whole] make further kinds of the ones here. [Unstructured] is the
// form for kinds that have no Go type.
//
// # What a table promises
//
// Objects are trimmed on arrival; the decoded object is not kept, except by [Whole] kinds.
// Handlers are told about each change of a trimmed value once, in the order of the
// changes, and nothing about updates that leave it equal. After a new listing the
// differences are told in the same way, so deletions that happened unseen are deletions
// like any other. An object that can't be used is reported and costs only itself: its last
// good value stays. While the API server can't be reached everything stays.
// [Table.ResourceVersion] says how far a table has come.
//
// # Concurrency
//
// The readers of a Table and of a Cluster may be called from any goroutine, also
// from handlers. Values are shared and must not be changed. The handlers of a table are called
// one at a time, by its reflectors, and must not block; the functions of a Kind from any.
package kube
