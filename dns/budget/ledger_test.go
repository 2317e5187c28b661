package budget

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
)

// Deleting 49 of 50 weighted record sets of one name is 49 losses, although one is created (D9).
func TestSetIdentifiersAreCounted(t *testing.T) {
	w := newFixture(t, DefaultLimits())
	w.number(0, 50, "w A/set%d 192.0.2.1")
	w.fill()
	w.drop("w")
	w.ask("w A/set7 192.0.2.1", "w A/new 192.0.2.99")
	w.wantMade(1) // the creation
	w.wantZone(51)
	w.announced(49)
}

// A creation waits too if it can't coexist with a held record set.
func TestCreationsWaitForHeldDeletions(t *testing.T) {
	for come, want := range map[string]int{"w CNAME/set0 b.shop.test": 0, "w A 192.0.2.1": 0, "w A/new 192.0.2.1": 1} {
		w := newFixture(t, DefaultLimits())
		w.number(0, 50, "w A/set%d 192.0.2.1")
		w.ask("w TXT/set60 x")
		w.fill()
		w.drop("w")
		w.ask(come, "w TXT/set60 y")
		if made := w.sync(); made != want+1 {
			t.Errorf("%s: %d changes were made, want the update and %d", come, made, want)
		}
	}
}

// The limit is a number or a percentage, whichever is more, and includes the deletions of the
// window.
func TestDeletionLimit(t *testing.T) {
	w := newFilledFixture(t, 100)
	for i := range 20 {
		w.drop(fmt.Sprint("n", i))
		w.wantMade(1)
	}
	w.drop("n20")
	w.wantMade(0) // the limit is 20 of 100
	if due := w.book.Ledger(shop).Due(); !due.Equal(w.now.Add(w.limits.Window)) {
		t.Errorf("the ledger looks again at %v", due)
	}
	w.now = w.now.Add(w.limits.Window + time.Millisecond)
	w.wantMade(1)
	w.limits.Deletions = Limit{Percent: 100}
	w.start("settings")
	w.want = map[dns.Key]*dns.RecordSet{}
	w.sync()
	w.wantZone(0)
}

// A charged change that the provider did not make costs nothing when it is retried within the
// window.
func TestRetriesAreChargedOnce(t *testing.T) {
	w := newFilledFixture(t, 30)
	w.drop("n0", "n1", "n2", "n3", "n4", "n5")
	l, _ := w.plan()
	for range 5 {
		for name, changes := range w.changes() {
			if len(l.Permitted(name, changes)) != 1 {
				t.Fatalf("%s is held", name)
			}
			l.Spend(w.now, name, changes)
		}
		w.now = w.now.Add(time.Minute)
		w.plan()
	}
	w.drop("n6", "n7", "n8", "n9", "n10")
	w.wantMade(6) // of 11, of which 6 were paid for, with a limit of 10
}

// A process that dies between storing and deleting, or after each ten deletions, can't empty a zone
// (D24).
func TestCrashLoop(t *testing.T) {
	w := newFilledFixture(t, 100)
	for gone := 0; gone < 100; {
		w.now = w.now.Add(2 * time.Second)
		w.start("settings")
		for range 10 {
			w.drop(fmt.Sprint("n", gone))
			gone++
		}
		w.sync()
	}
	w.wantZone(80)

	t.Run("before the changes", func(t *testing.T) {
		w := newFilledFixture(t, 100)
		w.number(100, 110, "n%d A 192.0.2.1")
		w.drop("n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9")
		w.dies = true
		for range 5 {
			w.start("settings")
			w.sync()
		}
		w.dies = false
		w.start("settings")
		w.sync()
		w.wantZone(110) // the creations are made, and the deletions held
	})
}

// If the store refuses requests, the process counts for itself.
func TestNoStore(t *testing.T) {
	w := newFixture(t, DefaultLimits())
	w.store.err = errRefused
	w.start("settings")
	w.number(0, 100, "n%d A 192.0.2.1")
	w.fill()
	for i := range 30 {
		w.drop(fmt.Sprint("n", i))
		w.sync()
	}
	w.wantZone(80)
	if w.store.writes != 0 {
		t.Error("something was written")
	}
	// Without a store it is unknown whether settings are new. Holding updates at each start would be worse.
	w.start("others")
	w.want = map[dns.Key]*dns.RecordSet{}
	w.number(20, 100, "n%d A 192.0.2.2")
	w.wantMade(80)
}

