package xds

import (
	"testing"
	"testing/synctest"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/signpostd/signpost/catalog"
)

// pending is callingPod before its containers are known to run.
func pending(namespace, node string) *catalog.Workload {
	pod := *callingPod(namespace, node)
	pod.Running, pod.Ready = false, false
	return &pod
}

// A client may open its stream before its pod is known to run: it gets the endpoints for its zone as soon as
// that is known, on the same stream, and follows its node.
func TestPlaceOfPodThatStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := service("shop", "web", "http:80")
		zone := func(z string) *catalog.Node { return &catalog.Node{Cluster: catalog.LocalCluster, Name: "n", Zone: z} }
		f := start(t, Config{}, web, hinted(web), zone("a"))
		a := f.ads()
		a.send(endpoints, httpCluster)
		if got := prioritiesIn(t, a.one(endpoints)); got != "0:10.0.0.1 0:10.0.0.2" {
			t.Errorf("before the pod is known: %s", got)
		}
		f.change(put(pending("shop", "n")))
		a.none("the pod does not run yet")
		f.change(put(callingPod("shop", "n")))
		if got := prioritiesIn(t, a.one(endpoints)); got != "0:10.0.0.1 1:10.0.0.2" {
			t.Errorf("when the pod runs: %s", got)
		}
		if s := f.only().inspect(f.only().opened); s.Pod != "client" || s.Namespace != "shop" || s.Node != "n" {
			t.Errorf("the stream is shown as that of %s/%s on %s", s.Namespace, s.Pod, s.Node)
		}
		f.change(put(zone("b")))
		if got := prioritiesIn(t, a.one(endpoints)); got != "0:10.0.0.2 1:10.0.0.1" {
			t.Errorf("when the node moves: %s", got)
		}
		f.change(put(callingPod("other", "n")))
		a.none("a known pod changes")
	})
}

// Names without a namespace are looked up in that of the pod as soon as it is known.
func TestShortNamesOfPodThatStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, objects := shop()
		f := start(t, Config{}, objects...)
		a, d := f.ads(), f.delta()
		if got := a.listener(t, "web:80"); got == httpCluster {
			t.Fatalf("before the pod is known: %q", got)
		}
		d.send(&discovery.DeltaDiscoveryRequest{Node: node(pythonAgent, nil), TypeUrl: listeners.URL(), ResourceNamesSubscribe: []string{"web:80"}})
		d.expect("before the pod is known", "-web:80")
		f.change(put(callingPod("shop", "n")))
		if got := clusterIn(t, a.one(listeners).GetResources()[0]); got != httpCluster {
			t.Errorf("led to %q", got)
		}
		d.expect("when the pod is known", "+web:80")
		a.ack(listeners, "web:80")
		a.none("an acknowledgment")
		f.change(put(&catalog.ServiceProfile{
			Cluster: catalog.LocalCluster, Namespace: "shop", Name: "web.shop.svc.cluster.local",
			Routes: []catalog.Route{{Condition: &catalog.RequestMatch{PathRegex: "/a/.*"}, Timeout: time.Second}},
		}))
		a.one(listeners)
		d.expect("new routes", "+web:80")
	})
}

// The wildcard of an Envoy that names no namespaces has the Clusters of its pod's namespace as soon as that is
// known.
func TestWildcardOfPodThatStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, Config{}, service("shop", "web", "http:80"), service("other", "web", "http:80"))
		a := f.ads()
		a.request(&discovery.DiscoveryRequest{Node: node("envoy", nil), TypeUrl: clusters.URL()})
		if got := a.one(clusters).GetResources(); len(got) != 0 {
			t.Errorf("before the pod is known: %s", namesIn(got))
		}
		f.change(put(callingPod("shop", "n")))
		if got := namesIn(a.one(clusters).GetResources()); len(got) != 1 || got[0] != httpCluster {
			t.Errorf("when the pod is known: %s", got)
		}
		f.change(put(service("shop", "api", "http:80")))
		if got := namesIn(a.one(clusters).GetResources()); len(got) != 2 {
			t.Errorf("after another Service is created: %s", got)
		}
	})
}
