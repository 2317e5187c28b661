package httplimits

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Limit returns a function that wraps handlers. Together, they serve at most atATime requests at a
// time, and refuse serves the others. If a host with few requests takes the place of the host with the
// most, the context of that host's oldest request ends, and its client is disconnected.
func Limit(atATime int, refuse http.HandlerFunc) func(next http.Handler) http.Handler {
	limited := &limitedRequests{places: newPlaces[*request](atATime, atATime)}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			running := &request{cancel: cancel, out: http.NewResponseController(w)}
			if !limited.begin(r, running) {
				refuse(w, r)
				return
			}
			defer limited.end(r, running)
			next.ServeHTTP(w, r.WithContext(ctx))
		})
	}
}

type limitedRequests struct {
	mu     sync.Mutex
	places places[*request]
}

type request struct {
	cancel context.CancelFunc
	out    *http.ResponseController
}

func (l *limitedRequests) begin(r *http.Request, running *request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	victim, lost, ok := l.places.take(hostOf(r.RemoteAddr), running)
	if lost {
		// The victim can't have ended, because end needs the lock. So its response still belongs to its
		// own request.
		victim.cancel()
		_ = victim.out.SetReadDeadline(time.Now()) // fails for a writer that isn't a connection's
		_ = victim.out.SetWriteDeadline(time.Now())
	}
	return ok
}

func (l *limitedRequests) end(r *http.Request, running *request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.places.leave(hostOf(r.RemoteAddr), running)
}
