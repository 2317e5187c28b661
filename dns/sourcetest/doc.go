// Package sourcetest is what every source of records is tested with.
//
// [Run] runs the scenarios of a source: its testdata/*.txtar, with objects as YAML and
// the records that come of them. A scenario begins with what it shows; its sections are
// done in their order:
//
//	-- flags --            flags, one on a line; first, if at all
//	-- apply --            objects: created, or replaced; without a namespace they go to "default"
//	-- delete --           objects to delete: "Kind namespace/name", or "Kind name"
//	-- changed --          the keys that Changed was called with since this was last asked
//	-- records --          what all objects ask for, as [Scene.Records] writes it
//	-- error --            the error of Open, instead of everything but flags
//
// A name may be followed by a space and anything. With -update the sections "changed",
// "records" and "error" are written as they turn out: look at them before they are
// committed.
//
// The source reads real tables of package kube from the API server of
// internal/objectserver, which keeps objects in memory and streams them as the real one does. [RunReal] runs a
// scenario against the real one. Run also checks what is asked of every source:
// an unknown object asks for nothing, evaluating again gives the same, handlers name
// each object that comes to ask for something else, and nothing stays once all objects are gone.
//
// For tables of cases in Go there is [Open], which returns a [Scene]: sources with
// flags, objects, and their records as text.
//
// # Concurrency
//
// A Scene belongs to the goroutine of its test; tests with scenes may be parallel.
package sourcetest
