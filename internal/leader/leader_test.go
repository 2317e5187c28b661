package leader

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/signpostd/signpost/internal/pause"
)

// compete tests with two candidates of a store, a and b, of which a leads.
func compete(t *testing.T, lead func(context.Context) error, test func(t *testing.T, a, b *candidate)) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		a, b := newCandidate(t, s, "a"), newCandidate(t, s, "b")
		a.start(t, lead)
		synctest.Wait()
		b.start(t, untilDone)
		synctest.Wait()
		wantLeader(t, a, b)
		test(t, a, b)
		a.stop()
		b.stop()
		synctest.Wait()
	})
}

// wantLeader checks that all candidates see the leader, and that only the leader has an open fence.
func wantLeader(t *testing.T, leader, other *candidate) {
	t.Helper()
	wantOpen(t, leader.Fence())
	wantClosed(t, other.Fence(), leader.Identity()+" holds it")
	for _, c := range []*candidate{leader, other} {
		if got := c.Leader(); got != leader.Identity() {
			t.Errorf("%s says that %q leads", c.Identity(), got)
		}
	}
	if on, off := leader.metric(t, "leader_election_master_status"), other.metric(t, "leader_election_master_status"); on != 1 || off != 0 {
		t.Errorf("status of the leader: %v, of the other: %v", on, off)
	}
}

func wantMessages(t *testing.T, c *candidate, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := c.messages(); got != strings.Join(want, "\n") {
		t.Errorf("%s logged:\n%s\nwant:\n%s", c.Identity(), got, strings.Join(want, "\n"))
	}
}

func TestHandOver(t *testing.T) {
	returned := false
	var a, b *candidate
	slow := func(ctx context.Context) error {
		<-ctx.Done()
		time.Sleep(3 * time.Second)
		if err := a.Fence().Check(); err != nil {
			t.Errorf("while the work finishes: %v", err)
		}
		returned = true
		return fmt.Errorf("work: %w", context.Cause(ctx))
	}
	compete(t, func(ctx context.Context) error { return slow(ctx) }, func(t *testing.T, first, second *candidate) {
		a, b = first, second
		time.Sleep(time.Hour)
		wantLeader(t, a, b)

		stopped := time.Now()
		a.stop()
		if err := <-a.done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(stopped); !returned || took != 3*time.Second {
			t.Errorf("stopping took %v, want as long as the work", took)
		}
		// The other candidate may acquire the lease at the same instant.
		if holder := a.store.holder(); holder == a.Identity() {
			t.Errorf("%q holds the lease after it was released", holder)
		}
		wantClosed(t, a.Fence(), "the work under it has ended")
		time.Sleep(5 * time.Second)
		wantOpen(t, b.Fence())
		wantMessages(t, a, "Leading", "Stopped leading")
		wantMessages(t, b, "Another process leads", "Leading")
	})
}

// The fence of a disconnected leader closes long before the other candidate leads. When it is connected
// again, the roles are swapped.
func TestCutOff(t *testing.T) {
	var a, b *candidate
	started := 0
	lead := func(ctx context.Context) error {
		started++
		<-ctx.Done()
		return errors.New("can't write any more")
	}
	compete(t, lead, func(t *testing.T, first, second *candidate) {
		a, b = first, second
		time.Sleep(time.Minute + time.Second) // into the middle of two renewals
		a.set(true)
		cut := time.Now()
		for a.Fence().Check() == nil {
			time.Sleep(time.Second)
		}
		if after := time.Since(cut); after < 8*time.Second || after > 10*time.Second {
			t.Errorf("the fence closed %v after the connection was lost", after)
		}
		for b.Fence().Check() != nil {
			time.Sleep(time.Second)
		}
		// The lease expires 20 s after the other candidate last saw it renewed. Both that read and the next
		// attempt are up to 2.2 retry periods late, because client-go waits between 1 and 2.2 of them.
		if after := time.Since(cut); after < 18*time.Second || after > 30*time.Second {
			t.Errorf("the other one led %v after the connection was lost", after)
		}
		time.Sleep(time.Hour)
		wantClosed(t, a.Fence(), "not renewed within 10s")
		if failures := a.metric(t, "leader_election_failures_total"); failures < 100 {
			t.Errorf("%v failures counted", failures)
		}
		a.set(false)
		time.Sleep(5 * time.Second)
		wantLeader(t, b, a)
		b.stop()
		<-b.done
		time.Sleep(5 * time.Second)
		wantOpen(t, a.Fence())
		synctest.Wait()
		if terms := a.metric(t, "leader_election_terms_total"); started != 2 || terms != 2 {
			t.Errorf("the work started %d times, in %v terms", started, terms)
		}
		a.stop()
		if err := <-a.done; err == nil || err.Error() != "can't write any more" {
			t.Errorf("Run returned %v, want the last error of the work", err)
		}
		wantMessages(t, a, "Leading", "Requests for the lease fail, retrying", "Requests for the lease fail, retrying", "Stopped leading",
			"Work failed while leadership was lost", "Requests for the lease succeed again", "Another process leads", "Leading", "Stopped leading")
		wantMessages(t, b, "Another process leads", "Leading", "Stopped leading")
	})
}

