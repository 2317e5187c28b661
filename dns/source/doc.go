// Package source is what the sources of records have in common: what a [Source] is, the
// settings and annotations that several kinds read, and templates.
//
// A source makes record sets of the objects of one kind, its own, looking at others that
// those depend on. It has a package below this one and a line in dns/plugins. It reads
// objects from tables of package kube, of which the process has one watch for each kind,
// keeps of an object only what it needs, and says which of its objects have to be
// evaluated again when something changes. The publisher keeps what came of the others.
//
// A source's Trim calls [Reader.Read], which selects objects and reads their annotations;
// its tables call [Notify] and [NotifyAll]; its Evaluate makes records with an [Origin] and
// [Templates]. Packages ingress (nothing else to look at) and pod (an index) are examples.
//
// The patterns of informers of ExternalDNS (spec/dns.md §7) are those of kube: trimming,
// indexes and handlers are options of a table, which is complete before it is filled.
//
// # Concurrency
//
// A source is made once. Handlers of its tables run on the goroutines of the tables and
// only call [Input.Changed]; Evaluate and Poll are called by the publisher, from one
// goroutine at a time, while tables change.
package source
