// Package output prints what a command found, in the formats of kubectl: as a table, wide or not,
// as JSON or YAML, as names, or as what a JSONPath finds.
//
// A command defines the flag with [Format.AddFlag] and, once it has an [Answer], calls [Print].
// What is printed in tables comes from others, so that control characters are replaced and long
// cells are cut.
//
// output.go has the flag and what callers give, table.go prints tables, and path.go what paths
// find.
//
// # Concurrency
//
// The functions are pure but for what they write.
package output
