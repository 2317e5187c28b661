package witness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/destination"
	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/history/historytest"
	"github.com/signpostd/signpost/dev/lab/network"
)

// server is a server under test.
type server interface {
	Run(ctx context.Context) error
	ServerOptions() []grpc.ServerOption
	Register(r grpc.ServiceRegistrar)
	Listener(l net.Listener) net.Listener
}

// replica is a server of Signpost with a catalog that the test fills.
type replica struct {
	*testing.T
	name, address string
	catalog       *catalog.Catalog
	server        server
	stop          func() error // of serving
}

// newReplica serves the Destination API.
func newReplica(t *testing.T, name string) *replica {
	t.Helper()
	return newReplicaOf(t, name, func(c *catalog.Catalog) server {
		return destination.NewServer(c, destination.Config{TrustDomain: "cluster.local", ClusterDomain: "cluster.local", EnableIPv6: true},
			prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	})
}

func newReplicaOf(t *testing.T, name string, newServer func(*catalog.Catalog) server) *replica {
	t.Helper()
	r := &replica{T: t, name: name, address: "127.0.0.1:0", catalog: catalog.New(catalog.Options{})}
	background(t, r.catalog.Run)
	r.server = newServer(r.catalog)
	background(t, r.server.Run)
	r.service("web")
	r.catalog.MarkSynced()
	<-r.catalog.Synced() // an unsynced xDS server closes connections, and a client takes another replica
	r.serve()
	return r
}

// serve listens, at the same address as before.
func (r *replica) serve() {
	r.Helper()
	listener, err := net.Listen("tcp", r.address)
	if err != nil {
		r.Fatal(err)
	}
	r.address = listener.Addr().String()
	s := grpc.NewServer(r.server.ServerOptions()...)
	r.server.Register(s)
	r.stop = background(r.T, func(ctx context.Context) error {
		defer context.AfterFunc(ctx, s.Stop)()
		if err := s.Serve(r.server.Listener(listener)); !errors.Is(err, grpc.ErrServerStopped) {
			return err
		}
		return nil
	})
}

// die aborts all streams.
func (r *replica) die() {
	r.Helper()
	if err := r.stop(); err != nil {
		r.Error(err)
	}
}

func key(name string) catalog.ServiceKey {
	return catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "lab", Name: name}
}

func (r *replica) service(name string) {
	r.catalog.Put(&catalog.Service{Key: key(name), Ports: []catalog.ServicePort{{Name: "http", Port: 80, Protocol: catalog.TCP}}})
}

// endpoints sets the addresses of all endpoints of the Service web.
func (r *replica) endpoints(ips ...string) {
	s := &catalog.EndpointSlice{Cluster: catalog.LocalCluster, Namespace: "lab", Name: "web-x", Service: key("web"), AddressType: catalog.IPv4}
	subset := catalog.Subset{Ports: []catalog.SubsetPort{{Name: "http", Port: 8080}}}
	for _, ip := range ips {
		subset.Endpoints = append(subset.Endpoints, catalog.SliceEndpoint{Addresses: []netip.Addr{netip.MustParseAddr(ip)}})
	}
	s.Subsets = []catalog.Subset{subset}
	r.catalog.Put(s)
}

func (r *replica) as() Replica { return Replica{r.name, r.address} }

// recorded are the recorded events of clients.
type recorded struct {
	*testing.T
	recorder *history.Recorder
}

// by returns the events of a client.
func (h recorded) by(client int) (all []history.Stream) {
	for _, e := range h.recorder.History().Entries {
		if e.Stream.Client == client {
			all = append(all, *e.Stream)
		}
	}
	return all
}

// await waits until the last event of a client meets a condition, and returns it.
func (h recorded) await(client int, so func(history.Stream) bool) (last history.Stream) {
	h.Helper()
	eventually(h.T, func() string {
		all := h.by(client)
		if len(all) == 0 {
			return "anything"
		}
		if last = all[len(all)-1]; !so(last) {
			return fmt.Sprintf("the last is %+v", last)
		}
		return ""
	})
	return last
}

// awaitAddresses waits until a client knows exactly these addresses.
func (h recorded) awaitAddresses(client int, want ...string) history.Stream {
	h.Helper()
	return h.await(client, func(s history.Stream) bool {
		return s.Event == history.StreamUpdated && slices.Equal(slices.Sorted(maps.Keys(s.Addresses)), want)
	})
}

const (
	target = "web.lab.svc.cluster.local:80"
	token  = `{"ns":"lab","nodeName":"node-1"}`
)

