package publisher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns/budget"
)

// textStore is a store that outlives publishers. It fails while err is set.
type textStore struct {
	mu     sync.Mutex
	text   []byte
	err    error
	writes int
}

func (s *textStore) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *textStore) Load(context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text, s.err
}

func (s *textStore) Update(_ context.Context, change func([]byte) []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.text = change(s.text)
		s.writes++
	}
	return s.err
}

// newFilled returns a fixture with names n0 to n99 in the zone, whose store has what was spent since.
func newFilled(t *testing.T) *fixture {
	s := newFixture(t)
	s.store, s.settings = &textStore{}, "settings"
	s.ask(0, 100, "192.0.2.1")
	s.start()
	waitIdle()
	s.expectSets(100)
	s.takeNotices()
	return s
}

// withFilled runs a test in a bubble, and stops its publisher in the end.
func withFilled(t *testing.T, test func(t *testing.T, s *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newFilled(t)
		defer func() { s.stop() }()
		test(t, s)
	})
}

// drop deletes objects in one pass.
func (w *fixture) drop(from, to int) {
	w.inOnePass(func() {
		for i := from; i < to; i++ {
			w.objects.set(fmt.Sprint("o", i))
		}
	})
	waitIdle()
}

// hash returns the hash of the only held plan, which must have the given number of changes.
func (w *fixture) hash(changes int) string {
	w.t.Helper()
	plans := w.queue.Plans()
	if len(plans) != 1 || len(plans[0].Changes) != changes {
		w.t.Fatalf("held are %v, want one plan with %d changes", plans, changes)
	}
	return plans[0].Hash
}

// More deletions than the budget allows wait until they are approved, or until the records are
// asked for again. The flag --approve-plan approves them, and small batches are enough.
func TestBudget(t *testing.T) {
	withFilled(t, func(t *testing.T, s *fixture) {
		s.drop(0, 20)
		s.expectSets(80) // a fifth may be deleted
		for _, z := range s.publisher.zones.all() {
			if z.mirror.owned != 80 || z.mirror.records["A"] != 80 {
				t.Errorf("%d owned of %v, want all 80", z.mirror.owned, z.mirror.records)
			}
		}
		s.drop(20, 21)
		s.expectSets(80)
		s.ask(0, 21, "192.0.2.1")
		waitIdle()
		s.expectSets(100)
		time.Sleep(budget.DefaultLimits().Window)
		s.takeNotices()
		s.drop(0, 100)
		s.expectSets(100)
		hash := s.hash(100)
		s.expectNotices(map[string]int{"--approve-plan=" + hash: some})
		if zones, _, err := s.publisher.ZoneRows(t.Context()); err != nil || zones[0].Held != hash || zones[0].Rows[RowHeld] != 100 {
			t.Errorf("zones: %+v, %v", zones, err)
		}
		s.stop()
		s.change = func(c *Config) {
			c.Store, c.Approved = &textStore{}, hash
			c.Limits = Limits{BatchSize: 14, BatchInterval: 50 * time.Millisecond}
		}
		s.start()
		time.Sleep(5 * time.Second)
		if left := s.listing(); len(left) > 0 {
			t.Errorf("%d record sets are left", len(left))
		}
	})
}

// An approval covers the changes that were shown. Later changes and excepted names stay held. The
// approval is reported.
func TestApprovalQueue(t *testing.T) {
	withFilled(t, func(t *testing.T, s *fixture) {
		s.drop(0, 50)
		s.expectSets(100)
		hash := s.hash(50)
		s.drop(50, 90)
		if _, err := s.queue.Approve(t.Context(), "0123456789abcdef", nil); !errors.Is(err, budget.ErrUnknownPlan) {
			t.Errorf("another hash: %v", err)
		}
		a, err := s.queue.Approve(t.Context(), hash, []string{"n0.shop.test"})
		if err != nil || a.Deletions != 49 || a.Excepted != 1 {
			t.Errorf("%+v, %v", a, err)
		}
		waitIdle()
		s.expectSets(51)
		s.expectNotices(map[string]int{"PlanApproved Approved": some, "49 deletions": some})
		// The rest is held under another hash, which a restart knows too.
		hash = s.hash(41)
		s.stop()
		if len(s.queue.Plans()) > 0 {
			t.Error("a process that has ended holds plans")
		}
		s.start()
		waitIdle()
		if a, err := s.queue.Approve(t.Context(), hash, nil); err != nil || a.Deletions != 41 {
			t.Errorf("%+v, %v", a, err)
		}
		waitIdle()
		s.expectSets(10)
	})
}

