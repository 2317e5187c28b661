package xds

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/xds/resource"
)

// request makes requests.
type request struct{}

// listener returns the first request of a client with this user agent.
func (request) listener(agent, name string) *discovery.DiscoveryRequest {
	return &discovery.DiscoveryRequest{Node: node(agent, nil), TypeUrl: listeners.URL(), ResourceNames: []string{name}}
}

// Cases 11 and 12: a change is one response of one type, and what changes nothing is none.
func TestOneResponsePerChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, objects := shop()
		f := start(t, Config{}, objects...)
		a := f.ads()
		a.listener(t, "web.shop:80")
		a.send(clusters, httpCluster)
		a.send(endpoints, httpCluster)
		a.take()
		f.change(put(slice(web, "web-http", "http", 8080, "10.0.0.1", "10.0.0.2", "10.0.0.3")))
		if got := addressesIn(t, a.one(endpoints).GetResources()[0]); len(got) != 3 {
			t.Errorf("endpoints %s", got)
		}
		f.change(put(slice(web, "web-http", "http", 8080, "10.0.0.3", "10.0.0.2", "10.0.0.1")))
		a.none("the endpoints in another order")
		f.change(put(slice(web, "web-http", "http", 8080, "10.0.0.1"), slice(web, "web-more", "http", 8080, "10.0.0.2", "10.0.0.3")))
		a.none("a slice is split")
		f.change(put(slice(web, "web-grpc", "grpc", 50051, "10.0.0.1")))
		a.none("another port changes")
		f.change(put(service("shop", "other", "http:80")))
		a.none("another Service changes")
	})
}

// Case 13: all slices of a Service are in one ClusterLoadAssignment.
func TestManySlices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := service("shop", "web", "http:80")
		objects := put(web)
		for i := range 4 {
			var addresses []string
			for k := range 75 {
				addresses = append(addresses, fmt.Sprintf("10.0.%d.%d", i, k+1))
			}
			objects = append(objects, slice(web, fmt.Sprint("s", i), "http", 8080, addresses...))
		}
		f := start(t, Config{}, objects...)
		a := f.ads()
		a.send(endpoints, httpCluster)
		if got := addressesIn(t, a.one(endpoints).GetResources()[0]); len(got) != 300 {
			t.Errorf("%d endpoints, want 300", len(got))
		}
	})
}

// Case 18: a Service without endpoints has an empty ClusterLoadAssignment, at once.
func TestScaledToZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, objects := shop()
		f := start(t, Config{}, objects...)
		a := f.ads()
		a.send(endpoints, httpCluster)
		a.take()
		f.change(put(slice(web, "web-http", "http", 8080)))
		if got := addressesIn(t, a.one(endpoints).GetResources()[0]); len(got) != 0 {
			t.Errorf("endpoints %s", got)
		}
	})
}

// Case 40: what is subscribed to again is sent again, although it hasn't changed.
func TestSubscribeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, objects := shop()
		f := start(t, Config{}, objects...)
		a := f.ads()
		for _, typ := range []resourceType{clusters, endpoints} {
			a.send(typ, httpCluster)
			a.one(typ)
			a.ack(typ, httpCluster)
			a.none("an ACK")
			a.ack(typ)
			a.none("unsubscribing")
			a.ack(typ, httpCluster)
			a.one(typ)
		}
	})
}

// Case 41: of a longer list of names only the new endpoints are sent, and all Clusters; of a
// shorter one nothing.
func TestMoreNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, objects := shop()
		f := start(t, Config{}, objects...)
		a := f.ads()
		for typ, want := range map[resourceType]string{endpoints: grpcCluster, clusters: grpcCluster + " " + httpCluster} {
			a.send(typ, httpCluster)
			a.one(typ)
			a.ack(typ, httpCluster, grpcCluster)
			got := namesIn(a.one(typ).GetResources())
			slices.Sort(got)
			if strings.Join(got, " ") != want {
				t.Errorf("%s: %s, want %s", typ, got, want)
			}
			a.ack(typ, grpcCluster)
			a.none("fewer names")
		}
	})
}

// Case 40 without a pause: a request is handled that has the names of the one before the last.
func TestSubscribedAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, objects := shop()
		f := start(t, Config{}, objects...)
		a := f.ads()
		a.send(endpoints, httpCluster)
		a.ack(endpoints, httpCluster)
		a.take()
		for range 100 {
			nonce := a.nonce(endpoints)
			for _, names := range [][]string{{}, {httpCluster}} {
				r := &discovery.DiscoveryRequest{TypeUrl: endpoints.URL(), ResourceNames: names, ResponseNonce: nonce}
				if err := a.stream.Send(r); err != nil {
					t.Fatal(err)
				}
			}
			f.rest()
			a.one(endpoints)
		}
	})
}