// An approval allows the changes that were shown. It stays valid when another change is added, and
// ends when the changes are made or no longer needed.
func TestApproval(t *testing.T) {
	w := newFilledFixture(t, 100)
	w.dropRange(0, 40)
	w.sync()
	first := w.announced(40)
	w.drop("n40", "n41")
	w.now = w.now.Add(time.Second)
	w.sync()
	if len(w.plans) != 1 {
		t.Error("a plan is announced each second")
	}
	a := w.approve(first.Hash, "n0.shop.test", "N1.shop.test.")
	if a.Deletions != 38 || a.Excepted != 2 || a.Updates != 0 || a.Zone != shop {
		t.Errorf("approved %+v", a)
	}
	w.ask("n5 A 192.0.2.1") // is asked for again
	w.sync()
	// The 2 later deletions are within the limit by now, and the 2 that were left out are held.
	w.wantZone(61)

	w.drop("n5")
	w.number(100, 160, "n%d A 192.0.2.1")
	w.sync()
	w.dropRange(100, 160)
	w.sync()
	if _, ok := w.zone[dns.Key{Name: "n5.shop.test", Type: "A"}]; ok {
		t.Log("n5 is held, with those that came later")
	}
	if a := w.approve(first.Hash); a.Deletions != 2 {
		t.Errorf("of the names that were left out, %d are approved", a.Deletions)
	}
	w.sync()
	if _, err := w.book.Approve(w.now, first.Hash, nil); !errors.Is(err, ErrNothingLeft) {
		t.Errorf("the approval of a plan that is done: %v", err)
	}
}

// Changes that are added to a plan, or were excepted from an approval, are held under another hash.
func TestLaterChangesAreHeld(t *testing.T) {
	w := newFilledFixture(t, 100)
	w.dropRange(0, 30)
	w.sync()
	first := w.announced(30)
	w.dropRange(30, 60)
	w.now = w.now.Add(announceEvery)
	w.sync()
	second := w.announced(60)
	if second.Hash == first.Hash {
		t.Error("two plans have one hash")
	}
	w.dropRange(60, 70) // nobody has seen these
	w.sync()
	if a := w.approve(first.Hash, "n0.shop.test"); a.Deletions != 29 || a.Excepted != 1 {
		t.Errorf("approved %+v", a)
	}
	w.now = w.now.Add(time.Second)
	w.sync()
	w.wantZone(71)
	w.now = w.now.Add(announceEvery)
	w.sync()
	third := w.announced(41)
	if a := w.approve(second.Hash); a.Deletions != 31 {
		t.Errorf("approved %+v", a)
	}
	w.sync()
	w.wantZone(30) // 31 by approval, and the 10 that are left are within the limit
	if third.Hash == second.Hash {
		t.Error("two plans have one hash")
	}
}

// TestExceptedNameIsHeld shows that a name that an approval leaves out is held, although the rest
// of the budget would allow its deletion, also after a restart, and takes no budget from others.
// Another approval ends that.
func TestExceptedNameIsHeld(t *testing.T) {
	w, hash := newHeldFixture(t, 30)
	if a := w.approve(hash, "n0.shop.test"); a.Deletions != 29 || a.Excepted != 1 {
		t.Errorf("approved %+v", a)
	}
	w.sync()
	w.wantZone(71)
	w.keep()
	w.start("settings")
	w.sync()
	w.now = w.now.Add(2 * announceEvery)
	w.sync()
	w.wantZone(71)
	left := w.announced(1)
	w.drop("n40")
	w.sync()
	w.wantZone(70)
	w.approve(left.Hash)
	w.sync()
	w.wantZone(69)
}

// TestHeldNameIsPlannedAgain shows that an approval covers a name of the plan whose other changes were made
// since, which is planned again.
func TestHeldNameIsPlannedAgain(t *testing.T) {
	w, hash := newHeldFixture(t, 30)
	w.book.Ledger(shop).Note("n0.shop.test", nil)
	w.now = w.now.Add(2 * announceEvery)
	w.sync()
	if len(w.plans) != 1 {
		t.Errorf("the same plan was announced %d times", len(w.plans))
	}
	if a := w.approve(hash); a.Deletions != 30 || a.Gone != 0 {
		t.Errorf("approved %+v", a)
	}
}

