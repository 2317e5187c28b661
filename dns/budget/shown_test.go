package budget

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
)

// heldIn returns the plan of a zone in which the deletion of one record set is held.
func heldIn(t *testing.T, publisher Publisher, zone dns.Zone, target string) Plan {
	t.Helper()
	b := NewBook(begun, Limits{Window: time.Minute}, publisher, "s", "")
	if err := b.Restore(begun, nil); err != nil {
		t.Fatal(err)
	}
	l := b.Ledger(zone)
	l.Note("web.shop.test", []dns.Change{{Old: &dns.RecordSet{Name: "web.shop.test", Type: "A", Targets: []string{target}}}})
	l.Decide(begun, 1)
	p, ok := l.Announce()
	if !ok {
		t.Fatal("nothing is held")
	}
	return p
}

// The plans of two publishers, or that delete different targets, have different hashes
// (split-horizon V1).
func TestHashIdentifiesThePlan(t *testing.T) {
	zone := dns.Zone{ID: "shop.test", Name: "shop.test"}
	public := Publisher{Name: "public", Owner: "a"}
	plans := map[string]Plan{
		"public":           heldIn(t, public, zone, "192.0.2.1"),
		"private":          heldIn(t, Publisher{Name: "private", Owner: "a"}, zone, "192.0.2.1"),
		"another owner":    heldIn(t, Publisher{Name: "public", Owner: "b"}, zone, "192.0.2.1"),
		"another zone":     heldIn(t, public, dns.Zone{ID: "Z2", Name: "shop.test"}, "192.0.2.1"),
		"another target":   heldIn(t, public, zone, "192.0.2.2"),
		"shifted in a key": heldIn(t, Publisher{Name: "publica"}, zone, "192.0.2.1"),
	}
	seen := map[string]string{}
	for name, p := range plans {
		if other, known := seen[p.Hash]; known {
			t.Errorf("%s and %s have the hash %s", name, other, p.Hash)
		}
		seen[p.Hash] = name
	}
	if again := heldIn(t, public, zone, "192.0.2.1"); again.Hash != plans["public"].Hash {
		t.Error("the same plan has two hashes")
	}
}

// A plan can't be approved if the zone has other targets since it was shown, neither in the same
// process nor after a restart (split-horizon V1).
func TestChangedPlanIsNotApproved(t *testing.T) {
	for name, between := range map[string]func(w *fixture){
		"in the same process": func(*fixture) {},
		"in a next term":      func(w *fixture) { w.lead() },
		"after a restart":     func(w *fixture) { w.start("settings") },
	} {
		t.Run(name, func(t *testing.T) {
			w, hash := newHeldFixture(t, 30)
			between(w)
			edited := parse(t, "n3 A 192.0.2.77")
			w.zone[edited.Key()] = edited
			w.sync()
			between(w)
			w.sync()
			_, err := w.book.Approve(w.now, hash, nil)
			if !errors.Is(err, ErrPlanChanged) || !strings.Contains(err.Error(), `delete n3.shop.test A ["192.0.2.77"]`) {
				t.Fatalf("approve what was not shown: %v", err)
			}
			w.wantMade(0)
			if a := w.approve(hash, "n3.shop.test"); a.Deletions != 29 || a.Gone != 1 {
				t.Errorf("approved %+v", a)
			}
			w.sync()
			w.wantZone(71) // 29 by approval, and the one that was left out is held
		})
	}
}

// An approval ends for a record set that gets another target before the change is made.
func TestApprovalEndsWithTheTarget(t *testing.T) {
	w, hash := newHeldFixture(t, 30)
	w.approve(hash)
	for i := range 30 {
		edited := parse(t, fmt.Sprintf("n%d A 192.0.2.77", i))
		w.zone[edited.Key()] = edited
	}
	w.wantMade(0)
}

// An approval returns how many changes of the plan are no longer held.
func TestApprovalCountsChangesNoLongerHeld(t *testing.T) {
	w, hash := newHeldFixture(t, 40)
	w.ask("n0 A 192.0.2.1", "n1 A 192.0.2.1")
	w.start("settings")
	w.sync()
	if a := w.approve(hash, "n2.shop.test"); a.Deletions != 37 || a.Excepted != 1 || a.Gone != 2 {
		t.Errorf("approved %+v", a)
	}
}

// Stored plans and approvals without old targets, of an earlier version, are ignored. The stored
// spendings count.
func TestEarlierFormOfApprovals(t *testing.T) {
	w := newFilledFixture(t, 100)
	w.store.text = []byte(`{"version":1,"zones":[{"id":"Z1","name":"shop.test","settings":["settings"],"deletions":[[` + fmt.Sprint(w.now.UnixMilli()) + `,5]],` +
		`"plans":[{"hash":"1b2ce5d55119ce84","at":1767323045000,"shown":"AAAAAAAAAAE="}],"approved":[{"until":` + fmt.Sprint(w.now.Add(time.Hour).UnixMilli()) + `,"changes":"AAAAAAAAAAE="}]}]}`)
	w.start("settings")
	w.dropRange(0, 17)
	w.wantMade(0) // 5 are spent of 21
	if _, err := w.book.Approve(w.now, "1b2ce5d55119ce84", nil); !errors.Is(err, ErrUnknownPlan) {
		t.Errorf("the hash of an earlier version: %v", err)
	}
	w.approve(w.announced(17).Hash)
	w.sync()
	w.wantZone(83)
}

// A hash that two zones have, in an edited store, approves nothing.
func TestHashOfTwoZones(t *testing.T) {
	w, hash := newHeldFixture(t, 30)
	other := w.book.Ledger(dns.Zone{ID: "Z2", Name: "shop.test"})
	other.announced.plans = []Announcement{{Hash: hash, number: 1}}
	if _, err := w.book.Approve(w.now, hash, nil); !errors.Is(err, ErrAmbiguousPlan) {
		t.Errorf("approve the plan of two zones: %v", err)
	}
}
