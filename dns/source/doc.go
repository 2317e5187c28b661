// Package source defines what a [Source] of records is, and has the common parts of all sources:
// settings, annotations, and templates. Package publisher calls the sources, which package
// configure opens.
//
// A source makes record sets from the objects of its own kinds, and may read objects that those
// depend on. Each source is a package below this one, listed in dns/plugins. It reads objects from
// the informer caches of package kube, which share one watch per kind and keep only what is needed
// of each object. When an object changes, the source says which of its own objects have to be
// evaluated again.
//
// In a source, the Trim function of a kind calls [Reader.Read], which selects objects and parses
// their annotations. The tables call [Notify] and [NotifyAll]. Evaluate makes records with an
// [Origin] and [Templates]. Package ingress is an example without references, package pod one with
// an index.
//
// # Concurrency
//
// Handlers of tables run on the goroutines of the tables and only call [Input.Changed]. The
// publisher calls Evaluate and Poll from one goroutine at a time, while tables change. This holds for
// every package below this one.
package source
