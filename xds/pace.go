package xds

import "time"

// The limits of the delay of a change (§6.10).
const (
	maxDelay = 2 * time.Second
	// maxUrgentDelay is the limit for a change that removes endpoints.
	maxUrgentDelay = 500 * time.Millisecond
)

// settle publishes the newest version of a view. If it has to wait, settle returns until when. The
// caller holds the lock of the topic.
func (t *topic) settle(v *view, now time.Time) (due time.Time) {
	current := v.current.Load()
	if v.latest == current {
		return time.Time{}
	}
	if v.typ == endpoints && v.latest.filters.Same(current.filters) && v.latest.visibleTo == current.visibleTo { // else the clients may belong to other views
		// Each change of endpoints is sent as a whole, because xDS has no differences of them.
		due = v.changed.Add(budgeted(len(current.Wire), len(v.subscribers), t.server.config.EgressBudget))
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

// minPace is the shortest delay of a stream, so that small responses cause none.
const minPace = 10 * time.Millisecond

// pace delays all types but endpoints after a response, for the time that the budget needs to send
// it to all streams with the same Clusters (§6.13). A SotW response has all Clusters of a wildcard,
// even if one has changed.
func (s *stream) pace(typ resourceType, size int) {
	if typ.Single() {
		return
	}
	if d := budgeted(size, max(1, s.users), s.server.config.EgressBudget); d >= minPace {
		s.pacedUntil = time.Now().Add(d)
		time.AfterFunc(d, func() { s.wake(laneMany) })
	}
}

// budgeted returns the time that size bytes for each client need with a budget in bytes a second.
func budgeted(size, clients, budget int) time.Duration {
	seconds := float64(size) * float64(clients) / float64(budget)
	return min(maxDelay, time.Duration(seconds*float64(time.Second)))
}
