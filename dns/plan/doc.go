// Package plan decides what has to be done so that a zone has the record sets that are
// asked for: it compares the two, obeys the policy, and leaves alone what belongs to
// somebody else (spec/dns.md §3).
//
// [Name] decides one name, from what the zone has under it and what is asked for; nothing
// else has a say in it. So the publisher calls it for the names only at which something has
// changed, and gets what a look at everything would have given.
//
// The changes of a name are in the order in which they have to be made: what goes, what
// becomes another, what comes. A CNAME and the record sets that it excludes (RFC 1034 3.6.2)
// are never there together, even for a moment (spec/dns.md §17).
//
// What can't be done is no error. It is a [Conflict], for a metric and an Event.
//
// # Concurrency
//
// Everything here is a function of its arguments and changes none of them, so it may be
// called from any goroutine. What comes out shares no memory that changes with what goes in,
// and doesn't depend on the order of what goes in.
package plan
