package budget

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// ErrNotLeading is the error of [ApprovalQueue.Approve] in a process that doesn't lead.
var ErrNotLeading = errors.New("this process does not lead")

// ErrNotPlanned is the error of an approval before the leader has planned everything.
var ErrNotPlanned = errors.New("not planned yet: this process became the leader a short time ago, and has not compared all zones with the wanted records: try again in some seconds")

// ApprovalQueue passes held plans from a publisher to users, and approvals from users to the
// publisher. [NewApprovalQueue] creates it.
type ApprovalQueue struct {
	plans    atomic.Pointer[[]Plan]
	requests chan *Request
	progress atomic.Pointer[progress]
}

// progress is the state of a publisher in its term.
type progress struct {
	since   time.Time
	planned bool
}

// NewApprovalQueue returns a queue without plans.
func NewApprovalQueue() *ApprovalQueue { return &ApprovalQueue{requests: make(chan *Request)} }

// Show replaces the held plans. The publisher calls it, and must not change them afterwards.
func (q *ApprovalQueue) Show(plans []Plan) { q.plans.Store(&plans) }

// Plans returns the held plans.
func (q *ApprovalQueue) Plans() []Plan {
	if plans := q.plans.Load(); plans != nil {
		return *plans
	}
	return nil
}

// Begin notes that a term has begun, in which nothing has been planned yet.
func (q *ApprovalQueue) Begin(at time.Time) { q.progress.Store(&progress{since: at}) }

// Planned notes that everything has been planned in this term.
func (q *ApprovalQueue) Planned() {
	if p := q.progress.Load(); p != nil {
		q.progress.Store(&progress{p.since, true})
	}
}

// End notes that the term has ended. Nothing is held until the next one.
func (q *ApprovalQueue) End() {
	q.progress.Store(nil)
	q.Show(nil)
}

// Unplanned returns since when the publisher leads, if it has not planned everything yet. The time
// is zero if no term has begun.
func (q *ApprovalQueue) Unplanned() (since time.Time, unplanned bool) {
	p := q.progress.Load()
	if p == nil {
		return time.Time{}, true
	}
	return p.since, !p.planned
}

// Request asks for the approval of a plan. The publisher responds to each once.
type Request struct {
	Hash     string
	Except   []string
	decision chan decision
}

type decision struct {
	Approval
	error
}

// Decide sends the response to the request.
func (r *Request) Decide(a Approval, err error) { r.decision <- decision{a, err} }

// Requests returns the channel of requests to the publisher.
func (q *ApprovalQueue) Requests() <-chan *Request { return q.requests }

// Approve asks the publisher to approve a plan. The error is one of [Ledger.Approve],
// [ErrNotLeading], or says that the publisher didn't respond before ctx ended.
func (q *ApprovalQueue) Approve(ctx context.Context, hash string, except []string) (Approval, error) {
	r := &Request{Hash: hash, Except: except, decision: make(chan decision, 1)}
	select {
	case q.requests <- r:
	case <-ctx.Done():
		return Approval{}, fmt.Errorf("approve the plan %.64q: the publisher takes no requests: %w", hash, ctx.Err())
	}
	select {
	case a := <-r.decision:
		return a.Approval, a.error
	case <-ctx.Done():
		return Approval{}, fmt.Errorf("approve the plan %.64q: the publisher has not answered, and may approve it yet: %w", hash, ctx.Err())
	}
}
