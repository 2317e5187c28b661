// Package object holds the few words that are said of any object of Kubernetes, whoever
// reads it: its labels, and the problems that it has.
//
// It imports nothing but the standard library, so that everybody can use it: the catalog,
// the controllers, the sources of DNS records, and what reports problems. [Labels] and
// [Problem] are values, which nobody changes and which may be shared between goroutines;
// a [Report] says itself what it allows.
package object
