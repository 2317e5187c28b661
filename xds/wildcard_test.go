package xds

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	clusterservice "github.com/envoyproxy/go-control-plane/envoy/service/cluster/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/prometheus/client_golang/prometheus"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/history"
	"github.com/signpostd/signpost/testkit/logtest"
	"github.com/signpostd/signpost/xds/auth"
)

// envoyIn is the node of an Envoy in the namespace shop, with namespaces for its wildcards unless
// they are empty.
func envoyIn(namespaces string) *corepb.Node {
	metadata := map[string]string{"NAMESPACE": "shop"}
	if namespaces != "" {
		metadata[namespacesKey] = namespaces
	}
	return node("envoy", metadata)
}

// wild sends a request for all Clusters of the client's namespaces.
func (a *ads) wild(namespaces string) {
	a.request(&discovery.DiscoveryRequest{Node: envoyIn(namespaces), TypeUrl: clusters.URL()})
}

func (d *delta) wild(namespaces string, versions map[string]string) {
	d.send(&discovery.DeltaDiscoveryRequest{Node: envoyIn(namespaces), TypeUrl: clusters.URL(), InitialResourceVersions: versions})
}

// town has Services in three namespaces.
func town() []catalog.Object {
	external := service("shop", "outside", "http:80")
	external.ExternalName = true
	udp := service("shop", "udp", "dns:53")
	udp.Ports[0].Protocol = catalog.UDP
	elsewhere := service("shop", "linked", "http:80")
	elsewhere.Key.Cluster = "east"
	return put(service("shop", "web", "http:80", "grpc:50051"), external, udp, elsewhere, service("db", "sql", "sql:5432"), service("ops", "log", "http:80"))
}

const (
	sqlCluster = "sql.db.svc.cluster.local:5432"
	logCluster = "log.ops.svc.cluster.local:80"
)

// §8.3: a wildcard is for the TCP ports of the Services of the namespaces in the metadata, in both
// variants, with a star or without names, for Envoy alone.
func TestWildcardNamespaces(t *testing.T) {
	list, err := structpb.NewValue([]any{"shop", "db,none", " "})
	if err != nil {
		t.Fatal(err)
	}
	several := envoyIn("")
	several.Metadata.Fields[namespacesKey] = list
	for name, tc := range map[string]struct {
		node *corepb.Node
		want []string
	}{
		"of the client":  {envoyIn(""), []string{grpcCluster, httpCluster}},
		"a text":         {envoyIn("db, ops ,db"), []string{logCluster, sqlCluster}},
		"a list":         {several, []string{sqlCluster, grpcCluster, httpCluster}},
		"all":            {envoyIn("shop,*"), []string{logCluster, sqlCluster, grpcCluster, httpCluster}},
		"none is known":  {node("envoy", nil), nil},
		"another client": {node("mine", map[string]string{"NAMESPACE": "db"}), []string{sqlCluster}},
	} {
		for _, names := range [][]string{nil, {wildcard}} {
			t.Run(fmt.Sprint(name, names), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := start(t, Config{}, town()...)
					a := f.ads()
					a.request(&discovery.DiscoveryRequest{Node: tc.node, TypeUrl: clusters.URL(), ResourceNames: names})
					if got := namesIn(a.one(clusters).GetResources()); !slices.Equal(got, tc.want) {
						t.Errorf("SotW: %q, want %q", got, tc.want)
					}
					a.ack(clusters, names...)
					a.none("an ACK")
					d := f.delta()
					d.send(&discovery.DeltaDiscoveryRequest{Node: tc.node, TypeUrl: clusters.URL(), ResourceNamesSubscribe: names})
					d.expect("delta", plus(tc.want...))
				})
			})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{}, town()...)
		a := f.ads()
		a.request(&discovery.DiscoveryRequest{Node: node(pythonAgent, map[string]string{namespacesKey: "*"}), TypeUrl: clusters.URL()})
		a.none("a gRPC client")
	})
}

// plus is a delta response with these resources, as a line.
func plus(names ...string) string {
	line := strings.Join(names, " +")
	if line == "" {
		return ""
	}
	return "+" + line
}

// §1.2, §8.3: the service for Clusters alone has wildcards, too.
func TestWildcardOfSingleType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{}, town()...)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		sotw, err := clusterservice.NewClusterDiscoveryServiceClient(f.conn).StreamClusters(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := sotw.Send(&discovery.DiscoveryRequest{Node: envoyIn("")}); err != nil {
			t.Fatal(err)
		}
		if r, err := sotw.Recv(); err != nil || len(r.GetResources()) != 2 {
			t.Errorf("%v, %v", r, err)
		}
	})
}

