// Package nearest finds the name that a mistyped name probably meant. Commands and the config file call it
// for flags and fields, and sources of records for annotations, to suggest "did you mean".
//
// # Concurrency
//
// The functions are pure.
package nearest
