package publisher

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/signpostd/signpost/testkit/inmemorytest"
)

// hidingInterval is much shorter than the timeout of a batch.
const hidingInterval = 10 * time.Second

// newHiding returns a fixture with 100 names, whose zone can be removed.
func newHiding(t *testing.T) (*fixture, *vanishing) {
	s := newFilled(t)
	s.stop()
	h := s.vanishing()
	s.provider = h
	s.change = func(c *Config) { c.Interval = hidingInterval }
	s.start()
	waitIdle()
	return s, h
}

// When a zone is removed, its held plan ends at the next complete list of zones. When the zone comes
// back, its deletions are held again.
func TestHeldPlanOfARemovedZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := newHiding(t)
		defer func() { s.stop() }()
		s.drop(0, 50)
		hash := s.hash(50)
		h.incomplete.Store(true)
		h.lacks.Store(new(zoneName))
		time.Sleep(2 * hidingInterval)
		if got := s.hash(50); got != hash {
			t.Errorf("while the list of zones is incomplete, the plan is %s, want %s", got, hash)
		}
		h.incomplete.Store(false)
		time.Sleep(2 * hidingInterval)
		if plans := s.queue.Plans(); len(plans) > 0 {
			t.Errorf("%d plans of a removed zone are held", len(plans))
		}
		if n := testutil.CollectAndCount(s.publisher.Metrics.held); n > 0 {
			t.Errorf("%d metrics of held changes, want none", n)
		}
		h.lacks.Store(nil)
		time.Sleep(2 * hidingInterval)
		s.expectSets(100)
		if got := s.hash(50); got != hash {
			t.Errorf("the zone is back, and the plan is %s, want %s", got, hash)
		}
	})
}

// A batch that ends after its zone was removed and came back doesn't change what is counted in the
// zone.
func TestBatchOfARemovedZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := newHiding(t)
		defer func() { s.stop() }()
		s.drop(99, 100) // the zone is remembered, because budget was spent in it
		blocked := make(chan struct{})
		s.zones.SetHooks(inmemorytest.Hooks{After: func(_ context.Context, c inmemorytest.Call, err error) error {
			if c.Operation == inmemorytest.Apply {
				<-blocked // the response is late
			}
			return err
		}})
		s.inOnePass(func() { s.ask(0, 10, "192.0.2.2") })
		waitIdle()
		h.lacks.Store(new(zoneName))
		time.Sleep(2 * hidingInterval)
		h.lacks.Store(nil)
		time.Sleep(2 * hidingInterval)
		s.drop(0, 25)
		s.hash(25)
		close(blocked)
		time.Sleep(hidingInterval)
		s.expectSets(99)
		s.hash(25)
	})
}
