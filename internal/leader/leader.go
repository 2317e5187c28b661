// Package leader elects one of several processes with a coordination.k8s.io Lease, and fences its writes.
// Package process makes and runs an [Elector]; the writers of a role wrap the transports of their clients in
// its [Fence]. Without election the writers get [Unfenced].
//
// The lease alone doesn't keep two processes from writing at the same time: a process that was paused or
// disconnected continues where it was, while another one has become the leader. So the leader writes only
// through the Fence, which closes well before another process can acquire the lease:
//
//	sent        the last successful renewal is sent
//	+ 10 s      RenewDeadline: the fence closes, requests are cancelled, the work's context ends
//	+ 20 s      LeaseDuration: another process may acquire the lease (15 s in the role controllers)
//
// The time in between is for requests that the API server has already received, and for clocks of different
// speeds. So the timeouts of writers' requests must not exceed it. A fence can't help if an administrator
// edits or deletes a held lease.
//
// # Concurrency
//
// Run is called once at a time; the work runs in a goroutine of its own, never twice at once. Everything else
// may be called from any goroutine, at any time.
package leader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/signpostd/signpost/internal/pause"
	"github.com/signpostd/signpost/internal/run"
)

// Elector campaigns for a lease. Make one with [New].
type Elector struct {
	config  Config
	fence   *Fence
	journal *journal
	// lease returns a new client for the Lease, because client-go's remembers what it read.
	lease func() resourcelock.Interface
	// holderInfo describes what the holder of the Lease leads for, as last read; nil if unknown.
	holderInfo *atomic.Pointer[holderInfo]
	// handover has the text of the former leader, and that for the next one.
	handover *handover
}

// New returns an elector that isn't campaigning. It fails if c is invalid, or the Registerer refuses a
// metric.
func New(c Config) (*Elector, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	if c.Identity == "" {
		var err error
		if c.Identity, err = uniqueIdentity(); err != nil {
			return nil, err
		}
	}
	fence := newFence(c)
	journal, err := newJournal(c, fence)
	if err != nil {
		return nil, err
	}
	seen := new(atomic.Pointer[holderInfo])
	left := new(handover)
	c.Client = annotating{LeasesGetter: c.Client, value: c.LeadsFor, seen: seen, handover: left, identity: c.Identity}
	return &Elector{config: c, fence: fence, journal: journal, lease: c.newLease, holderInfo: seen, handover: left}, nil
}

func (c Config) newLease() resourcelock.Interface {
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name},
		Client:     c.Client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: c.Identity},
	}
}

// Fence returns the fence that is open while this process leads. It is the same for all terms.
func (e *Elector) Fence() *Fence { return e.fence }

// Identity returns the identity of this process in the Lease.
func (e *Elector) Identity() string { return e.config.Identity }

// Leader returns the holder of the lease when it was last read, which may be this process. It is empty if
// nobody held the lease, or if it hasn't been read for its duration.
func (e *Elector) Leader() string {
	holder, _ := e.journal.leading()
	return holder
}

// Trouble returns the time since when requests for the lease fail, and the error; nil if they don't fail.
func (e *Elector) Trouble() (since time.Time, err error) { return e.journal.troubles() }

// Since returns when the [Elector.Leader] acquired the lease, by its own clock; zero if nobody did.
func (e *Elector) Since() time.Time {
	holder, since := e.journal.leading()
	if holder == "" {
		return time.Time{}
	}
	return since
}

// Run campaigns until ctx ends. Each time this process becomes the leader, Run calls lead with a context that
// ends when leadership is lost, with an [ErrNotLeading] as its cause. Run waits until lead has returned, logs
// its error and campaigns again.
//
// When ctx ends, the context of lead ends too. The fence stays open while lead finishes, at most until the
// renew deadline. When lead has returned, Run closes the fence, releases the lease and returns the error of
// lead, unless lead only reports the end of its context. Run does the same if lead returns on its own, and
// doesn't call it again. After a [StandDown] it does, later.
//
// A cancelled request may still be carried out, even after the lease is released. So lead should finish the
// writes that it has started, with a context that outlives its own ([context.WithoutCancel]). The fence
// cancels them if leadership ends before.
//
// After its context has ended, lead must return within LeaseDuration less RenewDeadline. Otherwise Run
// returns an error with the stacks of lead's goroutines, without waiting and without releasing the lease: the
// process should end.
//
// If lead panics, Run closes the fence, releases the lease, so that others need not wait for its expiry, and
// returns an error, so that the process ends. A panic in another goroutine ends the process at once.
func (e *Elector) Run(ctx context.Context, lead func(ctx context.Context) error) error {
	for {
		again, err := e.term(ctx, lead)
		if !again {
			return err
		}
	}
}

