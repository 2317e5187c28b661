package validate_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/validate"
)

// xdsClient is an xDS client with one name. It keeps its endpoints when its stream ends.
type xdsClient struct {
	*client
	version string
}

func (m *made) openADS(replica string) *xdsClient {
	return &xdsClient{client: m.openTo(replica, "DeltaEDS", webPath)}
}

// assigns sends these endpoints: 10.0.0.1:8080, or 10.0.0.1:8080! if draining. The version depends only on
// the endpoints.
func (c *xdsClient) assigns(endpoints ...string) {
	c.assignsAs(strings.Join(endpoints, " ")+"v", endpoints...)
}

func (c *xdsClient) assignsAs(version string, endpoints ...string) {
	c.version = version
	clear(c.known)
	for _, e := range endpoints {
		at, draining := strings.CutSuffix(e, "!")
		c.known[at] = history.AssignedEndpoint{Draining: draining, LocalityWeight: 1}.Text()
	}
	c.has(history.StreamUpdated)
}

// has records an event with the endpoints that the client knows.
func (c *xdsClient) has(e history.StreamEvent) {
	c.event(history.Stream{Event: e, Version: c.version, Addresses: maps.Clone(c.known)})
}

// reopens opens another stream, on which the client sends its version.
func (c *xdsClient) reopens(replica string) {
	c.m.streams++
	c.id, c.replica = c.m.streams, replica
	c.has(history.StreamOpened)
}

// drain makes pod a of web draining. Pod b is ready or not.
func (m *made) drain(b string) {
	m.put("endpointslices", "web-1", `{"metadata":{"name":"web-1","namespace":"lab","labels":{"kubernetes.io/service-name":"web"}},"addressType":"IPv4",
		"ports":[{"name":"http","port":8080,"protocol":"TCP"}],"endpoints":[
		{"addresses":["10.0.0.1"],"conditions":{"ready":false,"serving":true,"terminating":true},"targetRef":{"kind":"Pod","namespace":"lab","name":"a"}},
		{"addresses":["10.0.0.2"],"conditions":{"ready":`+fmt.Sprint(b == "ready")+`},"targetRef":{"kind":"Pod","namespace":"lab","name":"b"}}]}`)
}

