// Package schedule decides what a run of the lab breaks, and when. [Make] is a pure function of a seed, a duration, a
// profile and what there is to break; the same arguments give the same [Schedule]. [Run] plays a schedule: it starts
// and ends each fault by an [Injector], and notes both in the history of the run. The program of the lab calls Make and
// Run, and implements the Injector.
//
// Read it in this order: fault.go has the kinds and what they mean, make.go the schedule, profiles.go the named
// profiles, mixed.go the one that deals all kinds, rules.go what may not happen at the same time, and run.go the play.
//
// # Concurrency
//
// Make shares nothing. Run calls the Injector from a goroutine for each fault, and returns when all have ended.
package schedule
