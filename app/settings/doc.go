// Package settings holds everything that a user can set, in one list. A [Setting] is a flag,
// a field of the config file and a row of the reference pages, so that, for example,
// `signpost destination` and `signpost run` can't drift apart.
//
// Each role has a type with its settings, their defaults and their checks: [Destination],
// [Controllers] and [DNS]. [Process] is what all roles have in common, and [Leader] is leader
// election. A [Config] has all of them. Commands make flags of it ([AddFlags], [CheckFlags],
// [DNSFlags]) or read it from a file ([Decode]), and package process runs it. A [UsageError]
// is an error that the user made.
//
// Read setting.go first, then destination.go with the settings of a role, problem.go with
// what happens to wrong values, and config.go with all settings together. process.go,
// controllers.go, limits.go, dns.go, dnsflags.go, leader.go and http2params.go are more settings, and
// values.go has their types. decode.go, publishers.go and publishererrors.go read the config file, print.go
// and schema.go describe it. choice.go,
// dashes.go, usage.go and leaves.go are for commands.
//
// # Concurrency
//
// A Config belongs to one goroutine, that of the command. The other functions are pure.
package settings
