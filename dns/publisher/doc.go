// Package publisher keeps the zones of a provider in line with the records that the objects of a
// cluster ask for. It is the reconcile loop between sources, plan, registry (package owner) and
// provider. Package configure creates a publisher for each section of the configuration, and package
// process runs it under a lease.
//
// A [Publisher] keeps a copy of each zone, the mirror. A changed object is handled in these steps:
//
//  1. The object is evaluated again.
//  2. The names that it asks for are planned against the mirrors of the zones that hold them.
//  3. The changes are applied, and the mirrors are updated.
//
// A single change is handled at once, further ones after at most a tenth of a second. Every
// interval each zone is listed again, and the names that differ from the mirror are planned. If an
// error leaves open what was applied, the zone is listed before it is written again. A rejected batch
// is halved until the rejected record is alone: that one backs off, and the others are applied.
//
// Nothing is planned before every source was evaluated once (opensources.go). Nothing is deleted
// while a source isn't completely read, nor for an object that can't be evaluated. Deletions beyond
// the limits of package budget are held until they are approved or the records are wanted again.
//
// A name has one state in each zone that holds it. A name with nothing to do or to report has none.
// The table of phases and events is in names.go, and only the methods there change a state. [State]
// is the view of inspections.
//
// # Concurrency
//
// The goroutine of Run owns all state. Sources call Changed from any goroutine. Run starts
// goroutines that call the provider and the registry, one at a time for each zone. They read mirrors
// under a lock; a job that lists a zone also compares the listing with its mirror. Inspections may
// start in any goroutine and read the state in the loop, a millisecond at a time.
package publisher