// Case 42: a request with an old nonce changes nothing.
func TestStaleNonce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, objects := shop()
		f := start(t, Config{}, objects...)
		a := f.ads()
		a.send(endpoints, httpCluster)
		old := a.one(endpoints).GetNonce()
		f.change(put(slice(web, "web-http", "http", 8080, "10.0.0.1")))
		a.one(endpoints)
		a.request(&discovery.DiscoveryRequest{TypeUrl: endpoints.URL(), ResourceNames: []string{grpcCluster}, ResponseNonce: old})
		a.none("a stale nonce")
		a.ack(endpoints, grpcCluster)
		if got := namesIn(a.one(endpoints).GetResources()); got[0] != grpcCluster {
			t.Errorf("%s", got)
		}
	})
}

// Case 44: a version that was rejected isn't sent again, and the next one is. It is counted and logged once.
func TestRejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, objects := shop()
		var events []string
		f := start(t, Config{Rejected: func(of catalog.ServiceKey, message string) { events = append(events, of.Name+": "+message) }}, objects...)
		a := f.ads()
		a.send(endpoints, httpCluster)
		a.take()
		for range 100 {
			a.nack(endpoints, "bad\nlevel=ERROR", httpCluster)
		}
		if len(events) != 1 || !strings.HasPrefix(events[0], "web: A client (cpp) rejected the ClusterLoadAssignment of "+httpCluster) || strings.Contains(events[0], "\n") {
			t.Errorf("Events: %q", events)
		}
		time.Sleep(10 * time.Second)
		a.none("a rejected version")
		if n := f.metric(`xds_nacks_total{client="cpp",type="eds"}`); n != 1 {
			t.Errorf("%v rejections are counted, want 1", n)
		}
		if n := f.metric(`xds_rejected{type="eds"}`); n != 1 {
			t.Errorf("xds_rejected is %v, want 1", n)
		}
		if log := f.log.String(); strings.Count(log, "Client rejected a resource") != 1 || strings.Contains(log, "\nlevel=ERROR") {
			t.Errorf("the log: %s", log)
		}
		f.change(put(slice(web, "web-http", "http", 8080, "10.0.0.1")))
		a.one(endpoints)
		if n := f.metric(`xds_rejected{type="eds"}`); n != 0 {
			t.Errorf("after the next version, xds_rejected is %v", n)
		}
	})
}

// Nobody can have Events sent about Services that there aren't.
func TestRejectionOfMissingService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := 0
		f := start(t, Config{Rejected: func(catalog.ServiceKey, string) { events++ }})
		a := f.ads()
		a.send(endpoints, httpCluster)
		a.take()
		a.nack(endpoints, "no", httpCluster)
		f.rest()
		if n := f.metric(`xds_nacks_total{client="cpp",type="eds"}`); n != 1 || events != 0 {
			t.Errorf("%v rejections are counted, %d Events", n, events)
		}
	})
}

// Cases 44 and 59: after a Cluster is rejected its plain variant is sent, once. A client that
// rejects that one too gets neither again.
func TestRejectionOfPlainCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, objects := shop()
		web.Policy = &catalog.TrafficPolicy{Balancer: catalog.Balancer{Kind: catalog.LeastRequest}}
		f := start(t, Config{}, objects...)
		a := f.ads()
		a.send(clusters, httpCluster)
		full := a.one(clusters)
		a.nack(clusters, "unknown policy", httpCluster)
		plain := a.one(clusters)
		if plain.GetVersionInfo() == full.GetVersionInfo() {
			t.Errorf("the version %s is sent again", full.GetVersionInfo())
		}
		a.nack(clusters, "no Clusters at all", httpCluster)
		time.Sleep(10 * time.Second)
		a.none("a rejected version")
	})
}

