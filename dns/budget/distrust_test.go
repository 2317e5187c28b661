package budget

import (
	"fmt"
	"testing"
	"time"
)

// errRefused is the error of a store for which a right is missing.
var errRefused = fmt.Errorf("configmaps is forbidden: %w", ErrNoStore)

// spend deletes ten of a fixture's hundred record sets, and six more deletions are held.
func spend(w *fixture) {
	w.t.Helper()
	for i := range 20 {
		w.drop(fmt.Sprint("n", i))
		w.sync()
	}
	w.wantZone(80)
	for i := range 6 {
		w.drop(fmt.Sprint("n", 20+i))
	}
	w.sync()
	w.wantZone(80)
	w.announced(6)
}

// Whatever happens to the store, restarts release no held change. After a window, the count of the
// process is enough (Day2 B10 and B16).
func TestRestartsUndoNoHold(t *testing.T) {
	for name, break_ := range map[string]func(s *memoryStore, restart int){
		"every request is refused": func(s *memoryStore, _ int) { s.err = errRefused },
		"writes are refused":       func(s *memoryStore, _ int) { s.writeErr = errRefused },
		"writes are refused, and it is older than what was spent": func(s *memoryStore, restart int) {
			if s.writeErr = errRefused; restart == 0 {
				s.text = []byte(`{"version":1,"zones":[{"id":"Z1","name":"shop.test","settings":["settings"]}]}`)
			}
		},
		"refused, and given back": func(s *memoryStore, restart int) {
			if s.err = errRefused; restart%2 == 1 {
				s.err = nil
			}
		},
		"emptied once": func(s *memoryStore, restart int) {
			if restart == 0 {
				s.text = []byte{}
			}
		},
		"emptied every time": func(s *memoryStore, _ int) { s.text = []byte{} },
		"not a state":        func(s *memoryStore, _ int) { s.text = []byte("{") },
		"there is none":      func(s *memoryStore, _ int) { s.err = errRefused },
	} {
		t.Run(name, func(t *testing.T) {
			w := newFilledFixture(t, 100)
			spend(w)
			for restart := range 5 {
				break_(w.store, restart)
				w.now = w.now.Add(time.Second)
				w.start("settings")
				w.sync()
				w.wantZone(80)
				w.announced(6)
			}
			w.drop("n50")
			w.sync()
			w.wantZone(80)
			w.now = w.now.Add(w.limits.Window)
			w.sync()
			w.wantZone(73)
		})
	}
}

// An approval is valid although earlier deletions are unknown.
func TestApproveWithoutStore(t *testing.T) {
	w := newFilledFixture(t, 100)
	spend(w)
	w.store.err = errRefused
	w.start("settings")
	w.sync()
	p := w.announced(6)
	if want := w.now.Add(w.limits.Window); !p.UnknownUntil.Equal(want) {
		t.Errorf("unknown until %v, want %v", p.UnknownUntil, want)
	}
	w.approve(p.Hash)
	w.sync()
	w.wantZone(74)
	w.drop("n50")
	w.sync()
	w.wantZone(74)
}

// A first installation needs no approvals, because the zone has no record sets of ours.
func TestFirstInstallation(t *testing.T) {
	for name, err := range map[string]error{"with a store": nil, "without one": errRefused} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, DefaultLimits())
			w.store.err = err
			w.start("settings")
			w.number(0, 100, "n%d A 192.0.2.1")
			w.sync()
			w.drop("n0", "n1")
			w.sync()
			w.wantZone(98)
		})
	}
}

// If a process that has run for a window loses the right to the store, it continues to count.
func TestStoreIsRefusedMeanwhile(t *testing.T) {
	w := newFilledFixture(t, 100)
	w.store.err = errRefused
	for i := range 30 {
		w.drop(fmt.Sprint("n", i))
		w.sync()
	}
	w.wantZone(80)
	// The spent budget is stored as soon as the store works.
	w.store.err = nil
	w.sync()
	w.start("settings")
	w.sync()
	w.wantZone(80)
}

// If the store can be read only after the start, both its state and the plans shown meanwhile
// count.
func TestStoreIsReadLate(t *testing.T) {
	w := newFilledFixture(t, 100)
	spend(w)
	before := w.announced(6).Hash
	w.store.err = errRefused
	w.start("settings")
	w.sync()
	w.drop("n50")
	w.now = w.now.Add(announceEvery)
	w.sync()
	meanwhile := w.announced(7).Hash
	w.store.err = nil
	w.load()
	w.sync()
	w.wantZone(80)
	l := w.book.Ledger(shop)
	if l.announcement(before).number == 0 || l.announcement(before).number >= l.announcement(meanwhile).number {
		t.Errorf("the plans have the numbers %d and %d", l.announcement(before).number, l.announcement(meanwhile).number)
	}
	if a := w.approve(before); a.Deletions != 6 {
		t.Errorf("%d deletions were approved, want 6", a.Deletions)
	}
	if a := w.approve(meanwhile); a.Deletions != 1 {
		t.Errorf("%d deletions were approved, want one more", a.Deletions)
	}
	w.sync()
	w.wantZone(73)
	w.start("settings")
	if l := w.book.Ledger(shop); l.announcement(before).number == 0 || l.announcement(meanwhile).number == 0 {
		t.Error("the plans are not stored")
	}
}
