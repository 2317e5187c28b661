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
	"github.com/signpostd/signpost/internal/streams"
)

// profileResponse is the response of a profile view at one time. It is immutable.
type profileResponse struct {
	snapshot *catalog.ProfileSnapshot
	// frame is nil if there never was a profile. After the profile is deleted, frame is still the last one,
	// because streams keep it.
	frame *frame
	// own and shared are the bytes of the frame, as in [Config.profileParts].
	own, shared []byte
	at          time.Time
	version     uint64 // counts the different frames
	// err is the status of streams, which end, if the profile needs more memory than the limits allow.
	err error
}

// profileView has the responses of one query, shared by all streams with the query. It has no goroutine: the
// first stream that finds a stale response computes the next one for all.
type profileView struct {
	query       catalog.ProfileQuery
	firstClient clientlimits.ClientID // the query counts against its limits
	catalog     *catalog.Catalog
	config      *Config

	current atomic.Pointer[profileResponse]
	mu      sync.Mutex // held while the next response is computed
	// memory is that of the current response. Views with one description count its bytes more than once.
	memory clientlimits.Memory
	// descriptions are shared by all views. described is the one that this view uses, nil for none; mu guards
	// it.
	descriptions *descriptions
	described    *description
	// overflows counts the profiles of a Service that replaced several updates.
	overflows atomic.Uint64
}

