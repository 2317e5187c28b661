// Package nearest finds which of several names was meant by one that is none of them.
//
// Commands and the config file call it for flags and fields, and sources of records for
// annotations, so that a message can say "did you mean".
//
// # Concurrency
//
// The functions are pure.
package nearest
