package destination

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/internal/clientlimits"
	"github.com/signpostd/signpost/internal/sanitize"
)

// profileAnswer is the answer of a profile view at one time. It is immutable.
type profileAnswer struct {
	snapshot *catalog.ProfileSnapshot
	// frame is nil when there never was a profile. When the profile is gone, it is still the last
	// one, which streams keep.
	frame   *frame
	wire    []byte
	at      time.Time
	version uint64 // counts the different frames
}

// profileView answers one query for all streams that ask it. It has no goroutine: the first stream
// that finds the answer stale makes the next one for all of them.
type profileView struct {
	query   catalog.ProfileQuery
	asker   clientlimits.ClientID // who was the first to ask
	catalog *catalog.Catalog
	config  *Config

	current atomic.Pointer[profileAnswer]
	mu      sync.Mutex // held while the next answer is made
	streams int        // guarded by profileViews.mu
	// overflows counts the profiles of a Service that were sent in the place of several.
	overflows atomic.Uint64
}

// latest returns an answer that wasn't stale at the time of the call.
func (v *profileView) latest() *profileAnswer {
	if a := v.current.Load(); a != nil && !channel.IsClosed(a.snapshot.Stale()) {
		return a
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	old := v.current.Load()
	if old != nil && !channel.IsClosed(old.snapshot.Stale()) {
		return old
	}
	next := v.answer(old)
	v.current.Store(next)
	return next
}

// answer makes the next answer. It has the frame of the old one if it says the same.
func (v *profileView) answer(old *profileAnswer) *profileAnswer {
	a := &profileAnswer{snapshot: v.catalog.Profile(v.query), at: time.Now()}
	if old == nil || !slices.Equal(old.snapshot.Rivals, a.snapshot.Rivals) {
		v.config.tell(a.snapshot.Rivals)
	}
	switch {
	case a.snapshot.Subject == catalog.ConflictFound, a.snapshot.Subject == catalog.ExternalNameFound, a.gone(v.query):
		return a.like(old)
	}
	wire := v.config.profileBytes(v.query, a.snapshot)
	if old != nil && old.frame != nil && bytes.Equal(old.wire, wire) {
		return a.like(old)
	}
	a.frame, a.wire = newFrame(wire), wire
	if old != nil {
		a.version = old.version + 1
	}
	return a
}

// like makes the answer say what the old one said, if there is one.
func (a *profileAnswer) like(old *profileAnswer) *profileAnswer {
	if old != nil {
		a.frame, a.wire, a.version = old.frame, old.wire, old.version
	}
	return a
}

// refusal returns the status error for a new stream if there is no profile for it (§3.1, §3.2).
func (a *profileAnswer) refusal(q catalog.ProfileQuery) error {
	s := a.snapshot
	switch {
	case s.Subject == catalog.ConflictFound:
		// The proxy asks again after this code. With a final one it would send plaintext, also when
		// the conflict is over.
		return status.Error(codes.Unavailable, s.Conflict)
	case s.Subject == catalog.ExternalNameFound:
		return status.Errorf(codes.InvalidArgument, "invalid authority: service %s.%s is of type ExternalName", s.Service.Name, s.Service.Namespace)
	case s.Subject == catalog.NothingFound && q.Hostname != "":
		return status.Errorf(codes.NotFound, "service %s.%s has no endpoint of the hostname %s", sanitize.Name(s.Service.Name), sanitize.Name(s.Service.Namespace), sanitize.Name(q.Hostname))
	case s.Subject == catalog.NothingFound:
		return status.Errorf(codes.NotFound, "service %s.%s not found", sanitize.Name(s.Service.Name), sanitize.Name(s.Service.Namespace))
	default:
		return nil
	}
}

// resourcesOf returns the resources that say whether what a query asks for exists.
func resourcesOf(q catalog.ProfileQuery) []string {
	if q.Hostname != "" {
		return hostnameResources
	}
	return serviceResources
}

// gone reports whether there is no endpoint of the hostname of a query.
func (a *profileAnswer) gone(q catalog.ProfileQuery) bool {
	return a.snapshot.Subject == catalog.NothingFound && q.Hostname != ""
}

// profileViews are the views of the queries that streams ask.
type profileViews struct {
	catalog *catalog.Catalog
	config  *Config
	clients *clientlimits.Clients

	mu sync.Mutex
	m  map[catalog.ProfileQuery]*profileView
}

// acquire returns the view of a query. Each acquire without an error is followed by one release.
// The error is the status of a question that is one too many.
func (vs *profileViews) acquire(q catalog.ProfileQuery, by clientlimits.ClientID) (*profileView, error) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	v := vs.m[q]
	if v == nil {
		if err := vs.clients.BeginQuestion(by); err != nil {
			return nil, err
		}
		v = &profileView{query: q, asker: by, catalog: vs.catalog, config: vs.config}
		vs.m[q] = v
	}
	v.streams++
	return v, nil
}

// release drops the view when this was its last user.
func (vs *profileViews) release(v *profileView) {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	v.streams--
	if v.streams > 0 {
		return
	}
	delete(vs.m, v.query)
	vs.clients.EndQuestion(v.asker)
	if a := v.current.Load(); a != nil {
		a.snapshot.Release()
	}
}

// profileStream is one GetProfile call. Workers run its steps, one at a time.
type profileStream struct {
	server *Server
	view   *profileView
	out    sender
	node   string
	caller caller
	trail  *trail
	told   *profileAnswer // what was sent last, or says the same; nil for nothing
	progress
}

// step implements followed. The stream ends with a status if the endpoint of a hostname is gone, so that the proxy asks
// again: what it was told last may be the address of another pod by now.
func (s *profileStream) step() (w wait, ended bool, err error) {
	if channel.IsClosed(s.server.stopping) && s.told != nil {
		return wait{}, true, nil
	}
	a := s.view.latest()
	if err := a.refusal(s.view.query); err != nil && (s.told == nil || a.gone(s.view.query)) {
		return wait{}, true, s.server.config.unlessOutdated(err, resourcesOf(s.view.query))
	}
	if err := s.bring(s.told, a); err != nil {
		return wait{}, true, err
	}
	s.told = a
	return wait{a.snapshot.Stale(), s.server.stopping}, false, nil
}

// close implements followed.
func (s *profileStream) close() {
	s.server.asks.remove(s)
	s.server.profiles.release(s.view)
}

// bring sends the answer, unless it says the same as the one that was sent last, nil for none.
func (s *profileStream) bring(sent, a *profileAnswer) error {
	if sent != nil && a.version-sent.version > 1 {
		s.server.metrics.skipped(s.view, a)
	}
	if sent != nil && bytes.Equal(sent.wire, a.wire) {
		s.finish(a.version)
		return nil
	}
	since := a.at
	if sent == nil {
		since = time.Now() // the answer may be older than the stream
	}
	s.begin(since)
	if err := s.out.SendMsg(a.frame); err != nil {
		return err
	}
	s.finish(a.version)
	s.trail.sent(a.frame)
	s.trail.profiled(a)
	return nil
}