// §8.3: Envoy speaks HTTP/2 to ports that ask for it, and a gRPC client gets no option for that.
func TestUpstreamHTTP2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := service("shop", "web", "http:80", "grpc-api:81", "http2:82", "h2c:83")
		s.GRPCProtocol = catalog.NewPortSet([]catalog.PortRange{{Low: 83, High: 83}})
		f := start(t, Config{}, s)
		a := f.ads()
		a.wild("")
		for _, r := range a.one(clusters).GetResources() {
			c := clusterOf(t, r)
			if got, want := len(c.GetTypedExtensionProtocolOptions()) > 0, !strings.HasSuffix(c.GetName(), ":80"); got != want {
				t.Errorf("%s: HTTP/2 %v, want %v", c.GetName(), got, want)
			}
		}
		g := f.ads()
		g.send(clusters, "web.shop.svc.cluster.local:83")
		if c := clusterOf(t, g.one(clusters).GetResources()[0]); c.GetTypedExtensionProtocolOptions() != nil {
			t.Errorf("a gRPC client gets %v", c)
		}
	})
}

// subscribeEndpoints subscribes to the endpoints of Clusters, as Envoy does.
func (a *ads) subscribeEndpoints(names ...string) {
	a.request(&discovery.DiscoveryRequest{TypeUrl: endpoints.URL(), ResourceNames: names, ResponseNonce: a.nonce(endpoints)})
}

// Cases 46 and 47: Services that come, change and go in one step make one response each, in an
// order in which no request is lost. The endpoints of a Cluster that has changed, or that comes
// again, are sent again.
func TestWildcardChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, old := service("shop", "web", "http:80"), service("shop", "old", "http:80")
		split := &catalog.ServiceProfile{
			Cluster: catalog.LocalCluster, Namespace: "shop", Name: "web.shop.svc.cluster.local",
			DstOverrides: []catalog.WeightedDst{{Authority: "web.shop.svc.cluster.local:80", MilliWeight: 500}, {Authority: "old.shop.svc.cluster.local:80", MilliWeight: 500}},
		}
		f := start(t, Config{}, web, old, split)
		const oldCluster, newCluster = "old.shop.svc.cluster.local:80", "new.shop.svc.cluster.local:80"
		a, d := f.ads(), f.delta()
		a.wild("")
		a.subscribeEndpoints(httpCluster, oldCluster)
		a.request(&discovery.DiscoveryRequest{TypeUrl: routes.URL(), ResourceNames: []string{httpCluster}})
		d.wild("", nil)
		d.send(&discovery.DeltaDiscoveryRequest{TypeUrl: endpoints.URL(), ResourceNamesSubscribe: []string{httpCluster}})
		d.send(&discovery.DeltaDiscoveryRequest{TypeUrl: routes.URL(), ResourceNamesSubscribe: []string{httpCluster}})
		a.take()
		d.take()
		expect := func(what string, sotw, incremental []string) {
			t.Helper()
			if got := transcript(a.take()); !slices.Equal(got, sotw) {
				t.Errorf("%s: %q, want %q", what, got, sotw)
			}
			d.expect(what+", delta", incremental...)
		}
		changed := service("shop", "web", "http:80")
		changed.Policy = &catalog.TrafficPolicy{MaxRequests: 5}
		f.change(put(changed))
		expect("a Cluster has changed", []string{"cds " + oldCluster + " " + httpCluster, "eds " + httpCluster}, []string{"+" + httpCluster, "+" + httpCluster})
		f.change(put(service("shop", "new", "http:80"), web, &catalog.ServiceProfile{Cluster: split.Cluster, Namespace: split.Namespace, Name: split.Name}), old.ID())
		expect("one comes, one changes, one goes", []string{
			"cds " + newCluster + " " + oldCluster + " " + httpCluster, "eds " + httpCluster, "rds " + httpCluster, "cds " + newCluster + " " + httpCluster,
		}, []string{"+" + newCluster + " +" + httpCluster, "+" + httpCluster, "+" + httpCluster, "-" + oldCluster})
		f.change(put(old))
		expect("one comes again, whose endpoints are still subscribed", []string{
			"cds " + newCluster + " " + oldCluster + " " + httpCluster, "eds " + oldCluster,
		}, []string{"+" + oldCluster})
		more := service("shop", "web", "http:80", "more:81")
		f.change(put(more))
		expect("a port more", []string{"cds " + newCluster + " " + oldCluster + " " + httpCluster + " web.shop.svc.cluster.local:81"}, []string{"+web.shop.svc.cluster.local:81"})
		moved := service("shop", "web", "http:80")
		moved.LocalTraffic = true
		f.change(put(moved, slice(web, "s", "http", 8080)))
		expect("a port less", []string{"cds " + newCluster + " " + oldCluster + " " + httpCluster}, []string{"-web.shop.svc.cluster.local:81"})
		f.change(put(service("db", "sql", "sql:5432")))
		expect("a Service of another namespace", nil, nil)
	})
}

