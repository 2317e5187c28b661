// Package importrules defines which package of Signpost may import which, and finds the imports that break
// the rules. Its test applies it to the output of "go list"; nothing else uses it.
//
// The rules are patterns, so they also hold for packages that are added later. To loosen a rule is a decision
// about the architecture: change docs/architecture.md together with the table in rules.go.
//
// # Concurrency
//
// [Check] is a pure function and may be called from any goroutine.
package importrules
