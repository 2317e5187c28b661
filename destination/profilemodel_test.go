package destination

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/clientlimits"
)

var profileSequences = newSequences("TestProfileModel", "profilemodel", 300)

// TestProfileModel plays random object events to a server with several streams of random queries, some of
// which stop reading for a while, and compares the received profiles with a new catalog after each event.
func TestProfileModel(t *testing.T) { profileSequences.play(t, playProfileModel) }

// expectedProfile is the expected response at one time: the encoded profile, or the status with which a new
// stream is refused.
type expectedProfile struct {
	wire    string
	refused codes.Code
	silent  bool // an open stream keeps what it has
	ends    bool // an open stream ends
}

// profileModel is a server and its streams.
type profileModel struct {
	*profileGenerator
	ctx     context.Context
	wg      sync.WaitGroup
	live    *catalog.Catalog
	server  *Server
	clients []*profileModelClient
}

// profileModelClient is one stream.
type profileModelClient struct {
	query  catalog.ProfileQuery
	cancel context.CancelFunc
	pausable

	mu      sync.Mutex
	history []expectedProfile
	floor   int // the state in history that explains the last message, or a later one
	last    *string
	over    bool
	errs    []string
}

// ended checks that the stream ended because its hostname was deleted at some time since the last message.
func (c *profileModelClient) ended(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	if status.Code(err) != codes.NotFound || !slices.ContainsFunc(c.history[c.floor:], func(s expectedProfile) bool { return s.ends }) {
		c.errs = append(c.errs, fmt.Sprintf("ended with %v, though there always was a profile since the last message", err))
	}
}

// SendMsg checks that the message was correct at some time, not before that of the last message, and that it
// differs from the last message.
func (c *profileModelClient) SendMsg(m any) error {
	c.wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	wire := string(m.(*mem.BufferSlice).Materialize())
	if c.last != nil && *c.last == wire {
		c.errs = append(c.errs, "was sent the same twice")
	}
	c.last = &wire
	at := slices.IndexFunc(c.history[c.floor:], func(s expectedProfile) bool { return !s.silent && s.wire == wire })
	if at < 0 {
		c.errs = append(c.errs, "was sent what was not true since the last message: "+profileWords(wire))
		return nil
	}
	c.floor += at
	return nil
}

func profileWords(wire string) string {
	p := &pb.DestinationProfile{}
	if err := proto.Unmarshal([]byte(wire), p); err != nil {
		return err.Error()
	}
	return fmt.Sprint(p)
}

// settled checks that a reading client has the current profile. Afterwards it must get no older one.
func (c *profileModelClient) settled() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := len(c.history) - 1
	want := c.history[now]
	switch {
	case c.over || c.isPaused():
	case want.ends:
		c.errs = append(c.errs, "did not end when its hostname was deleted")
	case want.silent:
	case c.last == nil:
		c.errs = append(c.errs, "got no message")
	case *c.last != want.wire:
		c.errs = append(c.errs, fmt.Sprintf("has %s, want %s", profileWords(*c.last), profileWords(want.wire)))
	default:
		c.floor = now
	}
}

// expected returns the expected response to a query, from a new catalog.
func (m *profileModel) expected(fresh *catalog.Catalog, q catalog.ProfileQuery) expectedProfile {
	s := fresh.Profile(q)
	defer s.Release()
	t := expectedProfile{}
	switch s.Result {
	case catalog.ConflictFound:
		t.refused, t.silent = codes.Unavailable, true
	case catalog.ExternalNameFound:
		t.refused, t.silent = codes.InvalidArgument, true
	case catalog.NothingFound:
		t.refused, t.silent, t.ends = codes.NotFound, q.Hostname != "", q.Hostname != ""
	}
	if !t.silent {
		t.wire = string(encodedProfile(m.server.config, q, s))
	}
	return t
}

var profileModelOptions = catalog.Options{DefaultOpaquePorts: catalog.PortSet{{Low: 3306, High: 3306}}}