// A short outage costs the leader only two log lines.
func TestShortOutage(t *testing.T) {
	compete(t, untilDone, func(t *testing.T, a, b *candidate) {
		time.Sleep(time.Second)
		a.set(true)
		time.Sleep(6 * time.Second)
		wantOpen(t, a.Fence())
		a.set(false)
		time.Sleep(4 * time.Second)
		wantLeader(t, a, b)
		a.stop()
		<-a.done
		wantMessages(t, a, "Leading", "Requests for the lease fail, retrying", "Requests for the lease fail, retrying", "Requests for the lease succeed again", "Stopped leading")
	})
}

// A leader whose writes are all refused gives the lease to another process, and doesn't acquire it again at
// once.
func TestC8StandDown(t *testing.T) {
	reason := errors.New("every write is refused")
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		a, b := newCandidate(t, s, "a"), newCandidate(t, s, "b")
		a.start(t, func(ctx context.Context) error {
			if pause.For(ctx, time.Minute) == nil {
				return fmt.Errorf("lead: %w", &StandDown{For: 30 * time.Second, Reason: reason})
			}
			return ctx.Err()
		})
		time.Sleep(5 * time.Second)
		b.start(t, untilDone)
		time.Sleep(60 * time.Second)
		wantOpen(t, b.Fence())
		wantClosed(t, a.Fence(), "the work under it has ended")
		// After the pause it is a candidate again.
		time.Sleep(time.Minute)
		wantLeader(t, b, a)
		b.stop()
		<-b.done
		time.Sleep(5 * time.Second)
		wantOpen(t, a.Fence())
		// Without another process, it leads again after the pause, and not before.
		time.Sleep(time.Minute + 15*time.Second)
		wantClosed(t, a.Fence(), "the work under it has ended")
		time.Sleep(20 * time.Second)
		wantOpen(t, a.Fence())
		a.stop()
		if err := <-a.done; err != nil {
			t.Errorf("Run returned %v", err)
		}
		if !strings.Contains(a.log.String(), "Releasing the lease to let") || !strings.Contains(a.log.String(), reason.Error()) {
			t.Errorf("the log lacks the reason of the release:\n%s", a.log.String())
		}
	})
}

func TestEditedLeaseEndsTheTermAtOnce(t *testing.T) {
	compete(t, untilDone, func(t *testing.T, a, b *candidate) {
		time.Sleep(time.Second)
		a.store.set(func() {
			a.store.version++
			record := *a.store.record
			record.HolderIdentity = "c"
			a.store.record = &record
		})
		time.Sleep(2 * time.Second)
		wantClosed(t, a.Fence(), "c holds it")
	})
}

func TestWorkEndsByItself(t *testing.T) {
	broken := errors.New("disk is full")
	for name, want := range map[string]error{"well": nil, "with an error": broken} {
		t.Run(name, func(t *testing.T) {
			work := func(ctx context.Context) error {
				select {
				case <-ctx.Done():
				case <-time.After(time.Minute):
				}
				return want
			}
			compete(t, work, func(t *testing.T, a, b *candidate) {
				if err := <-a.done; !errors.Is(err, want) {
					t.Errorf("Run returned %v, want %v", err, want)
				}
				wantClosed(t, a.Fence(), "the work under it has ended")
				time.Sleep(5 * time.Second)
				wantOpen(t, b.Fence())
			})
		})
	}
}