// Case 45, delta and SotW: a wildcard and a name that it covers, or doesn't.
func TestWildcardAndNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{}, town()...)
		d := f.delta()
		send := func(subscribe, unsubscribe []string) {
			d.send(&discovery.DeltaDiscoveryRequest{Node: envoyIn(""), TypeUrl: clusters.URL(), ResourceNamesSubscribe: subscribe, ResourceNamesUnsubscribe: unsubscribe})
		}
		send([]string{wildcard, httpCluster, sqlCluster}, nil)
		d.expect("a star and names", plus(sqlCluster, grpcCluster, httpCluster))
		send(nil, []string{httpCluster})
		d.expect("a name less that the star covers", plus(httpCluster))
		send(nil, []string{sqlCluster})
		d.expect("a name less that the star doesn't cover", "-"+sqlCluster)
		send([]string{httpCluster}, nil)
		d.expect("a name more that the star covers", plus(httpCluster))
		send(nil, []string{wildcard})
		d.expect("no star")
		if got := len(f.only().types[clusters].subscriptions); got != 1 {
			t.Errorf("%d subscriptions, want that by name", got)
		}
		f.change(nil, service("shop", "web").ID())
		d.expect("a Cluster that is named never ends")
		d.cancel()
		f.rest()
		f.change(town())
		a := f.ads()
		a.wild("")
		a.take()
		a.ack(clusters, wildcard, sqlCluster)
		if got := namesIn(a.one(clusters).GetResources()); !slices.Equal(got, []string{sqlCluster, grpcCluster, httpCluster}) {
			t.Errorf("a star and a name: %q", got)
		}
		a.ack(clusters, sqlCluster)
		if got := len(f.only().types[clusters].subscriptions); got != 1 || f.only().shared != nil {
			t.Errorf("%d subscriptions without the star, want 1", got)
		}
	})
}

// A gRPC client gets no wildcard, so the version that it has counts for none: it gets what it names.
func TestWildcardOfGRPCReconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, objects := shop()
		f := start(t, Config{}, objects...)
		before, again := f.ads(), f.ads()
		before.send(clusters, httpCluster)
		version := before.one(clusters).GetVersionInfo()
		again.request(&discovery.DiscoveryRequest{Node: node(pythonAgent, nil), TypeUrl: clusters.URL(), VersionInfo: version})
		again.none("a gRPC client asks for all Clusters")
		again.send(clusters, httpCluster)
		again.one(clusters)
	})
}

// Case 48, §6.5: a client that comes back gets what differs: of delta each resource, of SotW
// nothing if all are equal.
func TestWildcardReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{}, town()...)
		d := f.delta()
		d.wild("", nil)
		has := map[string]string{"gone.shop.svc.cluster.local:80": "x"}
		for _, r := range (<-d.responses).GetResources() {
			has[r.GetName()] = r.GetVersion()
		}
		again := f.delta()
		again.wild("", has)
		again.expect("one has gone", "-gone.shop.svc.cluster.local:80")
		delete(has, "gone.shop.svc.cluster.local:80")
		equal := f.delta()
		equal.wild("", has)
		equal.expect("nothing differs", "")
		has[httpCluster] = "x"
		differs := f.delta()
		differs.wild("", has)
		differs.expect("one differs", plus(httpCluster))
		all := f.delta()
		all.wild("*", nil)
		for _, r := range (<-all.responses).GetResources() {
			has[r.GetName()] = r.GetVersion()
		}
		named := f.delta()
		named.send(&discovery.DeltaDiscoveryRequest{
			Node: envoyIn("db"), TypeUrl: clusters.URL(), ResourceNamesSubscribe: []string{"*", logCluster},
			InitialResourceVersions: map[string]string{sqlCluster: has[sqlCluster], logCluster: has[logCluster]},
		})
		named.expect("one is named beside the wildcard", "")
		a, b := f.ads(), f.ads()
		a.wild("")
		version := a.one(clusters).GetVersionInfo()
		b.request(&discovery.DiscoveryRequest{Node: envoyIn(""), TypeUrl: clusters.URL(), VersionInfo: version})
		b.none("an equal version")
		b.request(&discovery.DiscoveryRequest{TypeUrl: endpoints.URL(), ResourceNames: []string{httpCluster, grpcCluster}})
		b.take()
		f.change(put(service("shop", "new", "http:80")))
		if got := len(b.one(clusters).GetResources()); got != 3 {
			t.Errorf("%d Clusters after a change, want 3", got)
		}
		b.none("the endpoints of Clusters that stay")
	})
}