// Case 45: the four examples of the protocol, for a client whose wildcard covers no namespace.
func TestWildcards(t *testing.T) {
	for name, requests := range map[string][][]string{
		"no names, then A":      {nil, {httpCluster}},
		"a star and A, then A":  {{"*", httpCluster}, {httpCluster}},
		"A, then a star and A":  {{httpCluster}, {"*", httpCluster}},
		"A, then no names":      {{httpCluster}, nil},
		"a star, then no names": {{"*"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, objects := shop()
				f := start(t, Config{}, objects...)
				a := f.ads()
				for i, names := range requests {
					a.request(&discovery.DiscoveryRequest{Node: node("envoy", nil), TypeUrl: clusters.URL(), ResourceNames: names, ResponseNonce: a.nonce(clusters)})
					in := f.only().types[clusters]
					named := slices.Contains(names, httpCluster)
					star := slices.Contains(names, "*") || names == nil && i == 0
					if (in.subscriptions[httpCluster] != nil) != named || in.wildcard != star {
						t.Errorf("after request %d: subscribed %v, wildcard %v; want %v, %v", i, in.subscriptions, in.wildcard, named, star)
					}
				}
			})
		})
	}
}

// only returns the only open stream, which rests.
func (f *fixture) only() *stream {
	f.t.Helper()
	open := f.server.streams.All()
	if len(open) != 1 {
		f.t.Fatalf("%d streams are open", len(open))
	}
	return open[0]
}

// delta is an incremental stream and what it received.
type delta struct {
	f         *fixture
	stream    grpc.BidiStreamingClient[discovery.DeltaDiscoveryRequest, discovery.DeltaDiscoveryResponse]
	cancel    context.CancelFunc
	responses chan *discovery.DeltaDiscoveryResponse
}

func (f *fixture) delta() *delta {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	f.t.Cleanup(cancel)
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(f.conn).DeltaAggregatedResources(ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	d := &delta{f: f, stream: stream, cancel: cancel, responses: make(chan *discovery.DeltaDiscoveryResponse, 100)}
	go func() {
		for {
			r, err := stream.Recv()
			if err != nil {
				return
			}
			d.responses <- r
		}
	}()
	return d
}

func (d *delta) send(r *discovery.DeltaDiscoveryRequest) {
	d.f.t.Helper()
	if r.Node == nil {
		r.Node = node("envoy", nil)
	}
	if err := d.stream.Send(r); err != nil {
		d.f.t.Fatal(err)
	}
	d.f.rest()
}

// take returns what came, as lines: + and the names of resources, - and those of removed ones.
func (d *delta) take() []string {
	var lines []string
	for {
		select {
		case r := <-d.responses:
			var words []string
			for _, of := range r.GetResources() {
				words = append(words, "+"+of.GetName())
			}
			for _, name := range r.GetRemovedResources() {
				words = append(words, "-"+name)
			}
			lines = append(lines, strings.Join(words, " "))
		default:
			return lines
		}
	}
}

func (d *delta) expect(what string, want ...string) {
	d.f.t.Helper()
	if got := d.take(); !slices.Equal(got, want) {
		d.f.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// Case 43 and §5.3: subscriptions count whatever the nonce is; what is known is sent again, and
// what is missing is said once.
func TestDelta(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, objects := shop()
		f := start(t, Config{}, objects...)
		d := f.delta()
		subscribe := func(typ resourceType, names ...string) {
			d.send(&discovery.DeltaDiscoveryRequest{TypeUrl: typ.URL(), ResourceNamesSubscribe: names, ResponseNonce: "stale"})
		}
		subscribe(endpoints, httpCluster)
		d.expect("the first subscription", "+"+httpCluster)
		subscribe(endpoints, grpcCluster)
		d.expect("another one, with a stale nonce", "+"+grpcCluster)
		subscribe(endpoints, httpCluster)
		d.expect("one that is subscribed to", "+"+httpCluster)
		d.send(&discovery.DeltaDiscoveryRequest{TypeUrl: endpoints.URL(), ResourceNamesUnsubscribe: []string{"unknown"}})
		d.expect("a superfluous unsubscription")
		subscribe(clusters, "nope.shop.svc.cluster.local:80")
		d.expect("a Cluster that doesn't exist", "-nope.shop.svc.cluster.local:80")
		f.change(put(service("shop", "nope", "http:80")))
		d.expect("it appears", "+nope.shop.svc.cluster.local:80")
		f.change(put(slice(web, "web-http", "http", 8080, "10.0.0.1")))
		d.expect("a change", "+"+httpCluster)
		d.send(&discovery.DeltaDiscoveryRequest{TypeUrl: endpoints.URL(), ResponseNonce: "x", ErrorDetail: &rpcstatus.Status{Message: "no"}})
		d.expect("a rejection of nothing")
		d.send(&discovery.DeltaDiscoveryRequest{TypeUrl: endpoints.URL(), ResourceNamesUnsubscribe: []string{httpCluster}})
		f.change(put(slice(web, "web-http", "http", 8080, "10.0.0.2")))
		d.expect("a change of what is unsubscribed from")
	})
}

// Cases 48 and 49: versions are equal in all replicas, so that a client that reconnects gets what
// differs only.
func TestDeltaReconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, objects := shop()
		versions := map[string]string{}
		{
			f := start(t, Config{}, objects...)
			d := f.delta()
			d.send(&discovery.DeltaDiscoveryRequest{TypeUrl: endpoints.URL(), ResourceNamesSubscribe: []string{httpCluster, grpcCluster}})
			for len(d.responses) > 0 {
				for _, r := range (<-d.responses).GetResources() {
					versions[r.GetName()] = r.GetVersion()
				}
			}
			if len(versions) != 2 {
				t.Fatalf("versions %v", versions)
			}
		}
		slices.Reverse(objects)
		f := start(t, Config{}, objects...)
		again := func() *delta {
			d := f.delta()
			d.send(&discovery.DeltaDiscoveryRequest{
				TypeUrl: endpoints.URL(), ResourceNamesSubscribe: []string{httpCluster, grpcCluster}, InitialResourceVersions: versions,
			})
			return d
		}
		again().expect("nothing differs")
		versions[httpCluster] = "old"
		again().expect("one differs", "+"+httpCluster)
	})
}

