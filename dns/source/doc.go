// Package source is what the sources of records have in common: what a [Source] is, the
// settings and annotations that several kinds read, and templates.
//
// A source makes record sets from the objects of one kind, its own, and may look at other
// objects that those depend on. It has a package below this one and a line in dns/plugins. It
// reads objects from tables of package kube, which share one watch for each kind, and keeps of
// each object only what it needs. It says which of its objects have to be evaluated again when
// something changes. The publisher keeps the results of the others.
//
// In a source, Trim calls [Reader.Read], which selects objects and reads their annotations.
// The tables call [Notify] and [NotifyAll]. Evaluate makes records with an [Origin] and
// [Templates]. Package ingress is an example without other objects, package pod one with an
// index. What ExternalDNS does with informers (spec/dns.md §7), kube does: trimming, indexes
// and handlers are options of a table.
//
// Read it in this order: source.go, settings.go, object.go, skip.go, annotations.go,
// annotationtable.go, remarks.go, records.go, found.go, tables.go, waiting.go, limits.go; nodes.go for
// addresses of Nodes, addressed.go for those of Ingresses and Services; templates.go, functions.go, view.go and fields.go
// for templates.
//
// # Concurrency
//
// Handlers of tables run on the goroutines of the tables and only call [Input.Changed]. The
// publisher calls Evaluate and Poll from one goroutine at a time, while tables change.
package source
