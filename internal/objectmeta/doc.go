// Package objectmeta has properties of Kubernetes objects of any kind: labels and problems. It imports the
// standard library only, so that every package may use it: the catalog, the controllers, the sources of DNS
// records, and package report.
//
// # Concurrency
//
// [Labels] and [Problem] are immutable values. A [Report] may be called from any goroutine.
package objectmeta
