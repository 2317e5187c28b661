// Package output prints what a command found, in the formats of kubectl: as a table, wide or not,
// as JSON or YAML, as names, or as what a JSONPath finds.
//
// A command defines the flag with [Format.AddFlag] and, once it has an [Answer], calls [Print].
// What is printed comes from others: objects, records, servers. So all commands write through a
// [Terminal], which escapes control characters, and values in tables are put on one line ([Clean])
// and cut. A test of internal/houserules checks that no command writes around it.
//
// output.go has the flag and what callers give, table.go prints tables, path.go what paths find,
// and terminal.go has the writer.
//
// # Concurrency
//
// The functions are pure but for what they write.
package output
