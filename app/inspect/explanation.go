package inspect

// Verdict is what an explanation ends in. They are ordered: a later one counts more than an
// earlier one.
type Verdict string

// The verdicts.
const (
	// VerdictWell: what was asked about is as objects ask for.
	VerdictWell Verdict = "well"
	// VerdictUnknown: it couldn't be found out.
	VerdictUnknown Verdict = "unknown"
	// VerdictWrong: something is wrong, and is named.
	VerdictWrong Verdict = "wrong"
)

// StepState is what one step of an explanation found.
type StepState string

// The states of a step.
const (
	StepWell StepState = "well"
	// StepNote is worth knowing, and not wrong.
	StepNote    StepState = "note"
	StepUnknown StepState = "unknown"
	StepWrong   StepState = "wrong"
)

// Explanation says why something is served or published, or isn't.
type Explanation struct {
	// Subject is what was asked about, such as "Service shop/web" or "www.example.org".
	Subject string  `json:"subject"`
	Verdict Verdict `json:"verdict"`
	// Summary is one sentence: what is so, and what to change if it is wrong.
	Summary string `json:"summary"`
	// Steps are the way from the object to the client, or back, in this order.
	Steps []Step `json:"steps"`
}

// Step is one step of the way.
type Step struct {
	// Process and Role say who knows it; clients that ask several processes set Process.
	Process string `json:"process,omitempty"`
	Role    string `json:"role"`
	// What is the part of the way in a word or two, such as "Selector", "Zone" or "DNS server".
	What  string    `json:"what"`
	State StepState `json:"state"`
	// Text is a sentence: what was found and, if that is wrong, what to do.
	Text string `json:"text"`
	// Object is the object that it is about.
	Object *ObjectRef `json:"object,omitempty"`
	// More are lines below it, at most 20, such as endpoints or streams.
	More []string `json:"more,omitempty"`
}
