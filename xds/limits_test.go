package xds

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/clientlimits"
)

func names(n int) []string {
	list := make([]string, 0, n)
	for i := range n {
		list = append(list, fmt.Sprintf("s%d.shop.svc.cluster.local:80", i))
	}
	return list
}

// many returns different addresses.
func many(n int) []string {
	list := make([]string, 0, n)
	for i := range n {
		list = append(list, fmt.Sprintf("10.1.%d.%d", i/250, i%250+1))
	}
	return list
}

// Case 59: a client that asks for too much is refused or bounded, and others are served.
func TestHostileRequests(t *testing.T) {
	for name, tt := range map[string]struct {
		request *discovery.DiscoveryRequest
		want    string // how the stream is afterwards
		why     string // what is counted
	}{
		"50,000 names":            {&discovery.DiscoveryRequest{TypeUrl: clusters.URL(), ResourceNames: names(20_001)}, "ResourceExhausted", "names"},
		"1,001 names of gRPC":     {&discovery.DiscoveryRequest{TypeUrl: clusters.URL(), ResourceNames: names(1_001), Node: node("gRPC Go", nil)}, "ResourceExhausted", "names"},
		"1,000 names of gRPC":     {&discovery.DiscoveryRequest{TypeUrl: clusters.URL(), ResourceNames: names(1_000), Node: node("gRPC Go", nil)}, "open", ""},
		"a long name":             {&discovery.DiscoveryRequest{TypeUrl: clusters.URL(), ResourceNames: []string{strings.Repeat("x", 513)}}, "InvalidArgument", "name_length"},
		"a message of 4 MiB":      {&discovery.DiscoveryRequest{TypeUrl: clusters.URL(), VersionInfo: strings.Repeat("x", 4<<20)}, "ResourceExhausted", "message_size"},
		"a node of 1 MiB":         {&discovery.DiscoveryRequest{TypeUrl: clusters.URL(), Node: node("envoy", map[string]string{"NODE_NAME": strings.Repeat("x", 1_000_000)})}, "open", "node"},
		"a zone of 1 MiB":         {&discovery.DiscoveryRequest{TypeUrl: clusters.URL(), Node: &corepb.Node{Locality: &corepb.Locality{Zone: strings.Repeat("x", 1_000_000)}}}, "open", "node"},
		"a user agent of 1 MiB":   {&discovery.DiscoveryRequest{TypeUrl: clusters.URL(), Node: &corepb.Node{Id: strings.Repeat("x", 400_000), UserAgentName: strings.Repeat("\x01", 400_000)}}, "open", ""},
		"a name with a line feed": {&discovery.DiscoveryRequest{TypeUrl: clusters.URL(), ResourceNames: []string{"a\nb\x1b.shop:80"}}, "open", ""},
		"no type":                 {&discovery.DiscoveryRequest{}, "InvalidArgument", ""},
		"an unknown type":         {&discovery.DiscoveryRequest{TypeUrl: "type.googleapis.com/x"}, "open", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, objects := shop()
				f := start(t, Config{}, objects...)
				a := f.ads()
				a.request(tt.request)
				if got := a.ended(); got != tt.want {
					t.Errorf("%s (%v), want %s", got, a.err, tt.want)
				}
				if tt.why != "" && f.metric(fmt.Sprintf("xds_refused_total{reason=%q}", tt.why)) != 1 {
					t.Errorf("it isn't counted as %s", tt.why)
				}
				for _, o := range f.server.OpenStreams() {
					if len(o.Client)+len(o.Node)+len(o.Zone) > 1_000 {
						t.Errorf("a stream keeps %d bytes of text", len(o.Client)+len(o.Node)+len(o.Zone))
					}
				}
				canary := f.ads()
				canary.send(endpoints, httpCluster)
				canary.one(endpoints)
			})
		})
	}
}

// Case 59: streams that send no request end, and a client can have only so many.
func TestSilentStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{Limits: clientlimits.Limits{MaxPendingRequests: 3}})
		var silent []*ads
		for range 5 {
			silent = append(silent, f.ads())
			synctest.Wait()
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		ended := map[string]int{}
		for _, a := range silent {
			ended[a.ended()]++
		}
		if ended["DeadlineExceeded"] != 3 || ended["ResourceExhausted"] != 2 {
			t.Errorf("the streams ended with %v", ended)
		}
	})
}

