package xds

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/clientlimits"
)

// stream is one open call of either variant. The goroutine of its handler owns it, except what says otherwise.
type stream struct {
	id      uint64
	opened  time.Time
	server  *Server
	ctx     context.Context
	out     grpc.ServerStream
	variant string
	only    *resourceType // the type of all requests; nil for any

	// client doesn't change once identified is set.
	client     client
	identified atomic.Bool
	place      catalog.Client
	moved      <-chan struct{} // nil until the first request
	types      [resourceTypes]interest
	names      int // subscriptions of all types by name
	nonce      uint64
	resender   *resender // nil until the stream unsubscribes from something

	// covered has the Clusters of a wildcard, nil without one. listing is those that the stream is subscribed to, which
	// anybody may read; stale closes when they change, and users is how many streams share them.
	covered *sharedListing
	listing atomic.Pointer[listing]
	stale   <-chan struct{}
	users   int
	// held is until when all but endpoints wait (§6.10), and later fires then; nil while nothing waits.
	held  time.Time
	later <-chan time.Time

	received chan request
	failed   error // why receiving ended; set before received is closed
	// handled counts the requests from received that were handled. asked has the names of the last one of each type
	// that counted, nil before there is one. The goroutine that receives reads both.
	handled atomic.Uint64
	asked   [resourceTypes]atomic.Pointer[[]string]

	// wake holds a token while dirty has something.
	wake chan struct{}
	mu   sync.Mutex
	// dirty are the subscriptions whose view has changed, and perhaps some that have ended. ahead is true if one of them
	// isn't for endpoints. mu guards both, and the maps of interests for those who don't own the stream.
	dirty []*subscription
	ahead bool
	progress
	// responses counts what was sent.
	responses atomic.Uint64
}

// request is a request of one of the variants.
type request struct {
	sotw  *discovery.DiscoveryRequest
	delta *discovery.DeltaDiscoveryRequest
}

// interest is what a stream wants of one type.
type interest struct {
	subscriptions map[string]*subscription
	// named is true once a resource was named: an empty list of names is a wildcard only before.
	named, wildcard bool
	// owed is true when a wildcard has to be answered, also if it has no resources.
	owed bool
	// has is the version of all resources that a client has from an earlier stream, and lost are the names of those that
	// a delta client has and that don't exist.
	has  string
	lost []string
	// names counts the subscriptions by name.
	names int
	// nonce is that of the last response, and rejected the last one that was rejected.
	nonce, rejected uint64
	// again is true once a resource was unsubscribed from, so that new subscriptions may be old ones.
	again bool
}

// subscription is the interest of a stream in one resource.
type subscription struct {
	stream *stream
	typ    resourceType
	name   string
	topic  *topic
	// named is true if the client has named the resource, and listed if a wildcard covers it.
	named, listed bool
	// dirty is true while the stream's list of that name has the subscription. Its mu guards this.
	dirty bool
	view  *view
	// sent is the version that the client has been sent, and resend that it is to be sent whatever it has.
	sent   string
	resend bool
	// rejected are the versions that the client has rejected last: the newest first, "" for none. There are two,
	// because after a resource its plain variant may be rejected, too.
	rejected [2]string
	// refused is true while the client has rejected what it was sent last. Anybody may read it.
	refused atomic.Bool
	// removed is true when a delta client knows that the resource is missing.
	removed bool
	// nonce is that of the last response with the resource.
	nonce uint64
	again bool
}

func (s *Server) newStream(out grpc.ServerStream, variant string, only *resourceType) *stream {
	return &stream{
		id: s.opened.Add(1), opened: time.Now(), server: s, ctx: out.Context(), out: out, variant: variant, only: only,
		client: clientFrom(out.Context()), received: make(chan request), wake: make(chan struct{}, 1),
	}
}

