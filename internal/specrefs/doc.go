// Package specrefs finds citations of docs/spec, and links between the pages of the documentation, that lead
// nowhere. Its test applies it to every file of the repository; nothing else uses it.
//
// Comments, test names and pages cite the specification by section and by case, as docs/spec/README.md
// describes. The meaning of a citation without a document depends on the directory, by the table in trees.go:
// update the table when a package moves.
//
// # Concurrency
//
// All functions are pure and may be called from any goroutine.
package specrefs