// TestStreamsOfOneHost shows that a host can have only so many streams at a time (case 59).
func TestStreamsOfOneHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{Limits: clientlimits.Limits{MaxConcurrentStreamsPerHost: 2}})
		streams := []*ads{f.ads(), f.ads(), f.ads()}
		ended := map[string]int{}
		var open *ads // any: the server may see the last stream first
		for _, a := range streams {
			a.send(clusters, httpCluster)
			synctest.Wait()
			state := a.ended()
			ended[state]++
			if state == "open" {
				open = a
			}
		}
		if ended["open"] != 2 || ended["ResourceExhausted"] != 1 {
			t.Errorf("the streams are %v", ended)
		}
		if got := f.metric(`xds_refused_total{reason="concurrent_streams_per_host"}`); got != 1 {
			t.Errorf("%v streams are counted as refused", got)
		}
		open.cancel()
		synctest.Wait()
		later := f.ads()
		later.send(clusters, httpCluster)
		later.one(clusters)
	})
}

// TestMadeUpPlaces shows that clients at made-up nodes and zones share a view of the endpoints, and that a
// node which gets its first hint has its own view from then on.
func TestMadeUpPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := service("shop", "web", "http:80")
		hinted := func(node string) *catalog.EndpointSlice {
			s := slice(web, "web", "http", 8080, "10.0.0.1", "10.0.0.2")
			s.Subsets[0].Endpoints[0].HintNodes, s.Subsets[0].Endpoints[0].HintZones = []string{node}, []string{"east"}
			s.Subsets[0].Endpoints[1].HintNodes, s.Subsets[0].Endpoints[1].HintZones = []string{"n2"}, []string{"west"}
			return s
		}
		f := start(t, Config{}, put(web, hinted("n1"))...)
		ask := func(nodeName, zone string) *ads {
			a := f.ads()
			n := node(pythonAgent, map[string]string{"NODE_NAME": nodeName})
			n.Locality = &corepb.Locality{Zone: zone}
			a.request(&discovery.DiscoveryRequest{Node: n, TypeUrl: endpoints.URL(), ResourceNames: []string{httpCluster}})
			a.one(endpoints)
			return a
		}
		n3 := ask("n3", "")
		for i := range 20 {
			ask(fmt.Sprint("made-up-", i), fmt.Sprint("made-up-", i))
		}
		if n := f.metric(`xds_resources{type="eds"}`); n != 1 {
			t.Errorf("there are %v views for made-up places, want 1", n)
		}
		f.change(put(hinted("n3")))
		n3.one(endpoints)
		if n := f.metric(`xds_resources{type="eds"}`); n != 2 {
			t.Errorf("there are %v views after the hint, want 2", n)
		}
	})
}

// §10.4: different queries of one client are limited.
func TestQuestionLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{Limits: clientlimits.Limits{MaxQueriesPerClient: 2}})
		a := f.ads()
		a.send(clusters, names(3)...)
		if got := a.ended(); got != "ResourceExhausted" {
			t.Errorf("%s", got)
		}
		b := f.ads()
		b.send(clusters, names(2)...)
		if got := b.ended(); got != "open" {
			t.Errorf("within the limit: %s (%v)", got, b.err)
		}
	})
}

// TestResponseMemory shows that the resources that one client needs first are limited in bytes
// (§10.4): each port of a Service is a copy of its endpoints.
func TestResponseMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := service("shop", "web", "http:80", "grpc:50051")
		sliceOf := func(port string, n int) *catalog.EndpointSlice { return slice(web, "s-"+port, port, 8080, many(n)...) }
		f := start(t, Config{Limits: clientlimits.Limits{MaxResponseBytesPerClient: 30_000}}, web, sliceOf("http", 300), sliceOf("grpc", 300))
		a := f.ads()
		a.send(endpoints, httpCluster)
		b := f.ads()
		b.send(endpoints, "web.shop.svc.cluster.local:50051")
		if got := a.ended() + " " + b.ended(); got != "open ResourceExhausted" {
			t.Errorf("two ports: %s", got)
		}
		same := f.ads()
		same.send(endpoints, httpCluster)
		f.change(put(sliceOf("http", 2_000)))
		if got := a.ended() + " " + same.ended(); got != "ResourceExhausted ResourceExhausted" {
			t.Errorf("after the endpoints have grown: %s", got)
		}
		if got := f.metric(`xds_refused_total{reason="response_bytes_per_client"}`); got != 2 {
			t.Errorf("%v refusals are counted, want 2", got)
		}
		f.change(put(sliceOf("http", 300)))
		again := f.ads()
		again.send(endpoints, httpCluster)
		if got := again.ended(); got != "open" {
			t.Errorf("after the endpoints have shrunk: %s", got)
		}
		again.cancel()
		f.rest()
		f.expectNothingLeft()
	})
}

