// Package schedule plans and plays the faults of a run of the lab. [Make] is a pure function of a seed, a
// duration, a profile and the possible targets. [Run] plays a [Schedule]: it begins and ends each fault
// through an [Injector], and records both in the history of the run. The program of the lab calls Make and
// Run, and implements the Injector.
//
// # Concurrency
//
// Make shares nothing. Run calls the Injector from a goroutine for each fault, and returns when all have
// ended.
package schedule
