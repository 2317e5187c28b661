// Package settings holds everything that a user can set, in one list: a [Setting] is a flag,
// a field of the config file and a row of the reference pages, so that `signpost
// destination`, say, and `signpost run` can't drift apart.
//
// A role's settings are a type with its defaults and its checks: [Destination],
// [Controllers], [DNS], [Process] for what all have in common, [Leader] for elections. [Config] is
// all of them together. Commands make flags of it ([AddFlags], [CheckFlags]), or read it from
// a file ([Decode]); package process runs it. A [Problem] is what is wrong with a value, a
// [UsageError] what a user is told.
//
// Read values.go first, then destination.go with the settings of a role, validate.go with what
// becomes of wrong ones, and config.go with the file. controllers.go, dns.go,
// dnsflags.go and leader.go are more settings; dashes.go, nearest.go and leaves.go help
// with what users type.
//
// # Concurrency
//
// A Config belongs to the goroutine that fills it, which is that of the command. The other
// functions are pure.
package settings