// newCatalog returns a catalog with the current objects.
func (m *profileModel) newCatalog() *catalog.Catalog {
	return newCatalog(profileModelOptions, m.objects)
}

func playProfileModel(t *testing.T, seed uint64) {
	m := &profileModel{
		profileGenerator: &profileGenerator{generator{Rand: rand.New(rand.NewPCG(seed, 1)), objects: map[catalog.ID]catalog.Object{}}},
		live:             catalog.New(profileModelOptions),
	}
	m.server = NewServer(m.live, Config{
		ControllerNamespace: "linkerd", TrustDomain: "trust.domain", ClusterDomain: "cluster.local", EnableH2Upgrade: true, ForceOpaqueTransport: m.chance(30),
	}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	m.ctx = ctx
	m.wg.Go(func() { _ = m.live.Run(ctx) })
	for range m.IntN(12) {
		m.put()
	}
	m.settle()
	for range 3 + m.IntN(4) {
		m.open(t)
	}
	for range 3 + m.IntN(30) {
		m.step(t)
	}
	for _, c := range m.clients {
		c.resume()
	}
	m.settle()
	for _, c := range m.clients {
		m.verdict(t, c)
	}
	cancel()
	m.wg.Wait()
	if n := m.server.profiles.m.Len(); n != 0 {
		t.Errorf("%d views are left without a stream", n)
	}
}

// put makes an event before any client is open.
func (m *profileModel) put() {
	id, v := m.event()
	applyEvent(m.live, id, v)
}

// step makes one event, after it has added the expected states to the histories, and lets some time
// pass. Now and then all changes are delivered, and clients connect and disconnect.
func (m *profileModel) step(t *testing.T) {
	id, v := m.event()
	defer spent().check(t, id)
	fresh := m.newCatalog()
	for _, c := range m.clients {
		if m.chance(25) {
			if m.chance(50) {
				c.pause()
			} else {
				c.resume()
			}
		}
		now := m.expected(fresh, c.query)
		c.mu.Lock()
		c.history = append(c.history, now)
		c.mu.Unlock()
	}
	applyEvent(m.live, id, v)
	switch {
	case m.chance(25):
		m.settle()
	case m.chance(60):
		time.Sleep(time.Duration(m.IntN(8)) * time.Millisecond) // virtual time
	}
	if m.chance(10) {
		m.settle()
		m.open(t)
	}
	if len(m.clients) > 1 && m.chance(5) {
		m.verdict(t, m.clients[0])
		m.clients[0].cancel()
		m.clients[0].resume()
		m.clients = m.clients[1:]
	}
}

func (m *profileModel) settle() {
	time.Sleep(time.Second) // virtual time
	synctest.Wait()
	for _, c := range m.clients {
		c.settled()
	}
}

func (m *profileModel) verdict(t *testing.T, c *profileModelClient) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.errs {
		t.Errorf("client of %+v: %s", c.query, e)
	}
}

// open starts a stream of a random query, which is refused if there is no profile. All streams must be idle.
func (m *profileModel) open(t *testing.T) {
	t.Helper()
	c := &profileModelClient{query: m.query()}
	truth := m.expected(m.newCatalog(), c.query)
	c.history = []expectedProfile{truth}
	ctx, cancel := context.WithCancel(m.ctx)
	c.cancel = cancel
	var err error
	m.wg.Go(func() {
		view := mustAcquire(m.server.profiles.acquire(c.query, clientlimits.ClientID{}))
		defer m.server.profiles.release(view)
		err = (&profileStream{server: m.server, view: view, out: c}).run(ctx)
		if err != nil && truth.refused == codes.OK {
			c.ended(err)
		}
	})
	synctest.Wait()
	if truth.refused == codes.OK {
		m.clients = append(m.clients, c)
		c.settled()
		return
	}
	cancel()
	if status.Code(err) != truth.refused || c.last != nil {
		t.Errorf("a new client of %+v: status %v, messages %v; want %s and none", c.query, err, c.last != nil, truth.refused)
	}
}