func TestApprovalErrors(t *testing.T) {
	w := newFilledFixture(t, 100)
	if _, err := w.book.Approve(w.now, "0123456789abcdef", nil); !errors.Is(err, ErrUnknownPlan) {
		t.Errorf("nothing is held: %v", err)
	}
	w.dropRange(0, 30)
	w.sync()
	hash := w.announced(30).Hash
	for _, name := range []string{"n40.shop.test", "x", ""} {
		if _, err := w.book.Approve(w.now, hash, []string{name}); !errors.Is(err, ErrNotInPlan) {
			t.Errorf("except %q: %v", name, err)
		}
	}
	w.wantMade(0)
	// An approval ends after some hours.
	w.approve(hash)
	w.now = w.now.Add(ApprovalTime)
	w.wantMade(0)
	w.approve(hash)
	w.sync()
	w.wantZone(70)
}

// Shown plans and approvals survive a restart, and another leader knows them (D24).
func TestApprovalSurvivesRestart(t *testing.T) {
	for name, restart := range map[string]func(w *fixture, hash string){
		"approved before": func(w *fixture, hash string) {
			w.approve(hash)
			w.keep()
			w.start("settings")
		},
		"shown before": func(w *fixture, hash string) {
			w.start("settings")
			w.sync()
			w.approve(hash)
		},
		"by the flag":    func(w *fixture, hash string) { w.startApproving("settings", hash) },
		"in a next term": func(w *fixture, hash string) { w.approve(hash); w.lead() },
	} {
		t.Run(name, func(t *testing.T) {
			w, hash := newHeldFixture(t, 30)
			w.dropRange(30, 70)
			w.now = w.now.Add(announceEvery)
			if name == "in a next term" {
				w.keeper = NewKeeper(nil, time.Minute, w.keeper.log) // nothing was loaded
			}
			restart(w, hash)
			w.sync()
			w.wantZone(70)
		})
	}
}

// The flag --approve-plan works without a store, for exactly the plan that was shown.
func TestApprovalByFlagWithoutStore(t *testing.T) {
	w := newFixture(t, DefaultLimits())
	w.store = nil
	w.start("settings")
	w.number(0, 100, "n%d A 192.0.2.1")
	w.fill()
	w.dropRange(0, 30)
	w.sync()
	hash := w.announced(30).Hash
	w.startApproving("settings", "0123456789abcdef")
	w.sync()
	w.wantZone(100)
	w.startApproving("settings", hash)
	w.now = w.now.Add(ApprovalTime)
	w.sync()
	w.wantZone(100) // too late
	w.startApproving("settings", hash)
	w.sync()
	w.wantZone(70)
}

// TestFlagApprovesOnce shows that --approve-plan doesn't approve the same deletions again, after the objects
// were back.
func TestFlagApprovesOnce(t *testing.T) {
	for name, stored := range map[string]bool{"the plan is stored": true, "without a store": false} {
		t.Run(name, func(t *testing.T) {
			w, hash := newHeldFixture(t, 30)
			if !stored {
				w.store = nil
			}
			w.startApproving("settings", hash)
			w.sync()
			w.wantZone(70)
			w.number(0, 30, "n%d A 192.0.2.1")
			w.sync()
			w.wantZone(100)
			w.dropRange(0, 30)
			w.now = w.now.Add(time.Hour)
			w.sync()
			w.wantZone(100)
		})
	}
}

// Updates by new settings, such as a wrong template, are held until they are approved or the
// settings are reverted.
func TestSettingsRewriteAZone(t *testing.T) {
	w := newFilledFixture(t, 100)
	w.start("wrong")
	w.number(0, 100, "n%d A 192.0.2.66")
	w.ask("new A 192.0.2.66")
	w.wantMade(1) // the creation
	p := w.announced(100)
	if d, u := p.Count(); d != 0 || u != 100 {
		t.Errorf("the plan has %d deletions and %d updates", d, u)
	}
	// A held name stays held with its next targets. Other names don't become held.
	w.ask("n0 A 192.0.2.67", "new A 192.0.2.68")
	w.wantMade(1) // that of the new name
	// A restart changes nothing: the settings are not accepted.
	w.start("wrong")
	w.wantMade(0)
	// With the old settings nothing is held.
	w.start("settings")
	w.number(0, 100, "n%d A 192.0.2.2")
	w.sync()
	for key, r := range w.zone {
		if key.Name != "new.shop.test" && r.Targets[0] != "192.0.2.2" {
			t.Fatalf("%s has %v", key.Name, r.Targets)
		}
	}
}

