package catalog

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Explain has the outcome Served for exactly the endpoints that Resolve returns, with any objects.
func TestExplainAgreesWithResolve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newState()
		for _, v := range rapid.SliceOfN(drawObject(), 0, 40).Draw(t, "objects") {
			s.apply(v.ID(), v)
		}
		q := Query{Port: rapid.SampledFrom([]uint16{80, 81}).Draw(t, "port"), IPv6: rapid.Bool().Draw(t, "IPv6"), Hostname: rapid.SampledFrom([]string{"", "h"}).Draw(t, "hostname")}
		for _, name := range []string{"a", "b"} {
			key := serviceKey(name)
			var want, got []string
			for _, e := range Resolve(s.snapshot(key, &Options{}), q).Endpoints {
				want = append(want, e.Addr.String())
			}
			for _, m := range s.explain(key, q, &Options{}).Members {
				m.each(func(_ *EndpointSlice, e *ExplainedEndpoint) { got = append(got, e.Addr.String()) })
			}
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s %+v (-resolve +explain):\n%s", name, q, diff)
			}
		}
	})
}

// outcomes returns the outcome of each endpoint as text.
func outcomes(w Explanation) []string {
	names := []string{"served", "not ready", "unknown", "replaced", "no port", "other hostname", "family off", "other family", "taken", "ExternalName"}
	var all []string
	for _, m := range w.Members {
		for _, s := range m.Slices {
			for _, e := range s.Endpoints {
				all = append(all, fmt.Sprintf("%s %s", e.Addr, names[e.Outcome]))
			}
		}
	}
	return all
}

