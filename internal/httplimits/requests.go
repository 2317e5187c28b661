package httplimits

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Limit limits the requests that a handler serves at a time. It returns a function that wraps
// handlers, which share the limit. Others are served by refuse. If the host with the most loses a
// request to another host, the context of that request ends, and its client is disconnected.
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
		// It runs still, because end needs the lock. Hence the deadlines are those of its own response.
		victim.cancel()
		_ = victim.out.SetReadDeadline(time.Now()) // a writer without a deadline isn't a connection's
		_ = victim.out.SetWriteDeadline(time.Now())
	}
	return ok
}

func (l *limitedRequests) end(r *http.Request, running *request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.places.leave(hostOf(r.RemoteAddr), running)
}
