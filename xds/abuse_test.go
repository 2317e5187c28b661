package xds

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/testkit/longtest"
)

type adsStream = grpc.BidiStreamingClient[discovery.DiscoveryRequest, discovery.DiscoveryResponse]

// attack sends hostile requests on a stream. It returns when the stream has ended, or another one
// is needed.
type attack func(adsStream)

// attacks are the hostile clients of case 59. Each is repeated on a new stream when it returns.
var attacks = map[string]attack{
	"too many names": func(s adsStream) {
		if s.Send(&discovery.DiscoveryRequest{TypeUrl: clusters.URL(), ResourceNames: names(20_001)}) == nil {
			_, _ = s.Recv()
		}
	},
	"many names that don't exist": func(s adsStream) {
		if s.Send(&discovery.DiscoveryRequest{TypeUrl: clusters.URL(), ResourceNames: names(2_000)}) == nil {
			_, _ = s.Recv()
		}
	},
	"other names each time": func(s adsStream) {
		for n, err := 0, error(nil); err == nil; n++ {
			var list []string
			for i := range 1_000 {
				list = append(list, fmt.Sprintf("s%d-%d.shop:80", n, i))
			}
			err = s.Send(&discovery.DiscoveryRequest{Node: envoyIn("shop"), TypeUrl: clusters.URL(), ResourceNames: list})
		}
	},
	"rejections of many subscriptions": func(s adsStream) {
		list := names(5_000)
		if s.Send(&discovery.DiscoveryRequest{Node: envoyIn("shop"), TypeUrl: clusters.URL(), ResourceNames: list}) != nil {
			return
		}
		for n, err := uint64(1), error(nil); err == nil; n++ {
			err = s.Send(&discovery.DiscoveryRequest{TypeUrl: clusters.URL(), ResourceNames: list[:1], ResponseNonce: fmt.Sprint(n), ErrorDetail: &rpcstatus.Status{Code: 3}})
		}
	},
	"messages of 4 MiB": func(s adsStream) {
		if s.Send(&discovery.DiscoveryRequest{TypeUrl: clusters.URL(), VersionInfo: strings.Repeat("x", 4<<20)}) == nil {
			_, _ = s.Recv()
		}
	},
	"names with control bytes": func(s adsStream) {
		if s.Send(&discovery.DiscoveryRequest{TypeUrl: listeners.URL(), ResourceNames: []string{"\x1b[2J\n.shop:80"}, Node: node("gRPC \x1b[2J\n", nil)}) == nil {
			_, _ = s.Recv()
		}
	},
	"rejections in a loop": func(s adsStream) {
		if s.Send(&discovery.DiscoveryRequest{TypeUrl: endpoints.URL(), ResourceNames: []string{httpCluster}}) != nil {
			return
		}
		r, err := s.Recv()
		for err == nil {
			err = s.Send(&discovery.DiscoveryRequest{
				TypeUrl: endpoints.URL(), ResourceNames: []string{httpCluster}, ResponseNonce: r.GetNonce(),
				ErrorDetail: &rpcstatus.Status{Code: 3, Message: strings.Repeat("bad\n", 10_000)},
			})
		}
	},
	"subscriptions in a loop": func(s adsStream) {
		for err := error(nil); err == nil; {
			for _, list := range [][]string{{httpCluster}, nil} {
				if err == nil {
					err = s.Send(&discovery.DiscoveryRequest{TypeUrl: endpoints.URL(), ResourceNames: list})
				}
			}
		}
	},
	"wildcards in a loop": func(s adsStream) {
		for err := error(nil); err == nil; {
			for _, list := range [][]string{{wildcard, "x.shop:80"}, {"x.shop:80"}, {wildcard}} {
				if err == nil {
					err = s.Send(&discovery.DiscoveryRequest{Node: envoyIn("*"), TypeUrl: clusters.URL(), ResourceNames: list})
				}
			}
		}
	},
	"wildcards with many namespaces": func(s adsStream) {
		if s.Send(&discovery.DiscoveryRequest{Node: envoyIn(strings.Repeat("n,", 10_000)), TypeUrl: clusters.URL()}) == nil {
			_, _ = s.Recv()
		}
	},
	"rejected wildcards": func(s adsStream) {
		if s.Send(&discovery.DiscoveryRequest{Node: envoyIn("*"), TypeUrl: clusters.URL()}) != nil {
			return
		}
		r, err := s.Recv()
		for err == nil {
			err = s.Send(&discovery.DiscoveryRequest{
				TypeUrl: clusters.URL(), ResponseNonce: r.GetNonce(), ErrorDetail: &rpcstatus.Status{Code: 3, Message: strings.Repeat("bad ", 100_000)},
			})
		}
	},
	"a stream that doesn't read": func(s adsStream) {
		for i := 0; s.Send(&discovery.DiscoveryRequest{TypeUrl: endpoints.URL(), ResourceNames: []string{httpCluster, fmt.Sprintf("s%d.shop:80", i)}}) == nil; i++ {
		}
	},
	"streams without requests": func(s adsStream) {
		_, _ = s.Recv()
	},
}

