package budget

import (
	"testing"
	"time"
)

// An earlier plan has its changes that are still held, and a name that no plan has shown is in
// none.
func TestEarlierPlans(t *testing.T) {
	w := newFilledFixture(t, 100)
	w.dropRange(0, 30)
	w.sync()
	first := w.announced(30)
	w.dropRange(30, 31)
	w.sync()
	l := w.book.Ledger(shop)
	if _, ok := l.PlanOf("n30.shop.test"); ok {
		t.Error("a plan has a name that it has not shown")
	}
	if p, ok := l.PlanOf("n0.shop.test"); !ok || p.Hash != first.Hash {
		t.Errorf("the plan of a name that was shown is %v %q, want %q", ok, p.Hash, first.Hash)
	}
	w.now = w.now.Add(announceEvery)
	w.sync()
	second := w.announced(31)
	if p, ok := l.PlanOf("n30.shop.test"); !ok || p.Hash != second.Hash {
		t.Errorf("the plan of a name that was shown later is %v %q, want %q", ok, p.Hash, second.Hash)
	}
	if p, ok := second.Remaining(first.Hash); !ok || len(p.Changes) != 30 || p.Hash != first.Hash {
		t.Errorf("of the earlier plan %d changes are left, want 30", len(p.Changes))
	}
	if p, ok := second.Remaining(second.Hash); !ok || len(p.Changes) != 31 {
		t.Errorf("the plan itself has %d changes, want 31", len(p.Changes))
	}
	if _, ok := second.Remaining("0123456789abcdef"); ok {
		t.Error("a plan has a hash that no plan had")
	}
}

// A plan has the used part of the limit, and when the held changes are within it.
func TestSpent(t *testing.T) {
	w := newFilledFixture(t, 30)
	w.dropRange(0, 10)
	w.sync()
	w.wantZone(20)
	made := w.now
	w.now = w.now.Add(time.Minute)
	w.drop("n10")
	w.sync()
	p := w.announced(1)
	if s := p.Spent; s.Changes != 10 || s.Limit != 10 || s.AvailableAt.Sub(made).Round(time.Second) != w.limits.Window {
		t.Errorf("spent %d of %d, room %v after the first deletions, want 10 of 10 and %v", s.Changes, s.Limit, s.AvailableAt.Sub(made), w.limits.Window)
	}
	w.dropRange(11, 29)
	w.now = w.now.Add(announceEvery)
	w.sync()
	if s := w.announced(19).Spent; !s.AvailableAt.IsZero() {
		t.Errorf("there is room at %v for more than the limit", s.AvailableAt)
	}
}
