package xds

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/catalog"
)

// Clients learn of a Service that is created after an interruption of the watch, during which another client
// has subscribed to its name.
func TestServiceCreatedAfterInterruption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := ""
		f := start(t, Config{Outdated: func() string { return why }})
		before, during := f.ads(), f.ads()
		const missing = "no Service web in namespace shop"
		if got := before.listener(t, "web.shop:80"); got != missing {
			t.Errorf("told %q, want %q", got, missing)
		}
		why = "it can't read services (unreachable)"
		if got, want := during.listener(t, "web.shop:80"), missing+", as far as this replica knows: "+why; got != want {
			t.Errorf("during the interruption told %q, want %q", got, want)
		}
		before.take()
		why = ""
		_, objects := shop()
		f.change(objects)
		for name, a := range map[string]*ads{"before": before, "during": during} {
			if got := clusterIn(t, a.one(listeners).GetResources()[0]); got != httpCluster {
				t.Errorf("the client from %s the interruption is led to %q", name, got)
			}
		}
	})
}

// Clients of a Service that not all may see get its new routes after an interruption of the watch, during
// which another client has subscribed to its name.
func TestRoutesChangedAfterInterruption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web, objects := shop()
		web.Policy = &catalog.TrafficPolicy{VisibleTo: "."}
		why := ""
		f := start(t, Config{Authenticate: byHeader, Outdated: func() string { return why }}, objects...)
		before, during := f.as("shop"), f.as("shop")
		before.listener(t, "web.shop:80")
		why = "it can't read services (unreachable)"
		during.listener(t, "web.shop:80")
		before.take()
		why = ""
		f.change(put(&catalog.ServiceProfile{
			Cluster: catalog.LocalCluster, Namespace: "shop", Name: "web.shop.svc.cluster.local",
			Routes: []catalog.Route{{Condition: &catalog.RequestMatch{PathRegex: "/a/.*"}, Timeout: time.Second}},
		}))
		for name, a := range map[string]*ads{"before": before, "during": during} {
			if got := a.take(); len(got) != 1 {
				t.Errorf("the client from %s the interruption gets %s, want the Listener with the new routes", name, transcript(got))
			}
		}
	})
}
