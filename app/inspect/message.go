package inspect

import (
	"time"

	"github.com/signpostd/signpost/dns/budget"
)

// PlanPath is the path of plans. See also [ApprovePath].
const PlanPath = Root + "/plan"

// ApprovePath returns the path of a plan's approval. The hash must be valid ([ValidHash]).
func ApprovePath(hash string) string { return PlanPath + "/" + hash + "/approve" }

// ValidHash reports whether a text can be the hash of a plan.
func ValidHash(hash string) bool { return budget.ValidHash(hash) }

// Limits of requests and responses.
const (
	// PageSize limits the plans, or changes of a plan, in a response.
	PageSize = 500
	// MaxExcept limits the names that an approval may leave out, and MaxBody its body in bytes.
	MaxExcept = 2000
	MaxBody   = 512 << 10
)

// PlanList is the response with the held plans.
type PlanList struct {
	Plans []Plan `json:"plans"`
	// Total is the number of plans. Next is the offset of the next page; 0 if this is the last.
	Total int `json:"total"`
	Next  int `json:"next,omitempty"`
	// Unplanned are the publishers that have not planned everything yet, because this process
	// became the leader a short time ago.
	Unplanned []Unplanned `json:"unplanned,omitempty"`
}

// Unplanned is a publisher that has not planned everything yet.
type Unplanned struct {
	Publisher string `json:"publisher,omitempty"`
	// Since is when planning began, nil if the publisher waits for its sources.
	Since *time.Time `json:"since,omitempty"`
}

// Plan is the held changes of a zone.
type Plan struct {
	// Publisher is the name of the publisher, if it has one.
	Publisher string `json:"publisher,omitempty"`
	Zone      string `json:"zone"`
	ZoneID    string `json:"zoneId,omitempty"`
	Hash      string `json:"hash"`
	// At is when the plan was announced. Owned is the number of our record sets in the zone at that
	// time.
	At        time.Time `json:"at"`
	Owned     int       `json:"owned"`
	Deletions int       `json:"deletions"`
	Updates   int       `json:"updates"`
	// Spent deletions were made within the window of the budget, of Limit that may be made without
	// approval; both are 0 if there is no limit. Room is when there is room for the deletions of the
	// plan, if nothing else is deleted before.
	Spent int        `json:"spent,omitempty"`
	Limit int        `json:"limit,omitempty"`
	Room  *time.Time `json:"room,omitempty"`
	// Changes are a page of the changes, in the response for one plan only. Next is as in
	// [PlanList].
	Changes []Change `json:"changes,omitempty"`
	Next    int      `json:"next,omitempty"`
}

// Change is a held change. NewTargets are empty for a deletion.
type Change struct {
	Action        string   `json:"action"`
	Name          string   `json:"name"`
	Type          string   `json:"type"`
	SetIdentifier string   `json:"setIdentifier,omitempty"`
	Targets       []string `json:"targets"`
	NewTargets    []string `json:"newTargets,omitempty"`
}

// ApproveRequest is the body of an approval.
type ApproveRequest struct {
	// Except are names whose changes are left out.
	Except []string `json:"except,omitempty"`
}

// Approval is the response to an approval.
type Approval struct {
	Publisher string `json:"publisher,omitempty"`
	Zone      string `json:"zone"`
	Hash      string `json:"hash"`
	Deletions int    `json:"deletions"`
	Updates   int    `json:"updates"`
	// Excepted is the number of changes of the plan that were left out.
	Excepted int `json:"excepted"`
	// Gone is the number of changes of the plan that are no longer held.
	Gone int `json:"gone,omitempty"`
	// Until is when the approval expires for changes that could not be made.
	Until time.Time `json:"until"`
}

// Failure is the response to a failed request.
type Failure struct {
	Error string `json:"error"`
	// Leader is the leader, if this process doesn't lead and the leader is known.
	Leader string `json:"leader,omitempty"`
}