// A plan of the former process can be approved although deletions are delayed after a restart.
func TestApproveDelayedAfterRestart(t *testing.T) {
	withFilled(t, func(t *testing.T, s *fixture) {
		s.change = func(c *Config) { c.DeletionDelay = 5 * time.Second }
		s.stop()
		s.start()
		s.drop(0, 50)
		time.Sleep(6 * time.Second)
		hash := s.hash(50)
		s.drop(50, 90) // more are held by the next process
		s.stop()
		s.start()
		waitIdle()
		time.Sleep(6 * time.Second)
		if a, err := s.queue.Approve(t.Context(), hash, nil); err != nil || a.Deletions != 50 {
			t.Errorf("%+v, %v", a, err)
		}
		waitIdle()
		s.expectSets(50)
	})
}

// A process that doesn't lead approves nothing.
func TestApproveWithoutLeading(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.standby = true
		w.start()
		if _, err := w.queue.Approve(t.Context(), "0123456789abcdef", nil); !errors.Is(err, budget.ErrNotLeading) {
			t.Errorf("%v", err)
		}
	})
}

// Updates by new settings, such as a wrong template, are held. Updates by objects aren't, even of a
// whole zone.
func TestSettingsBudget(t *testing.T) {
	withFilled(t, func(t *testing.T, s *fixture) {
		s.objects.set("nobody")
		synctest.Wait()
		s.ask(0, 100, "192.0.2.2")
		waitIdle()
		if n := len(s.zone()); !strings.HasSuffix(s.zone()[0], "192.0.2.2") || n != 100 {
			t.Errorf("a load balancer that was replaced is held: %v", s.zone()[0])
		}
		s.stop()
		s.settings = "wrong"
		s.ask(0, 100, "192.0.2.66")
		s.ask(100, 101, "192.0.2.66")
		s.start()
		waitIdle()
		moved := func() (n int) {
			for _, line := range s.zone() {
				if strings.HasSuffix(line, "192.0.2.66") {
					n++
				}
			}
			return n
		}
		if n := moved(); n != 1 {
			t.Errorf("%d records have the wrong target, want the new one", n)
		}
		hash := s.hash(100)
		s.expectNotices(map[string]int{"DeletionsHeld": some, "signpost approve " + hash: some})
		if _, err := s.queue.Approve(t.Context(), hash, nil); err != nil {
			t.Error(err)
		}
		waitIdle()
		if n := moved(); n != 101 {
			t.Errorf("%d records were approved", n)
		}
	})
}

// While the store fails, counted changes wait and all others are made. The failure is reported
// once.
func TestStoreOfBudgetsFails(t *testing.T) {
	withFilled(t, func(t *testing.T, s *fixture) {
		s.store.fail(errors.New("no route to host"))
		s.drop(0, 5)
		s.ask(100, 110, "192.0.2.1")
		waitIdle()
		s.expectSets(110)
		// The store fails at the start too.
		s.stop()
		s.start()
		s.ask(110, 120, "192.0.2.1")
		// Until the store is read, it is unknown which limit applies to these.
		s.ask(90, 100, "192.0.2.9")
		waitIdle()
		s.expectSets(120)
		s.store.fail(nil)
		time.Sleep(3 * DefaultInterval)
		s.expectSets(115)
		if moved := slices.DeleteFunc(s.zone(), func(line string) bool { return !strings.Contains(line, "192.0.2.9") }); len(moved) != 10 {
			t.Errorf("%d of 10 updates without a limit were made once the store could be read", len(moved))
		}
	})
}

// Changes without a limit, and changes that remove nothing, aren't stored.
func TestBudgetsAreWrittenRarely(t *testing.T) {
	withFilled(t, func(t *testing.T, s *fixture) {
		before := s.store.writes
		for i := range 20 {
			s.ask(0, 100, fmt.Sprintf("192.0.2.%d", i+2))
			s.ask(100+i, 101+i, "192.0.2.1")
			waitIdle()
		}
		if writes := s.store.writes - before; writes > 0 {
			t.Errorf("%d writes", writes)
		}
		s.drop(0, 5)
		if writes := s.store.writes - before; writes != 1 {
			t.Errorf("%d writes for five deletions at once", writes)
		}
	})
}
