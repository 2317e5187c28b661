package xds

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"golang.org/x/time/rate"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/internal/clientlimits"
	"github.com/signpostd/signpost/internal/panics"
	"github.com/signpostd/signpost/internal/precoded"
	"github.com/signpostd/signpost/internal/streams"
	"github.com/signpostd/signpost/xds/resource"
)

// stream is one open call of either variant. A worker that handles its requests or sends responses
// owns all fields without another rule.
type stream struct {
	id      uint64
	opened  time.Time
	server  *Server
	ctx     context.Context // ends when the stream has to end, with its status as the cause
	cancel  context.CancelCauseFunc
	out     grpc.ServerStream
	call    *clientlimits.Call // counts the responses that the client has not read
	variant string
	only    string // the type URL that the called service has; empty for all

	// client and changes are set before identified is closed. If the pod of the client becomes known later,
	// client changes under mu, for goroutines that don't own the stream. unknownPod is the lookup that found no
	// pod; nil if the pod is known, or not needed. enters is true if the namespace has become known since.
	client     client
	identified chan struct{}
	changes    placeChanges
	unknownPod *catalog.ProfileSnapshot
	enters     bool
	place      catalog.Client
	types      [resourceTypes]typeState
	names      int // how many subscriptions, of all types, are by name
	nonce      string
	budget     *budget // shared by all streams of the client

	// shared lists the Clusters of a wildcard; nil without one. listing is the version that the
	// stream is subscribed to; any goroutine may read it. users is how many streams share the
	// listing.
	shared     *sharedListing
	listing    atomic.Pointer[listing]
	users      int
	pacedUntil time.Time // until then, all types but endpoints wait (§6.13)

	received chan discoveryRequest // the request that waits for a worker
	working  sync.Mutex            // held by the owner of the stream
	worker   *worker               // the last one
	panicked *panics.Carried       // by a worker
	unread   bool                  // the client has not answered the last response: sending may block
	// mu guards the fields below, and the subscriptions of each type for goroutines that don't own
	// the stream.
	mu sync.Mutex
	// wakeLane is the first lane in which the stream has pending work, or noLane. busy is true while a worker
	// has the stream, and while the stream is queued.
	wakeLane lane
	busy     bool
	// lag is the age of the change that is being sent. responses counts the responses that were
	// sent. Any goroutine may read both.
	lag       streams.Lag
	responses atomic.Uint64
}

// discoveryRequest is a request of either variant.
type discoveryRequest interface {
	proto.Message
	GetNode() *corepb.Node
	GetTypeUrl() string
	GetResponseNonce() string
	GetErrorDetail() *rpcstatus.Status
}

// typeState is what a stream is subscribed to of one type.
type typeState struct {
	subscriptions map[string]*subscription
	// dirty are the subscriptions whose view has changed. Some may have ended. stream.mu guards it.
	dirty       []*subscription
	requested   bool     // once a request was handled
	lastNames   []string // of the last request, of SotW only
	named       bool     // once a resource was named; until then, an empty list of names is a wildcard
	wildcard    bool
	mustRespond bool // a wildcard of Envoy needs a response, even one without resources
	// resumedVersion is the version of a SotW response that the client has from an earlier stream.
	// removedNames are resources that a delta client has and that no longer exist.
	resumedVersion string
	removedNames   []string
	names          int    // of subscriptions by name
	nonce          string // of the last response
	rejected       string // the nonce of the last rejected response
	// unsubscribed is true once the client has unsubscribed from a resource. A new subscription may
	// then be to a resource that it was sent before.
	unsubscribed bool
}

func (s *Server) newStream(out grpc.ServerStream, variant, only string) *stream {
	st := &stream{
		id: s.opened.Add(1), opened: time.Now(), server: s, out: out, variant: variant, only: only,
		received: make(chan discoveryRequest, 1), identified: make(chan struct{}), wakeLane: noLane,
	}
	st.ctx, st.cancel = context.WithCancelCause(out.Context())
	// A literal of a client would be on the stack of the handler, which would then keep 8 kB.
	st.client.id, st.client.peer, st.client.kind = clientlimits.ClientIDFrom(out.Context()), clientlimits.PeerFrom(out.Context()), clientOther
	st.call = s.connections.Call(st.ctx)
	st.budget = s.budgets.of(st.client.id)
	return st
}

