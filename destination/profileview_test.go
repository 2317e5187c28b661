package destination

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/clientlimits"
	"github.com/signpostd/signpost/testkit/heaptest"
	"github.com/signpostd/signpost/testkit/longtest"
)

// profileSink is a stream that keeps the sent frames. While it is blocked, the next send doesn't return.
type profileSink struct {
	mu      sync.Mutex
	frames  []*mem.BufferSlice
	blocked chan struct{} // closed when sends go on; nil while they may
}

func (s *profileSink) SendMsg(m any) error {
	f := m.(*mem.BufferSlice)
	s.mu.Lock()
	s.frames = append(s.frames, f)
	held := s.blocked
	s.mu.Unlock()
	if held != nil {
		<-held
	}
	return nil
}

func (s *profileSink) sent() []*mem.BufferSlice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frames
}

// profiles decodes the sent frames.
func (s *profileSink) profiles(t *testing.T) []*pb.DestinationProfile {
	t.Helper()
	var list []*pb.DestinationProfile
	for _, f := range s.sent() {
		list = append(list, decodeProfile(t, f))
	}
	return list
}

func decodeProfile(t *testing.T, f *mem.BufferSlice) *pb.DestinationProfile {
	t.Helper()
	p := &pb.DestinationProfile{}
	if err := proto.Unmarshal(f.Materialize(), p); err != nil {
		t.Fatal(err)
	}
	return p
}

// profileFixture has streams without gRPC.
type profileFixture struct {
	*profileServer
	ctx context.Context
	wg  sync.WaitGroup
}

// withProfileFixture runs a test in a synctest bubble. The streams end with the test.
func withProfileFixture(t *testing.T, objects []catalog.Object, test func(*testing.T, *profileFixture)) {
	t.Helper()
	withProfileServer(t, objects, func(t *testing.T, s *profileServer) {
		ctx, cancel := context.WithCancel(t.Context())
		r := &profileFixture{profileServer: s, ctx: ctx}
		defer func() {
			cancel()
			r.wg.Wait()
		}()
		test(t, r)
	})
}

// open starts a stream of a query.
func (r *profileFixture) open(q catalog.ProfileQuery) *profileSink {
	sink := &profileSink{}
	r.wg.Go(func() {
		view := mustAcquire(r.server.profiles.acquire(q, clientlimits.ClientID{}))
		defer r.server.profiles.release(view)
		st := &profileStream{server: r.server, view: view, out: sink}
		r.server.profileStreams.Add(st)
		defer r.server.profileStreams.Remove(st)
		_ = st.run(r.ctx)
	})
	synctest.Wait()
	return sink
}

func queryWeb(port uint16) catalog.ProfileQuery {
	return catalog.ProfileQuery{Cluster: catalog.LocalCluster, Service: profileService("web").Key, Port: port, ClusterDomain: "cluster.local"}
}

func queryIP(ip string, port uint16) catalog.ProfileQuery {
	return catalog.ProfileQuery{Cluster: catalog.LocalCluster, IP: netip.MustParseAddr(ip), Port: port, ClusterDomain: "cluster.local"}
}

// All streams of a query share one view, and get the same bytes.
func TestProfileViewIsShared(t *testing.T) {
	withProfileFixture(t, []catalog.Object{profileService("web")}, func(t *testing.T, r *profileFixture) {
		a, b, other := r.open(queryWeb(80)), r.open(queryWeb(80)), r.open(queryWeb(81))
		if n := r.server.profiles.m.Len(); n != 2 {
			t.Errorf("%d views for two queries", n)
		}
		r.put(profileService("web", withOpaquePorts("80")))
		if len(a.sent()) != 2 || len(b.sent()) != 2 || len(other.sent()) != 1 {
			t.Fatalf("%d, %d and %d messages were sent, want 2, 2 and 1", len(a.sent()), len(b.sent()), len(other.sent()))
		}
		for i, f := range a.sent() {
			if b.sent()[i] != f {
				t.Errorf("message %d was encoded for each stream", i+1)
			}
		}
	})
}