// run serves the stream until it ends. The error is its status.
func (s *stream) run() error {
	go s.receive()
	if err := s.first(); err != nil || !s.identified.Load() {
		return err
	}
	for {
		if err := s.flush(); err != nil {
			return s.endOf(err)
		}
		select {
		case r, ok := <-s.received:
			if !ok {
				return s.endOf(s.failed)
			}
			if err := s.handle(r); err != nil {
				return err
			}
		case <-s.wake:
		case <-s.stale:
			s.stale = nil // until the next listing
		case <-s.later:
			s.later = nil
		case <-s.moved:
			s.move()
		case <-s.server.stopping:
			return nil
		case <-s.ctx.Done():
			return nil
		}
	}
}

var errSlowRequest = status.Error(codes.DeadlineExceeded, "the request did not arrive in time")

// first waits for the first request and handles it. A stream without one costs as much as one with an answer, so a
// client may have only so many of them, for so long. It returns nil if the stream has ended.
func (s *stream) first() error {
	if err := s.server.clients.BeginRequest(s.client.id); err != nil {
		return err
	}
	limit := time.NewTimer(s.server.config.Limits.RequestTimeout)
	defer limit.Stop()
	var r request
	var err error
	select {
	case first, ok := <-s.received:
		if r = first; !ok {
			err = s.endOf(s.failed)
		}
	case <-limit.C:
		s.server.refused(clientlimits.RefusedSlow)
		err = errSlowRequest
	case <-s.server.stopping:
	}
	s.server.clients.EndRequest(s.client.id)
	if err != nil || r == (request{}) {
		return err
	}
	err = s.identify(r.node())
	s.identified.Store(true)
	if err != nil {
		return err
	}
	s.locate()
	return s.handle(r)
}

// receive receives requests until the call ends, not more than requestRate a second. The requests after wait in the
// flow control of the client. A request that changes nothing goes no further: each response has one.
func (s *stream) receive() {
	defer s.server.running.Done()
	defer close(s.received)
	limiter := rate.NewLimiter(requestRate, requestBurst)
	passed := uint64(0)
	for {
		r, err := s.receiveOne()
		if err == nil {
			err = limiter.Wait(s.ctx)
		}
		if err != nil {
			s.failed = err
			return
		}
		if s.handled.Load() == passed && s.changesNothing(r) {
			continue
		}
		passed++
		select {
		case s.received <- r:
		case <-s.ctx.Done():
			s.failed = s.ctx.Err()
			return
		}
	}
}

// changesNothing reports whether a request only says that the client has accepted a response. All requests before it
// have been handled.
func (s *stream) changesNothing(r request) bool {
	typ, ok := typeOf(r.typeURL())
	if !ok {
		return false
	}
	before := s.asked[typ].Load()
	if before == nil {
		return false
	}
	if d := r.delta; d != nil {
		return d.GetErrorDetail() == nil && d.GetResponseNonce() != "" && len(d.GetResourceNamesSubscribe()) == 0 && len(d.GetResourceNamesUnsubscribe()) == 0
	}
	return r.sotw.GetErrorDetail() == nil && r.sotw.GetResponseNonce() != "" && slices.Equal(*before, r.sotw.GetResourceNames())
}

func (s *stream) receiveOne() (r request, err error) {
	if s.variant == variantDelta {
		r.delta = new(discovery.DeltaDiscoveryRequest)
		err = s.out.RecvMsg(r.delta)
	} else {
		r.sotw = new(discovery.DiscoveryRequest)
		err = s.out.RecvMsg(r.sotw)
	}
	if status.Code(err) == codes.ResourceExhausted {
		s.server.refused(clientlimits.RefusedMessage)
	}
	return r, err
}

