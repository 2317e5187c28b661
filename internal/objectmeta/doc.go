// Package objectmeta has what is said of Kubernetes objects of any kind: their labels and their
// problems.
//
// It imports the standard library only, so that every package may use it: the catalog, the
// controllers, the sources of DNS records, and what reports problems. [Labels] and [Problem] are
// values that nobody changes, so they may be shared between goroutines; [Report] says itself
// what it allows.
package objectmeta