// TestProfileViewsShareDescriptions shows that the fields of a ServiceProfile are encoded once for
// queries from all namespaces, and for all ports unless these are in the fields. A client chooses
// both.
func TestProfileViewsShareDescriptions(t *testing.T) {
	for _, test := range []struct {
		authority string
		want      int
	}{{"other.ns.svc.cluster.local:80", 1}, {"other.ns.svc.cluster.local", 2}} {
		sp := webProfile(catalog.Route{Name: "a", Condition: &catalog.RequestMatch{PathRegex: "/a"}})
		sp.DstOverrides = []catalog.WeightedDst{{Authority: test.authority, MilliWeight: 1}}
		withProfileFixture(t, []catalog.Object{profileService("web", withPorts(80, 81)), sp}, func(t *testing.T, r *profileFixture) {
			shared := map[*byte]bool{}
			for i := range 20 {
				q := queryWeb(80 + uint16(i%2))
				q.ClientNamespace = fmt.Sprint("made-up-", i)
				sink := r.open(q)
				if p := decodeProfile(t, sink.sent()[0]); len(p.GetRoutes()) != 1 || p.GetParentRef().GetResource().GetPort() != uint32(q.Port) {
					t.Errorf("query %d got %v", i, p)
				}
				shared[&(*sink.sent()[0])[1].ReadOnlyData()[0]] = true
			}
			if n := r.server.profiles.descriptions.Len(); n != test.want || len(shared) != test.want {
				t.Errorf("overrides to %s: %d descriptions and %d encodings, want %d", test.authority, n, len(shared), test.want)
			}
		})
	}
}

// A slow reader delays no other stream. When it reads again, it gets the latest profile only, and the
// overflow is counted for the Service or address in the result.
func TestProfileSlowReader(t *testing.T) {
	web := profileService("web", withClusterIPs("10.96.0.1"))
	overflows := map[string]string{
		"profile":  `profile_updates_queue_overflow{fqn="web.ns.svc.cluster.local",port="80"} 1`,
		"endpoint": `endpoint_profile_updates_queue_overflow 1`,
	}
	for name, tc := range map[string]struct {
		query    catalog.ProfileQuery
		overflow string
	}{"by name": {queryWeb(80), "profile"}, "by cluster IP": {queryIP("10.96.0.1", 80), "profile"}, "a pod's IP": {queryIP("10.0.0.1", 80), "endpoint"}} {
		t.Run(name, func(t *testing.T) {
			withProfileFixture(t, []catalog.Object{web, profilePod("a", "10.0.0.1")}, func(t *testing.T, r *profileFixture) {
				quick, slow := r.open(tc.query), r.open(tc.query)
				hold := make(chan struct{})
				slow.mu.Lock()
				slow.blocked = hold
				slow.mu.Unlock()
				// The slow reader is blocked by the first of these.
				for _, list := range []string{"80", "", "80", "", "80"} {
					r.put(profilePod("a", "10.0.0.1", profileAnnotated(list)), profileService("web", withClusterIPs("10.96.0.1"), withOpaquePorts(list)))
				}
				if len(quick.sent()) != 6 || len(slow.sent()) != 2 {
					t.Fatalf("the quick reader got %d messages and the slow one %d, want 6 and 2", len(quick.sent()), len(slow.sent()))
				}
				r.put(profileService("web", withClusterIPs("10.96.0.1")), profilePod("a", "10.0.0.1"))
				slow.mu.Lock()
				slow.blocked = nil
				slow.mu.Unlock()
				close(hold)
				settle()
				got := slow.profiles(t)
				if diff := cmp.Diff(quick.profiles(t)[6:], got[2:], protocmp.Transform()); diff != "" {
					t.Errorf("the slow reader's last messages (-quick +slow):\n%s", diff)
				}
				r.wantMetric(t, overflows[tc.overflow])
			})
		})
	}
}

// wantMetric checks one line of the server's metrics: the only series of a metric, with its value.
func (r *profileFixture) wantMetric(t *testing.T, line string) {
	t.Helper()
	name := line[:strings.IndexAny(line, "{ ")]
	var got []string
	for series, value := range r.metrics() {
		if of, _, _ := strings.Cut(series, "{"); of == name {
			got = append(got, fmt.Sprint(series, " ", value))
		}
	}
	if !slices.Equal(got, []string{line}) {
		t.Errorf("%s, want %s", got, line)
	}
}

// A stream doesn't get the profile that it was sent last again, even if it has missed another one in between
// (T22).
func TestProfileUnchangedIsNotSentAgain(t *testing.T) {
	withProfileFixture(t, []catalog.Object{profileService("web")}, func(t *testing.T, r *profileFixture) {
		quick, slow := r.open(queryWeb(80)), r.open(queryWeb(80))
		hold := make(chan struct{})
		slow.mu.Lock()
		slow.blocked = hold
		slow.mu.Unlock()
		for _, list := range []string{"80", "", "80"} {
			r.put(profileService("web", withOpaquePorts(list)))
		}
		slow.mu.Lock()
		slow.blocked = nil
		slow.mu.Unlock()
		close(hold)
		settle()
		if len(quick.sent()) != 4 || len(slow.sent()) != 2 {
			t.Errorf("sent %d messages to the quick one and %d to the slow one, want 4 and 2", len(quick.sent()), len(slow.sent()))
		}
		r.put(profileService("web"))
		if len(quick.sent()) != 5 || len(slow.sent()) != 3 {
			t.Errorf("then %d and %d, want 5 and 3", len(quick.sent()), len(slow.sent()))
		}
	})
}

