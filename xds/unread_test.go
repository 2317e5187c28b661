package xds

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/signpostd/signpost/internal/clientlimits"
	"github.com/signpostd/signpost/testkit/heaptest"
	"github.com/signpostd/signpost/testkit/unreadtest"
)

// A client opens a stream after each change of a Service, and reads none. Each stream holds endpoints of its
// own, until its connection is closed.
func TestUnreadResponses(t *testing.T) {
	const streams, limit = 40, 1 << 20
	names := []string{httpCluster}
	for method, request := range map[string]proto.Message{
		"StreamAggregatedResources": &discovery.DiscoveryRequest{TypeUrl: endpoints.URL(), ResourceNames: names},
		"DeltaAggregatedResources":  &discovery.DeltaDiscoveryRequest{TypeUrl: endpoints.URL(), ResourceNamesSubscribe: names},
	} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				web := service("shop", "web", "http:80")
				f := start(t, Config{Limits: clientlimits.Limits{MaxResponseBytesPerClient: limit}}, web)
				dial := func() *unreadtest.Client {
					conn, err := f.listener.DialContext(context.Background())
					if err != nil {
						t.Fatal(err)
					}
					return unreadtest.Dial(t, conn)
				}
				attacker := dial()
				before, closed := int(heaptest.InUse()), 0
				for i := range streams {
					var addresses []string
					for n := range 2000 {
						addresses = append(addresses, fmt.Sprintf("10.%d.%d.%d", i, n/250, n%250))
					}
					f.catalog.Put(slice(web, "s", "http", 8080, addresses...))
					f.rest()
					if attacker.IsClosed() {
						attacker = dial()
						closed++
					}
					attacker.Open("/envoy.service.discovery.v3.AggregatedDiscoveryService/"+method, request)
					time.Sleep(20 * time.Second) // virtual time
				}
				if grown := int(heaptest.InUse()) - before; grown > 3*limit {
					t.Errorf("the heap has grown by %d kB", grown>>10)
				}
				if closed == 0 {
					t.Error("no connection was closed")
				}
				if n := f.metric("xds_unread_bytes"); n <= 0 || n > limit {
					t.Errorf("xds_unread_bytes is %v, and the limit %d", n, limit)
				}
			})
		})
	}
}

// A stream that the client has closed at its end is open until its responses are sent, also small ones. The
// limit of streams of a host covers it.
func TestUnreadResponsesOfClosedStreams(t *testing.T) {
	const limit, streams = 10, 50
	method := "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{Limits: clientlimits.Limits{MaxConcurrentStreamsPerHost: limit}}, service("shop", "web", "http:80"))
		dial := func() *unreadtest.Client {
			conn, err := f.listener.DialContext(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			return unreadtest.Dial(t, conn)
		}
		for range 2 {
			refused := f.metric(`xds_refused_total{reason="concurrent_streams_per_host"}`)
			attacker := dial()
			for range streams {
				attacker.Open(method, &discovery.DiscoveryRequest{TypeUrl: endpoints.URL(), ResourceNames: []string{httpCluster}})
				f.rest()
				attacker.CloseSend()
				f.rest()
			}
			if n := f.metric(`xds_refused_total{reason="concurrent_streams_per_host"}`) - refused; n != streams-limit {
				t.Errorf("%v of %d streams were refused, want %d", n, streams, streams-limit)
			}
			attacker.Close() // frees all of them
			f.rest()
		}
	})
}