// start runs clients until the test ends.
func (h recorded) start(clients ...Client) *Streams {
	h.Helper()
	s, err := NewStreams(clients, h.recorder)
	if err != nil {
		h.Fatal(err)
	}
	background(h.T, func(ctx context.Context) error {
		s.Run(ctx)
		return nil
	})
	return s
}

// TestStreams shows that each update is recorded with all endpoints that the client then knows, and that a
// client whose stream has ended reconnects, to its replica or the next one.
func TestStreams(t *testing.T) {
	t.Parallel()
	h := recorded{t, historytest.NewRecorder(t)}
	a, b := newReplica(t, "a"), newReplica(t, "b")
	both := func(ips ...string) {
		a.endpoints(ips...)
		b.endpoints(ips...)
	}
	both("10.64.0.1", "10.64.0.2")
	s := h.start(
		Client{Replicas: []Replica{a.as()}, Call: CallGet, Target: target, ContextToken: token, Connection: "proxy"},
		Client{Replicas: []Replica{a.as(), b.as()}, Call: CallGet, Target: target},
		Client{Replicas: []Replica{a.as()}, Call: CallGetProfile, Target: target, ContextToken: token, Connection: "proxy"},
		Client{Replicas: []Replica{a.as()}, Call: CallGet, Target: "nobody.lab.svc.cluster.local:80"},
	)
	if len(s.conns) != 4 {
		t.Errorf("%d connections, want one that two clients share, two of one client to two replicas, and one", len(s.conns))
	}
	first := h.awaitAddresses(0, "10.64.0.1:8080", "10.64.0.2:8080")
	if text := first.Addresses["10.64.0.1:8080"]; !first.Exists || !strings.Contains(text, `"weight":10000`) || !strings.Contains(text, `"namespace":"lab"`) {
		t.Errorf("the first update is %+v", first)
	}
	if first.Call != CallGet || first.Target != target || first.Token != token || first.Replica != "a" {
		t.Errorf("the first update is of another call: %+v", first)
	}
	both("10.64.0.2", "10.64.0.3")
	h.awaitAddresses(1, "10.64.0.2:8080", "10.64.0.3:8080")
	h.awaitAddresses(0, "10.64.0.2:8080", "10.64.0.3:8080")
	profile := h.await(2, func(s history.Stream) bool { return s.Event == history.StreamUpdated })
	if text := string(profile.Profile); !strings.Contains(text, `"fullyQualifiedName":"web.lab.svc.cluster.local"`) {
		t.Errorf("the profile is %s", text)
	}
	h.await(3, func(s history.Stream) bool {
		return s.Event == history.StreamClosed && strings.Contains(s.Problem, "NotFound")
	})
	a.die()
	h.await(0, func(s history.Stream) bool { return s.Event == history.StreamClosed && s.Problem != "" })
	h.await(1, func(s history.Stream) bool { return s.Event == history.StreamUpdated && s.Replica == "b" })
	h.awaitAddresses(1, "10.64.0.2:8080", "10.64.0.3:8080")
	both()
	a.serve()
	empty := h.awaitAddresses(0)
	if !empty.Exists || empty.Replica != "a" || empty.ID == first.ID {
		t.Errorf("without endpoints: %+v", empty)
	}
	h.awaitAddresses(1)
	both("10.64.0.4")
	h.awaitAddresses(0, "10.64.0.4:8080")
	h.consistent(0)
	h.consistent(1)
}

// consistent fails the test if an update doesn't follow from the one before and its difference, or has a
// problem, or if a stream isn't opened first and closed last.
func (h recorded) consistent(client int) {
	h.Helper()
	known := map[int]map[string]string{}
	for i, s := range h.by(client) {
		if _, open := known[s.ID]; open == (s.Event == history.StreamOpened) {
			h.Errorf("%d: %s of a stream that is open: %v", i, s.Event, open)
		}
		switch s.Event {
		case history.StreamOpened:
			known[s.ID] = nil
			continue
		case history.StreamClosed:
			delete(known, s.ID)
			continue
		}
		want := map[string]string{}
		maps.Copy(want, known[s.ID])
		for _, a := range s.Added {
			want[a] = s.Addresses[a]
		}
		for _, a := range s.Removed {
			delete(want, a)
		}
		got := s.Addresses
		if got == nil {
			got = map[string]string{}
		}
		if diff := cmp.Diff(want, got); diff != "" || s.Problem != "" {
			h.Errorf("%d: problem %q (-want +got):\n%s", i, s.Problem, diff)
		}
		known[s.ID] = s.Addresses
	}
}