// A panic of the work is an error, after which the lease is released at once. Goroutines that the work has
// left can't write.
func TestWorkPanics(t *testing.T) {
	// The work starts before the test has the fence, so a channel between them would not belong to the
	// synctest bubble.
	var fence atomic.Pointer[Fence]
	var told atomic.Pointer[error]
	work := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Minute):
		}
		go func() {
			time.Sleep(time.Second)
			err := fence.Load().Check()
			told.Store(&err)
		}()
		panic("on purpose")
	}
	compete(t, work, func(t *testing.T, a, b *candidate) {
		fence.Store(a.Fence())
		err := <-a.done
		panicked := time.Now()
		if err == nil || !strings.Contains(err.Error(), "lead under lease ns/a: the work panicked (on purpose)") {
			t.Errorf("Run returned %v", err)
		}
		for b.Fence().Check() != nil && time.Since(panicked) < time.Minute {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(panicked); took > 3*time.Second {
			t.Errorf("the other one leads after %v", took)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if err := told.Load(); err == nil || !errors.Is(*err, ErrNotLeading) {
			t.Errorf("a remaining goroutine of the work gets %v, want an error from the fence", err)
		}
	})
}

func TestWorkDoesNotEnd(t *testing.T) {
	slow := func(context.Context) error {
		time.Sleep(time.Minute)
		return nil
	}
	compete(t, slow, func(t *testing.T, a, b *candidate) {
		time.Sleep(time.Second) // so that the fence closes before the grace period is over
		stopped := time.Now()
		a.stop()
		err := <-a.done
		if err == nil || !strings.Contains(err.Error(), "lead under lease ns/a: still busy 10s after its context ended") || !strings.Contains(err.Error(), "leader.TestWorkDoesNotEnd.func1 ") {
			t.Errorf("Run returned %v", err)
		}
		if took := time.Since(stopped); took != 10*time.Second {
			t.Errorf("Run returned after %v", took)
		}
		wantClosed(t, a.Fence(), "not renewed within 10s")
		if holder := a.store.holder(); holder != "a" {
			t.Errorf("the lease was released to %q, but the work continues", holder)
		}
		time.Sleep(time.Minute) // for the work to end
	})
}

// The lease is acquired, but the response is lost, and then the process is stopped.
func TestReleaseAfterLostResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCandidate(t, &store{}, "a")
		c.loseResponses = true
		c.start(t, untilDone)
		synctest.Wait()
		if holder := c.store.holder(); holder != "a" {
			t.Fatalf("%q holds the lease", holder)
		}
		wantClosed(t, c.Fence(), "has not been acquired yet")
		c.store.set(func() { c.loseResponses = false })
		c.stop()
		if err := <-c.done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if holder := c.store.holder(); holder != "" {
			t.Errorf("%q still holds the lease", holder)
		}
	})
}

func TestFenceClosesBeforeTheRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCandidate(t, &store{}, "a")
		released := false
		c.before = func(r resourcelock.LeaderElectionRecord) {
			if r.HolderIdentity == "" {
				released = true
				wantClosed(t, c.Fence(), "the work under it has ended")
			}
		}
		c.start(t, untilDone)
		time.Sleep(time.Minute)
		wantOpen(t, c.Fence())
		c.stop()
		if err := <-c.done; err != nil || !released {
			t.Errorf("Run: %v; released: %v", err, released)
		}
	})
}

// A process stops even if the API server is unreachable.
func TestStopWhileServerIsUnreachable(t *testing.T) {
	compete(t, untilDone, func(t *testing.T, a, b *candidate) {
		a.set(true)
		a.stop()
		if err := <-a.done; err != nil {
			t.Errorf("Run: %v", err)
		}
		wantMessages(t, a, "Leading", "Stopped leading", "Can't release the lease; other processes wait until it expires")
	})
}
