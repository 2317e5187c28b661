// Package sourcetest is the test kit of the sources of records. Every source has a test that calls [Run].
//
// Run runs the scenarios of a source, which are the files testdata/*.txtar: objects in YAML, and the records
// that they lead to. [RunIn] runs those of another directory, for packages with several sources. A scenario
// starts with a description. Its sections are carried out in order:
//
//	-- flags --            flags, one on each line; only as the first section
//	-- apply --            objects to create or replace; without a namespace they go to "default"
//	-- delete --           objects to delete: "Kind namespace/name", or "Kind name"
//	-- changed --          the keys that Changed was called with since the last such section
//	-- records --          what all objects ask for, and why others don't, as [Fixture.Results] writes it
//	-- error --            the error of Open; then only flags may be another section
//
// The name of a section may be followed by a space and any text. With -update the sections "changed",
// "records" and "error" are rewritten: check them before you commit them.
//
// The source reads real tables of package kube from the in-memory API server of internal/objectserver.
// [RunReal] runs a scenario against a real API server. For table tests in Go, [Open] returns a [Fixture], and
// [WantSkip] and [WantProblem] check a result. Run checks for every source that:
//
//   - an unknown object has no records;
//   - a second evaluation gives the same result;
//   - Changed is called for each object whose records change;
//   - Keys has exactly the existing objects;
//   - each object without a record says why;
//   - nothing is left when all objects are deleted.
//
// # Concurrency
//
// A Fixture belongs to the goroutine of its test; tests with fixtures may be parallel.
package sourcetest
