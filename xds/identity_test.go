package xds

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/xds/auth"
)

// byHeader is an authenticator that believes the header "is": a namespace and a node.
func byHeader(ctx context.Context) (auth.Identity, error) {
	values := metadata.ValueFromIncomingContext(ctx, "authorization")
	if len(values) == 0 {
		return auth.Identity{}, status.Error(codes.Unauthenticated, "say who you are")
	}
	namespace, node, _ := strings.Cut(values[0], "/")
	return auth.Identity{Namespace: namespace, Node: node}, nil
}

// as opens a stream of a client with this identity; "" for none.
func (f *fixture) as(identity string) *ads {
	f.t.Helper()
	if identity == "" {
		return f.ads()
	}
	a := f.open(metadata.AppendToOutgoingContext(f.t.Context(), "authorization", identity))
	close(a.reads)
	return a
}

// Case 60: a client that doesn't prove who it is gets nothing. What it proves beats what it says
// and its address.
func TestIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, objects := shop()
		f := start(t, Config{Authenticate: byHeader}, append(objects, callingPod("other", "n2"),
			&catalog.Node{Cluster: catalog.LocalCluster, Name: "n1", Zone: "a"}, &catalog.Node{Cluster: catalog.LocalCluster, Name: "n2", Zone: "b"})...)
		for range 2 {
			nobody := f.as("")
			nobody.send(listeners, "web.shop:80")
			if got := nobody.ended(); got != "Unauthenticated" {
				t.Errorf("without an identity: %s", got)
			}
		}
		if n := f.metric(`xds_refused_total{reason="identity"}`); n != 2 {
			t.Errorf("%v clients were refused for their identity", n)
		}
		if log := f.log.String(); strings.Count(log, "didn't prove who it is") != 1 || !strings.Contains(log, "say who you are") {
			t.Errorf("the log has %s", log)
		}
		a := f.as("shop/n1")
		a.request(&discovery.DiscoveryRequest{
			Node: node("gRPC Go", map[string]string{"NODE_NAME": "n2", "NAMESPACE": "other"}), TypeUrl: listeners.URL(), ResourceNames: []string{"web:80"},
		})
		if got := clusterIn(t, a.one(listeners).GetResources()[0]); got != httpCluster {
			t.Errorf("a short name leads to %q", got)
		}
		if s := f.only(); s.place != (catalog.Client{Node: "n1", Zone: "a"}) || s.client.namespace != "shop" {
			t.Errorf("the client is at %+v in %s", s.place, s.client.namespace)
		}
	})
}

// A replica that can't see changes says so of a Service that it doesn't know, in the same words of one that
// the client may not see. Subscribers are told when it sees changes again.
func TestUnknownWhileOutdated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, objects := shop()
		web.Policy = &catalog.TrafficPolicy{VisibleTo: "."}
		why := "it can't read services (unreachable)"
		f := start(t, Config{Authenticate: byHeader, Outdated: func() string { return why }}, objects...)
		const known = ", as far as this replica knows: it can't read services (unreachable)"
		other := f.as("other")
		for _, name := range []string{"nope", "web"} {
			if got, want := other.listener(t, name+".shop:80"), "no Service "+name+" in namespace shop"; got != want+known {
				t.Errorf("told %q, want %q", got, want+known)
			}
		}
		if got := f.as("shop").listener(t, "web.shop:80"); got != httpCluster {
			t.Errorf("a known Service leads to %s", got)
		}
		nope := catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "shop", Name: "nope"}
		if got := f.server.Explain(nope, "", 80).Refusal; got == nil || got.Error() != "no Service nope in namespace shop"+known {
			t.Errorf("explained as %v", got)
		}
		why = ""
		if got := f.as("shop").listener(t, "nope.shop:80"); got != "no Service nope in namespace shop" {
			t.Errorf("afterwards told %q", got)
		}
	})
}

// Case 60: for clients in other namespaces, a Service that isn't visible to them doesn't exist,
// until it is visible.
func TestVisibility(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, objects := shop()
		visible := func(to string) *catalog.Service {
			s := *web
			s.Policy = &catalog.TrafficPolicy{VisibleTo: to, Balancer: catalog.Balancer{Kind: catalog.LeastRequest}}
			return &s
		}
		f := start(t, Config{Authenticate: byHeader}, append(objects, visible("."))...)
		own, other := f.as("shop"), f.as("other")
		if got := own.listener(t, "web.shop:80"); got != httpCluster {
			t.Errorf("its own namespace is led to %s", got)
		}
		if got := other.listener(t, "web.shop:80"); got != "no Service web in namespace shop" {
			t.Errorf("another namespace is led to %q", got)
		}
		for client, want := range map[*ads]string{own: "10.0.0.1:8080 10.0.0.2:8080", other: ""} {
			client.send(endpoints, httpCluster)
			if got := strings.Join(addressesIn(t, client.one(endpoints).GetResources()[0]), " "); got != want {
				t.Errorf("the endpoints are %q, want %q", got, want)
			}
		}
		if o := f.openOf(t, "other"); o.Endpoints != 0 || len(o.Unknown) != 2 {
			t.Errorf("the stream that sees nothing is shown with %d endpoints, unknown %s", o.Endpoints, o.Unknown)
		}

		f.change(put(visible(".,other")))
		own.none("a change of visibility for those who see the Service")
		if got := other.take(); len(got) != 2 || clusterIn(t, got[1].GetResources()[0]) != httpCluster || len(addressesIn(t, got[0].GetResources()[0])) != 2 {
			t.Errorf("when the Service becomes visible: %s", transcript(got))
		}
		f.change(put(visible(".")))
		// The client loses nothing, so the order is any.
		got := other.take()
		slices.SortFunc(got, func(a, b *discovery.DiscoveryResponse) int { return cmp.Compare(a.GetTypeUrl(), b.GetTypeUrl()) })
		if len(got) != 2 || clusterIn(t, got[1].GetResources()[0]) == httpCluster || len(addressesIn(t, got[0].GetResources()[0])) != 0 {
			t.Errorf("when it is hidden again: %s", transcript(got))
		}
		own.send(clusters, httpCluster)
		other.send(clusters, httpCluster)
		private := own.one(clusters).GetVersionInfo()
		if got := other.one(clusters).GetVersionInfo(); got == private {
			t.Errorf("the Cluster is shown to all, version %s", got)
		}
		f.change(nil, web.ID())
		if got := other.take(); len(got) != 0 {
			t.Errorf("when a hidden Service is deleted: %s", transcript(got))
		}
		for name, late := range map[string]*ads{"shop": f.as("shop"), "other": f.as("other")} {
			late.send(clusters, httpCluster)
			if got := late.one(clusters); (got.GetVersionInfo() == private) != (name == "shop") {
				t.Errorf("a new client in %s is sent %v after the deletion", name, clusterOf(t, got.GetResources()[0]))
			}
		}
	})
}

// openOf returns what is shown of the stream of a client in a namespace.
func (f *fixture) openOf(t *testing.T, namespace string) OpenStream {
	t.Helper()
	for _, o := range f.server.OpenStreams() {
		if o.Namespace == namespace {
			return o
		}
	}
	t.Fatalf("no stream of a client in namespace %s is open", namespace)
	return OpenStream{}
}

// Without authentication there is nothing to restrict by.
func TestVisibilityWithoutAuthentication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, objects := shop()
		web.Policy = &catalog.TrafficPolicy{VisibleTo: "."}
		f := start(t, Config{}, objects...)
		if got := f.ads().listener(t, "web.shop:80"); got != httpCluster {
			t.Errorf("led to %s", got)
		}
	})
}
