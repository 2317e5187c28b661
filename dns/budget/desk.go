package budget

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// ErrNotLeading is the error of [Desk.Approve] in a process that doesn't lead.
var ErrNotLeading = errors.New("this process does not lead")

// Desk is where people and a publisher meet: plans go out, approvals come in. Make one with
// [NewDesk].
type Desk struct {
	plans    atomic.Pointer[[]Plan]
	requests chan *Request
}

// NewDesk returns a desk with no plans.
func NewDesk() *Desk { return &Desk{requests: make(chan *Request)} }

// Show replaces the plans that are held. The publisher calls it; it doesn't change them afterwards.
func (d *Desk) Show(plans []Plan) { d.plans.Store(&plans) }

// Plans returns the plans that are held.
func (d *Desk) Plans() []Plan {
	if plans := d.plans.Load(); plans != nil {
		return *plans
	}
	return nil
}

// Request asks for the approval of a plan. The publisher answers each one once.
type Request struct {
	Hash   string
	Except []string
	answer chan answer
}

type answer struct {
	Approval
	error
}

// Answer answers the request.
func (r *Request) Answer(a Approval, err error) { r.answer <- answer{a, err} }

// Requests is where the publisher takes requests from.
func (d *Desk) Requests() <-chan *Request { return d.requests }

// Approve asks the publisher to approve a plan. Its error is one of [Ledger.Approve],
// [ErrNotLeading], or says that the publisher didn't answer before ctx ended.
func (d *Desk) Approve(ctx context.Context, hash string, except []string) (Approval, error) {
	r := &Request{Hash: hash, Except: except, answer: make(chan answer, 1)}
	select {
	case d.requests <- r:
	case <-ctx.Done():
		return Approval{}, fmt.Errorf("approve the plan %.64q: the publisher takes no requests: %w", hash, ctx.Err())
	}
	select {
	case a := <-r.answer:
		return a.Approval, a.error
	case <-ctx.Done():
		return Approval{}, fmt.Errorf("approve the plan %.64q: the publisher has not answered, and may approve it yet: %w", hash, ctx.Err())
	}
}
