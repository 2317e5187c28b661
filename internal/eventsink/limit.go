package eventsink

import (
	"maps"
	"sync"

	"golang.org/x/time/rate"
)

const (
	// eventsPerSecond and eventsAtOnce limit the Events of a namespace: the client sends ten per
	// second for all namespaces, and a queue drops what exceeds it by a thousand.
	eventsPerSecond, eventsAtOnce = 1, 200
	// limitsKept is the number of namespaces from which on those that have sent nothing for a while
	// are dropped.
	limitsKept = 1000
)

// namespaceLimits limits the Events of each namespace, so that none displaces those of others.
type namespaceLimits struct {
	mu sync.Mutex
	of map[string]*rate.Limiter
}

// allow reports whether an Event of a namespace may be sent.
func (l *namespaceLimits) allow(namespace string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := l.of[namespace]
	if limit == nil {
		if len(l.of) >= limitsKept {
			maps.DeleteFunc(l.of, func(_ string, limit *rate.Limiter) bool { return limit.Tokens() >= eventsAtOnce })
		}
		limit = rate.NewLimiter(eventsPerSecond, eventsAtOnce)
		l.of[namespace] = limit
	}
	return limit.Allow()
}