// Case 60: a wildcard is without the Services that the caller's namespace may not see, and follows
// a change of that.
func TestWildcardVisibility(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		private := service("shop", "web", "http:80")
		private.Policy = &catalog.TrafficPolicy{VisibleTo: "ops"}
		config := Config{Authenticate: func(ctx context.Context) (auth.Identity, error) { return auth.Identity{Namespace: "db"}, nil }}
		f := start(t, config, private, service("db", "sql", "sql:5432"))
		a, d := f.ads(), f.delta()
		a.wild("*")
		d.wild("*", nil)
		if got := namesIn(a.one(clusters).GetResources()); !slices.Equal(got, []string{sqlCluster}) {
			t.Errorf("%q", got)
		}
		d.expect("all that it may see", plus(sqlCluster))
		f.change(put(service("shop", "web", "http:80")))
		a.one(clusters)
		d.expect("it may see more", plus(httpCluster))
		f.change(put(private))
		a.one(clusters)
		d.expect("it may see less", "-"+httpCluster)
	})
}

// Case 54: the streams with a wildcard share the bytes of each Cluster, and the listing.
func TestWildcardShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{}, town()...)
		var streams []*ads
		for range 3 {
			a := f.ads()
			a.wild("shop,db")
			streams = append(streams, a)
		}
		open := f.server.streams.All()
		for _, st := range open[1:] {
			if st.listing.Load() != open[0].listing.Load() {
				t.Error("two streams have two listings")
			}
			for name, sub := range st.types[clusters].subscriptions {
				if sub.view != open[0].types[clusters].subscriptions[name].view {
					t.Errorf("two streams have two views of %s", name)
				}
			}
		}
		if got := f.metric(`xds_resources{type="cds"}`); got != 3 {
			t.Errorf("%v Clusters are kept, want 3", got)
		}
		for _, a := range streams {
			a.cancel()
		}
	})
}

// §6.6: a Cluster that changes after a stream has taken what has changed is in the same SotW response
// as the others. Its endpoints are sent again, too, or Envoy would never use it.
func TestWarmingOfLateChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{}, town()...)
		a := f.ads()
		a.wild("shop")
		a.request(&discovery.DiscoveryRequest{TypeUrl: endpoints.URL(), ResourceNames: []string{httpCluster, grpcCluster}})
		a.take()
		st := f.server.streams.All()[0]
		st.mu.Lock()
		st.busy = true // no worker may take the stream
		st.mu.Unlock()
		changed := service("shop", "web", "http:80", "grpc:50051")
		changed.Policy = &catalog.TrafficPolicy{MaxRequests: 7}
		f.change(put(changed))
		st.mu.Lock()
		in := &st.types[clusters]
		in.dirty = slices.DeleteFunc(in.dirty, func(sub *subscription) bool { return sub.name == grpcCluster })
		in.subscriptions[grpcCluster].dirty = false
		st.busy = false
		st.mu.Unlock()
		st.wake(laneFew)
		f.rest()
		if got := strings.Join(transcript(a.take()), "; "); strings.Count(got, httpCluster) != 2 || strings.Count(got, grpcCluster) != 2 {
			t.Errorf("%s, want both Clusters and the endpoints of both", got)
		}
	})
}

// §10.4: namespaces are bounded, in number and length.
func TestWildcardNamespaceLimit(t *testing.T) {
	long := strings.Repeat("x", maxNamespace+1)
	var many []any
	for i := range 10_000 {
		many = append(many, fmt.Sprint("n", i))
	}
	list, err := structpb.NewValue(many)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]*structpb.Value{
		"a list of 10,000":    list,
		"a text of 10,000":    structpb.NewStringValue(strings.Repeat("n,", 10_000)),
		"a name that is long": structpb.NewStringValue(long),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, Config{}, town()...)
				n := envoyIn("")
				n.Metadata.Fields[namespacesKey] = value
				a := f.ads()
				a.request(&discovery.DiscoveryRequest{Node: n, TypeUrl: clusters.URL()})
				if a.ended() != "InvalidArgument" || f.metric(`xds_refused_total{reason="namespaces"}`) != 1 {
					t.Errorf("%s (%v)", a.ended(), a.err)
				}
			})
		})
	}
}