// Case 59: subscribing again and again costs the client time, and nobody else.
func TestResubscriptionLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := service("shop", "web", "http:80")
		f := start(t, Config{}, web, slice(web, "s", "http", 8080, many(2_000)...))
		a := f.ads()
		a.send(endpoints, httpCluster)
		begun := time.Now()
		const times = 150
		for range times {
			for _, names := range [][]string{nil, {httpCluster}} {
				if err := a.stream.Send(&discovery.DiscoveryRequest{TypeUrl: endpoints.URL(), ResourceNames: names}); err != nil {
					t.Fatal(err)
				}
			}
		}
		for f.metric(`xds_responses_total{type="eds",variant="sotw"}`) < times {
			time.Sleep(50 * time.Millisecond)
			if time.Since(begun) > time.Hour {
				t.Fatal("the responses don't come")
			}
		}
		sent := f.metric(`xds_sent_bytes_total{type="eds"}`)
		if most := resendBurst + resendRate*time.Since(begun).Seconds() + 100_000; sent > most {
			t.Errorf("%.0f bytes are sent, want %.0f at most", sent, most)
		}
	})
}

// Case 58: a stream that doesn't read delays nobody. When it reads again it gets what it had been
// sent before, and the newest state.
func TestStalledStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := service("shop", "web", "http:80")
		crowd := func(n int) *catalog.EndpointSlice { return slice(web, "s", "http", 8080, many(n)...) }
		f := start(t, Config{}, web, crowd(4_000))
		slow, quick := f.stalled(), f.ads()
		slow.send(endpoints, httpCluster)
		quick.send(endpoints, httpCluster)
		quick.take()
		const changes = 10
		for i := range changes {
			f.change(put(crowd(4_000 - i - 1)))
			if got := len(addressesIn(t, quick.one(endpoints).GetResources()[0])); got != 4_000-i-1 {
				t.Fatalf("change %d: %d endpoints", i, got)
			}
		}
		if got := f.metric("xds_lag_seconds"); got == 0 {
			t.Error("no lag is shown")
		}
		close(slow.reads)
		f.rest()
		got := slow.take()
		// Two are on the way before the client reads, and a third one is being sent.
		if len(got) > 4 {
			t.Errorf("%d responses for %d changes", len(got), changes)
		}
		if n := len(addressesIn(t, got[len(got)-1].GetResources()[0])); n != 4_000-changes {
			t.Errorf("the last response has %d endpoints, want %d", n, 4_000-changes)
		}
	})
}

// §6.10: changes that would cost more than the budget are merged. Nothing is lost, and what takes
// an endpoint away waits for half a second at most.
func TestPacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := service("shop", "web", "http:80")
		of := func(n int) *catalog.EndpointSlice { return slice(web, "s", "http", 8080, many(n)...) }
		f := start(t, Config{EgressBudget: 1}, web, of(10))
		a := f.ads()
		a.send(endpoints, httpCluster)
		a.take()
		time.Sleep(maxDelay)
		expect := func(what string, n int) {
			t.Helper()
			if got := a.take(); len(got) != 1 || len(addressesIn(t, got[0].GetResources()[0])) != n {
				t.Errorf("%s: %s, want one response with %d endpoints", what, transcript(got), n)
			}
		}
		f.catalog.Put(of(11))
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		expect("a change after a while", 11)
		for n := range 5 {
			f.catalog.Put(of(12 + n))
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		a.none("changes that wait")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		expect("the changes together", 16)
		f.catalog.Put(of(15))
		time.Sleep(400 * time.Millisecond)
		synctest.Wait()
		a.none("an endpoint that was just taken away")
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		expect("half a second later", 15)
	})
}

// Case 59: what one request may name is decided before any of its names has a topic. A client that
// may keep two queries is refused for its names, and not for the third query.
func TestLimitBeforeCost(t *testing.T) {
	tooMany := names(maxNamesOfEnvoy + 1)
	long := append(names(5), strings.Repeat("x", maxNameLength+1))
	for why, list := range map[string][]string{"names": tooMany, "name_length": long} {
		for _, variant := range []string{variantSotW, variantDelta} {
			t.Run(why+" "+variant, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := start(t, Config{Limits: clientlimits.Limits{MaxQueriesPerClient: 2}})
					if variant == variantSotW {
						f.ads().request(&discovery.DiscoveryRequest{TypeUrl: clusters.URL(), ResourceNames: list})
					} else {
						f.delta().send(&discovery.DeltaDiscoveryRequest{TypeUrl: clusters.URL(), ResourceNamesSubscribe: list})
					}
					if n := f.metric(fmt.Sprintf("xds_refused_total{reason=%q}", why)); n != 1 {
						t.Errorf("refused as %s %v times, want 1", why, n)
					}
					if n := f.metric(`xds_refused_total{reason="questions_per_client"}`); n != 0 {
						t.Errorf("%v queries were refused: names got topics before the limit", n)
					}
				})
			})
		}
	}
}

