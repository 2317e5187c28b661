// Package kube keeps tables of the objects of an API server: one for each kind that somebody
// wants, with what they want of it. Nothing else in Signpost lists or watches objects.
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
// Handlers are told once about each change of a kept value, in the order of the changes, and
// not about updates that leave the value equal. After a new listing they are told about the
// differences, so that no deletion is missed. An object that can't be used is reported, and
// the table keeps its last good value. While the API server can't be reached, tables keep what
// they have. [Table.ResourceVersion] says which version a table has reached.
//
// # Concurrency
//
// The readers of a Table and of a Cluster may be called from any goroutine, also
// from handlers. Values are shared and must not be changed. The handlers of a table are called
// one at a time, by its reflectors, and must not block; the functions of a Kind from any.
package kube