// endOf returns the status of a stream that has ended with an error. A client that leaves is no error.
func (s *stream) endOf(err error) error {
	if s.ctx.Err() != nil || errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// handle changes what the stream is subscribed to. The error is a status.
func (s *stream) handle(r request) error {
	defer s.handled.Add(1)
	typ, ok, err := s.typeOf(r.typeURL())
	if err != nil || !ok {
		return err
	}
	if r.delta != nil {
		return s.handleDelta(typ, r.delta)
	}
	return s.handleSotW(typ, r.sotw)
}

// typeOf returns the type of a request. It is not ok for types that are not served, which have no resources.
func (s *stream) typeOf(url string) (typ resourceType, ok bool, err error) {
	if s.only != nil && url == "" {
		return *s.only, true, nil
	}
	if url == "" {
		return 0, false, status.Error(codes.InvalidArgument, "a request of an aggregated stream needs a type_url")
	}
	typ, ok = typeOf(url)
	if s.only != nil && typ != *s.only {
		return 0, false, status.Errorf(codes.InvalidArgument, "this service has resources of the type %s only", s.only.url())
	}
	return typ, ok, nil
}

// name subscribes to a resource by its name, which was checked. The error is a status.
func (s *stream) name(typ resourceType, name string) (sub *subscription, err error) {
	if sub = s.types[typ].subscriptions[name]; sub == nil {
		if sub, err = s.subscribe(typ, name); err != nil {
			return nil, err
		}
	}
	if !sub.named {
		sub.named = true
		s.types[typ].names++
		s.names++
	}
	return sub, nil
}

// unname ends what name began. A wildcard may still cover the resource.
func (s *stream) unname(sub *subscription) {
	if sub.named {
		sub.named = false
		s.types[sub.typ].names--
		s.names--
	}
	if !sub.listed {
		s.unsubscribe(sub)
	}
}

// subscribe subscribes to a resource that the stream is not subscribed to. The error is a status.
func (s *stream) subscribe(typ resourceType, name string) (*subscription, error) {
	t, err := s.server.topics.acquire(newQuestion(typ, name, s.client.namespace), s.client.id)
	if err != nil {
		return nil, err
	}
	in := &s.types[typ]
	sub := &subscription{stream: s, typ: typ, name: name, topic: t, again: in.again}
	t.join(sub, s.place)
	s.mu.Lock()
	defer s.mu.Unlock()
	if in.subscriptions == nil {
		in.subscriptions = map[string]*subscription{}
	}
	in.subscriptions[name] = sub
	s.addDirty(sub)
	return sub, nil
}

// unsubscribe ends a subscription because the client wants that: what it subscribes to next may be sent again.
func (s *stream) unsubscribe(sub *subscription) {
	s.drop(sub)
	s.types[sub.typ].again = true
	s.joinResender()
}

func (s *stream) joinResender() {
	if s.resender == nil {
		s.resender = s.server.resenders.join(s.client.id)
	}
}

// drop ends a subscription.
func (s *stream) drop(sub *subscription) {
	s.mu.Lock()
	delete(s.types[sub.typ].subscriptions, sub.name)
	s.mu.Unlock()
	sub.topic.leave(sub)
	s.server.topics.release(sub.topic)
}

// mark makes the next flush consider a subscription. It may be called from any goroutine.
func (s *stream) mark(sub *subscription) {
	s.mu.Lock()
	s.addDirty(sub)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// addDirty makes the next flush consider a subscription. The caller holds mu.
func (s *stream) addDirty(sub *subscription) {
	s.ahead = s.ahead || sub.typ != endpoints
	if !sub.dirty {
		sub.dirty = true
		s.dirty = append(s.dirty, sub)
	}
}

// move makes the subscriptions follow the client, whose node has changed.
func (s *stream) move() {
	s.locate()
	for _, sub := range s.types[endpoints].subscriptions {
		s.mark(sub)
	}
}

// close gives back what the stream holds.
func (s *stream) close() {
	for typ := range s.types {
		for _, sub := range s.types[typ].subscriptions {
			s.drop(sub)
		}
	}
	s.leaveListing()
	if s.resender != nil {
		s.server.resenders.leave(s.client.id)
	}
}

func (r request) typeURL() string {
	if r.delta != nil {
		return r.delta.GetTypeUrl()
	}
	return r.sotw.GetTypeUrl()
}
