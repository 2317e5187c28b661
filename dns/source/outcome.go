package source

import "context"

// Outcome is what became of what an object asks for, for its status.
type Outcome struct {
	Accepted, Programmed Verdict
}

// Verdict is whether something is so, and why.
type Verdict struct {
	True bool
	// Reason is a word of the reasons below. Message is a sentence: what is so, and what to do if it
	// should be otherwise; it may be empty.
	Reason, Message string
}

// The reasons of verdicts.
const (
	// OutcomeAccepted and OutcomeProgrammed are those of what is as it should be.
	OutcomeAccepted   = "Accepted"
	OutcomeProgrammed = "Programmed"
	// OutcomeInvalid: an entry can't be published. OutcomeFiltered: a setting leaves one out.
	OutcomeInvalid  = "Invalid"
	OutcomeFiltered = "Filtered"
	// The others are the states of records: see package publisher.
	OutcomePending  = "Pending"
	OutcomeHeld     = "Held"
	OutcomeConflict = "Conflict"
	OutcomeNoZone   = "NoZone"
	OutcomeFailed   = "Failed"
)

// Outcomes knows what became of the objects of a source. Only the process that leads does.
type Outcomes interface {
	// Outcome returns what became of an object. It is nil if that isn't known, such as for an object
	// that doesn't exist.
	Outcome(ctx context.Context, key Key) (*Outcome, error)
	// Follow calls changed with the keys of objects whose outcome may have changed, until the context
	// ends. Without keys, those of all objects may have.
	Follow(ctx context.Context, changed func([]Key)) error
}
