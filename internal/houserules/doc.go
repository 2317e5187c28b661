// Package houserules finds exported functions that break a rule of this repository
// which neither go vet nor staticcheck knows.
//
// The rule: no exported function or method takes a bool parameter, because a call such
// as Put(pod, false) doesn't say what is false. Write two functions, or pass a type that
// has a name for each choice. An unexported function may take a bool that is plain data.
//
// A second rule: no command writes around the writer that escapes what a terminal would take for a
// command ([CheckOutput]).
//
// The test of the module feeds every Go file to [Check], except tests, generated files
// and the module dev/localcluster, and those that commands are made of to CheckOutput; nothing else
// uses them. Both are pure functions and may be called from any goroutine.
package houserules
