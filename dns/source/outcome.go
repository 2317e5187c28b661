package source

import "context"

// Outcome says whether an object's records are accepted and published, for its status.
type Outcome struct {
	Accepted, Programmed Verdict
}

// Verdict is a condition and its reason.
type Verdict struct {
	True bool
	// Reason is one of the reasons below. Message is a sentence with the state and, if necessary, what
	// to do; it may be empty.
	Reason, Message string
}

// Reasons of verdicts.
const (
	// OutcomeAccepted and OutcomeProgrammed are the reasons of success.
	OutcomeAccepted   = "Accepted"
	OutcomeProgrammed = "Programmed"
	// OutcomeInvalid: an entry can't be published. OutcomeFiltered: a setting excludes an entry.
	OutcomeInvalid  = "Invalid"
	OutcomeFiltered = "Filtered"
	// The others are the row states of package publisher.
	OutcomePending  = "Pending"
	OutcomeHeld     = "Held"
	OutcomeConflict = "Conflict"
	OutcomeNoZone   = "NoZone"
	OutcomeFailed   = "Failed"
)

// Outcomes knows the outcomes of the objects of a source, in the process that leads.
type Outcomes interface {
	// Outcome returns the outcome of an object; nil if unknown, such as for an object that doesn't
	// exist.
	Outcome(ctx context.Context, key Key) (*Outcome, error)
	// Follow calls changed with the keys of objects whose outcome may have changed, until ctx ends. An
	// empty list means all objects.
	Follow(ctx context.Context, changed func([]Key)) error
}