// §10.4: a stream has so many Clusters by a wildcard. Of namespaces with more, that with the most
// loses first.
func TestWildcardLimit(t *testing.T) {
	c := catalog.New(catalog.Options{})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for i := range maxWildcard {
		c.Put(service("big", fmt.Sprintf("s%05d", i), "http:80"))
	}
	for i := range 10 {
		c.Put(service("zoo", fmt.Sprintf("s%d", i), "http:80"))
	}
	c.MarkSynced()
	go func() { _ = c.Run(ctx) }()
	<-c.Synced()
	var log logtest.Buffer
	s := NewServer(c, Config{}, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(&log, nil)))
	shared := &sharedListing{coverage: coverage{namespaces: "*"}, server: s}
	l, _ := shared.newest()
	defer l.services.Release()
	of := map[string]int{}
	for _, service := range l.clusters {
		of[service.Namespace]++
	}
	if of["zoo"] != 10 || of["big"] != maxWildcard-10 || l.leftOut != 10 {
		t.Errorf("%v, and %d are left out", of, l.leftOut)
	}
	if !strings.Contains(log.String(), "leftOut=10 limit=10000") {
		t.Errorf("log: %s", log.String())
	}
}

// §6.10: a SotW response with all Clusters of a wildcard is not sent more often than the budget
// allows, and then has all changes. Endpoints don't wait.
func TestWildcardPacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := service("shop", "web", "http:80")
		f := start(t, Config{EgressBudget: 500}, web, slice(web, "s", "http", 8080, "10.0.0.1"))
		a := f.ads()
		a.wild("")
		a.subscribeEndpoints(httpCluster)
		time.Sleep(maxDelay)
		a.take()
		f.catalog.Put(service("shop", "one", "http:80"))
		time.Sleep(100 * time.Millisecond)
		a.one(clusters)
		f.catalog.Put(service("shop", "two", "http:80"))
		f.catalog.Put(slice(web, "s", "http", 8080, "10.0.0.2"))
		time.Sleep(600 * time.Millisecond)
		f.catalog.Put(service("shop", "three", "http:80"))
		time.Sleep(100 * time.Millisecond)
		a.one(endpoints)
		time.Sleep(maxDelay)
		if got := len(a.one(clusters).GetResources()); got != 4 {
			t.Errorf("%d Clusters, want all 4 in one response", got)
		}
	})
}

// §6.4: of a response with several Clusters, a client rejects those that its reason names. The
// others are unaffected.
func TestWildcardRejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{}, service("shop", "web", "http:80", "more:8080"))
		a := f.ads()
		a.wild("")
		a.take()
		a.request(&discovery.DiscoveryRequest{
			TypeUrl: clusters.URL(), ResponseNonce: a.nonce(clusters), ErrorDetail: &rpcstatus.Status{Code: 3, Message: "Error adding/updating cluster(s) web.shop.svc.cluster.local:8080: bad"},
		})
		a.none("a rejection")
		if o := f.server.OpenStreams()[0]; !slices.Equal(o.Rejected, []string{"web.shop.svc.cluster.local:8080"}) {
			t.Errorf("rejected: %q", o.Rejected)
		}
	})
}

// §10.3: what is said of a stream with a wildcard, and the history of the Clusters that its client
// gets and loses.
func TestWildcardInspected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := history.New(history.DefaultBytes, nil)
		f := start(t, Config{History: log}, service("shop", "web", "http:80"))
		a := f.ads()
		a.wild("")
		f.change(put(service("shop", "new", "http:80")), service("shop", "web").ID())
		if o := f.server.OpenStreams()[0]; !slices.Equal(o.Names, []string{"*", "new.shop.svc.cluster.local:80"}) || o.Service.Name != "new" || o.LeftOut != 0 {
			t.Errorf("%+v", o)
		}
		if n, _ := f.server.Subscribers(service("shop", "new").Key); n != 1 {
			t.Errorf("%d streams have the Service, want 1", n)
		}
		got := map[string]history.Action{}
		log.Walk(history.Scope{}, time.Time{}, func(key history.Key, e history.Entry) {
			got[e.Object] = e.Action
		})
		if len(got) != 2 || got["new.shop.svc.cluster.local:80"] != history.Created || got[httpCluster] != history.Deleted {
			t.Errorf("history: %v", got)
		}
	})
}