// term campaigns until the lease is acquired, and leads until it is lost or ctx ends.
func (e *Elector) term(ctx context.Context, lead func(context.Context) error) (again bool, err error) {
	termCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The texts of the last term are outdated, even if the Lease has had no other holder since: nothing says
	// what has changed while requests failed.
	e.handover.outgoing.Store(nil)
	e.handover.incoming.Store(nil)
	t := e.fence.newTerm(cancel)
	l := &lock{Interface: e.lease(), term: t, journal: e.journal, timeout: e.config.requestTimeout()}
	over, err := e.campaign(termCtx, l)
	if err != nil {
		return false, err
	}
	select {
	case <-t.acquired:
		err = e.lead(termCtx, lead)
	case <-e.vacated(termCtx, t):
		// A new campaign tries to acquire the lease at once.
		t.end("nobody holds the lease")
		<-over
		// A request of the old campaign may have acquired the lease.
		if err := l.release(context.WithoutCancel(ctx)); err != nil {
			e.journal.log.Warn("Can't release the lease; other processes wait until it expires", "err", err)
		}
		return ctx.Err() == nil, nil
	case <-over:
	}
	lost := termCtx.Err() != nil && ctx.Err() == nil
	t.end(errWorkEnded.Error())
	<-over
	switch {
	case errors.Is(err, errBusy):
		return false, err
	case lost:
		e.journal.workFailed(err)
		return true, nil
	}
	if err := l.release(context.WithoutCancel(ctx)); err != nil {
		e.journal.log.Warn("Can't release the lease; other processes wait until it expires", "err", err)
	}
	var down *StandDown
	switch {
	case ctx.Err() != nil && (contextEnded(err) || errors.As(err, &down)):
		return false, nil
	case errors.As(err, &down):
		e.journal.log.Warn("Releasing the lease to let another process try", "after", down.For, "reason", down.Reason)
		return pause.For(ctx, down.For) == nil, nil
	}
	return false, err
}

// campaign lets client-go acquire the lease and renew it, until ctx or the term ends. The channel
// over closes when client-go has sent its last request.
func (e *Elector) campaign(ctx context.Context, l *lock) (over <-chan struct{}, err error) {
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          l,
		Name:          e.config.Name,
		LeaseDuration: e.config.LeaseDuration,
		RenewDeadline: e.config.RenewDeadline,
		RetryPeriod:   e.config.RetryPeriod,
		// client-go would release the lease when ctx ends, before the work has ended.
		ReleaseOnCancel: false,
		// client-go calls these late and in any order, so the lock records changes instead.
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("campaign for lease %s: %w", e.config.lease(), err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		// client-go logs a line per attempt, so its log is dropped; the journal logs the changes.
		elector.Run(klog.NewContext(ctx, klog.Logger{}))
		if ctx.Err() == nil {
			l.term.end("renewing it was given up")
		}
	}()
	return done, nil
}

// lead runs the work. It returns when the work has ended, or takes too long to end.
func (e *Elector) lead(ctx context.Context, work func(context.Context) error) error {
	if ctx.Err() != nil {
		return nil
	}
	e.journal.began()
	outcome := make(chan error, 1)
	go func() {
		// Deferred, so that it also happens after a panic or a runtime.Goexit in the work.
		var err error
		defer func() {
			if v := recover(); v != nil {
				e.journal.log.Error("The leader's work panicked; please report this", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
				err = fmt.Errorf("lead under lease %s: the work panicked (%v): please report it with the stack in the log", e.config.lease(), v)
			}
			outcome <- err
		}()
		run.Named(ctx, e.workName(), func(ctx context.Context) { err = work(ctx) })
	}()
	select {
	case err := <-outcome:
		e.journal.ended(cmp.Or(context.Cause(ctx), errWorkEnded))
		return err
	case <-ctx.Done():
		e.journal.ended(context.Cause(ctx))
	}
	limit := time.NewTimer(e.config.grace())
	defer limit.Stop()
	select {
	case err := <-outcome:
		return err
	case <-limit.C:
		return fmt.Errorf("lead under lease %s: %w %v after its context ended, not waited for any longer: find out what it waits for:%s", e.config.lease(), errBusy, e.config.grace(), run.Where(e.workName()))
	}
}

// workName is the name of the work's goroutines.
func (e *Elector) workName() string { return "lease " + e.config.lease() }

// contextEnded reports whether err only reports the end of the work's context.
func contextEnded(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrNotLeading)
}