// Case 48: a client reconnects that has Clusters, too. One that differs is used only after another
// response with its endpoints, whatever the client has of them.
func TestDeltaReconnectsWithClusters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, objects := shop()
		f := start(t, Config{}, objects...)
		versions := map[resourceType]map[string]string{clusters: {}, endpoints: {}}
		connect := func() *delta {
			d := f.delta()
			for _, typ := range []resourceType{clusters, endpoints} {
				d.send(&discovery.DeltaDiscoveryRequest{TypeUrl: typ.URL(), ResourceNamesSubscribe: []string{httpCluster}, InitialResourceVersions: versions[typ]})
			}
			return d
		}
		d := connect()
		for len(d.responses) > 0 {
			r := <-d.responses
			typ, _ := resource.TypeOf(r.GetTypeUrl())
			versions[typ][httpCluster] = r.GetResources()[0].GetVersion()
		}
		if versions[clusters][httpCluster] == "" || versions[endpoints][httpCluster] == "" {
			t.Fatalf("versions %v", versions)
		}
		versions[clusters][httpCluster] = "of an earlier program"
		connect().expect("the Cluster differs", "+"+httpCluster, "+"+httpCluster)
	})
}

// Case 50: before the catalog is synced, a connection is refused at once.
func TestUnsynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := startUnsynced(t, Config{})
		begun := time.Now()
		_, err := discovery.NewAggregatedDiscoveryServiceClient(f.conn).StreamAggregatedResources(t.Context())
		if status.Code(err) != codes.Unavailable || time.Since(begun) > time.Second {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		if n := f.metric(`xds_refused_total{reason="unsynced"}`); n < 1 {
			t.Errorf("%v refusals are counted", n)
		}
	})
}

// §6.11: streams end with OK when the server stops, and later ones too.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, objects := shop()
		f := start(t, Config{}, objects...)
		a, silent := f.ads(), f.ads()
		a.send(endpoints, httpCluster)
		f.end()
		f.rest()
		late := f.ads()
		f.rest()
		for what, of := range map[string]*ads{"a stream": a, "one without a request": silent, "a late one": late} {
			if got := of.ended(); got != "OK" {
				t.Errorf("%s ended with %s (%v)", what, got, of.err)
			}
		}
	})
}

// §1.2: the services of one type serve that type, with or without type_url.
func TestServiceOfOneType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, objects := shop()
		f := start(t, Config{}, objects...)
		for method, typ := range map[string]resourceType{
			"envoy.service.endpoint.v3.EndpointDiscoveryService/StreamEndpoints": endpoints,
			"envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters":    clusters,
		} {
			for url, want := range map[string]bool{"": true, typ.URL(): true, listeners.URL(): false} {
				ctx, cancel := context.WithCancel(t.Context())
				stream, err := f.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/"+method)
				if err != nil {
					t.Fatal(err)
				}
				if err := stream.SendMsg(&discovery.DiscoveryRequest{Node: node("envoy", nil), TypeUrl: url, ResourceNames: []string{httpCluster}}); err != nil {
					t.Fatal(err)
				}
				r := &discovery.DiscoveryResponse{}
				if err := stream.RecvMsg(r); (err == nil) != want || err == nil && r.GetTypeUrl() != typ.URL() {
					t.Errorf("%s with the type %q: %v, %s", method, url, err, r.GetTypeUrl())
				}
				cancel()
			}
		}
		f.rest()
	})
}