func TestExplain(t *testing.T) {
	notReady := func(e *SliceEndpoint) { e.NotReady = true }
	uid := func(u UID) func(*SliceEndpoint) { return func(e *SliceEndpoint) { e.TargetUID = u } }
	two := func(e *SliceEndpoint) { e.Addresses = append(e.Addresses, netip.MustParseAddr("10.0.0.99")) }
	unnamed := slice("s", "web", IPv4, at("10.0.0.1", podKey("a")))
	unnamed.Subsets[0].Ports[0].Name = "web"
	for name, test := range map[string]struct {
		q       Query
		objects []Object
		want    string
	}{
		"nothing":        {want: ""},
		"served":         {objects: []Object{service("web"), pod("a"), slice("s", "web", IPv4, at("10.0.0.1", podKey("a")))}, want: "10.0.0.1:8080 served"},
		"not ready":      {objects: []Object{service("web"), pod("a"), slice("s", "web", IPv4, at("10.0.0.1", podKey("a"), notReady))}, want: "10.0.0.1:8080 not ready"},
		"an unknown pod": {objects: []Object{service("web"), slice("s", "web", IPv4, at("10.0.0.1", podKey("a")))}, want: "10.0.0.1:8080 unknown"},
		"an unknown pod after a known one": {
			objects: []Object{service("web"), pod("a"), slice("s", "web", IPv4, at("10.0.0.1", podKey("a")), at("10.0.0.2", podKey("b")))},
			want:    "10.0.0.1:8080 served, 10.0.0.2:8080 unknown",
		},
		"a replaced pod":         {objects: []Object{service("web"), pod("a", func(w *Workload) { w.UID = 2 }), slice("s", "web", IPv4, at("10.0.0.1", podKey("a"), uid(1)))}, want: "10.0.0.1:8080 replaced"},
		"another name of a port": {objects: []Object{service("web"), pod("a"), unnamed}, want: "10.0.0.1:0 no port"},
		"a port that isn't declared": {
			q:       Query{Port: 81},
			objects: []Object{service("web"), pod("a"), slice("s", "web", IPv4, at("10.0.0.1", podKey("a")))}, want: "10.0.0.1:81 served",
		},
		"another hostname": {q: Query{Port: 80, Hostname: "h"}, objects: []Object{service("web"), slice("s", "web", IPv4, at("10.0.0.1", WorkloadKey{}))}, want: "10.0.0.1:8080 other hostname"},
		"families": {
			q:       Query{Port: 80, IPv6: true},
			objects: []Object{service("web"), pod("a"), slice("s4", "web", IPv4, at("10.0.0.1", podKey("a"))), slice("s6", "web", IPv6, at("fd00::1", podKey("a")))},
			want:    "10.0.0.1:8080 other family, [fd00::1]:8080 served",
		},
		"the IPv4 address of such a pod without targetRef": {
			q: Query{Port: 80, IPv6: true},
			objects: []Object{
				service("web"), pod("a"), slice("s4", "web", IPv4, at("10.0.0.1", podKey("a"))), slice("s6", "web", IPv6, at("fd00::1", podKey("a"))),
				slice("t", "web", IPv4, at("10.0.0.1", WorkloadKey{})),
			},
			want: "10.0.0.1:8080 other family, [fd00::1]:8080 served, 10.0.0.1:8080 taken",
		},
		"two pods with one address": {
			objects: []Object{
				service("web"), pod("a", func(w *Workload) { w.Terminating = true }), pod("b"),
				slice("s", "web", IPv4, at("10.0.0.1", podKey("a")), at("10.0.0.1", podKey("b"))),
			},
			want: "10.0.0.1:8080 taken, 10.0.0.1:8080 served",
		},
		"no IPv6": {
			objects: []Object{service("web"), pod("a"), slice("s4", "web", IPv4, at("10.0.0.1", podKey("a"))), slice("s6", "web", IPv6, at("fd00::1", podKey("a")))},
			want:    "10.0.0.1:8080 served, [fd00::1]:8080 family off",
		},
		"twice": {
			objects: []Object{service("web"), pod("a"), slice("s1", "web", IPv4, at("10.0.0.1", podKey("a"))), slice("s2", "web", IPv4, at("10.0.0.1", podKey("a")))},
			want:    "10.0.0.1:8080 served, 10.0.0.1:8080 taken",
		},
		"several addresses":  {objects: []Object{service("web"), pod("a"), slice("s", "web", IPv4, at("10.0.0.1", podKey("a"), two))}, want: "10.0.0.99:8080 served"},
		"no target":          {objects: []Object{service("web"), slice("s", "web", IPv4, at("10.0.0.1", WorkloadKey{}, two))}, want: "10.0.0.1:8080 served, 10.0.0.99:8080 served"},
		"of no Service":      {objects: []Object{pod("a"), slice("s", "web", IPv4, at("10.0.0.1", podKey("a")))}, want: "10.0.0.1:0 no port"},
		"an ExternalName":    {objects: []Object{service("web", func(s *Service) { s.ExternalName = true }), pod("a"), slice("s", "web", IPv4, at("10.0.0.1", podKey("a")))}, want: "10.0.0.1:8080 ExternalName"},
		"an empty slice":     {objects: []Object{service("web"), slice("s", "web", IPv4)}, want: ""},
		"not linked":         {objects: []Object{service("web", remoteIn("east", "web"))}, want: ""},
		"a linked, unsynced": {objects: []Object{service("web", remoteIn("east", "web")), &Cluster{Name: "east"}}, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			if test.q.Port == 0 {
				test.q.Port = 80
			}
			w := stateOf(test.objects...).explain(serviceKey("web"), test.q, &Options{})
			if got := strings.Join(outcomes(w), ", "); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
	w := stateOf(service("web", remoteIn("east", "web")), &Cluster{Name: "east"}).explain(serviceKey("web"), Query{Port: 80}, &Options{})
	if m := w.Members[0]; !m.Linked || m.Synced || m.Key.Cluster != "east" {
		t.Errorf("%+v", m)
	}
	w = stateOf(service("web", remoteIn("east", "web"))).explain(serviceKey("web"), Query{Port: 80}, &Options{})
	if m := w.Members[0]; m.Linked || m.Synced {
		t.Errorf("%+v", m)
	}
}

func remoteIn(cluster, name string) func(*Service) {
	return func(s *Service) { s.RemoteCluster, s.RemoteService = &cluster, &name }
}

// Workloads count once, whatever their addresses and slices.
func TestCountEndpoints(t *testing.T) {
	notReady := func(e *SliceEndpoint) { e.NotReady = true }
	web := service("web")
	c := started(web, service("db"), pod("a"), pod("b"),
		slice("s4", "web", IPv4, at("10.0.0.1", podKey("a")), at("10.0.0.2", podKey("b"), notReady), at("10.0.0.3", podKey("gone"))),
		slice("s6", "web", IPv6, at("fd00::1", podKey("a")), at("fd00::2", podKey("b"), notReady)),
		slice("own", "web", "", at("192.0.2.1", WorkloadKey{}), at("192.0.2.2", WorkloadKey{}, notReady)))
	if got := c.CountEndpoints(web); got.Ready != 2 || got.NotReady != 3 {
		t.Errorf("%d ready, %d not", got.Ready, got.NotReady)
	}
	if n := c.CountServices(); n != 2 {
		t.Errorf("%d Services", n)
	}
	if diff := cmp.Diff([]string{"db", "web"}, c.ServiceNames(testNamespace)); diff != "" {
		t.Error(diff)
	}
}

func TestHolders(t *testing.T) {
	ip := netip.MustParseAddr("10.0.0.1")
	c := started(
		service("web", func(s *Service) { s.ClusterIPs = []netip.Addr{ip} }), pod("a", func(w *Workload) { w.IPs = []netip.Addr{ip} }),
		slice("s", "web", IPv4, at("10.0.0.1", podKey("a"))), slice("other", "web", IPv4, at("10.0.0.2", podKey("a"))),
	)
	h := c.Holders(netip.MustParseAddrPort("[::ffff:10.0.0.1]:0"))
	if len(h.Services) != 1 || len(h.Workloads) != 1 || len(h.Slices) != 1 || h.Slices[0].Name != "s" {
		t.Errorf("%+v", h)
	}
	if h := c.Holders(netip.MustParseAddrPort("10.0.0.9:80")); len(h.Services)+len(h.Workloads)+len(h.Hosts)+len(h.Slices) != 0 {
		t.Errorf("%+v", h)
	}
	// Holders of an address of a node are only the pods with that hostPort (mesh finding 8).
	apply(c, pod("c", runs("10.0.0.3"), onHost("192.168.0.1", 80)), pod("d", runs("10.0.0.4"), onHost("192.168.0.1", 81)))
	for at, want := range map[string]int{"192.168.0.1:80": 1, "192.168.0.1:0": 2, "192.168.0.1:1080": 0} {
		if h := c.Holders(netip.MustParseAddrPort(at)); len(h.Hosts) != want {
			t.Errorf("%s: %d pods on the host, want %d", at, len(h.Hosts), want)
		}
	}
	if w, named := c.FindWorkload(podKey("a")); w == nil || len(named) != 2 || named[0].Name != "other" {
		t.Errorf("%+v, %d slices", w, len(named))
	}
	if w, named := c.FindWorkload(podKey("b")); w != nil || named != nil {
		t.Errorf("%+v, %d slices", w, len(named))
	}
}
