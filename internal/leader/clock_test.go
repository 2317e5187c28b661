package leader

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func TestHolderClock(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(s float64) time.Time { return begin.Add(time.Duration(s * float64(time.Second))) }
	for name, test := range map[string]struct {
		holder  string
		renewed float64 // by the clock of the holder
		known   bool
		ahead   float64
	}{
		"the same time":            {"b", 11, true, 0},
		"right after the read":     {"b", 10, true, 0},
		"right before this one":    {"b", 12, true, 0},
		"ours is ahead":            {"b", 7, true, 3},
		"ours is behind":           {"b", 20, true, -8},
		"not renewed":              {"b", 1, false, 0},
		"somebody else":            {"c", 11, false, 0},
		"nobody":                   {"", 11, false, 0},
		"ahead, and it's set back": {"b", -600, true, 610},
	} {
		var c holderClock
		if _, known := c.observe("b", at(1), at(10), at(10.5)); known {
			t.Error("one read shows a difference")
		}
		ahead, known := c.observe(test.holder, at(test.renewed), at(11.5), at(12))
		if known != test.known || ahead.Seconds() != test.ahead {
			t.Errorf("%s: %v %v, want %v %v", name, ahead, known, test.ahead, test.known)
		}
	}
}

// A process whose clock runs twice as fast as that of the leader reports the difference.
func TestClocksDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		c := newCandidate(t, s, "fast")
		slow := time.Now()
		renew := func(advance time.Duration) {
			slow = slow.Add(advance)
			s.set(func() {
				s.version++
				s.record = &resourcelock.LeaderElectionRecord{HolderIdentity: "slow", LeaseDurationSeconds: 20, RenewTime: metav1.NewTime(slow), AcquireTime: metav1.NewTime(slow)}
			})
		}
		renew(0)
		c.start(t, untilDone)
		for range 60 {
			time.Sleep(2 * time.Second)
			renew(time.Second)
		}
		synctest.Wait()
		if ahead := c.metric(t, "leader_election_clock_ahead_seconds"); ahead < 50 || ahead > 60 {
			t.Errorf("it is ahead by %v s, want nearly 60", ahead)
		}
		renew(time.Since(slow)) // the clock of the leader was set
		for range 10 {
			time.Sleep(2 * time.Second)
			renew(2 * time.Second)
		}
		synctest.Wait()
		if ahead := c.metric(t, "leader_election_clock_ahead_seconds"); ahead != 0 {
			t.Errorf("the clocks agree, but it reports %v s", ahead)
		}
		c.stop()
		synctest.Wait()
		got := c.messages()
		before, after, found := strings.Cut(got, "differ: synchronize")
		if !found || strings.Contains(after, "differ: synchronize") || strings.Contains(before, "agree again") || strings.Count(after, "agree again") != 1 {
			t.Errorf("it logged:\n%s", got)
		}
	})
}

// A leader whose clock is set back while it reads its own renewals reports no difference from itself.
func TestOwnClockIsSetBack(t *testing.T) {
	c, now := newCandidate(t, &store{}, "self"), time.Now()
	for _, clock := range []time.Time{now, now.Add(-time.Hour)} {
		c.journal.compareClocks("self", clock, clock, clock)
	}
	if ahead := c.metric(t, "leader_election_clock_ahead_seconds"); ahead != 0 || c.messages() != "" {
		t.Errorf("it reports %v s, and logged:\n%s", ahead, c.messages())
	}
}
