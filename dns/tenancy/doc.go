// Package tenancy decides which namespace may publish a name, when several namespaces share zones.
//
// [Decide] says for one name and one zone which namespaces get the name and which are refused, by the [Policy], by the
// namespace that has the name, and by the limit on names. [Domains] says which names a namespace may ask for at all.
//
// dns/desired applies Domains when an object is evaluated, because that depends on the object alone. dns/publisher calls
// Decide when it plans a name, because that depends on the zone.
//
// Read it in this order: decide.go, domains.go, value.go.
//
// # Concurrency
//
// Everything here is a function of its arguments, or an immutable value. [Value] belongs to one goroutine, that of the
// command.
package tenancy
