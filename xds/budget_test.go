package xds

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	endpointpb "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/testkit/longtest"
)

// marked is a Service whose state has a number: that of its changes, as the hostname of an endpoint, and that
// of its removals, as the hostname of an endpoint that each of them replaces.
type marked struct {
	*catalog.Service
	endpoints         int
	changes, removals []time.Time // when each was made
}

func (m *marked) slice() *catalog.EndpointSlice {
	n := len(m.removals)
	s := slice(m.Service, m.Key.Name, "http", 8080, append(many(m.endpoints), "10.9.0.1", netip.AddrFrom4([4]byte{10, 8, byte(n / 250), byte(1 + n%250)}).String())...)
	of := s.Subsets[0].Endpoints[m.endpoints:]
	of[0].Hostname, of[1].Hostname = fmt.Sprint("change-", len(m.changes)), fmt.Sprint("removal-", n)
	return s
}

// numbersIn returns the numbers of changes and removals in a response.
func numbersIn(r *discovery.DiscoveryResponse) (change, removal int, err error) {
	var a endpointpb.ClusterLoadAssignment
	if err := r.GetResources()[0].UnmarshalTo(&a); err != nil {
		return 0, 0, err
	}
	change, removal = -1, -1
	for _, l := range a.GetEndpoints() {
		for _, e := range l.GetLbEndpoints() {
			name, _, _ := strings.Cut(e.GetEndpoint().GetHostname(), ".")
			for mark, into := range map[string]*int{"change-": &change, "removal-": &removal} {
				if text, is := strings.CutPrefix(name, mark); is {
					if *into, err = strconv.Atoi(text); err != nil {
						return 0, 0, err
					}
				}
			}
		}
	}
	return change, removal, nil
}

// follower is a stream for the endpoints of a marked Service.
type follower struct {
	of   *marked
	mu   *sync.Mutex // guards what the Service has, too
	size *atomic.Int64
	// known are the numbers of the last response, and responses how many came.
	change, removal, responses int
	// staleness is the longest time from a change to a response that has it, removed that from a removal.
	staleness, removed time.Duration
	wrong              string
}

// follow subscribes, and acknowledges each response until the stream ends.
func (w *follower) follow(ctx context.Context, conn *grpc.ClientConn, cluster string) {
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	r := &discovery.DiscoveryRequest{Node: node("gRPC Go", nil), TypeUrl: endpoints.URL(), ResourceNames: []string{cluster}}
	for err == nil {
		if err = stream.Send(r); err != nil {
			break
		}
		var got *discovery.DiscoveryResponse
		if got, err = stream.Recv(); err == nil {
			w.size.Add(int64(proto.Size(got)))
			w.receive(got)
			r = &discovery.DiscoveryRequest{TypeUrl: endpoints.URL(), ResourceNames: []string{cluster}, ResponseNonce: got.GetNonce(), VersionInfo: got.GetVersionInfo()}
		}
	}
	if ctx.Err() == nil {
		w.wrong = err.Error()
	}
}

func (w *follower) receive(got *discovery.DiscoveryResponse) {
	change, removal, err := numbersIn(got)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err != nil:
		w.wrong = err.Error()
		return
	case change < w.change || removal < w.removal:
		w.wrong = fmt.Sprintf("change %d and removal %d come after %d and %d", change, removal, w.change, w.removal)
		return
	}
	if w.responses++; w.responses > 1 {
		if change > w.change {
			w.staleness = max(w.staleness, time.Since(w.of.changes[w.change]))
		}
		if removal > w.removal {
			w.removed = max(w.removed, time.Since(w.of.removals[w.removal]))
		}
	}
	w.change, w.removal = change, removal
}