// run is the handler. The error is the status of the stream.
func (s *stream) run() error {
	s.server.calls.Go(s.receive)
	changes, err := s.first()
	if err != nil {
		return err
	}
	for {
		select {
		case <-changes.node:
			changes = s.move()
		case <-changes.pod:
			changes = s.move()
		case <-s.ctx.Done():
			return s.result()
		case <-s.server.calls.Stopping():
			return nil
		}
	}
}

// first waits for the first request, which identifies the client, or for the end of the stream. The number and
// the time of waiting streams are limited, because a waiting stream costs as much memory as a subscribed one.
func (s *stream) first() (changes placeChanges, err error) {
	if err := s.server.clients.BeginRequest(s.client.id); err != nil {
		return placeChanges{}, err
	}
	defer s.server.clients.EndRequest(s.client.id)
	limit := time.AfterFunc(s.server.config.Limits.RequestTimeout, func() {
		s.server.refusedClient(clientlimits.RefusedSlow, s.client.id)
		s.cancel(clientlimits.ErrSlowRequest)
	})
	defer limit.Stop()
	select {
	case <-s.identified:
		return s.changes, nil
	case <-s.ctx.Done():
	case <-s.server.calls.Stopping():
	}
	return placeChanges{}, nil
}

// result returns the status of an ended stream; nil if the client has left.
func (s *stream) result() error {
	err := context.Cause(s.ctx)
	if s.out.Context().Err() != nil || errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// wake marks changed subscriptions for the next flush, and queues the stream for a worker unless why is noLane.
// Any goroutine may call it.
func (s *stream) wake(why lane, changed ...*subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range changed {
		if in := &s.types[sub.typ]; !sub.dirty {
			sub.dirty = true
			in.dirty = append(in.dirty, sub)
		}
	}
	s.wakeLane = min(s.wakeLane, why)
	if s.wakeLane < noLane && !s.busy && s.ctx.Err() == nil {
		s.busy = true
		s.server.workers.add(s, s.wakeLane)
	}
}

// work handles a pending request, and sends what has changed. If there is more to do, the stream is
// queued again behind other streams.
func (s *stream) work(w *worker) {
	s.working.Lock()
	defer s.working.Unlock()
	defer func() {
		if v := recover(); v != nil {
			s.panicked = panics.Carry(v)
			s.cancel(nil)
		}
	}()
	s.worker = w
	s.mu.Lock()
	s.wakeLane = noLane
	s.mu.Unlock()
	if s.ctx.Err() != nil {
		return
	}
	if err := s.step(); err != nil {
		s.cancel(err)
	}
	s.mu.Lock()
	s.busy = false
	s.mu.Unlock()
	s.wake(noLane)
}

func (s *stream) step() error {
	if s.enters {
		s.worker.detach() // there may be many subscriptions
		if err := s.enterNamespace(); err != nil {
			return err
		}
	}
	select {
	case r := <-s.received:
		s.worker.detach() // handling a request may take long
		if err := s.handle(r); err != nil {
			return err
		}
	default:
	}
	return s.flush()
}

// receive receives requests until the call ends. Requests above requestRate or the budget of the client wait in
// HTTP/2 flow control. An acknowledgement is handled without a worker, because each response causes one.
func (s *stream) receive() {
	limiter := rate.NewLimiter(requestRate, requestBurst)
	for {
		r, err := s.receiveOne(limiter)
		if err != nil {
			s.cancel(err)
			return
		}
		if s.changesNothing(r) {
			continue
		}
		select {
		case s.received <- r:
			s.wake(laneRequest)
		case <-s.ctx.Done():
			return
		}
	}
}

// changesNothing reports whether a request only accepts a response. While a worker has the stream,
// that is unknown.
func (s *stream) changesNothing(r discoveryRequest) bool {
	typ, ok := resource.TypeOf(r.GetTypeUrl())
	if !ok || r.GetErrorDetail() != nil || r.GetResponseNonce() == "" || !s.working.TryLock() {
		return false
	}
	defer s.working.Unlock()
	in := &s.types[typ]
	if !in.requested || len(s.received) > 0 {
		return false
	}
	s.noteRead(r.GetResponseNonce())
	if d, ok := r.(*discovery.DeltaDiscoveryRequest); ok {
		return len(d.GetResourceNamesSubscribe()) == 0 && len(d.GetResourceNamesUnsubscribe()) == 0
	}
	return slices.Equal(in.lastNames, r.(*discovery.DiscoveryRequest).GetResourceNames())
}

// noteRead clears unread if the nonce is that of the last response: the client has read it, because
// nonces can't be guessed.
func (s *stream) noteRead(nonce string) { s.unread = s.unread && nonce != s.nonce }

func (s *stream) receiveOne(limiter *rate.Limiter) (r discoveryRequest, err error) {
	var raw precoded.Raw
	if err = s.out.RecvMsg(&raw); err != nil {
		if status.Code(err) == codes.ResourceExhausted {
			s.server.refusedClient(clientlimits.RefusedMessage, s.client.id)
		}
		return nil, err
	}
	if r = new(discovery.DiscoveryRequest); s.variant == variantDelta {
		r = new(discovery.DeltaDiscoveryRequest)
	}
	if err = proto.Unmarshal(raw, r); err != nil {
		return nil, status.Errorf(codes.Internal, "decode the request: %v", err)
	}
	if err = limiter.Wait(s.ctx); err != nil {
		return nil, err
	}
	return r, s.budget.take(s.ctx, len(raw))
}

// handle applies a request to the subscriptions of the stream. The error is a status.
func (s *stream) handle(r discoveryRequest) error {
	if !channel.IsClosed(s.identified) {
		if err := s.identify(r.GetNode()); err != nil {
			return err
		}
		s.changes = s.locate()
		close(s.identified)
	}
	s.noteRead(r.GetResponseNonce())
	typ, ok, err := s.typeOf(r.GetTypeUrl())
	if err != nil || !ok {
		return err
	}
	if detail := r.GetErrorDetail(); detail != nil {
		s.reject(typ, r.GetResponseNonce(), detail.GetMessage())
	}
	s.types[typ].requested = true
	if d, ok := r.(*discovery.DeltaDiscoveryRequest); ok {
		return s.handleDelta(typ, d)
	}
	return s.handleSotW(typ, r.(*discovery.DiscoveryRequest))
}

// typeOf returns the type of a request. ok is false for types that are not served.
func (s *stream) typeOf(url string) (typ resourceType, ok bool, err error) {
	switch url = cmp.Or(url, s.only); {
	case url == "":
		err = status.Error(codes.InvalidArgument, "a request of an aggregated stream needs a type_url")
	case s.only != "" && url != s.only:
		err = status.Errorf(codes.InvalidArgument, "this service has resources of the type %s only", s.only)
	}
	typ, ok = resource.TypeOf(url)
	return typ, ok, err
}

// move updates the place of the client, whose node or pod has changed, and marks its endpoints.
func (s *stream) move() (again placeChanges) {
	s.working.Lock()
	defer s.working.Unlock()
	namespace := s.client.namespace
	s.locatePeer()
	again = s.locate()
	for _, sub := range s.types[endpoints].subscriptions {
		s.wake(laneFew, sub)
	}
	if s.client.namespace != namespace {
		s.enters = true
		s.wake(laneFew)
	}
	return again
}

// close ends all subscriptions, after the current send.
func (s *stream) close() {
	s.cancel(nil)
	s.working.Lock()
	defer s.working.Unlock()
	all, _ := s.all()
	for _, sub := range all {
		s.drop(sub)
	}
	s.leaveListing()
	s.forgetPod()
}
