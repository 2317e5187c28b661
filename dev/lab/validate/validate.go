// Package validate judges a history of the lab: ten validators, each of which objects to one kind of lie.
// They are pure functions, called one after the other when a run is over, by the program of the lab. They may
// be called from several goroutines at once.
//
// validate.go has the types, and all.go the list. What clients of the Destination API were told is judged
// from streams.go on: chains.go and backends.go have what may be behind an answer, explain.go finds the
// states that explain one, follow.go goes along a stream of Get and profiles.go along one of GetProfile,
// settle.go looks at the end of the calm. quiet.go says when a replica must be up to date; read.go and
// bits.go help. assignments.go has V8 and V9 about clients of xDS, served.go looks up whether an address was
// served, and versions.go has V10.
//
// writers.go has the list of those about what Signpost writes. leases.go has V7. records.go has V6, for which
// zone.go reads the serials of a zone, and updates.go finds out whose update made each of them. slices.go,
// lost.go and foreign.go have V5, for which timeline.go says what had to be written at each revision. calm.go
// has the part of V1.
package validate

import (
	"fmt"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
)

// Finding is an objection: what was wrong, and when.
type Finding struct {
	Validator string        // V1 to V10
	At        time.Duration // of the entry that shows it
	Subject   string        // stream 4 to replica-a, slice lab/web-x, record web.lab.example. A, …
	Message   string        // a sentence that says what was seen, and what would have been right
}

func (f Finding) String() string {
	return fmt.Sprintf("%s at %s: %s: %s", f.Validator, f.At.Round(time.Millisecond), f.Subject, f.Message)
}

// Validator objects to what a history contains.
type Validator struct {
	Name  string
	Rule  string // what it demands, as a sentence
	Check func(history.History) []Finding
}
