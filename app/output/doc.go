// Package output prints the results of commands in the formats of kubectl: table, wide, JSON, YAML,
// name, JSONPath and custom columns. A command defines the flag with [Format.AddFlag], and calls
// [Print] with a [Result].
//
// Results contain untrusted text of objects, records and servers. So all commands write through a
// [Terminal], which escapes control characters, and values in tables are put on one line ([Clean])
// and cut. A test of internal/houserules checks that no command bypasses it.
//
// # Concurrency
//
// The functions have no state; they only write to their writer.
package output
