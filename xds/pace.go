package xds

import "time"

// The longest delays of a change (§6.10).
const (
	maxDelay = 2 * time.Second
	// maxUrgentDelay is that of a change that takes endpoints away.
	maxUrgentDelay = 500 * time.Millisecond
)

// settle publishes the newest version of a view, unless it has to wait. Then it returns until when. The
// caller holds the lock.
func (t *topic) settle(v *view, now time.Time) (due time.Time) {
	current := v.current.Load()
	if v.latest == current {
		return time.Time{}
	}
	if v.typ == endpoints && v.latest.kind == current.kind && v.latest.visibleTo == current.visibleTo { // else the clients may belong to other views
		due = v.changed.Add(t.delay(current, len(v.subscribers)))
		if urgent := v.urgent.Add(maxUrgentDelay); !v.urgent.IsZero() && urgent.Before(due) {
			due = urgent
		}
	}
	if due.After(now) {
		return due
	}
	if due.After(v.since) {
		t.server.metrics.paced.Observe(now.Sub(v.since).Seconds())
	}
	next := v.latest
	v.publish(next, now)
	t.remember(v, current, next)
	return time.Time{}
}

// minPace is the shortest delay of a stream. Most responses are too small for any.
const minPace = 10 * time.Millisecond

// pace makes all but endpoints wait after a response, for as long as it takes to send it to all
// streams with the same Clusters within the budget. A SotW response has all Clusters of a wildcard,
// whichever has changed.
func (s *stream) pace(typ resourceType, size int) {
	if typ.Single() {
		return
	}
	if d := budgeted(size, max(1, s.users), s.server.config.EgressBudget); d >= minPace {
		s.pacedUntil = time.Now().Add(d)
		time.AfterFunc(d, func() { s.wake(laneMany) })
	}
}

// delay returns how long it takes to send a version to all of its clients within the budget: endpoints have no
// differences, so each change is sent as a whole.
func (t *topic) delay(f *frame, clients int) time.Duration {
	return budgeted(len(f.wire), clients, t.config.EgressBudget)
}

// budgeted returns how long bytes for each of some clients take within a budget of bytes a second.
func budgeted(size, clients, budget int) time.Duration {
	seconds := float64(size) * float64(clients) / float64(budget)
	return min(maxDelay, time.Duration(seconds*float64(time.Second)))
}