// TestAssignments shows which responses the xDS validators accept and report (spec/xds.md case 64;
// spec/xds.md §4.1 for draining endpoints, spec/xds.md §6.5 for versions). Each case begins with a client
// that has known the endpoints a and b of web for a minute, and ends with a calm.
func TestAssignments(t *testing.T) {
	tests := []struct {
		name string
		play func(*made, *xdsClient)
		want []string
	}{
		{"nothing happens", func(*made, *xdsClient) {}, nil},
		{"a pod comes and one goes", func(m *made, c *xdsClient) {
			m.pod("c")
			m.slice("web-1", "web", "b=10.0.0.2", "c=10.0.0.3")
			m.pass(1900 * time.Millisecond)
			c.assigns(b1, c1)
		}, nil},
		{"a reconnect with the newest version gets no response", func(m *made, c *xdsClient) {
			c.closes("unavailable")
			m.pass(10 * time.Second)
			c.reopens("replica-b")
			m.pass(time.Minute)
		}, nil},
		{"what changed while the client was disconnected comes within two seconds", func(m *made, c *xdsClient) {
			c.closes("unavailable")
			m.slice("web-1", "web", "b=10.0.0.2")
			m.pass(10 * time.Second)
			c.reopens("replica-b")
			m.pass(time.Second)
			c.assigns(b1)
		}, nil},
		{"an outage, in which nothing is said", func(m *made, c *xdsClient) {
			m.fault(1, "cut", "replica-a→kube-apiserver", "")
			m.slice("web-1", "web", "b=10.0.0.2")
			m.pass(time.Minute)
			m.fault(1, "cut", "replica-a→kube-apiserver", "ended")
			m.pass(20 * time.Second)
			c.assigns(b1)
		}, nil},
		{"the Service is deleted, and comes back", func(m *made, c *xdsClient) {
			m.remove("services", "web")
			c.assigns()
			m.pass(time.Minute)
			m.service("web")
			c.assigns(a1, b1)
		}, nil},
		{"a pod is draining", func(m *made, c *xdsClient) {
			m.drain("ready")
			c.assigns(a1+"!", b1)
		}, nil},
		{"only draining pods are left, which are used", func(m *made, c *xdsClient) {
			m.drain("not ready")
			c.assigns(a1)
		}, nil},

		{"V8: a removal never came", func(m *made, _ *xdsClient) {
			m.slice("web-1", "web", "b=10.0.0.2")
		}, []string{"V1", "V8"}},
		{"V8: a removal comes too late", func(m *made, c *xdsClient) {
			m.slice("web-1", "web", "b=10.0.0.2")
			m.pass(5 * time.Second)
			c.assigns(b1)
		}, []string{"V8"}},
		{"V8: a pod was gone for a while, and is back before the client heard of it", func(m *made, _ *xdsClient) {
			m.slice("web-1", "web", "b=10.0.0.2")
			m.pass(10 * time.Second)
			m.slice("web-1", "web", "a=10.0.0.1", "b=10.0.0.2")
		}, []string{"V8"}},
		{"V8: a reconnect with an old version gets no response", func(m *made, c *xdsClient) {
			c.closes("unavailable")
			m.slice("web-1", "web", "b=10.0.0.2")
			m.pass(10 * time.Second)
			c.reopens("replica-b")
			m.pass(10 * time.Second)
			c.assigns(b1)
		}, []string{"V8"}},
		{"V8: the trouble of another replica is no excuse", func(m *made, c *xdsClient) {
			m.fault(1, "cut", "replica-b→kube-apiserver", "")
			m.openADS("replica-b").assigns(a1, b1)
			m.slice("web-1", "web", "b=10.0.0.2")
			m.pass(10 * time.Second)
			c.assigns(b1)
		}, []string{"V1", "V8"}},
		{"an address that nobody has is replaced at once", func(_ *made, c *xdsClient) {
			c.assigns(a1, b1, "10.9.9.9:8080")
			c.assigns(a1, b1)
		}, nil},
		{"V8: an address that nobody has, for a moment", func(m *made, c *xdsClient) {
			c.assigns(a1, b1, "10.9.9.9:8080")
			m.pass(time.Millisecond)
			c.assigns(a1, b1)
		}, []string{"V8"}},
		{"V8: a draining pod is told as usable", func(m *made, c *xdsClient) {
			m.drain("ready")
			m.pass(10 * time.Second)
			c.assigns(a1+"!", b1)
		}, []string{"V8"}},
		{"V8: a client would reject it", func(m *made, c *xdsClient) {
			c.event(history.Stream{Event: history.StreamUpdated, Version: c.version, Addresses: maps.Clone(c.known), Problem: a1 + " is in the ClusterLoadAssignment twice"})
		}, []string{"V8"}},

		{"V9: an addition comes too late", func(m *made, c *xdsClient) {
			m.pod("c")
			m.slice("web-1", "web", "a=10.0.0.1", "b=10.0.0.2", "c=10.0.0.3")
			m.pass(5 * time.Second)
			c.assigns(a1, b1, c1)
		}, []string{"V9"}},
		{"V9: all endpoints vanish in an outage", func(m *made, c *xdsClient) {
			m.fault(1, "apiserver-kill", "kube-apiserver", "")
			m.pass(10 * time.Second)
			c.assigns()
			m.pass(10 * time.Second)
			m.fault(1, "apiserver-kill", "kube-apiserver", "ended")
			c.assigns(a1, b1)
		}, []string{"V9"}},
		{"V9: a ready pod is told as draining", func(m *made, c *xdsClient) {
			c.assigns(a1+"!", b1)
			m.pass(time.Second)
			c.assigns(a1, b1)
		}, []string{"V9"}},
		{"V9: an addition never comes on a stream that got no response", func(m *made, c *xdsClient) {
			c.closes("unavailable")
			m.pass(time.Second)
			c.reopens("replica-b")
			m.pass(10 * time.Second)
			m.pod("c")
			m.slice("web-1", "web", "a=10.0.0.1", "b=10.0.0.2", "c=10.0.0.3")
		}, []string{"V1", "V9"}},

		{"V10: another replica has another version of the same", func(m *made, _ *xdsClient) {
			m.openADS("replica-b").assignsAs("other", a1, b1)
		}, []string{"V10"}},
		{"V10: a version is used for other endpoints", func(m *made, c *xdsClient) {
			m.slice("web-1", "web", "b=10.0.0.2")
			c.assignsAs(c.version, b1)
		}, []string{"V10"}},
		{"V1: a stream has no response", func(m *made, _ *xdsClient) { m.openADS("replica-b") }, []string{"V1"}},
		{"V1: a client has given up", func(_ *made, c *xdsClient) { c.closes("unavailable") }, []string{"V1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMade()
			m.service("web")
			m.pod("a")
			m.pod("b")
			m.slice("web-1", "web", "a=10.0.0.1", "b=10.0.0.2")
			m.pass(time.Second)
			c := m.openADS("replica-a")
			c.assigns(a1, b1)
			m.pass(time.Minute)
			tt.play(m, c)
			m.calm()
			m.wantOf(t, slices.Concat(validate.Destination(), validate.XDS()), tt.want...)
		})
	}
}

// A ClusterLoadAssignment for a port that the Service doesn't declare must be empty (spec/xds.md §2.1).
func TestAssignmentOfUndeclaredPort(t *testing.T) {
	m := newMade()
	m.service("web")
	m.pod("a")
	m.slice("web-1", "web", "a=10.0.0.1")
	m.pass(time.Second)
	c := &xdsClient{client: m.openTo("replica-a", "EDS", "web.lab.svc.cluster.local:90")}
	c.assigns()
	m.calm()
	m.wantOf(t, slices.Concat(validate.Destination(), validate.XDS()))
}