// Settings are accepted after an approval or with few updates. Going back to the settings before
// them is accepted too.
func TestSettingsAreAccepted(t *testing.T) {
	w := newFilledFixture(t, 100)
	w.start("second")
	w.number(0, 100, "n%d A 192.0.2.2")
	w.sync()
	w.approve(w.announced(100).Hash)
	w.wantMade(100)
	for _, settings := range []string{"second", "settings"} {
		w.start(settings)
		w.number(0, 100, "n%d A 192.0.2."+fmt.Sprint(len(settings)))
		if made := w.sync(); made != 100 {
			t.Errorf("with the settings %q, %d updates were made at once", settings, made)
		}
	}
	w.start("third")
	w.number(0, 20, "n%d A 192.0.2.33")
	w.wantMade(20)
}

// Objects may update any number of names at once, for example when a load balancer or all nodes are
// replaced.
func TestObjectsMoveAZone(t *testing.T) {
	w := newFixture(t, DefaultLimits())
	w.number(0, 300, "n%d A 192.0.2.1,192.0.2.2")
	w.fill()
	w.number(0, 300, "n%d A 192.0.2.2,192.0.2.3")
	w.wantMade(300)
	w.start("settings") // the process was on one of these nodes
	w.number(0, 300, "n%d A 192.0.2.3,192.0.2.4")
	w.wantMade(300)
	w.limits.ObjectUpdates = Limit{Percent: 50}
	w.start("settings")
	w.number(0, 200, "n%d A 192.0.2.9")
	w.wantMade(0)
	w.announced(200)
}

// Until the store was read, counted changes wait and all others are made. Then the updates by new
// settings are known.
func TestLoading(t *testing.T) {
	w := newFilledFixture(t, 100)
	w.book = NewBook(w.now, w.limits, Publisher{}, "wrong", "")
	w.book.Start(w.now)
	w.number(0, 90, "n%d A 192.0.2.66")
	w.drop("n95")
	w.ask("new A 192.0.2.1")
	w.plans = nil
	if made := w.sync(); made != 1 || len(w.plans) > 0 {
		t.Errorf("%d changes were made, and %d plans announced", made, len(w.plans))
	}
	loaded, err := w.keeper.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.book.Restore(w.now, loaded); err != nil {
		t.Fatal(err)
	}
	w.wantMade(1)
	w.announced(90)
}

// Changes that cost nothing are not stored.
func TestWritesAreRare(t *testing.T) {
	w := newFilledFixture(t, 100)
	before := w.store.writes
	for i := range 50 {
		w.ask(fmt.Sprintf("new%d A 192.0.2.1", i), fmt.Sprintf("n1 A 192.0.2.1,192.0.2.%d", i+2))
		w.sync()
		w.now = w.now.Add(time.Minute)
	}
	if writes := w.store.writes - before; writes != 0 {
		t.Errorf("%d writes", writes)
	}
}

// Names that flap don't evict the plans that users are reading.
func TestPlansAreNotEvicted(t *testing.T) {
	w, hash := newHeldFixture(t, 30)
	for i := range 600 {
		w.now = w.now.Add(time.Second)
		w.want = map[dns.Key]*dns.RecordSet{}
		if i%2 == 0 {
			w.number(0, 100, "n%d A 192.0.2.1") // nothing is held for a moment
		} else {
			w.number(0, 50+i%40, "n%d A 192.0.2.1")
		}
		w.sync()
	}
	if len(w.plans) > 21 {
		t.Errorf("%d plans were announced in ten minutes", len(w.plans))
	}
	if l := w.book.Ledger(shop); l.announcement(hash).number == 0 {
		t.Error("the first plan is forgotten")
	}
}
