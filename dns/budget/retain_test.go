package budget

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
)

// disappear lists the zones without the zone of the fixture.
func (w *fixture) disappear() { w.book.Retain(w.now, []dns.Zone{{ID: "Z2", Name: "other.test"}}) }

// reappear lists the zone again: the publisher reads it as a new zone.
func (w *fixture) reappear() { w.book.Ledger(shop).Forget() }

// The held plan of a removed zone ends, in the process and in the store.
func TestPlanOfARemovedZone(t *testing.T) {
	w, hash := newHeldFixture(t, 50)
	w.disappear()
	if held := w.book.Held(); len(held) > 0 {
		t.Errorf("%d plans are held in a zone that is gone", len(held))
	}
	if _, err := w.book.Approve(w.now, hash, nil); !errors.Is(err, ErrUnknownPlan) {
		t.Errorf("approval of a plan of a zone that is gone: %v", err)
	}
	w.keep()
	w.start("settings")
	if l := w.book.Ledger(shop); len(l.recalled)+len(l.announced.plans) > 0 {
		t.Errorf("the next process knows %d changes of the zone, and %d plans", len(l.recalled), len(l.announced.plans))
	}
}

// A zone that comes back has the same limit as before it was removed. Each case removes it once and
// counts the deletions after its return.
func TestRemovedZoneKeepsItsProtection(t *testing.T) {
	tests := map[string]struct {
		// before is called while the zone is listed.
		before func(w *fixture)
		// deleted is how many records are deleted after the return.
		deleted int
	}{
		"a held plan": {func(w *fixture) {
			w.dropRange(0, 50)
			w.sync()
		}, 0},
		"spent budget": {func(w *fixture) {
			w.dropRange(0, 20)
			w.sync()
			w.drop("n20", "n21")
		}, 0},
		"an approved plan": {func(w *fixture) {
			w.dropRange(0, 50)
			w.sync()
			w.approve(w.announced(50).Hash)
		}, 0},
		"an excepted name": {func(w *fixture) {
			w.dropRange(0, 50)
			w.sync()
			w.approve(w.announced(50).Hash, "n0.shop.test")
			w.sync()
		}, 0},
		"few deletions": {func(w *fixture) { w.drop("n0", "n1") }, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newFilledFixture(t, 100)
			test.before(w)
			for range 3 {
				w.disappear()
				w.reappear()
			}
			w.wantMade(test.deleted)
		})
	}
}

// Unknown earlier deletions stay unknown for a zone that comes back, even if it is empty at first.
func TestRemovedZoneStaysUnknown(t *testing.T) {
	w := newFilledFixture(t, 100)
	w.store = nil
	w.start("settings")
	w.book.Distrust()
	w.sync()
	if w.book.Ledger(shop).UnknownUntil().IsZero() {
		t.Fatal("earlier deletions are known")
	}
	w.disappear()
	records := w.zone
	w.zone = nil
	w.reappear()
	w.plan()
	w.zone = records
	w.drop("n0")
	w.wantMade(0) // earlier deletions are unknown
}

// --approve-plan approves a plan once in a process, even if the zone comes back with the same
// records.
func TestPlanApprovedAtTheStartOfARemovedZone(t *testing.T) {
	w, hash := newHeldFixture(t, 50)
	records := maps.Clone(w.zone)
	w.startApproving("settings", hash)
	w.wantMade(50)
	w.now = w.now.Add(2 * time.Minute)
	w.disappear()
	w.reappear()
	w.zone = records
	w.wantMade(0) // the approval was used before
}