// Case 59: while clients attack, the stream of another client gets each change, and is never ended.
// Afterwards nothing of the attack is left. The log of the test has the delays: go test -run
// TestAbuse -v.
func TestAbuse(t *testing.T) {
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			w := startGRPCFixture(t)
			web := service("shop", "web", "http:80")
			w.catalog.Put(web)
			w.catalog.Put(slice(web, "web", "http", 8080, many(200)...))
			canary := w.canary(service("shop", "canary", "http:80"))
			calm := canary.sing(longtest.Rounds(10))
			ctx, stop := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			for range longtest.Rounds(attackers) {
				w.attack(ctx, &wg, attack)
			}
			attacked := canary.sing(longtest.Rounds(25))
			stop()
			wg.Wait()
			t.Logf("p50, p99 of the others without the attack: %v, %v; with it: %v, %v", calm[len(calm)/2], calm[len(calm)-1], attacked[len(attacked)/2], attacked[len(attacked)-1])
			waitFor(t, "nothing is left of the attack", func() bool {
				open, _ := w.server.CountStreams(0)
				return open == 1 && w.server.topics.Len() == 1
			})
			if n := len(w.server.rejections.seen); n > maxRejections {
				t.Errorf("%d rejections are remembered", n)
			}
		})
	}
}

// attackers is how many connections attack (two with -short), and each has streamsOfAttacker streams.
const attackers, streamsOfAttacker = 3, 20

// attack makes one more client attack the server until the context ends.
func (w *grpcFixture) attack(ctx context.Context, wg *sync.WaitGroup, a attack) {
	conn := w.connect()
	for range streamsOfAttacker {
		wg.Go(func() {
			for ctx.Err() == nil {
				ofStream, end := context.WithCancel(ctx)
				if stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ofStream); err == nil {
					a(stream)
				}
				end()
			}
		})
	}
}

// connect returns a connection to the xDS server, which is one client: those from this host aren't
// joined.
func (w *grpcFixture) connect() *grpc.ClientConn {
	w.t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+w.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// canary is a client of a Service that changes.
type canary struct {
	t       testing.TB
	catalog *catalog.Catalog
	service *catalog.Service
	stream  adsStream
	n       int
}

func (w *grpcFixture) canary(of *catalog.Service) *canary {
	w.t.Helper()
	w.catalog.Put(of)
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(w.connect()).StreamAggregatedResources(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	c := &canary{t: w.t, catalog: w.catalog, service: of, stream: stream}
	name := of.Key.Name + ".shop.svc.cluster.local:80"
	if err := stream.Send(&discovery.DiscoveryRequest{Node: node(pythonAgent, nil), TypeUrl: endpoints.URL(), ResourceNames: []string{name}}); err != nil {
		w.t.Fatal(err)
	}
	c.next()
	return c
}

// next returns the next response.
func (c *canary) next() []string {
	c.t.Helper()
	r, err := c.stream.Recv()
	if err != nil {
		c.t.Fatalf("the stream of another client has ended: %v", err)
	}
	return addressesIn(c.t, r.GetResources()[0])
}

// sing changes the Service some times and returns how long each change took to arrive, sorted.
func (c *canary) sing(times int) []time.Duration {
	c.t.Helper()
	var took []time.Duration
	for range times {
		c.n++
		address := netip.AddrFrom4([4]byte{10, 200, byte(c.n / 250), byte(c.n%250 + 1)}).String()
		begun := time.Now()
		c.catalog.Put(slice(c.service, "canary", "http", 8080, address))
		for got := c.next(); !slices.Equal(got, []string{address + ":8080"}); {
			got = c.next()
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	return took
}