// Case 57: 1,000 streams (200 with -short, and a fifth of the budget) of a Service that changes 50
// times a second get what the budget allows: no stream goes back to an older state, or lacks the
// last one in the end. Removals are faster, and changes of another Service don't wait. dev/bench
// measures this with 5,000 endpoints (make bench ONLY=xds:budget).
func TestEgressBudget(t *testing.T) {
	const (
		perConnection          = 20
		rate                   = 50 // changes a second
		changing, removing     = 8 * time.Second, 4 * time.Second
		staleness, removedTime = 2200 * time.Millisecond, 700 * time.Millisecond
		otherTime              = 5 * time.Millisecond
	)
	streams := longtest.Rounds(1000)
	budget := int64(streams) << 10
	synctest.Test(t, func(t *testing.T) {
		web := &marked{Service: service("shop", "web", "http:80"), endpoints: 25}
		other := &marked{Service: service("shop", "other", "http:80"), endpoints: 2}
		f := start(t, Config{EgressBudget: int(budget)}, web.Service, web.slice(), other.Service, other.slice())
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		var size, sizeOfOther atomic.Int64
		var running sync.WaitGroup
		var all []*follower
		var conn *grpc.ClientConn
		for i := range streams {
			if i%perConnection == 0 {
				conn = f.connect()
				defer conn.Close()
			}
			w, on := &follower{of: web, mu: &mu, size: &size}, conn
			all = append(all, w)
			running.Go(func() { w.follow(ctx, on, httpCluster) })
		}
		canary := &follower{of: other, mu: &mu, size: &sizeOfOther}
		running.Go(func() { canary.follow(ctx, f.conn, "other.shop.svc.cluster.local:80") })
		f.rest()

		// play changes both Services for a time, with removals so often.
		play := func(d, removals time.Duration) {
			removed := time.Now()
			for begun := time.Now(); time.Since(begun) < d; time.Sleep(time.Second / rate) {
				mu.Lock()
				web.changes = append(web.changes, time.Now())
				if time.Since(removed) >= removals {
					removed = time.Now()
					web.removals = append(web.removals, removed)
				}
				if len(web.changes)%10 == 0 {
					other.changes = append(other.changes, time.Now())
				}
				changed, changedOther := web.slice(), other.slice()
				mu.Unlock()
				f.catalog.Put(changed)
				f.catalog.Put(changedOther)
			}
		}
		oneEach := size.Swap(0)
		play(changing, time.Hour)
		// The first change is sent at once. The budget is for resources, to which each response adds its
		// version and its type.
		if got, most := size.Load(), oneEach+budget*11/10*int64(changing/time.Second); got > most || got < most/2 {
			t.Errorf("%d bytes in %v, want %d at most and not less than half of that", got, changing, most)
		}
		play(removing, 1500*time.Millisecond)
		time.Sleep(maxDelay)
		f.rest()
		stop()
		running.Wait()

		worst := follower{}
		for i, w := range append(all, canary) {
			if w.wrong != "" || w.change != len(w.of.changes) || w.removal != len(w.of.removals) {
				t.Fatalf("stream %d: it has change %d of %d and removal %d of %d: %s", i, w.change, len(w.of.changes), w.removal, len(w.of.removals), w.wrong)
			}
			if w != canary {
				worst.staleness, worst.removed = max(worst.staleness, w.staleness), max(worst.removed, w.removed)
			}
		}
		if worst.staleness > staleness || worst.removed > removedTime || len(web.removals) == 0 {
			t.Errorf("changes take %v, want %v at most; %d removals %v, want %v", worst.staleness, staleness, len(web.removals), worst.removed, removedTime)
		}
		if canary.staleness > otherTime {
			t.Errorf("changes of another Service take %v, want %v at most", canary.staleness, otherTime)
		}
	})
}

// A change that the budget delays is rendered when it is sent. Changes before that are only rendered
// to find removals, each maxUrgentDelay.
func TestDelayedChangesAreNotRendered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := &marked{Service: service("shop", "web", "http:80"), endpoints: 25}
		f := start(t, Config{EgressBudget: 1}, web.Service, web.slice())
		f.ads().send(endpoints, httpCluster)
		var v *view
		f.server.topics.Each(func(topic *topic) {
			for _, v = range topic.views {
			}
		})
		rendered := map[*frame]bool{v.latest: true}
		const changes, interval = 40, 20 * time.Millisecond
		for range changes {
			web.changes = append(web.changes, time.Now())
			f.catalog.Put(web.slice())
			time.Sleep(interval)
			synctest.Wait()
			rendered[v.latest] = true
		}
		if n, most := len(rendered)-1, int(changes*interval/maxUrgentDelay); n > most {
			t.Errorf("%d changes were rendered %d times, want %d at most", changes, n, most)
		}
	})
}
