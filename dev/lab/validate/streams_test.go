package validate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/validate"
)

const (
	a1 = "10.0.0.1:8080"
	b1 = "10.0.0.2:8080"
	c1 = "10.0.0.3:8080"
)

// web returns a Service with the pods a and b that a client knows for a minute.
func web() (*made, *client) {
	m := newMade()
	m.service("web")
	m.pod("a")
	m.pod("b")
	m.slice("web-1", "web", "a=10.0.0.1", "b=10.0.0.2")
	m.pass(time.Second)
	c := m.open("replica-a")
	c.adds("a="+a1, "b="+b1)
	m.pass(time.Minute)
	return m, c
}

// TestStreams shows which updates the validators accept and report. Each case begins with web and ends with a
// calm.
func TestStreams(t *testing.T) {
	tests := []struct {
		name string
		play func(*made, *client)
		want []string
	}{
		{"nothing happens", func(*made, *client) {}, nil},
		{"a pod comes and one goes", func(m *made, c *client) {
			m.pod("c")
			m.slice("web-1", "web", "b=10.0.0.2", "c=10.0.0.3")
			c.adds("c=" + c1) // a change is an Add, then a Remove
			c.removes(a1)
		}, nil},
		{"seventy pods come at once", func(m *made, c *client) {
			slice, added := []string{"a=10.0.0.1", "b=10.0.0.2"}, []string(nil)
			for i := range 70 {
				pod, ip := fmt.Sprint("many-", i), fmt.Sprint("10.0.1.", i)
				m.pod(pod)
				slice, added = append(slice, pod+"="+ip), append(added, pod+"="+ip+":8080")
			}
			m.slice("web-1", "web", slice...)
			c.adds(added...)
		}, nil},
		{"states are skipped", func(m *made, c *client) {
			m.slice("web-1", "web", "a=10.0.0.1")
			m.slice("web-1", "web", "b=10.0.0.2")
			m.pass(time.Second)
			c.removes(a1)
		}, nil},
		{"the stream ends between addition and removal", func(m *made, c *client) {
			m.pod("c")
			m.slice("web-1", "web", "c=10.0.0.3")
			c.adds("c=" + c1)
			c.closes("unavailable")
			m.open("replica-a").adds("c=" + c1)
		}, nil},
		{"a pod is deleted before its slice follows", func(m *made, c *client) {
			m.remove("pods", "a")
			c.removes(a1)
			m.pass(time.Second)
			m.slice("web-1", "web", "b=10.0.0.2")
		}, nil},
		{"the address of a deleted pod is another's", func(m *made, c *client) {
			m.remove("pods", "a")
			c.removes(a1)
			m.pass(6 * time.Second)
			m.pod("c")
			m.slice("web-1", "web", "c=10.0.0.1", "b=10.0.0.2")
			c.adds("c=" + a1)
		}, nil},
		{"the Service is deleted and comes back with another slice", func(m *made, c *client) {
			m.remove("services", "web")
			c.removes(a1, b1)
			m.service("web")
			m.slice("web-2", "web", "a=10.0.0.1", "b=10.0.0.2")
			m.remove("endpointslices", "web-1")
			c.adds("a="+a1, "b="+b1)
		}, nil},
		{"a relist shows two slices one after the other", func(m *made, c *client) {
			m.pod("c")
			m.slice("web-1", "web", "b=10.0.0.2")
			m.slice("web-2", "web", "c=10.0.0.3")
			c.adds("c=" + c1) // the second slice first
			m.pass(time.Second)
			c.removes(a1)
		}, nil},
		{"an outage, in which nothing is said", func(m *made, c *client) {
			m.fault(1, "cut", "replica-a→kube-apiserver", "")
			m.slice("web-1", "web", "b=10.0.0.2")
			m.pass(time.Minute)
			m.fault(1, "cut", "replica-a→kube-apiserver", "ended")
			m.pass(5 * time.Second)
			c.removes(a1)
		}, nil},
		{"a new stream is told an old state in an outage", func(m *made, c *client) {
			m.fault(1, "half-open", "replica-a→kube-apiserver", "")
			m.slice("web-1", "web", "b=10.0.0.2")
			m.pass(20 * time.Second)
			other := m.open("replica-a")
			other.adds("a="+a1, "b="+b1)
			m.fault(1, "half-open", "replica-a→kube-apiserver", "ended")
			other.removes(a1)
			c.removes(a1)
		}, nil},
		{"the last pod goes", func(m *made, c *client) {
			m.slice("web-1", "web")
			c.removes(a1, b1)
			m.open("replica-b").hasNone("exists")
		}, nil},
		{"a missing Service is not found", func(m *made, c *client) {
			m.remove("services", "web")
			c.removes(a1, b1)
			m.pass(20 * time.Second)
			m.open("replica-b").closes("rpc error: code = NotFound desc = service web.lab not found")
		}, nil},

		{"a pod of a StatefulSet is made again", func(m *made, c *client) {
			m.restart("a") // the slice still refers to the old pod
			c.removes(a1)
			m.pass(time.Second)
			m.slice("web-1", "web", "a=10.0.0.1", "b=10.0.0.2")
			c.adds("a=" + a1)
		}, nil},
		{"endpoints that are not pods", func(m *made, c *client) {
			m.put("externalworkloads", "vm", `{"metadata":{"name":"vm","namespace":"lab"}}`)
			m.put("endpointslices", "web-2", `{"metadata":{"name":"web-2","namespace":"lab","labels":{"kubernetes.io/service-name":"web"}},
				"ports":[{"name":"http","port":8080}],"endpoints":[
				{"addresses":["10.0.0.3"],"targetRef":{"kind":"ExternalWorkload","name":"vm"}},{"addresses":["10.0.0.4"]}]}`)
			c.known[c1] = `{"metricLabels":{"external_workload":"vm","namespace":"lab","service":"web","zone":""},"weight":10000}`
			c.known["10.0.0.4:8080"] = `{"metricLabels":{"namespace":"lab","service":"web"},"weight":10000}`
			c.update(history.Stream{Added: []string{c1, "10.0.0.4:8080"}})
			m.pass(15 * time.Second)
			m.remove("externalworkloads", "vm")
			c.removes(c1)
		}, nil},
		{"the Service calls its port otherwise", func(m *made, c *client) {
			m.put("services", "web", `{"metadata":{"name":"web","namespace":"lab"},"spec":{"ports":[{"name":"new","port":80}]}}`)
			c.removes(a1, b1)
			m.pass(15 * time.Second)
			m.service("web")
			c.adds("a="+a1, "b="+b1)
		}, nil},

		{"V1: a removal never came", func(m *made, _ *client) {
			m.slice("web-1", "web", "b=10.0.0.2")
		}, []string{"V1"}},
		{"V1: an addition never came", func(m *made, _ *client) {
			m.pod("c")
			m.slice("web-1", "web", "a=10.0.0.1", "b=10.0.0.2", "c=10.0.0.3")
		}, []string{"V1"}},
		{"V1: a client has given up", func(_ *made, c *client) { c.closes("unavailable") }, []string{"V1"}},
		{"V1: a stream has no response", func(m *made, _ *client) { m.open("replica-b") }, []string{"V1"}},
		{"V1: a label is another's", func(m *made, c *client) {
			m.pod("c")
			m.slice("web-1", "web", "a=10.0.0.1", "b=10.0.0.2", "c=10.0.0.3")
			c.adds("c=" + c1)
			c.known[c1] = strings.Replace(reported("c"), `"serviceaccount":"web"`, `"serviceaccount":"root"`, 1)
			c.update(history.Stream{Added: []string{c1}})
		}, []string{"V1"}},
		{"V1: a change arrives much too late", func(m *made, c *client) {
			m.slice("web-1", "web", "b=10.0.0.2")
			m.pass(20 * time.Second)
			m.slice("web-1", "web", "b=10.0.0.2", "a!=10.0.0.1")
			m.slice("web-1", "web", "a=10.0.0.1", "b=10.0.0.2")
			m.pass(20 * time.Second)
			c.removes(a1)
			c.adds("a=" + a1)
		}, []string{"V1", "V4"}},
		{"V1: a change hasn't arrived when the quiet ends", func(m *made, c *client) {
			m.slice("web-1", "web", "b=10.0.0.2")
			m.pass(20 * time.Second)
			m.fault(1, "pause", "replica-a", "")
			m.pass(5 * time.Second)
			m.fault(1, "pause", "replica-a", "ended")
			c.removes(a1)
		}, []string{"V1"}},

		{"etcd is restored to a pod of another UID", func(m *made, c *client) {
			m.restart("a")
			m.slice("web-1", "web", "a=10.0.0.1", "b=10.0.0.2")
			m.pass(time.Minute)
			m.fault(1, "etcd-restore", "etcd", "")
			m.restarts["a"] = 0
			m.pod("a")
			m.slice("web-1", "web", "a=10.0.0.3", "b=10.0.0.2")
			m.revision--
			for _, e := range m.Entries[len(m.Entries)-2:] {
				e.Object.Revision, e.Object.Restored = m.revision, true
			}
			m.pass(5 * time.Second)
			m.fault(1, "etcd-restore", "etcd", "ended")
			m.pass(9 * time.Second)
			c.adds("a=" + c1)
			c.removes(a1)
			m.pass(20 * time.Second)
			m.open("replica-a").adds("a="+c1, "b="+b1)
		}, nil},
		{"V1: ten seconds after a restore of etcd", func(m *made, c *client) {
			m.fault(1, "etcd-restore", "etcd", "")
			m.slice("web-1", "web", "b=10.0.0.2")
			m.pass(5 * time.Second)
			m.fault(1, "etcd-restore", "etcd", "ended")
			c.removes(a1)
			m.pass(11 * time.Second)
			other := m.open("replica-a")
			other.adds("a="+a1, "b="+b1)
			other.removes(a1)
		}, []string{"V1"}},
		{"V1: the trouble of another replica is no excuse", func(m *made, c *client) {
			there := m.open("replica-b")
			there.adds("a="+a1, "b="+b1)
			m.fault(1, "cut", "replica-b→kube-apiserver", "")
			m.fault(2, "dns-drop", "replica-a→bind", "")
			m.slice("web-1", "web", "b=10.0.0.2")
			c.removes(a1)
			m.pass(20 * time.Second)
			other := m.open("replica-a")
			other.adds("a="+a1, "b="+b1)
			other.removes(a1)
			m.fault(1, "cut", "replica-b→kube-apiserver", "ended")
			m.fault(2, "dns-drop", "replica-a→bind", "ended")
			there.removes(a1)
		}, []string{"V1"}},

		{"V1: an address of a pod that was made again since", func(m *made, c *client) {
			m.restart("a")
			c.removes(a1)
			m.pass(20 * time.Second)
			other := m.open("replica-a")
			other.adds("a="+a1, "b="+b1)
			other.removes(a1)
		}, []string{"V1"}},

		{"V2: an address that nobody has", func(_ *made, c *client) {
			c.adds("x=10.9.9.9:8080")
			c.removes("10.9.9.9:8080")
		}, []string{"V2"}},
		{"V2: an address of another pod", func(_ *made, c *client) {
			c.adds("b=" + a1)
			c.adds("a=" + a1)
		}, []string{"V2"}},
		{"V2: two revisions of a slice at once", func(m *made, c *client) {
			m.pod("c")
			m.pod("d")
			m.pass(time.Second)
			m.slice("web-1", "web", "c=10.0.0.3", "d=10.0.0.4")
			m.pass(time.Second)
			c.adds("d=10.0.0.4:8080")
			c.removes(b1) // a and d were never together
			m.pass(15 * time.Second)
			c.adds("c=" + c1)
			c.removes(a1)
		}, []string{"V2"}},
		{"V2: a removal is forgotten", func(m *made, c *client) {
			m.pod("c")
			m.slice("web-1", "web", "b=10.0.0.2", "c=10.0.0.3")
			c.adds("c=" + c1)
			m.pod("d")
			m.slice("web-1", "web", "b=10.0.0.2", "c=10.0.0.3", "d=10.0.0.4")
			c.adds("d=10.0.0.4:8080")
			c.removes(a1)
		}, []string{"V2"}},
		{"V2: removed what wasn't there", func(_ *made, c *client) {
			c.update(history.Stream{Removed: []string{c1}, Problem: c1 + " is removed and wasn't there"})
		}, []string{"V2", "V3"}},

		{"V3: a removed address comes back", func(m *made, c *client) {
			m.slice("web-1", "web", "b=10.0.0.2")
			c.removes(a1)
			m.pass(time.Second)
			c.adds("a=" + a1)
			c.removes(a1)
		}, []string{"V3"}},
		{"V3: a removed address comes back in an outage", func(m *made, c *client) {
			m.fault(1, "cut", "replica-a→kube-apiserver", "")
			m.slice("web-1", "web", "b=10.0.0.2")
			c.removes(a1)
			m.pass(20 * time.Second)
			c.adds("a=" + a1)
			c.removes(a1)
			m.fault(1, "cut", "replica-a→kube-apiserver", "ended")
		}, []string{"V3"}},
		{"V3: an answer says nothing new", func(_ *made, c *client) {
			c.adds("a=" + a1)
		}, []string{"V3"}},

		{"V4: an address is dropped for a moment", func(_ *made, c *client) {
			c.removes(a1)
			c.adds("a=" + a1)
		}, []string{"V3", "V4"}},
		{"V4: a new stream is told that there is nothing", func(m *made, _ *client) {
			c := m.open("replica-b")
			c.hasNone("exists")
			c.adds("a="+a1, "b="+b1)
		}, []string{"V1", "V4"}},
		{"V4: a new stream is told of a part", func(m *made, _ *client) {
			c := m.open("replica-b")
			c.adds("b=" + b1)
			c.adds("a=" + a1)
		}, []string{"V1", "V4"}},
		{"V4: everything is removed in an outage", func(m *made, c *client) {
			m.fault(1, "apiserver-kill", "kube-apiserver", "")
			m.pass(10 * time.Second)
			c.removes(a1, b1)
			m.pass(10 * time.Second)
			m.fault(1, "apiserver-kill", "kube-apiserver", "ended")
			c.adds("a="+a1, "b="+b1)
		}, []string{"V3", "V4"}},
		{"V4: the Service is said not to exist", func(m *made, _ *client) {
			c := m.open("replica-b")
			c.hasNone("is missing")
			c.adds("a="+a1, "b="+b1)
		}, []string{"V1", "V4"}},
		{"V4: the Service is not found", func(m *made, _ *client) {
			m.open("replica-b").closes("rpc error: code = NotFound desc = service web.lab not found")
			m.open("replica-b").adds("a="+a1, "b="+b1)
		}, []string{"V4"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, c := web()
			tt.play(m, c)
			m.calm()
			m.want(t, tt.want...)
		})
	}
}

// TestNoCalm shows that V1 reports a run without calm.
func TestNoCalm(t *testing.T) {
	m, _ := web()
	m.want(t, "V1")
}

// TestRules shows that each validator has a rule.
func TestRules(t *testing.T) {
	for _, v := range validate.Destination() {
		if v.Rule == "" || v.Check == nil {
			t.Errorf("%s is incomplete", v.Name)
		}
	}
}
