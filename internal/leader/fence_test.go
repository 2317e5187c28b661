package leader

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func testFence() *Fence {
	return newFence(Config{Namespace: "ns", Name: "a"}.withDefaults())
}

func ignore(error) {}

func TestFenceFollowsRenewals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testFence()
		wantClosed(t, f, "has not been acquired yet")
		ctx, cancel := context.WithCancelCause(t.Context())
		term := f.newTerm(cancel)
		wantClosed(t, f, "has not been acquired yet")

		sent := time.Now()
		time.Sleep(4 * time.Second) // the response is slow
		term.renewed(sent)
		wantOpen(t, f)
		time.Sleep(6*time.Second - 1)
		wantOpen(t, f)
		term.renewed(time.Now())
		time.Sleep(10*time.Second - 1)
		wantOpen(t, f)
		if ctx.Err() != nil {
			t.Error("the context ended before the deadline")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if !errors.Is(context.Cause(ctx), ErrNotLeading) {
			t.Errorf("without a call of Check, the context ends with %v at the deadline", context.Cause(ctx))
		}
		wantClosed(t, f, "not renewed within 10s")
		term.renewed(time.Now())
		wantClosed(t, f, "not renewed within 10s")

		f.newTerm(ignore).renewed(time.Now())
		wantOpen(t, f)
	})
}

// While a machine is suspended, its monotonic clock stands still. Only the wall clock shows that the deadline
// has passed.
func TestC11FenceComparesWithTheWallClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testFence()
		suspended := time.Duration(0)
		f.wall = func() time.Time { return wallClock().Add(suspended) }
		f.newTerm(ignore).renewed(f.now())
		suspended = 10*time.Second - 1
		wantOpen(t, f)
		suspended = 10 * time.Second
		wantClosed(t, f, "not renewed within 10s")
		// The wall clock is set back, and the monotonic clock decides.
		suspended = -time.Hour
		f.newTerm(ignore).renewed(f.now())
		wantOpen(t, f)
		time.Sleep(10 * time.Second)
		wantClosed(t, f, "not renewed within 10s")
	})
}

// After a process was stopped, the clock jumps before its timers run.
func TestFenceComparesWithTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testFence()
		jumped := time.Duration(0)
		f.now = func() time.Time { return time.Now().Add(jumped) }

		ctx, cancel := context.WithCancelCause(t.Context())
		term := f.newTerm(cancel)
		term.renewed(f.now())
		jumped = 10 * time.Second
		if ctx.Err() != nil {
			t.Fatal("a timer ran")
		}
		wantClosed(t, f, "not renewed")
		if ctx.Err() == nil {
			t.Error("the fence is closed before everything is cancelled")
		}

		// The responses of renewals are delayed in the socket. The deadline counts from the sending, and a
		// renewal of an expired term has no effect.
		term = f.newTerm(ignore)
		sent := f.now()
		jumped += 10 * time.Second
		term.renewed(sent)
		wantClosed(t, f, "not renewed")
		term = f.newTerm(ignore)
		term.renewed(f.now())
		jumped += 5 * time.Second
		sent = f.now()
		jumped += 5 * time.Second
		term.renewed(sent)
		wantClosed(t, f, "not renewed")
	})
}

func TestFenceClosesForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testFence()
		ctx, cancel := context.WithCancelCause(t.Context())
		term := f.newTerm(cancel)
		term.supplanted("b")
		wantClosed(t, f, "b holds it")
		if ctx.Err() != nil {
			t.Error("another leader ended the campaign")
		}
		term.renewed(time.Now())
		term.supplanted("c")
		wantClosed(t, f, "c holds it")
		if !errors.Is(context.Cause(ctx), ErrNotLeading) {
			t.Errorf("another leader: the context ends with %v", context.Cause(ctx))
		}
		term.renewed(time.Now())
		term.end("late")
		wantClosed(t, f, "c holds it")
	})
}

func TestUnfenced(t *testing.T) {
	if err := Unfenced().Check(); err != nil {
		t.Error(err)
	}
}
