// Package importrules says which package of Signpost may import which, and
// finds the imports that break the rules.
//
// Its test feeds it what "go list" knows about the module; nothing else uses
// it. The rules are patterns, so they hold for packages that are written later.
// Loosening one is a decision about the architecture: change the page that
// explains it together with the table in rules.go.
//
// [Check] is a pure function and may be called from any goroutine.
package importrules