// TestPause shows that a client that was paused receives the merged difference, not each step.
func TestPause(t *testing.T) {
	t.Parallel()
	h := recorded{t, historytest.NewRecorder(t)}
	r := newReplica(t, "a")
	const crowd, steps = 400, 60
	sets := make([][]string, 2)
	for i := range crowd {
		sets[i%2] = append(sets[i%2], netip.AddrFrom4([4]byte{10, 64, byte(i >> 8), byte(i)}).String())
	}
	addresses := func(i int) (all []string) {
		for _, ip := range sets[i%2] {
			all = append(all, ip+":8080")
		}
		slices.Sort(all)
		return all
	}
	r.endpoints(sets[0]...)
	s := h.start(
		Client{Replicas: []Replica{r.as()}, Call: CallGet, Target: target},
		Client{Replicas: []Replica{r.as()}, Call: CallGet, Target: target},
	)
	h.awaitAddresses(0, addresses(0)...)
	before := h.awaitAddresses(1, addresses(0)...)
	s.Pause(1)
	s.Pause(1)
	read := h.updates(1)
	for i := 1; i <= steps; i++ {
		r.endpoints(sets[i%2]...)
		h.awaitAddresses(0, addresses(i)...)
	}
	if n := h.updates(1) - read; n > 1 {
		t.Errorf("a client that is paused has read %d updates", n)
	}
	r.endpoints("10.64.9.9")
	h.awaitAddresses(0, "10.64.9.9:8080")
	s.Resume(1)
	s.Resume(1)
	after := h.awaitAddresses(1, "10.64.9.9:8080")
	if after.ID != before.ID {
		t.Error("the client that was paused has another stream")
	}
	if slow, fast := h.updates(1), h.updates(0); slow >= fast {
		t.Errorf("the slow client got %d updates, the other %d", slow, fast)
	} else {
		t.Logf("the slow client got %d updates, the other %d", slow, fast)
	}
	h.consistent(0)
	h.consistent(1)
}

func (h recorded) updates(client int) (n int) {
	for _, s := range h.by(client) {
		if s.Event == history.StreamUpdated {
			n++
		}
	}
	return n
}

// TestHalfOpen shows that pings end a dead connection, and that the client then uses another replica.
func TestHalfOpen(t *testing.T) {
	t.Parallel()
	h := recorded{t, historytest.NewRecorder(t)}
	a, b := newReplica(t, "a"), newReplica(t, "b")
	a.endpoints("10.64.0.1")
	b.endpoints("10.64.0.1")
	link, err := network.NewLink(a.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	h.start(Client{Replicas: []Replica{{"a", link.Addr()}, b.as()}, Call: CallGet, Target: target})
	if on := h.awaitAddresses(0, "10.64.0.1:8080").Replica; on != "a" {
		t.Fatalf("the client is at %s", on)
	}
	link.HalfOpen(network.Both)
	h.await(0, func(s history.Stream) bool { return s.Replica == "b" && s.Event == history.StreamUpdated })
	closed := slices.IndexFunc(h.by(0), func(s history.Stream) bool { return s.Event == history.StreamClosed })
	if s := h.by(0)[closed]; !strings.Contains(s.Problem, "keepalive") {
		t.Errorf("the stream was closed for another reason: %s", s.Problem)
	}
}

// TestNewStreams shows that invalid clients are refused.
func TestNewStreams(t *testing.T) {
	for name, c := range map[string]Client{
		"no replicas":        {Call: CallGet, Target: "web.lab.svc.cluster.local:80"},
		"no call":            {Replicas: []Replica{{"a", "127.0.0.1:1"}}, Call: "Got", Target: "web.lab.svc.cluster.local:80"},
		"no target":          {Replicas: []Replica{{"a", "127.0.0.1:1"}}, Call: CallGet},
		"no names":           {Replicas: []Replica{{"a", "127.0.0.1:1"}}, Call: CallEDS},
		"no replicas of xDS": {Call: CallEDS, Names: []string{target}},
		"a target of xDS":    {Replicas: []Replica{{"a", "127.0.0.1:1"}}, Call: CallEDS, Target: target},
		"names of Get":       {Replicas: []Replica{{"a", "127.0.0.1:1"}}, Call: CallGet, Names: []string{target}},
		"another call":       {Replicas: []Replica{{"a", "127.0.0.1:1"}}, Call: "LDS", Names: []string{target}},
	} {
		good := Client{Replicas: []Replica{{"a", "127.0.0.1:1"}}, Call: CallGet, Target: "web.lab.svc.cluster.local:80"}
		if _, err := NewStreams([]Client{good, c}, historytest.NewRecorder(t)); err == nil || !strings.Contains(err.Error(), "client 1") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
