// Package specrefs finds citations of docs/spec that lead nowhere, and links
// between the pages of the documentation that do.
//
// Comments, test names and pages cite the specification by section and by
// case, as docs/spec/README.md says. The test feeds every file of the
// repository to the functions; nothing else uses them. What a citation means
// that names no document depends on the directory, and trees.go says how: a
// package that moves takes its line there along. Read document.go, passages.go and check.go in
// this order; links.go is about links.
//
// All functions are pure and may be called from any goroutine.
package specrefs
