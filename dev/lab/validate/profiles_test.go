package validate_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
)

// profile sends a profile: the names of routes and the retries per second.
func (c *client) profile(retries int, routes ...string) {
	var list []map[string]any
	for _, r := range routes {
		list = append(list, map[string]any{"metricsLabels": map[string]string{"route": r}})
	}
	text, err := json.Marshal(map[string]any{
		"fullyQualifiedName": "web.lab.svc.cluster.local", "routes": list,
		"retryBudget": map[string]any{"retryRatio": 0.2, "minRetriesPerSecond": retries, "ttl": "10s"},
	})
	if err != nil {
		panic(err)
	}
	c.event(history.Stream{Event: history.StreamUpdated, Profile: text})
}

// routes stores the ServiceProfile of web.
func (m *made) routes(retries int, routes ...string) {
	var list []map[string]string
	for _, r := range routes {
		list = append(list, map[string]string{"name": r})
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	m.put("serviceprofiles", "web.lab.svc.cluster.local", fmt.Sprintf(
		`{"spec":{"routes":%s,"retryBudget":{"retryRatio":0.2,"minRetriesPerSecond":%d,"ttl":"10s"}}}`, text, retries,
	))
}

// TestProfiles shows which profiles the validators accept and report. In each case, a client knows a Service
// with one route for a minute. The case ends with a calm.
func TestProfiles(t *testing.T) {
	tests := []struct {
		name string
		play func(*made, *client)
		want []string
	}{
		{"nothing happens", func(*made, *client) {}, nil},
		{"routes change, and one state is skipped", func(m *made, c *client) {
			m.routes(5, "two")
			m.routes(5, "three")
			c.profile(5, "three")
		}, nil},
		{"the ServiceProfile is deleted", func(m *made, c *client) {
			m.remove("serviceprofiles", "web.lab.svc.cluster.local")
			c.profile(10)
		}, nil},
		{"the Service is deleted", func(m *made, _ *client) { m.remove("services", "web") }, nil},
		{"V1: a change never arrives", func(m *made, _ *client) { m.routes(5, "two") }, []string{"V1"}},
		{"V1: a change is much too late", func(m *made, c *client) {
			m.routes(5, "two")
			m.pass(20 * time.Second)
			m.routes(5, "three")
			m.pass(20 * time.Second)
			c.profile(5, "two")
			c.profile(5, "three")
		}, []string{"V1"}},
		{"V2: a route of one revision and a budget of another", func(m *made, c *client) {
			m.routes(6, "two")
			c.profile(6, "one")
			c.profile(6, "two")
		}, []string{"V2"}},
		{"V2: what isn't a profile", func(_ *made, c *client) {
			c.event(history.Stream{Event: history.StreamUpdated, Profile: json.RawMessage(`[]`)})
			c.profile(5, "one")
		}, []string{"V2"}},
		{"V3: back in time", func(m *made, c *client) {
			m.routes(5, "two")
			c.profile(5, "two")
			c.profile(5, "one")
			c.profile(5, "two")
		}, []string{"V3"}},
		{"V3: nothing new", func(_ *made, c *client) { c.profile(5, "one") }, []string{"V3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMade()
			m.service("web")
			m.routes(5, "one")
			m.pass(time.Second)
			c := m.openTo("replica-a", "GetProfile", webPath)
			c.profile(5, "one")
			m.pass(time.Minute)
			tt.play(m, c)
			m.calm()
			m.want(t, tt.want...)
		})
	}
}