// A view whose first response refuses streams may still be used by a stream that starts while the refused one
// ends. That stream gets the empty profile.
func TestProfileEmptyAfterRefusal(t *testing.T) {
	withProfileFixture(t, []catalog.Object{profileService("web", func(s *catalog.Service) { s.ExternalName = true })}, func(t *testing.T, r *profileFixture) {
		view := mustAcquire(r.server.profiles.acquire(queryWeb(80), clientlimits.ClientID{}))
		defer r.server.profiles.release(view)
		if a := view.latest(); a.refusal(queryWeb(80)) == nil || a.frame != nil {
			t.Fatalf("the first response is %+v, want a refusal", a)
		}
		r.put(profileService("web", withPorts()))
		sink := r.open(queryWeb(80))
		if diff := cmp.Diff([]*pb.DestinationProfile{{}}, sink.profiles(t), protocmp.Transform()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The metrics follow the streams, and no series remain (§7.1).
func TestProfileMetrics(t *testing.T) {
	withProfileFixture(t, []catalog.Object{profileService("web", withClusterIPs("10.96.0.1")), profilePod("a", "10.0.0.1"), profileSet()}, func(t *testing.T, r *profileFixture) {
		r.wantMetric(t, "workload_subscribers 0")
		byName := queryWeb(80)
		byName.Hostname = "bare"
		for _, q := range []catalog.ProfileQuery{queryWeb(80), queryWeb(80), queryIP("10.96.0.1", 80), queryIP("10.0.0.1", 80), byName} {
			r.open(q)
		}
		r.put(profileService("web", withClusterIPs("10.96.0.1"), withOpaquePorts("80")))
		// A change without an effect on the profile is no update.
		r.put(profileService("web", withClusterIPs("10.96.0.1"), withOpaquePorts("80,81")), profilePod("a", "10.0.0.1"))
		// The address in conflict belongs to no Service, before and after. The stream of the hostname ends.
		r.put(profilePod("b", "10.0.0.1"))
		r.remove(profileSet())
		for _, line := range []string{
			`profile_subscribers{namespace="ns",profile="web.ns.svc.cluster.local"} 3`,
			`profile_updates{namespace="ns",profile="web.ns.svc.cluster.local"} 2`,
			`service_subscribers{name="web",namespace="ns"} 3`,
			"workload_subscribers 1", "workload_updates 0",
		} {
			r.wantMetric(t, line)
		}
	})
}

// Ended streams leave no views, watched snapshots, goroutines or memory.
func TestProfileViewsLeaveNoState(t *testing.T) {
	withProfileFixture(t, nil, func(t *testing.T, r *profileFixture) {
		const services = 1000
		rounds := longtest.Rounds(100)
		for i := range services {
			r.catalog.Put(profileService(fmt.Sprintf("s%d", i)))
		}
		settle()
		comeAndGo := func() {
			for i := range services {
				q := queryWeb(80)
				q.Service.Name = fmt.Sprintf("s%d", i)
				a := mustAcquire(r.server.profiles.acquire(q, clientlimits.ClientID{}))
				b := mustAcquire(r.server.profiles.acquire(q, clientlimits.ClientID{}))
				if a.latest() != b.latest() {
					t.Fatal("two streams of one query have two responses")
				}
				r.server.profiles.release(a)
				r.server.profiles.release(b)
			}
		}
		comeAndGo()
		before, goroutines := heaptest.InUse(), runtime.NumGoroutine()
		for round := range rounds {
			comeAndGo()
			// Half of the streams see a change while they are open.
			if round%2 == 0 {
				q := queryWeb(80)
				q.Service.Name = "s0"
				view := mustAcquire(r.server.profiles.acquire(q, clientlimits.ClientID{}))
				view.latest()
				r.put(profileService("s0", withOpaquePorts(fmt.Sprint(round))))
				view.latest()
				r.server.profiles.release(view)
			}
		}
		// The number is inexact by the ended goroutines that processors exchange, some dozens.
		if n := runtime.NumGoroutine(); n > goroutines+100 {
			t.Errorf("%d goroutines, before %d", n, goroutines)
		}
		r.expectNoState() // which reads metrics, whose goroutines end a little later
		if after := heaptest.InUse(); after > before+2<<20 {
			t.Errorf("the heap grew from %d to %d bytes", before, after)
		}
	})
}