// latest returns a response that was current at the time of the call.
func (v *profileView) latest() *profileResponse {
	if a := v.current.Load(); a != nil && !channel.IsClosed(a.snapshot.Stale()) {
		return a
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	old := v.current.Load()
	if old != nil && !channel.IsClosed(old.snapshot.Stale()) {
		return old
	}
	next := v.compute(old)
	v.current.Store(next)
	return next
}

// compute returns the next response. If the frame equals that of the old response, the old frame is reused.
func (v *profileView) compute(old *profileResponse) *profileResponse {
	a := &profileResponse{snapshot: v.catalog.Profile(v.query), at: time.Now()}
	if old == nil || !slices.Equal(old.snapshot.Conflicts, a.snapshot.Conflicts) {
		v.config.reportConflicts(a.snapshot.Conflicts)
	}
	switch {
	case a.snapshot.Result == catalog.ConflictFound, a.snapshot.Result == catalog.ExternalNameFound, a.hostnameDeleted(v.query):
		return a.reuse(old)
	}
	v.describe(descriptionKeyOf(v.query, a.snapshot))
	a.own, a.shared = v.config.profileParts(v.query, a.snapshot, v.described)
	if old != nil && old.frame != nil && old.same(a) {
		return a.reuse(old)
	}
	if a.err = v.memory.Resize(len(a.own) + len(a.shared)); a.err != nil {
		return a.reuse(old)
	}
	a.frame = newFrame(a.own, a.shared)
	if old != nil {
		a.version = old.version + 1
	}
	return a
}

// describe makes the view use the description of a key instead of the previous one. The caller holds the
// lock, or is the last user.
func (v *profileView) describe(key descriptionKey) {
	before := v.described
	switch {
	case before != nil && before.descriptionKey == key:
		return
	case key == descriptionKey{}:
		v.described = nil
	default:
		v.described, _ = v.descriptions.Acquire(key, func() (*description, error) { return &description{descriptionKey: key}, nil })
	}
	if before != nil {
		v.descriptions.Release(before.descriptionKey, func(*description) {})
	}
}

// same reports whether two responses have the same bytes.
func (a *profileResponse) same(b *profileResponse) bool {
	return bytes.Equal(a.own, b.own) && bytes.Equal(a.shared, b.shared)
}

// reuse copies the content of the old response, unless it is nil.
func (a *profileResponse) reuse(old *profileResponse) *profileResponse {
	if old != nil {
		a.frame, a.own, a.shared, a.version = old.frame, old.own, old.shared, old.version
	}
	return a
}

// refusal returns the status error for a new stream if there is no profile for it (§3.1, §3.2).
func (a *profileResponse) refusal(q catalog.ProfileQuery) error {
	s := a.snapshot
	switch {
	case s.Result == catalog.ConflictFound:
		// The proxy retries after this code. After a final code it would send plaintext, even when the
		// conflict has ended.
		return status.Error(codes.Unavailable, s.ConflictReason)
	case s.Result == catalog.ExternalNameFound:
		return status.Errorf(codes.InvalidArgument, "invalid authority: service %s.%s is of type ExternalName", s.Service.Name, s.Service.Namespace)
	case s.Result == catalog.NothingFound && q.Hostname != "":
		return status.Errorf(codes.NotFound, "service %s.%s has no endpoint of the hostname %s", sanitize.Name(s.Service.Name), sanitize.Name(s.Service.Namespace), sanitize.Name(q.Hostname))
	case s.Result == catalog.NothingFound:
		return status.Errorf(codes.NotFound, "service %s.%s not found", sanitize.Name(s.Service.Name), sanitize.Name(s.Service.Namespace))
	default:
		return nil
	}
}

// resourcesOf returns the resources that decide whether the object of a query exists.
func resourcesOf(q catalog.ProfileQuery) []string {
	if q.Hostname != "" {
		return hostnameResources
	}
	return serviceResources
}

// hostnameDeleted reports whether no endpoint has the hostname of a query.
func (a *profileResponse) hostnameDeleted(q catalog.ProfileQuery) bool {
	return a.snapshot.Result == catalog.NothingFound && q.Hostname != ""
}

// profileViews has the profile views of all open streams.
type profileViews struct {
	catalog *catalog.Catalog
	config  *Config
	clients *clientlimits.Clients
	m       streams.Map[catalog.ProfileQuery, *profileView]
	// descriptions are shared by the views.
	descriptions descriptions
}

// acquire returns the view of a query. Each acquire without an error is followed by one release. The error is
// the status of a query above a limit.
func (vs *profileViews) acquire(q catalog.ProfileQuery, by clientlimits.ClientID) (*profileView, error) {
	return vs.m.Acquire(q, func() (*profileView, error) {
		if err := vs.clients.BeginQuery(by); err != nil {
			return nil, err
		}
		return &profileView{
			query: q, firstClient: by, catalog: vs.catalog, config: vs.config, memory: vs.clients.Memory(by), descriptions: &vs.descriptions,
		}, nil
	})
}

// release drops the view after its last user.
func (vs *profileViews) release(v *profileView) {
	vs.m.Release(v.query, func(v *profileView) {
		vs.clients.EndQuery(v.firstClient)
		v.memory.Free()
		if a := v.current.Load(); a != nil {
			a.snapshot.Release()
		}
		v.describe(descriptionKey{})
	})
}

// profileStream is one GetProfile call. Workers run its steps, one at a time.
type profileStream struct {
	server *Server
	view   *profileView
	out    sender
	// connection counts the messages that the client has not read.
	connection *clientlimits.Connection
	node       string
	caller     caller
	callLog    *callLog
	last       *profileResponse // the last sent response, or an equal one; nil for none
	// sending is the response that is being sent; nil for none. Any goroutine may read it.
	sending atomic.Pointer[profileResponse]
	progress
}

// step implements followed. If the endpoint of a hostname is deleted, the stream ends with an error status,
// so that the proxy retries, because another pod may have the address by now.
func (s *profileStream) step() (w wake, ended bool, err error) {
	if channel.IsClosed(s.server.calls.Stopping()) && s.last != nil {
		return wake{}, true, nil
	}
	a := s.view.latest()
	if a.err != nil {
		return wake{}, true, a.err
	}
	if err := a.refusal(s.view.query); err != nil && (s.last == nil || a.hostnameDeleted(s.view.query)) {
		return wake{}, true, s.server.config.unlessOutdated(err, resourcesOf(s.view.query))
	}
	if err := s.sendResponse(s.last, a); err != nil {
		return wake{}, true, err
	}
	s.last = a
	return wake{a.snapshot.Stale(), s.server.calls.Stopping()}, false, nil
}

// close implements followed.
func (s *profileStream) close() {
	s.server.profileStreams.Remove(s)
	s.server.profiles.release(s.view)
}

// sendResponse sends the response, unless it equals the last one that was sent, nil for none.
func (s *profileStream) sendResponse(sent, a *profileResponse) error {
	if sent != nil && a.version-sent.version > 1 {
		s.server.metrics.skipped(s.view, a)
	}
	if sent != nil && sent.same(a) {
		s.finish(a.version)
		return nil
	}
	since := a.at
	if sent == nil {
		since = time.Now() // the response may be older than the stream
	}
	s.sending.Store(a)
	s.behind.Begin(since)
	if err := s.out.SendMsg(s.connection.Message(&a.frame.bytes)); err != nil {
		return err
	}
	s.finish(a.version)
	s.sending.Store(nil)
	s.callLog.sent(a.frame)
	s.callLog.profileSent(a)
	return nil
}
