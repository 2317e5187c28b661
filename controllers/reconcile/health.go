package reconcile

import (
	"cmp"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Health says how the writes of a term go.
type Health struct {
	// LastWrite is the time of the last write that succeeded; zero when none has.
	LastWrite time.Time
	// RefusedSince and RefusedLast are the times of the first and the last write that failed since
	// then, for a reason that may concern all writes; zero when none has. Refused is the failure, and
	// Namespaces in how many namespaces there was one, as far as that was counted.
	RefusedSince, RefusedLast time.Time
	Refused                   error
	Namespaces                int
	// Waiting is how many Services wait because a sync has failed, or because somebody else keeps changing their objects,
	// the oldest since WaitingSince.
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

// Join returns the health of two loops together.
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

// AllRefused reports whether every write has been refused for a time. Those of one or two
// namespaces are not enough, unless the API server doesn't accept the credentials of the process.
func (h Health) AllRefused(patience time.Duration) bool {
	return h.RefusedLast.After(h.LastWrite) && time.Since(later(h.LastWrite, h.RefusedSince)) >= patience &&
		(h.Namespaces >= several || apierrors.IsUnauthorized(h.Refused))
}

// earlier returns the earlier one of two times that are not zero.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// writes is what is known of the writes of a term.
type writes struct {
	last                      time.Time
	refusedSince, refusedLast time.Time
	cause                     error
	// namespaces are those that met the cause, as many as matter.
	namespaces map[string]bool
	// waiting has the Services whose sync has failed or has been held back.
	waiting map[Key]Wait
}

// Wait says why a Service waits.
type Wait struct {
	// Since is when its sync failed, or was held back, first.
	Since time.Time
	// Reason is how its sync failed last; empty if it was only held back, as long as the API server
	// refuses the writes of others. It has at most 300 bytes.
	Reason string
	// Until is when the objects are put right that somebody else has changed; zero if the Service waits for anything else.
	// By is the field manager that has changed them, empty if that isn't known, and Repairs is how many such changes in a
	// row have been put right already.
	Until   time.Time
	By      string
	Repairs int
}

// KeyWait is a Service that waits.
type KeyWait struct {
	Key  Key
	Wait Wait
}

// CompareKeyWaits orders Services that wait, those that wait for the longest time first.
func CompareKeyWaits(a, b KeyWait) int {
	return cmp.Or(a.Wait.Since.Compare(b.Wait.Since), strings.Compare(a.Key.Namespace, b.Key.Namespace), strings.Compare(a.Key.Name, b.Key.Name))
}

// maxReason is how many bytes of an error are kept.
const maxReason = 300

func newWrites() writes { return writes{namespaces: map[string]bool{}, waiting: map[Key]Wait{}} }

func (w *writes) succeeded(now time.Time) {
	w.last = now
	w.answered()
}

// answered notes that the API server has answered, if only that it refuses one object.
func (w *writes) answered() {
	w.refusedSince, w.refusedLast, w.cause = time.Time{}, time.Time{}, nil
	clear(w.namespaces)
}

// refused notes a failure that may concern all writes.
func (w *writes) refused(key Key, err error, now time.Time) {
	if w.cause == nil {
		w.refusedSince = now
	}
	if w.cause == nil || apierrors.IsUnauthorized(err) {
		w.cause = err
	}
	if len(w.namespaces) < several {
		w.namespaces[key.Namespace] = true
	}
	w.refusedLast = now
}

// waits notes that a Service waits, because of an error or, if that is nil, of those of others.
func (w *writes) waits(key Key, now time.Time, err error) {
	wait, known := w.waiting[key]
	if !known {
		wait.Since = now
	}
	if err != nil {
		wait.Reason = err.Error()
		if len(wait.Reason) > maxReason {
			wait.Reason = strings.ToValidUTF8(strings.Clone(wait.Reason[:maxReason-len("…")]), "") + "…"
		}
	}
	w.waiting[key] = wait
}

// done notes that the objects of a Service are what they have to be.
func (w *writes) done(key Key) { delete(w.waiting, key) }

// health returns how the writes of the term go.
func (t *term) health() Health {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := Health{
		LastWrite: t.writes.last, RefusedSince: t.writes.refusedSince, RefusedLast: t.writes.refusedLast,
		Refused: t.writes.cause, Namespaces: len(t.writes.namespaces), Waiting: len(t.writes.waiting),
	}
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

// waiting returns why a Service waits, if it does.
func (t *term) waiting(key Key) (Wait, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if wait, ok := t.writes.waiting[key]; ok {
		return wait, true
	}
	return t.repairs[key].wait(time.Now())
}

// allWaiting returns the Services that have waited for the longest time, and how many wait.
func (t *term) allWaiting(most int) (some []KeyWait, all int) {
	t.mu.Lock()
	for key, wait := range t.writes.waiting {
		some = append(some, KeyWait{key, wait})
	}
	now := time.Now()
	for key, r := range t.repairs {
		if _, known := t.writes.waiting[key]; known {
			continue
		}
		if wait, waits := r.wait(now); waits {
			some = append(some, KeyWait{key, wait})
		}
	}
	t.mu.Unlock()
	slices.SortFunc(some, CompareKeyWaits)
	return some[:min(len(some), most)], len(some)
}