// §10.4: names count for a stream across its types and requests, and a name that is repeated or
// replaced doesn't add up.
func TestNamesOfAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{})
		a := f.ads()
		a.send(clusters, names(maxNames)...)
		a.ack(clusters, names(maxNames)[1:]...)
		a.ack(clusters, names(maxNames)[:maxNames/2]...)
		a.send(endpoints, names(maxNames/2)...)
		if got := a.ended(); got != "open" {
			t.Fatalf("%s (%v) at the limit", got, a.err)
		}
		a.send(listeners, "web.shop:80")
		if got := a.ended(); got != "ResourceExhausted" {
			t.Errorf("%s above the limit", got)
		}
		d := f.delta()
		subscribe := func(list ...string) {
			d.send(&discovery.DeltaDiscoveryRequest{Node: node(pythonAgent, nil), TypeUrl: clusters.URL(), ResourceNamesSubscribe: list})
		}
		subscribe(names(maxNames)...)
		subscribe(names(maxNames)...)
		if got := f.only().names; got != maxNames {
			t.Errorf("%d names, want %d", got, maxNames)
		}
	})
}

// Case 59: requests of one client with names, also with others each time, and rejections have a
// rate, over all of its streams. A client that connects again gains nothing.
func TestIntake(t *testing.T) {
	const namesOfRequest = 1_000
	list := func(n int) []string {
		names := make([]string, namesOfRequest)
		for i := range names {
			names[i] = fmt.Sprintf("s%d-%d.shop:80", n, i)
		}
		return names
	}
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{})
		f.ads()
		f.rest()
		for _, b := range f.server.budgets.m {
			b.intake.AllowN(time.Now(), intakeBurst) // which would take very many names
		}
		begun := time.Now()
		const requests = 30
		var a *ads
		for n := range requests {
			if n%10 == 0 {
				if a != nil {
					a.cancel()
				}
				a = f.ads()
			}
			if err := a.stream.Send(&discovery.DiscoveryRequest{Node: node("envoy", nil), TypeUrl: clusters.URL(), ResourceNames: list(n)}); err != nil {
				t.Fatal(err)
			}
			for len(a.take()) == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		const cost = requests * namesOfRequest * newNameCost
		if took, want := time.Since(begun).Seconds(), float64(cost)/intakeRate; took < want {
			t.Errorf("%d requests took %.2f s, want %.2f s at least", requests, took, want)
		}
		if n := len(f.server.budgets.m); n != 1 {
			t.Errorf("%d budgets of one client", n)
		}
	})
}

// Clients that come and go leave no more budgets than there may be.
func TestBudgetsAreBounded(t *testing.T) {
	var bs budgets
	for i := range maxBudgets + 2 {
		bs.of(netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 0))
	}
	if n := len(bs.m); n != 2 {
		t.Errorf("%d budgets, want 2 after all began anew", n)
	}
}

// What one client is subscribed to is bounded over all of its streams, and given back by each that
// ends.
func TestSubscriptionsOfClientAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{}, town()...)
		first := f.ads()
		first.wild("*")
		f.rest()
		held := f.server.streams.All()[0].budget
		listed := held.subscriptions.Load()
		if listed == 0 {
			t.Fatal("the Clusters of a wildcard aren't counted")
		}
		held.subscriptions.Store(maxSubscriptions)
		second := f.ads()
		second.wild("*")
		f.rest()
		if got := second.ended(); got != "ResourceExhausted" {
			t.Errorf("a stream above the limit ended with %s", got)
		}
		if n := f.metric(`xds_refused_total{reason="subscriptions"}`); n != 1 {
			t.Errorf("%v refusals are counted", n)
		}
		if n := held.subscriptions.Load(); n != maxSubscriptions {
			t.Errorf("%d subscriptions are counted after the refusal, want %d", n, maxSubscriptions)
		}
		held.subscriptions.Store(listed)
		third := f.ads()
		third.wild("*")
		f.rest()
		if n := held.subscriptions.Load(); n != 2*listed {
			t.Errorf("two streams have %d subscriptions, one has %d", n, listed)
		}
	})
}

// Each list of namespaces has a goroutine and a list of Clusters, so a client may have only so many
// of them.
func TestCoveragesOfClientAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{Limits: clientlimits.Limits{MaxQueriesPerClient: 3}})
		ended := 0
		for i := range 10 {
			a := f.ads()
			a.wild(fmt.Sprintf("ns-%d", i))
			f.rest()
			if a.ended() == "ResourceExhausted" {
				ended++
			}
		}
		if ended != 7 || f.server.listings.Len() != 3 {
			t.Errorf("%d streams ended, and %d lists are kept", ended, f.server.listings.Len())
		}
	})
}
