package inspect

import "time"

// PlanPath is where plans are. [ApprovePath] belongs to it.
const PlanPath = Root + "/plan"

// ApprovePath returns where a plan is approved. The hash must be one ([ValidHash]).
func ApprovePath(hash string) string { return PlanPath + "/" + hash + "/approve" }

// ValidHash reports whether a text can be the hash of a plan.
func ValidHash(hash string) bool {
	for _, r := range hash {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return false
		}
	}
	return len(hash) == 16
}

// What may be in a request and an answer.
const (
	// PageSize is the most plans, or changes of a plan, in an answer.
	PageSize = 500
	// MaxExcept is the most names that an approval may leave out, and MaxBody the most bytes that
	// say so.
	MaxExcept = 2000
	MaxBody   = 512 << 10
)

// PlanList is the answer about what is held.
type PlanList struct {
	Plans []Plan `json:"plans"`
	// Total is how many plans there are, Next the offset of the next page; 0 if this is the last.
	Total int `json:"total"`
	Next  int `json:"next,omitempty"`
	// Unplanned are the publishers that have not planned everything yet, because this process
	// began to lead a short time ago.
	Unplanned []Unplanned `json:"unplanned,omitempty"`
}

// Unplanned is a publisher that has not planned everything yet.
type Unplanned struct {
	Publisher string `json:"publisher,omitempty"`
	// Since is when it began to plan, nil if it waits for its sources.
	Since *time.Time `json:"since,omitempty"`
}

// Plan is what is held in a zone.
type Plan struct {
	// Publisher is the name of the publisher, if it has one.
	Publisher string `json:"publisher,omitempty"`
	Zone      string `json:"zone"`
	ZoneID    string `json:"zoneId,omitempty"`
	Hash      string `json:"hash"`
	// At is when the plan was announced, Owned how many record sets of ours the zone had then.
	At        time.Time `json:"at"`
	Owned     int       `json:"owned"`
	Deletions int       `json:"deletions"`
	Updates   int       `json:"updates"`
	// Spent deletions were made within the window of the budget, of Limit that may be made without approval; both are 0
	// if there is no limit. Room is when there is room for the deletions of the plan, if nothing else is deleted before.
	Spent int        `json:"spent,omitempty"`
	Limit int        `json:"limit,omitempty"`
	Room  *time.Time `json:"room,omitempty"`
	// Changes are a page of the changes, in the answer about one plan only. Next is as in
	// [PlanList].
	Changes []Change `json:"changes,omitempty"`
	Next    int      `json:"next,omitempty"`
}

// Change is a change that is held. NewTargets are empty for a deletion.
type Change struct {
	Action        string   `json:"action"`
	Name          string   `json:"name"`
	Type          string   `json:"type"`
	SetIdentifier string   `json:"setIdentifier,omitempty"`
	Targets       []string `json:"targets"`
	NewTargets    []string `json:"newTargets,omitempty"`
}

// ApproveRequest is the body of a request for approval.
type ApproveRequest struct {
	// Except are names whose changes are left out.
	Except []string `json:"except,omitempty"`
}

// Approval is the answer to it.
type Approval struct {
	Publisher string `json:"publisher,omitempty"`
	Zone      string `json:"zone"`
	Hash      string `json:"hash"`
	Deletions int    `json:"deletions"`
	Updates   int    `json:"updates"`
	// Excepted are how many changes of the plan were left out.
	Excepted int `json:"excepted"`
	// Gone are how many changes of the plan are not held any more.
	Gone int `json:"gone,omitempty"`
	// Until is when the approval ends for what could not be made.
	Until time.Time `json:"until"`
}

// Failure is the answer to a request that failed.
type Failure struct {
	Error string `json:"error"`
	// Leader is who leads, if this process doesn't and that is known.
	Leader string `json:"leader,omitempty"`
}
