package leader

import (
	"bytes"
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// vacated returns a channel that is closed when nobody holds the lease and this process has not acquired it
// yet: the holder has released it, or has not renewed it for its duration. client-go may take more than two
// retry periods to notice a release, and another four to notice an expiry, because it counts from when it
// noticed the last renewal.
func (e *Elector) vacated(ctx context.Context, t *term) <-chan struct{} {
	vacated := make(chan struct{})
	go func() {
		look := time.Tick(e.config.RetryPeriod / 4)
		lease := e.lease()
		var last sighting
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.acquired:
				return
			case <-look:
			}
			if e.isVacant(ctx, lease, &last) {
				close(vacated)
				return
			}
		}
	}()
	return vacated
}

// isVacant reads the lease and reports whether nobody holds it. It removes the holder of an expired lease, by
// a write that fails if the holder has renewed it meanwhile.
func (e *Elector) isVacant(ctx context.Context, lease resourcelock.Interface, last *sighting) bool {
	limited, cancel := context.WithTimeout(ctx, e.config.requestTimeout())
	defer cancel()
	record, raw, err := lease.Get(limited)
	if err != nil {
		return false
	}
	if record.HolderIdentity == "" {
		holder := e.journal.lastHolder()
		return holder != "" && holder != e.Identity()
	}
	lasts := max(e.config.LeaseDuration, time.Duration(record.LeaseDurationSeconds)*time.Second)
	if last.age(raw) < lasts || record.HolderIdentity == e.Identity() {
		return false
	}
	return lease.Update(limited, withoutHolder(record)) == nil
}

// withoutHolder returns the record of a lease that nobody holds.
func withoutHolder(record *resourcelock.LeaderElectionRecord) resourcelock.LeaderElectionRecord {
	now := metav1.Now()
	return resourcelock.LeaderElectionRecord{
		LeaderTransitions: record.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
	}
}

// sighting is the last seen state of a lease, and when it was first seen in that state.
type sighting struct {
	raw   []byte
	since time.Time
}

// age returns how long the lease has been in its present state.
func (s *sighting) age(raw []byte) time.Duration {
	if s.since.IsZero() || !bytes.Equal(s.raw, raw) {
		*s = sighting{raw: raw, since: time.Now()}
	}
	return time.Since(s.since)
}
