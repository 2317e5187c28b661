// Package publisher makes the zones of a provider have the records that the objects of a
// cluster ask for. It is the loop between sources, plan, owner and provider.
//
// A [Publisher] keeps a copy of each zone, the mirror. When an object changes, it is evaluated
// again, the names that it asks for are planned against the mirrors of the zones that hold
// them, the changes are applied, and the mirrors are updated. A single change is handled at
// once, further ones after at most a tenth of a second. Every interval each zone is read again,
// and the names that differ from the mirror are planned. When an error leaves open what was
// applied, the zone is read before it is written again. A batch that the provider rejects is
// halved until the rejected record is alone; that record waits, and the others go on.
//
// A name has one state in each zone that holds it, unless it is quiet. The table of phases and
// events is in names.go, and nothing else changes one; [State] is what others see of it.
//
// Nothing is planned before the first look at every source (look.go). Nothing is deleted while a
// source has not been read completely, nor for an object that can't be evaluated. When more is to be taken away than package budget allows, all of that is
// held until it is approved or the records are asked for again. Package main makes a publisher
// for each section of its configuration and runs it under a lease.
//
// Read it in this order: config.go, publisher.go, intake.go, evaluate.go, look.go, reading.go,
// names.go, namestate.go, state.go, listing.go, zoneset.go, zone.go, mirror.go, adjust.go, plan.go, group.go,
// budget.go, apply.go, confirm.go, divide.go, once.go, explain.go, metrics.go; and for those who
// look in: visit.go, rows.go, inspect.go, inspectzones.go, trace.go, missing.go, follow.go.
//
// # Concurrency
//
// The goroutine of Run owns all state. Sources call Changed from any goroutine. Run starts
// goroutines that call the provider and the owner, one at a time for each zone; they read
// mirrors under a lock, and one that lists a zone compares the listing with its mirror. Inspections
// come from any goroutine, and look in the loop, a millisecond at a time.
package publisher
