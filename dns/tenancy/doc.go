// Package tenancy decides which namespace may publish a name when several namespaces share zones.
//
// [Decide] decides for one name in one zone, by the [Policy], the holder of the name, and the limit
// of names per namespace. [Domains] says which names a namespace may ask for at all.
//
// Package desired applies Domains when it evaluates an object, because that depends on the object
// alone. Package publisher calls Decide when it plans a name, because that depends on the zone.
//
// # Concurrency
//
// All functions are pure, and values are immutable. [Value] belongs to one goroutine, that of the
// command.
package tenancy
