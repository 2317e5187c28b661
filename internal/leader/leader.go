// Package leader elects one process among several to do what must not be done twice, by
// means of a coordination.k8s.io Lease, and fences its writes.
//
// The lease alone does not keep two processes from writing at the same time: one that was
// stopped, or cut off, goes on where it was, while another has taken over. So the leader
// writes only through a [Fence], which closes well before anybody else can have the lease:
//
//	sent        the last renewal that succeeded is sent
//	+ 10 s      RenewDeadline: the fence closes, what is in flight is cancelled, work is told to stop
//	+ 30 s      LeaseDuration: somebody else may acquire the lease
//
// What lies in between is for requests that the API server has already got, and for clocks
// that don't run equally fast. A lease that an administrator deletes or edits while it is
// held is beyond what a fence can guard.
//
// Package main of the command makes one [Elector] and runs it; the writers get its Fence
// and put it around the transport of their clients. Without election they get [Unfenced].
//
// # Concurrency
//
// Run is called once at a time; the work runs in a goroutine of its own, never twice at
// once. Everything else may be called from any goroutine, at any time.
package leader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// Elector campaigns for a lease. Make one with [New].
type Elector struct {
	config  Config
	fence   *Fence
	journal *journal
	// lease returns a new view of the Lease: that of client-go keeps what it saw.
	lease func() resourcelock.Interface
}

// New returns an elector that has not begun to campaign. It fails when c is not valid, or
// when the Registerer refuses a metric.
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
	return &Elector{config: c, fence: fence, journal: journal, lease: c.newLease}, nil
}

func (c Config) newLease() resourcelock.Interface {
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name},
		Client:     c.Client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: c.Identity},
	}
}

// Fence returns the fence that is open while this process leads. It is the same one for
// all terms.
func (e *Elector) Fence() *Fence { return e.fence }

// Identity returns what this process is called in the Lease.
func (e *Elector) Identity() string { return e.config.Identity }

// Leader returns who held the lease when it was last seen, which may be this process; it
// is empty when nobody did, or when the lease hasn't been seen yet.
func (e *Elector) Leader() string { return e.journal.leader() }

// Run campaigns until ctx ends. Each time this process becomes the leader, Run calls lead
// with a context that ends, with an [ErrNotLeading] as its cause, when leadership is lost.
// It waits for lead to return and campaigns again; what lead returns then is only logged.
//
// When ctx ends, so does that of lead. The fence stays open while lead puts its affairs in
// order, at most until the renew deadline; once lead has returned, Run closes the fence,
// releases the lease and returns, with the error of lead unless that is about having been
// told to stop. The same happens when lead returns on its own, with or without an error:
// Run does not call it again.
//
// A request that is given up may still be carried out, after the release. So lead lets the
// writes that it has begun finish, with a context that outlives its own
// ([context.WithoutCancel]); the fence cuts them off when it must.
//
// Lead has to return within LeaseDuration less RenewDeadline of being told to stop. If it
// doesn't, Run returns an error, and leaves it and the lease alone: the process had better end.
// A lead that panics ends the process.
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
	t := e.fence.newTerm(cancel)
	l := &lock{Interface: e.lease(), term: t, journal: e.journal, timeout: e.config.requestTimeout()}
	over, err := e.campaign(termCtx, l)
	if err != nil {
		return false, err
	}
	select {
	case <-t.acquired:
		err = e.lead(termCtx, lead)
	case <-e.released(termCtx, t):
		// A new campaign begins with an attempt.
		t.end("somebody else has released the lease")
		<-over
		// What was under way may have acquired it.
		if err := l.release(context.WithoutCancel(ctx)); err != nil {
			e.journal.log.Warn("Can't release the lease, the others have to wait until it runs out", "error", err)
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
		e.journal.lost(err)
		return true, nil
	}
	if err := l.release(context.WithoutCancel(ctx)); err != nil {
		e.journal.log.Warn("Can't release the lease, the others have to wait until it runs out", "error", err)
	}
	if ctx.Err() != nil && toldToStop(err) {
		return false, nil
	}
	return false, err
}

// campaign has client-go acquire the lease and renew it until ctx or the term ends. Over is
// closed when it has sent its last request.
func (e *Elector) campaign(ctx context.Context, l *lock) (over <-chan struct{}, err error) {
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          l,
		Name:          e.config.Name,
		LeaseDuration: e.config.LeaseDuration,
		RenewDeadline: e.config.RenewDeadline,
		RetryPeriod:   e.config.RetryPeriod,
		// It would release the lease as soon as ctx ends, when the work has not ended yet.
		ReleaseOnCancel: false,
		// These are called late, and in any order; the lock says what happened.
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
		// Its log has a line for each attempt; the journal says what changes.
		elector.Run(klog.NewContext(ctx, klog.Logger{}))
		if ctx.Err() == nil {
			l.term.end("renewing it was given up")
		}
	}()
	return done, nil
}

// released returns a channel that closes when somebody has released the lease before this
// process acquired it: client-go may take more than two retry periods to notice.
func (e *Elector) released(ctx context.Context, t *term) <-chan struct{} {
	released := make(chan struct{})
	go func() {
		look := time.NewTicker(e.config.RetryPeriod / 4)
		defer look.Stop()
		lease := e.lease()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.acquired:
				return
			case <-look.C:
			}
			limited, cancel := context.WithTimeout(ctx, e.config.requestTimeout())
			record, _, err := lease.Get(limited)
			cancel()
			if holder := e.journal.leader(); err == nil && record.HolderIdentity == "" && holder != "" && holder != e.Identity() {
				close(released)
				return
			}
		}
	}()
	return released
}

// lead does the work, and returns when it has ended or takes too long for that.
func (e *Elector) lead(ctx context.Context, work func(context.Context) error) error {
	if ctx.Err() != nil {
		return nil
	}
	e.journal.began()
	outcome := make(chan error, 1)
	go func() {
		// Deferred, so that a runtime.Goexit inside the work is not waited for.
		var err error
		defer func() { outcome <- err }()
		err = work(ctx)
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
		return fmt.Errorf("lead under lease %s: %w %v after being told to stop, left behind: look at its goroutines", e.config.lease(), errBusy, e.config.grace())
	}
}

// toldToStop returns whether err is what work returns because its context ended.
func toldToStop(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrNotLeading)
}
