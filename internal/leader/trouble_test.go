package leader

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Standbys don't know the leader while they can't read the lease. When the rights to the lease were
// withdrawn, they named a leader that had stopped for ever (day2 B2).
func TestLeaderIsUnknownIfLeaseCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		leader, standby := newCandidate(t, s, "0"), newCandidate(t, s, "1")
		leader.start(t, untilDone)
		synctest.Wait()
		standby.start(t, untilDone)
		time.Sleep(5 * time.Second)
		if _, err := standby.Trouble(); err != nil || standby.Leader() != "0" {
			t.Errorf("the standby sees %q lead, with %v, want 0 and no trouble", standby.Leader(), err)
		}
		s.set(func() { leader.down, standby.down = true, true })
		begun := time.Now()
		time.Sleep(10 * time.Second)
		for name, c := range map[string]*candidate{"leader": leader, "standby": standby} {
			if since, err := c.Trouble(); !errors.Is(err, errDown) || since.Sub(begun) > 5*time.Second {
				t.Errorf("the trouble of the %s is %v since %v", name, err, since.Sub(begun))
			}
		}
		time.Sleep(15 * time.Second)
		if got := standby.Leader(); got != "" {
			t.Errorf("the standby still sees %q lead", got)
		}
		s.set(func() { leader.down, standby.down = false, false })
		time.Sleep(10 * time.Second)
		for name, c := range map[string]*candidate{"leader": leader, "standby": standby} {
			if _, err := c.Trouble(); err != nil || c.Leader() == "" {
				t.Errorf("the %s sees %q lead, with %v", name, c.Leader(), err)
			}
			c.stop()
			<-c.done
		}
	})
}

// The failure is known from the first request on, also if nobody ever held the lease (day2 B2).
func TestTroubleAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCandidate(t, &store{}, "0")
		c.down = true
		c.start(t, untilDone)
		synctest.Wait()
		if _, err := c.Trouble(); !errors.Is(err, errDown) || c.Leader() != "" {
			t.Errorf("%q leads, with %v, want nobody, and the failure", c.Leader(), err)
		}
		c.stop()
		<-c.done
	})
}
