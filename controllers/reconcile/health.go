package reconcile

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/signpostd/signpost/internal/sanitize"
)

// Health is the health of the writes of a term.
type Health struct {
	// LastWrite is the time of the last successful write; zero for none.
	LastWrite time.Time
	// RefusedSince and RefusedLast are the times of the first and last write since LastWrite that failed for
	// a reason that may affect all writes; zero for none. Refused is the error. Namespaces is the number of
	// namespaces with such a failure, counted up to a limit.
	RefusedSince, RefusedLast time.Time
	Refused                   error
	Namespaces                int
	// Waiting is the number of Services that wait because a sync failed or was held back, or because another
	// writer keeps changing their objects. WaitingSince is the start of the longest wait.
	Waiting      int
	WaitingSince time.Time
}

// Waits returns how long the oldest change has been waiting.
func (h Health) Waits() time.Duration {
	if h.Waiting == 0 {
		return 0
	}
	return time.Since(h.WaitingSince)
}

// Join returns the combined health of two loops.
func (h Health) Join(other Health) Health {
	joined := Health{
		LastWrite: later(h.LastWrite, other.LastWrite), Namespaces: max(h.Namespaces, other.Namespaces),
		RefusedSince: earlier(h.RefusedSince, other.RefusedSince), RefusedLast: later(h.RefusedLast, other.RefusedLast), Refused: h.Refused,
		Waiting: h.Waiting + other.Waiting, WaitingSince: earlier(h.WaitingSince, other.WaitingSince),
	}
	if h.Refused == nil || other.Refused != nil && apierrors.IsUnauthorized(other.Refused) {
		joined.Refused = other.Refused
	}
	return joined
}

// AllRefused reports whether every write has been refused for as long as patience. Failures in one or two
// namespaces are not enough, unless the API server rejects the credentials of the process.
func (h Health) AllRefused(patience time.Duration) bool {
	return h.RefusedLast.After(h.LastWrite) && time.Since(later(h.LastWrite, h.RefusedSince)) >= patience &&
		(h.Namespaces >= failureThreshold || apierrors.IsUnauthorized(h.Refused))
}

// earlier returns the earlier of two times, ignoring zero ones.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// writes is the state of the writes of a term.
type writes struct {
	// Health has the times and the error.
	Health
	// namespaces are the namespaces with a failure that may affect all writes, at most failureThreshold.
	namespaces map[string]bool
	// waiting has the Services whose sync has failed or has been held back.
	waiting map[Key]Wait
}

// Wait says why a Service waits.
type Wait struct {
	// Since is the time when the sync first failed or was held back.
	Since time.Time
	// Reason is the error of the last sync, cut to 300 bytes, and what to do if a quota is used up. It is empty
	// if the Service was only held back because writes of other Services fail.
	Reason string
	// Until is when another writer's change is reverted; zero if the Service waits for another reason. By is
	// the field manager of the change, empty if unknown. Repairs is how many such changes in a row have been
	// reverted, and Repaired the time of the last one if none is pending: such a Service is contested, and has
	// nothing unwritten.
	Until    time.Time
	By       string
	Repairs  int
	Repaired time.Time
}

// KeyWait is a Service that waits.
type KeyWait struct {
	Key  Key
	Wait Wait
}

// CompareKeyWaits orders waiting Services by the start of their wait, then by name.
func CompareKeyWaits(a, b KeyWait) int {
	return cmp.Or(a.Wait.Since.Compare(b.Wait.Since), strings.Compare(a.Key.Namespace, b.Key.Namespace), strings.Compare(a.Key.Name, b.Key.Name))
}

// maxReason is how many bytes of an error are kept.
const maxReason = 300

func (w *writes) succeeded(now time.Time) {
	w.LastWrite = now
	w.responded()
}

// responded records that the API server has responded, even if it refused one object.
func (w *writes) responded() {
	w.RefusedSince, w.RefusedLast, w.Refused = time.Time{}, time.Time{}, nil
	clear(w.namespaces)
}

// refused records a failure that may affect all writes.
func (w *writes) refused(key Key, err error, now time.Time) {
	if w.Refused == nil {
		w.RefusedSince = now
	}
	if w.Refused == nil || apierrors.IsUnauthorized(err) {
		w.Refused = err
	}
	if len(w.namespaces) < failureThreshold {
		w.namespaces[key.Namespace] = true
	}
	w.RefusedLast = now
}

// errSlow is the reason of a Service that waits because its namespace is slow (see [lanes]).
var errSlow = errors.New("writes in its namespace take long, and wait for each other: look for a slow admission webhook, or an overloaded API server")

// waits records that a Service waits because of err. If err is nil, the Service waits because writes of other
// Services fail. errSlow doesn't replace another reason.
func (w *writes) waits(key Key, now time.Time, err error) {
	wait, known := w.waiting[key]
	if !known {
		wait.Since = now
	}
	if err != nil && (wait.Reason == "" || !errors.Is(err, errSlow)) {
		wait.Reason = sanitize.Shorten(err.Error(), maxReason) + advice(err)
	}
	w.waiting[key] = wait
}

// health returns the health of the term's writes.
func (t *term) health() Health {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.writes.Health
	h.Namespaces, h.Waiting = len(t.writes.namespaces), len(t.writes.waiting)
	for _, wait := range t.writes.waiting {
		h.WaitingSince = earlier(h.WaitingSince, wait.Since)
	}
	now := time.Now()
	for key, r := range t.repairs {
		if wait, waits := r.wait(now); waits {
			h.WaitingSince = earlier(h.WaitingSince, wait.Since)
			if _, counted := t.writes.waiting[key]; !counted {
				h.Waiting++
			}
		}
	}
	return h
}

// waiting returns why a Service waits or is contested, and false if it is neither.
func (t *term) waiting(key Key) (Wait, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if wait, ok := t.writes.waiting[key]; ok {
		return wait, true
	}
	return t.repairs[key].report(time.Now())
}

// allWaiting returns the Services that have waited or been contested longest, at most limit, and the number of
// all.
func (t *term) allWaiting(limit int) (all []KeyWait, total int) {
	t.mu.Lock()
	for key, wait := range t.writes.waiting {
		all = append(all, KeyWait{key, wait})
	}
	now := time.Now()
	for key, r := range t.repairs {
		if _, known := t.writes.waiting[key]; known {
			continue
		}
		if wait, reported := r.report(now); reported {
			all = append(all, KeyWait{key, wait})
		}
	}
	t.mu.Unlock()
	slices.SortFunc(all, CompareKeyWaits)
	return all[:min(len(all), limit)], len(all)
}
