package inspect

// Verdict is the result of an explanation. Later constants outrank earlier ones.
type Verdict string

const (
	// VerdictOK: the subject is served or published as wanted.
	VerdictOK Verdict = "well"
	// VerdictUnknown: the explanation couldn't be completed.
	VerdictUnknown Verdict = "unknown"
	// VerdictWrong: there is a problem, which is named.
	VerdictWrong Verdict = "wrong"
)

// StepState is the result of one step.
type StepState string

const (
	// StepOK is a step without a problem.
	StepOK StepState = "well"
	// StepNote is information that is no problem.
	StepNote StepState = "note"
	// StepUnknown is a step that couldn't be checked.
	StepUnknown StepState = "unknown"
	// StepWrong is the cause of what is explained.
	StepWrong StepState = "wrong"
)

// Explanation says why something is or isn't served or published.
type Explanation struct {
	// Subject is the subject of the query, such as "Service shop/web" or "www.example.org".
	Subject string  `json:"subject"`
	Verdict Verdict `json:"verdict"`
	// Summary is one sentence: the state, and what to change if it is wrong.
	Summary string `json:"summary"`
	// Steps lead from the object to the client, or back.
	Steps []Step `json:"steps"`
}

// Step is one step of an explanation.
type Step struct {
	// Process and Role are the origin of the step. Clients that query several processes set Process.
	Process string `json:"process,omitempty"`
	Role    string `json:"role"`
	// What is the subject of the step in a word or two, such as "Selector", "Zone" or "DNS server".
	What  string    `json:"what"`
	State StepState `json:"state"`
	// Text is a sentence: the finding and, if it is wrong, what to do.
	Text string `json:"text"`
	// Object is the object of the step.
	Object *ObjectRef `json:"object,omitempty"`
	// More are details, at most 20 lines, such as endpoints or streams.
	More []string `json:"more,omitempty"`
}
