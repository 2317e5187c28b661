package validate_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/validate"
)

// made is a history that a test writes, entry by entry.
type made struct {
	history.History
	revision int64
	now      time.Duration
	streams  int
	// restarts counts how often a pod was recreated under its name.
	restarts map[string]int
}

func newMade() *made {
	setup := history.Setup{Namespace: "lab", TrustDomain: "cluster.local"}
	return &made{History: history.History{Setup: setup}, restarts: map[string]int{}}
}

func (m *made) add(e history.Entry) {
	e.At = m.now
	m.Entries = append(m.Entries, e)
}

// pass advances the time.
func (m *made) pass(d time.Duration) { m.now += d }

// put stores an object with this JSON content; an empty content deletes it.
func (m *made) put(resource, name, content string) {
	m.revision++
	o := history.Object{Resource: resource, Namespace: "lab", Name: name, Revision: m.revision, Deleted: content == ""}
	if content != "" {
		o.Content = json.RawMessage(content)
	}
	m.add(history.Entry{Object: &o})
}

func (m *made) remove(resource, name string) { m.put(resource, name, "") }

// service stores a Service with port 80 and the port name http.
func (m *made) service(name string) {
	m.put("services", name, `{"metadata":{"name":"`+name+`","namespace":"lab"},"spec":{"ports":[{"name":"http","port":80,"protocol":"TCP"}]}}`)
}

// uidOf returns the UID of the pod that has the name now.
func (m *made) uidOf(pod string) string { return fmt.Sprintf("%s-%d", pod, m.restarts[pod]) }

// restart recreates a pod with another UID.
func (m *made) restart(pod string) {
	m.remove("pods", pod)
	m.restarts[pod]++
	m.pod(pod)
}

func (m *made) pod(name string) {
	m.put("pods", name, fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"lab","uid":%q},"spec":{"serviceAccountName":"web"}}`, name, m.uidOf(name)))
}

// slice stores a slice of a Service whose endpoints are pods: a=10.0.0.1, or a!=10.0.0.1 for one that isn't
// ready.
func (m *made) slice(name, service string, endpoints ...string) {
	var list []string
	for _, e := range endpoints {
		pod, ip, _ := strings.Cut(e, "=")
		pod, unready := strings.CutSuffix(pod, "!")
		list = append(list, fmt.Sprintf(
			`{"addresses":[%q],"conditions":{"ready":%t},"targetRef":{"kind":"Pod","namespace":"lab","name":%q,"uid":%q}}`, ip, !unready, pod, m.uidOf(pod),
		))
	}
	m.put("endpointslices", name, fmt.Sprintf(
		`{"metadata":{"name":%q,"namespace":"lab","labels":{"kubernetes.io/service-name":%q}},"addressType":"IPv4","ports":[{"name":"http","port":8080,"protocol":"TCP"}],"endpoints":[%s]}`,
		name, service, strings.Join(list, ","),
	))
}

// reported returns what a client is told about an address of a pod of web.
func reported(pod string) string { return reportedOf(pod, "web") }

func reportedOf(pod, service string) string {
	return fmt.Sprintf(`{"metricLabels":{"namespace":"lab","pod":%q,"service":%q,"serviceaccount":"web","zone":""},"weight":10000}`, pod, service)
}

const webPath = "web.lab.svc.cluster.local:80"

// client is a stream of Get to a replica.
type client struct {
	m       *made
	id      int
	replica string
	service string
	target  string
	call    string
	known   map[string]string
}

func (m *made) open(replica string) *client { return m.openTo(replica, "Get", webPath) }

func (m *made) openTo(replica, call, target string) *client {
	m.streams++
	c := &client{m, m.streams, replica, "web", target, call, map[string]string{}}
	c.event(history.Stream{Event: history.StreamOpened})
	return c
}

func (c *client) event(s history.Stream) {
	s.ID, s.Replica, s.Call, s.Target = c.id, c.replica, c.call, c.target
	c.m.add(history.Entry{Stream: &s})
}

func (c *client) update(s history.Stream) {
	s.Event, s.Addresses = history.StreamUpdated, maps.Clone(c.known)
	s.Exists = s.Exists || len(c.known) > 0
	c.event(s)
}

// adds sends an Add with endpoints such as a=10.0.0.1:8080.
func (c *client) adds(endpoints ...string) {
	var added []string
	for _, e := range endpoints {
		pod, at, _ := strings.Cut(e, "=")
		c.known[at] = reportedOf(pod, c.service)
		added = append(added, at)
	}
	c.update(history.Stream{Added: added})
}

func (c *client) removes(addresses ...string) {
	for _, at := range addresses {
		delete(c.known, at)
	}
	c.update(history.Stream{Removed: addresses, Exists: true})
}

// hasNone sends that the Service has no endpoints, and whether it exists.
func (c *client) hasNone(exists string) {
	clear(c.known)
	c.update(history.Stream{Exists: exists == "exists"})
}

func (c *client) closes(problem string) {
	c.event(history.Stream{Event: history.StreamClosed, Problem: problem})
}

func (m *made) fault(id int, kind, target, state string) {
	m.add(history.Entry{Fault: &history.Fault{ID: id, Kind: kind, Target: target, Ended: state == "ended"}})
}

func (m *made) calm() {
	m.add(history.Entry{Calm: &history.Calm{Started: true}})
	m.pass(time.Minute)
	m.add(history.Entry{Calm: &history.Calm{}})
}

// objectionsOf returns the number of findings of each validator, and their texts.
func objectionsOf(h history.History, validators []validate.Validator) (count map[string]int, text string) {
	count = map[string]int{}
	var lines []string
	for _, v := range validators {
		for _, f := range v.Check(h) {
			count[v.Name]++
			lines = append(lines, f.String())
		}
	}
	return count, strings.Join(lines, "\n")
}

// want requires findings of exactly these validators.
func (m *made) want(t *testing.T, validators ...string) {
	t.Helper()
	m.wantOf(t, validate.Destination(), validators...)
}

// wantOf is want for a list of validators.
func (m *made) wantOf(t *testing.T, of []validate.Validator, validators ...string) {
	t.Helper()
	count, text := objectionsOf(m.History, of)
	if got := slices.Sorted(maps.Keys(count)); !slices.Equal(got, validators) {
		t.Errorf("%v objected, want %v:\n%s", got, validators, text)
	}
}
