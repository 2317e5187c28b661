// Package sourcetest is the kit with which every source of records is tested.
//
// [Run] runs the scenarios of a source, which are the files testdata/*.txtar: objects in YAML,
// and the records that they lead to. [RunIn] takes those of another directory, for packages with
// several sources. A scenario begins with a description. Its sections are
// carried out in their order:
//
//	-- flags --            flags, one on each line; only as the first section
//	-- apply --            objects to create or replace; without a namespace they go to "default"
//	-- delete --           objects to delete: "Kind namespace/name", or "Kind name"
//	-- changed --          the keys that Changed was called with since the last such section
//	-- records --          what all objects ask for, and why others don't, as [Scene.Results] writes it
//	-- error --            the error of Open; then only flags may be another section
//
// The name of a section may be followed by a space and any text. With -update the sections
// "changed", "records" and "error" are rewritten: check them before you commit them.
//
// The source reads real tables of package kube from the API server of internal/objectserver,
// which keeps objects in memory. [RunReal] runs a scenario against a real API server. Run
// checks for every source that an unknown object asks for nothing, that a second evaluation
// gives the same result, that Changed is called for each object whose records change, that Keys
// has the objects that exist, that each of those without a record says why, and
// that nothing is left when all objects are deleted. For tables of cases in Go, [Open] returns
// a [Scene], and [WantSkip] and [WantProblem] look at a result. Read it in this order: scenario.go, scene.go, declared.go, skips.go, want.go, world.go, show.go; definitions.go is for
// tests on real API servers.
//
// # Concurrency
//
// A Scene belongs to the goroutine of its test; tests with scenes may be parallel.
package sourcetest