// §6.6: Clusters come before endpoints, and these before Listeners, whatever the order of the requests.
// With an authority, each type has a topic of its own, and these are renewed in any order.
func TestOrder(t *testing.T) {
	const structured = "xdstp://a/envoy.config.cluster.v3.Cluster/" + httpCluster
	for _, tt := range []struct {
		listener, cluster string
		balancer          catalog.BalancerKind // the default leaves the Cluster as that of a missing Service
		want              []string
	}{
		{"web.shop:80", httpCluster, catalog.LeastRequest, []string{"cds", "eds", "lds"}},
		{"xdstp://a/envoy.config.listener.v3.Listener/web.shop:80", structured, catalog.RoundRobin, []string{"eds", "lds"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := start(t, Config{Namer: resource.Namer{Authorities: []string{"a"}}})
			a := f.ads()
			a.listener(t, tt.listener)
			a.send(endpoints, endpointsOf(tt.cluster))
			a.send(clusters, tt.cluster)
			a.take()
			web, objects := shop()
			web.Policy = &catalog.TrafficPolicy{Balancer: catalog.Balancer{Kind: tt.balancer}}
			f.change(objects)
			var got []string
			for _, line := range transcript(a.take()) {
				got = append(got, line[:3])
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s: %s, want %s", tt.listener, got, tt.want)
			}
		})
	}
}

// §5.2: a ServiceProfile may send a share of the requests to a Service that doesn't exist. Its
// Cluster is sent, without endpoints, or clients would wait for it with all requests. When the
// Service appears, its endpoints come.
func TestWeightedClusterOfMissingService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, objects := shop()
		const missing = "web-v2.shop.svc.cluster.local:50051"
		f := start(t, Config{}, append(objects, &catalog.ServiceProfile{
			Cluster: catalog.LocalCluster, Namespace: "shop", Name: "web.shop.svc.cluster.local",
			DstOverrides: []catalog.WeightedDst{{Authority: "web-v2.shop.svc.cluster.local:50051", MilliWeight: 100}, {Authority: grpcCluster, MilliWeight: 900}},
		})...)
		a := f.ads()
		a.send(listeners, "web.shop:50051")
		if got := a.one(listeners); !strings.Contains(string(got.GetResources()[0].GetValue()), missing) {
			t.Errorf("the routes don't lead to %s", missing)
		}
		a.send(clusters, grpcCluster, missing)
		got := a.one(clusters)
		if names := strings.Join(namesIn(got.GetResources()), " "); names != missing+" "+grpcCluster {
			t.Fatalf("the Clusters are %s", names)
		}
		a.send(endpoints, missing)
		if got := addressesIn(t, a.one(endpoints).GetResources()[0]); len(got) != 0 {
			t.Errorf("a missing Service has the endpoints %s", got)
		}
		v2 := service("shop", "web-v2", "grpc:50051")
		f.change(put(v2, slice(v2, "v2", "grpc", 50051, "10.0.0.9")))
		if got := addressesIn(t, a.one(endpoints).GetResources()[0]); strings.Join(got, " ") != "10.0.0.9:50051" {
			t.Errorf("when it exists, it has %s", got)
		}
	})
}

// §10.2: clients that reject many versions fill neither the log nor the API server; each rejection
// is counted.
func TestManyRejections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, objects := shop()
		events := 0
		f := start(t, Config{Rejected: func(catalog.ServiceKey, string) { events++ }}, objects...)
		a := f.ads()
		a.send(endpoints, httpCluster)
		const times = 500
		begun := time.Now()
		for i := range times {
			a.take()
			a.nack(endpoints, strings.Repeat("x", 10_000), httpCluster)
			f.change(put(slice(web, "web-http", "http", 8080, many(i%200+3)...)))
		}
		seconds := time.Since(begun).Seconds()
		if n := f.metric(`xds_nacks_total{client="cpp",type="eds"}`); n < 190 {
			t.Errorf("%v rejections are counted", n)
		}
		if most := float64(eventBurst) + seconds*float64(eventRate) + 1; float64(events) > most || events < eventBurst {
			t.Errorf("%d Events in %.0f s, want %.0f at most", events, seconds, most)
		}
		if n := len(f.log.String()); n > 1_000*(lineBurst+int(seconds)) {
			t.Errorf("the log has %d bytes", n)
		}
	})
}
