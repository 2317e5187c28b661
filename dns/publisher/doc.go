// Package publisher keeps the zones of a provider as the objects of a cluster ask for: it
// is the loop between sources, plan, owner and provider.
//
// A [Publisher] keeps a copy of each zone (a mirror). An object that changes is evaluated
// again, the names that it asks for are planned anew against the mirror, and what differs
// is applied and written through; a lone change at once, further ones at most a tenth of
// a second later. Every interval each zone is read again, and only names that
// differ from the mirror are planned. Nothing is taken for granted after an error: a zone of
// which it is not known what was applied is read before it is written again. A batch that
// the provider rejects is halved until the record that it rejects is alone; that record
// waits, the others go on.
//
// Deletions need reasons. While a source has not been read completely, and for records of an
// object that can't be evaluated, nothing is taken away. And when more is to be deleted than
// the [Budget] allows, all of it is held until it is approved or asked for again.
//
// Package main of the command makes publishers, one for each section of its config, and
// runs them under a lease.
//
// # Concurrency
//
// One goroutine, that of Run, owns all state. Sources call Changed from any goroutine.
// The provider and the owner are called from goroutines that Run starts, one at a time for
// each zone, which read mirrors under a lock.
package publisher
