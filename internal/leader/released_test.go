package leader

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// A released lease is acquired within a fraction of a retry period, although client-go reads it every 2.4 s
// at best, and every 4.4 s at worst.
func TestReleasedLeaseIsAcquiredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		random := rand.New(rand.NewPCG(4, 4))
		leader := newCandidate(t, s, "0")
		leader.start(t, untilDone)
		synctest.Wait()
		for i := range 30 {
			next := newCandidate(t, s, strconv.Itoa(i+1))
			next.start(t, untilDone)
			time.Sleep(time.Second + time.Duration(random.Int64N(int64(10*time.Second))))
			wantLeader(t, leader, next)
			leader.stop()
			if err := <-leader.done; err != nil {
				t.Errorf("Run: %v", err)
			}
			released := time.Now()
			for next.Fence().Check() != nil {
				time.Sleep(10 * time.Millisecond)
			}
			if after := time.Since(released); after >= 1500*time.Millisecond {
				t.Errorf("hand-over %d took %v", i+1, after)
			}
			leader = next
		}
		leader.stop()
		<-leader.done
	})
}

// After the death of a leader, another process acquires the lease as soon as it has expired. client-go alone
// takes up to nine seconds longer (controllers N3).
func TestExpiredLeaseIsAcquiredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		random := rand.New(rand.NewPCG(6, 6))
		leader := newCandidate(t, s, "0")
		leader.start(t, untilDone)
		synctest.Wait()
		for i := range 30 {
			var renewed time.Time
			next, third := newCandidate(t, s, strconv.Itoa(2*i+1)), newCandidate(t, s, strconv.Itoa(2*i+2))
			for _, c := range []*candidate{next, third} {
				c.start(t, untilDone)
			}
			time.Sleep(time.Second + time.Duration(random.Int64N(int64(10*time.Second))))
			leader.store.set(func() {
				leader.down = true
				renewed = s.record.RenewTime.Time
			})
			for next.Fence().Check() != nil && third.Fence().Check() != nil {
				time.Sleep(10 * time.Millisecond)
			}
			if leader.Fence().Check() == nil || next.Fence().Check() == nil && third.Fence().Check() == nil {
				t.Fatal("two lead")
			}
			if after := time.Since(renewed); after < DefaultLeaseDuration || after > DefaultLeaseDuration+1500*time.Millisecond {
				t.Errorf("%d: the lease was taken %v after its last renewal", i+1, after)
			}
			leader.stop()
			<-leader.done
			leader = next
			if third.Fence().Check() == nil {
				leader, third = third, next
			}
			third.stop()
			<-third.done
		}
		leader.stop()
		<-leader.done
	})
}

// slow is a view whose requests are carried out after half of their time, even if they were cancelled before.
type slow struct {
	*view
	random *rand.Rand
}

func (s slow) pause() { time.Sleep(time.Duration(s.random.Int64N(int64(30 * time.Millisecond)))) }

func (s slow) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	s.pause()
	record, raw, err := s.view.Get(ctx)
	s.pause()
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	return record, raw, err
}

func (s slow) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return s.write(ctx, r, s.view.Create)
}

func (s slow) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return s.write(ctx, r, s.view.Update)
}

func (s slow) write(ctx context.Context, r resourcelock.LeaderElectionRecord, send func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	s.pause()
	err := send(ctx, r)
	s.pause()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// A process that stops during a hand-over releases the lease, whatever requests are under way.
func TestStopDuringHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(5, 5))
		for i := range 3000 {
			s := &store{}
			var candidates [2]*candidate
			for j := range candidates {
				c := newCandidate(t, s, strconv.Itoa(j))
				candidates[j] = c
				c.lease = func() resourcelock.Interface {
					return slow{&view{store: s, identity: c.Identity(), down: &c.down, loseResponses: &c.loseResponses}, rand.New(rand.NewPCG(uint64(i), uint64(j)))}
				}
				c.start(t, untilDone)
				time.Sleep(time.Second + time.Duration(random.Int64N(int64(3*time.Second))))
			}
			candidates[0].stop()
			time.Sleep(time.Duration(random.Int64N(int64(700 * time.Millisecond))))
			candidates[1].stop()
			for _, c := range candidates {
				if err := <-c.done; err != nil {
					t.Errorf("Run: %v", err)
				}
			}
			if holder := s.holder(); holder != "" {
				t.Errorf("round %d: %q still holds the lease", i, holder)
			}
		}
	})
}

// refusing is a view of a process that may read the lease but not write it.
type refusing struct {
	*view
	reads, writes *atomic.Int32
	allowed       *atomic.Bool
}

var errForbidden = apierrors.NewForbidden(coordinationv1.Resource("leases"), "a", errors.New("no rights"))

func (r refusing) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	r.reads.Add(1)
	return r.view.Get(ctx)
}

func (r refusing) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	r.writes.Add(1)
	if !r.allowed.Load() {
		return errForbidden
	}
	return r.view.Update(ctx, record)
}

// A leader that loses the right to write the lease stops at the renew deadline, as if it were disconnected.
func TestLosesRightToWriteLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		c := newCandidate(t, s, "a")
		var reads, writes atomic.Int32
		var allowed atomic.Bool
		c.lease = func() resourcelock.Interface {
			return refusing{&view{store: s, identity: "a", down: &c.down, loseResponses: &c.loseResponses}, &reads, &writes, &allowed}
		}
		allowed.Store(true)
		c.start(t, untilDone)
		time.Sleep(time.Minute)
		wantOpen(t, c.Fence())
		allowed.Store(false)
		time.Sleep(DefaultRenewDeadline)
		wantClosed(t, c.Fence(), "not renewed within 10s")
		c.stop()
		if err := <-c.done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// A free lease that can't be acquired is requested at a limited rate.
func TestFreeLeaseCannotBeAcquired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &store{record: &resourcelock.LeaderElectionRecord{}}
		c := newCandidate(t, s, "a")
		var reads, writes atomic.Int32
		var allowed atomic.Bool
		c.lease = func() resourcelock.Interface {
			return refusing{&view{store: s, identity: "a", down: &c.down, loseResponses: &c.loseResponses}, &reads, &writes, &allowed}
		}
		c.start(t, untilDone)
		const periods = 100
		time.Sleep(periods * DefaultRetryPeriod)
		synctest.Wait()
		if r, w := reads.Load(), writes.Load(); w == 0 || w > 5*periods || r > 10*periods {
			t.Errorf("%d reads and %d writes in %d retry periods, want at most 10 and 5 in each", r, w, periods)
		}
		wantClosed(t, c.Fence(), "")
		wantMessages(t, c, "Requests for the lease fail, retrying")

		allowed.Store(true)
		time.Sleep(5 * time.Second)
		wantOpen(t, c.Fence())
		c.stop()
		if err := <-c.done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
