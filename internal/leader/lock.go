package leader

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// lock is the lease as client-go's elector sees it during one term. It reports each renewal to the fence, and
// everything else to the journal. It is not safe for concurrent use.
type lock struct {
	resourcelock.Interface // the Lease
	term                   *term
	journal                *journal
	timeout                time.Duration // of a request
	// mayHold is true if this process may hold the lease. After a lost response this is uncertain.
	mayHold bool
}

// Get implements resourcelock.Interface.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	limited, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	sent := l.term.fence.wall()
	record, raw, err := l.Interface.Get(limited)
	switch {
	case err == nil:
		l.journal.succeeded(read)
		l.observe(record)
		l.journal.compareClocks(record.HolderIdentity, record.RenewTime.Time, sent, l.term.fence.wall())
	case apierrors.IsNotFound(err):
		l.journal.succeeded(read)
		l.journal.observe("", time.Time{})
	case ctx.Err() == nil:
		l.journal.failed(read, err)
	}
	return record, raw, err
}

// observe records the holder. If it is another process, saw ends the term at once, because client-go would
// retry until the renew deadline.
func (l *lock) observe(record *resourcelock.LeaderElectionRecord) {
	holder := record.HolderIdentity
	l.journal.observe(holder, record.AcquireTime.Time)
	if holder != "" && holder != l.Identity() {
		l.mayHold = false
		l.term.supplanted(holder)
	}
}

// Create implements resourcelock.Interface.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Create)
}

// Update implements resourcelock.Interface.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(ctx, record, l.Interface.Update)
}

func (l *lock) write(ctx context.Context, record resourcelock.LeaderElectionRecord, send func(context.Context, resourcelock.LeaderElectionRecord) error) error {
	limited, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	l.mayHold = true
	sent := l.term.fence.now()
	err := send(limited, record)
	switch {
	case err == nil:
		l.term.renewed(sent)
		l.journal.succeeded(read, write)
		l.journal.observe(record.HolderIdentity, record.AcquireTime.Time)
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		// Another process was faster. The next read shows which.
	case ctx.Err() == nil:
		l.journal.failed(write, err)
	}
	return err
}

// release closes the fence, and releases the lease if it is still ours, so that other processes need not wait
// until it expires.
func (l *lock) release(ctx context.Context) error {
	l.term.end(errWorkEnded.Error())
	if !l.mayHold {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	for {
		record, _, err := l.Interface.Get(ctx)
		if apierrors.IsNotFound(err) || err == nil && record.HolderIdentity != l.Identity() {
			return nil // not ours
		}
		if err != nil {
			return err
		}
		err = l.Interface.Update(ctx, withoutHolder(record))
		if err == nil {
			l.journal.observe("", time.Time{})
		}
		// A cancelled renewal may arrive in between.
		if !apierrors.IsConflict(err) {
			return err
		}
	}
}
