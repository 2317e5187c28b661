package catalog

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// profileObjects returns objects that depend on each other as little as possible.
func profileObjects() []Object {
	return []Object{
		service("web", clusterIPs("10.96.0.1")), service("db", clusterIPs("10.96.0.2")),
		profileOf("web", testNamespace), profileOf("web", "client"),
		pod("a", runs("10.0.0.1"), labelled("app", "web"), owned("ReplicaSet", "rs"), onHost("192.168.0.1", 80)),
		pod("b", runs("10.0.0.2"), labelled("app", "db")),
		pod("agent", runs("192.168.0.2"), func(w *Workload) { w.HostNetwork = true }),
		vm("vm", "10.1.0.1", labelled("app", "vm")),
		slice("web-1", "web", IPv4, at("10.0.0.1", podKey("a"), func(e *SliceEndpoint) { e.Hostname = "web-0" })),
		&Node{Cluster: LocalCluster, Name: "n1", Zone: "east"},
	}
}

// profileQueries returns queries about these objects, by name.
func profileQueries() map[string]ProfileQuery {
	return map[string]ProfileQuery{
		"web": queryService("web", 80), "web for client": queryService("web", 80, from("client")), "web's IP": queryIP("10.96.0.1", 80),
		"db": queryService("db", 80), "pod a": queryIP("10.0.0.1", 80), "pod b": queryIP("10.0.0.2", 80),
		"host of a": queryIP("192.168.0.1", 80), "host of agent": queryIP("192.168.0.2", 80), "vm": queryIP("10.1.0.1", 80),
		"web-0": queryHostname("web", "web-0", 80), "missing": queryService("missing", 80), "nobody": queryIP("10.9.9.9", 80),
	}
}

// profileStaleCase is a change and the queries whose results it may change.
type profileStaleCase struct {
	put, remove []Object
	want        []string
}

var profileStaleCases = map[string]profileStaleCase{
	"nothing":                              {},
	"a Service":                            {put: []Object{service("web", clusterIPs("10.96.0.1"))}, want: []string{"web", "web for client", "web's IP", "web-0"}},
	"a Service deleted":                    {remove: []Object{service("db")}, want: []string{"db"}},
	"a Service appears":                    {put: []Object{service("missing")}, want: []string{"missing"}},
	"a Service of another name":            {put: []Object{service("other", clusterIPs("10.96.0.9"))}},
	"a Service takes an IP":                {put: []Object{service("other", clusterIPs("10.9.9.9", "10.0.0.2"))}, want: []string{"nobody", "pod b"}},
	"a Service of another cluster":         {put: []Object{inOtherCluster(service("web", clusterIPs("10.96.0.1")))}},
	"a profile":                            {put: []Object{profileOf("web", testNamespace)}, want: []string{"web", "web's IP"}},
	"T14 the own, the client's is in use":  {remove: []Object{profileOf("web", testNamespace)}, want: []string{"web", "web's IP"}},
	"a profile of the client":              {remove: []Object{profileOf("web", "client")}, want: []string{"web for client"}},
	"a profile of another client":          {put: []Object{profileOf("web", "other")}},
	"a profile for a missing Service":      {put: []Object{profileOf("missing", testNamespace)}, want: []string{"missing"}},
	"a pod":                                {put: []Object{pod("b", runs("10.0.0.2"))}, want: []string{"pod b"}},
	"a pod moves":                          {put: []Object{pod("b", runs("10.9.9.9"))}, want: []string{"nobody", "pod b"}},
	"a pod with a host port":               {remove: []Object{pod("a")}, want: []string{"host of a", "pod a", "web-0"}},
	"a pod in the network of its host":     {put: []Object{pod("agent", runs("192.168.0.2"), func(w *Workload) { w.HostNetwork = true }, labelled("a", "b"))}},
	"that pod gets a host port":            {put: []Object{pod("agent", runs("192.168.0.2"), func(w *Workload) { w.HostNetwork = true }, onHost("192.168.0.2", 80))}, want: []string{"host of agent"}},
	"a pod appears at an IP":               {put: []Object{pod("c", runs("10.9.9.9"))}, want: []string{"nobody"}},
	"a pod appears elsewhere":              {put: []Object{pod("c", runs("10.8.8.8"))}},
	"a pod of another cluster":             {put: []Object{inOtherCluster(pod("a", runs("10.0.0.1")))}},
	"an ExternalWorkload":                  {put: []Object{vm("vm", "10.1.0.1", opaquePod("80"))}, want: []string{"vm"}},
	"a slice":                              {put: []Object{slice("web-1", "web", IPv4)}, want: []string{"web-0"}},
	"a slice of another Service":           {put: []Object{slice("db-1", "db", IPv4, at("10.0.0.1", podKey("a")))}},
	"an owner":                             {put: []Object{owner("ReplicaSet", "rs", OwnerRef{"Deployment", "web"})}, want: []string{"host of a", "pod a", "web-0"}},
	"an owner of no workload":              {put: []Object{owner("ReplicaSet", "other", OwnerRef{"Deployment", "web"})}},
	"a Server of one pod":                  {put: []Object{opaqueServer("s", 80, having("app", "db"))}, want: []string{"pod b"}},
	"a Server of all ExternalWorkloads":    {put: []Object{externalServer("s", &Selector{})}, want: []string{"vm"}},
	"a Server that selects nothing":        {put: []Object{opaqueServer("s", 80, having("app", "none"))}},
	"a node":                               {put: []Object{&Node{Cluster: LocalCluster, Name: "n1", Zone: "west"}}},
	"two changes of one thing in one step": {put: []Object{pod("b", runs("10.0.0.2")), opaqueServer("s", 80, &Selector{})}, want: []string{"host of a", "pod a", "pod b", "web-0"}},
}

