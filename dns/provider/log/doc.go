// Package log is a provider without a DNS server: it prints each change as a line, and keeps the
// records in memory so that nothing is printed twice. It shows what Signpost would publish, for
// users or other programs. Package publisher calls it.
//
//	create www.example.org 300 A 192.0.2.1 192.0.2.2
//	update www.example.org 300 A 192.0.2.1 192.0.2.2 => 60 A 192.0.2.1
//	delete www.example.org 60 A 192.0.2.1
//
// A line has the name, the TTL in seconds (0 for none), the type and the targets, separated by
// spaces. Control characters and spaces inside of names are escaped as in Go strings. A set
// identifier follows in square brackets.
//
// # Concurrency
//
// All methods may be called from any goroutine. The lines of a call stay together.
package log
