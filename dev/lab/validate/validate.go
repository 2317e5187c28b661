// Package validate checks a history of the lab with ten validators, V1 to V10. The program of the lab calls
// them one after the other when a run is over. They are pure functions, safe for concurrent use.
//
// validate.go has the types, and all.go the list. The other files are:
//
//   - streams.go: V1 to V4, about clients of the Destination API. chains.go and backends.go have the states
//     that may explain a response, explain.go finds those that do, follow.go checks a stream of Get,
//     profiles.go one of GetProfile, and settle.go the end of the calm.
//   - quiet.go: when a replica must be up to date, with intervals.go.
//   - assignments.go: V8 and V9, about xDS clients, with served.go. versions.go: V10.
//   - writers.go: the validators of written objects. leases.go has V7. records.go has V6, with zone.go and
//     updates.go. slices.go, lost.go and unowned.go have V5, with timeline.go. calm.go has their part of V1.
package validate

import (
	"fmt"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
)

// Finding is an error that a validator found.
type Finding struct {
	Validator string        // V1 to V10
	At        time.Duration // time of the entry that shows it
	Subject   string        // stream 4 to replica-a, slice lab/web-x, record web.lab.example. A, …
	Message   string        // a sentence with what was seen and what would have been right
}

// reporter collects the findings about a subject.
type reporter struct {
	subject  string
	findings []Finding
}

func (r *reporter) report(validator string, at time.Duration, format string, args ...any) {
	r.findings = append(r.findings, Finding{Validator: validator, At: at, Subject: r.subject, Message: fmt.Sprintf(format, args...)})
}

func (f Finding) String() string {
	return fmt.Sprintf("%s at %s: %s: %s", f.Validator, f.At.Round(time.Millisecond), f.Subject, f.Message)
}

// Validator checks a history against one rule.
type Validator struct {
	Name  string
	Rule  string // the requirement, as a sentence
	Check func(history.History) []Finding
}