// A change makes exactly the snapshots stale whose results may depend on it. The catalog then forgets them.
func TestProfileStale(t *testing.T) {
	for name, tc := range profileStaleCases {
		t.Run(name, func(t *testing.T) {
			c := New(profileOptions)
			apply(c, profileObjects()...)
			before := map[string]*ProfileSnapshot{}
			for name, q := range profileQueries() {
				before[name] = c.Profile(q)
			}
			for _, v := range tc.remove {
				c.Delete(v.ID())
			}
			apply(c, tc.put...)
			var stale []string
			for _, name := range slices.Sorted(maps.Keys(before)) {
				if isClosed(before[name].Stale()) {
					stale = append(stale, name)
				}
			}
			if diff := cmp.Diff(tc.want, stale); diff != "" {
				t.Errorf("stale (-want +got):\n%s", diff)
			}
			for _, name := range stale {
				if isWatched(c, before[name]) {
					t.Errorf("%s: stale, and still watched", name)
				}
			}
			// Closing one of them again would panic.
			apply(c, profileObjects()...)
			for _, s := range before {
				s.Release()
				s.Release()
			}
			if n := len(c.state.dependencies.watchers); n != 0 {
				t.Errorf("%d dependencies are watched after all were released", n)
			}
		})
	}
}

func isWatched(c *Catalog, s *ProfileSnapshot) bool {
	for _, watchers := range c.state.dependencies.watchers {
		if _, ok := watchers[&s.watch]; ok {
			return true
		}
	}
	return false
}

// A released snapshot doesn't become stale.
func TestProfileReleased(t *testing.T) {
	c := New(profileOptions)
	apply(c, profileObjects()...)
	released, kept := c.Profile(queryIP("10.0.0.1", 80)), c.Profile(queryIP("10.0.0.1", 80))
	released.Release()
	c.Delete(podKey("a").ID())
	c.step()
	if isClosed(released.Stale()) {
		t.Error("a released snapshot became stale: something still leads to it")
	}
	if !isClosed(kept.Stale()) {
		t.Error("after the release of one snapshot, another one doesn't become stale")
	}
}
