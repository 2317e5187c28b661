package inspect

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/internal/httplimits"
)

const (
	// heartbeat is how often a comment is sent on an idle stream, so that both ends notice a lost
	// connection.
	heartbeat = 15 * time.Second
	// eventTime limits the time to write an event.
	eventTime = 10 * time.Second
	// admitAgain is how often the access of a listener is checked again, so that revoking a token ends
	// the stream. Decisions of [Access] must be cached for less.
	admitAgain = 30 * time.Second
	// maxUnchecked is how many checks in a row may fail, because the API server is unreachable, before
	// a stream is ended.
	maxUnchecked = 3
)

// listenerGuard authorises listeners, and limits them.
func (s *Server) listenerGuard(next http.HandlerFunc) http.Handler {
	limited := httplimits.Limit(maxListeners, func(w http.ResponseWriter, r *http.Request) {
		httplimits.DropBody(w, r)
		reply(w, http.StatusServiceUnavailable, Failure{Error: "too many listen already: close a page, or ask another replica"})
	})(next)
	return s.admitted(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet { // HEAD has no events to wait for
			w.Header().Set("Allow", http.MethodGet)
			reply(w, http.StatusMethodNotAllowed, Failure{Error: "only GET is allowed here"})
			return
		}
		limited.ServeHTTP(w, r)
	}))
}

// changes serves [ChangesPath].
func (s *Server) changes(w http.ResponseWriter, r *http.Request) {
	p, err := parseParameters(r.URL.RawQuery, []string{"topics"})
	if err != nil {
		refuse(w, err)
		return
	}
	have := slices.Sorted(maps.Keys(s.hub.topics))
	topics, err := choices(p, "topics", have)
	if err != nil {
		refuse(w, err)
		return
	}
	if len(topics) == 0 {
		topics = have
	}
	if channel.IsClosed(s.hub.stopped) {
		reply(w, http.StatusServiceUnavailable, Failure{Error: "the process is stopping: try again"})
		return
	}
	l := s.hub.listen(r.Context(), topics)
	defer s.hub.unlisten(l)
	setHeaders(w.Header())
	w.Header().Set("Content-Type", "text/event-stream")
	ctx, end := context.WithCancel(r.Context())
	defer end()
	go s.admitAgain(r.WithContext(ctx), end)
	sendChanges(w, l, ctx.Done(), s.hub.stopped)
}

// admitAgain checks the access of a listener periodically, until its context ends. It calls end if
// the access is refused, or can't be checked for long.
func (s *Server) admitAgain(r *http.Request, end func()) {
	tick := time.Tick(admitAgain)
	for unchecked := 0; unchecked < maxUnchecked; {
		select {
		case <-r.Context().Done():
			return
		case <-tick:
		}
		var refused *refusal
		switch err := s.admit(r); {
		case err == nil:
			unchecked = 0
		case errors.As(err, &refused) && refused.code == http.StatusServiceUnavailable:
			unchecked++
		default:
			end()
			return
		}
	}
	end()
}

// sendChanges writes events until the client is gone or too slow, or the hub has stopped.
func sendChanges(w http.ResponseWriter, l *listener, gone, stopped <-chan struct{}) {
	out := http.NewResponseController(w)
	write := func(text []byte) bool {
		// A writer without a deadline isn't a connection's.
		_ = out.SetWriteDeadline(time.Now().Add(eventTime))
		_, err := w.Write(text)
		return err == nil && out.Flush() == nil
	}
	if !write([]byte(": what is read from now on is complete\n\n")) {
		return
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		var text []byte
		select {
		case <-gone:
			return
		case <-stopped:
			return
		case event, ok := <-l.events:
			if !ok {
				return
			}
			text = event
			beat.Reset(heartbeat)
		case <-beat.C:
			text = []byte(":\n\n")
		}
		if !write(text) {
			return
		}
	}
}
