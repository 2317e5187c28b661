// Package settings has all settings of the program in one list. A [Setting] is a flag, a field of
// the config file and a row of the reference pages, so that, for example, `signpost destination`
// and `signpost run` can't diverge.
//
// Each role has a type with its settings, defaults and checks: [Destination], [Controllers], [DNS]
// and [XDS]. [Process] has the common settings, and [Leader] those of leader election. A [Config]
// has all of them. Commands declare flags for it ([AddFlags], [CheckFlags], [DNSFlags]) or read it
// from a file ([Decode]), and package process runs it. A [UsageError] is an error of the user.
//
// # Concurrency
//
// A Config belongs to one goroutine, that of the command. The functions may be called from any goroutine.
package settings
