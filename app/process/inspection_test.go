package process

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/internal/run"
)

// fetchAs gets a path of the inspection API as a value.
func fetchAs[A any](t *testing.T, s served, path string) A {
	t.Helper()
	code, body := s.fetch(t, path)
	var a A
	d := json.NewDecoder(strings.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil || code != http.StatusOK {
		t.Fatalf("%s: %d %s: %v", path, code, body, err)
	}
	return a
}

// The status has what the roles say, and /ready says the same.
func TestStatus(t *testing.T) {
	none := func(<-chan struct{}) []run.Actor { return nil }
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p, err := joinRoles(roleInput{}, []role{
		{Name: "destination", Actors: none, Details: func() []string { return []string{"waiting for links"} }, Ready: func() bool { return false }},
		{Name: "destination", Actors: none},
		{Name: "dns", Actors: none, Leading: func() inspect.Leading {
			return inspect.Leading{Role: "dns", Lease: "a/b", Leader: "other", Since: &since}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Actors = append(p.Actors, waiting())
	s := serve(t, p, nil)
	status := fetchAs[inspect.Status](t, s, inspect.StatusPath)
	if strings.Join(status.Roles, " ") != "destination dns" || status.Ready || len(status.Details) != 1 || len(status.Leading) != 1 || status.Leading[0].Leader != "other" || status.Process == "" {
		t.Errorf("%+v", status)
	}
	if code, body := s.fetch(t, "/ready"); code != 500 || body != "not ready\n"+status.Details[0]+"\n" {
		t.Errorf("/ready: %d %q", code, body)
	}
	s.stop(t)
}

// waiting is an actor that does nothing.
func waiting() run.Actor {
	return run.Actor{Name: "waiting", Run: waitForEnd}
}

func waitForEnd(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// The settings are a config file that can be read again, and have no secret.
func TestSettingsJSON(t *testing.T) {
	const secret = "s3cr3t"
	c, err := settings.Decode("config", []byte(`
apiVersion: `+settings.APIVersion+`
kind: `+settings.Kind+`
destination: {clusterDomain: shop.test}
dns:
  publishers:
  - {name: inside, source: [service], provider: pdns, pdns-server: "http://user:`+secret+`@pdns.example", pdns-api-key: `+secret+`, txt-owner-id: a, policy: sync}
`), settings.References{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := settingsJSON(c)
	if err != nil || strings.Contains(string(text), secret) || !strings.Contains(string(text), `"pdns-server":"http://******@pdns.example"`) {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := settings.Decode("again", text, settings.References{}); err != nil {
		t.Errorf("it can't be read again: %v", err)
	}
}

// waits are the failing writes of controllers.
type waits map[string]reconcile.Wait

func (w waits) Waiting(reconcile.Key) map[string]reconcile.Wait { return w }

// someLeadership is a fixed state of the election.
type someLeadership struct {
	lead            bool
	leader, failing string
}

func (l someLeadership) leads() (bool, string)        { return l.lead, l.leader }
func (l someLeadership) trouble() (string, time.Time) { return l.failing, time.Time{} }

// A failing sync is a wrong step with the reason, and so is a repair that waits (day2 B4). A
// standby doesn't know. A process whose requests for the Lease are refused doesn't claim that
// another one writes (day2 B2).
func TestExplainWaits(t *testing.T) {
	leads := someLeadership{lead: true}
	service := inspect.Query{Service: &inspect.ServiceQuery{Namespace: "shop", Name: "web"}}
	since := time.Now().Add(-time.Minute)
	for name, test := range map[string]struct {
		waits waits
		leads someLeadership
		query inspect.Query
		want  string
	}{
		"nothing waits": {leads: leads, query: service, want: "note: the controllers have nothing left to write"},
		"it fails":      {waits: waits{"Endpoints": {Since: since, Reason: "quota exceeded"}}, leads: leads, query: service, want: "wrong: Endpoints of the Service have not been written for 1m"},
		"held back":     {waits: waits{"Endpoints": {Since: since}}, leads: leads, query: service, want: "wrong: Endpoints of the Service have been held back"},
		"somebody has changed": {
			waits: waits{"Endpoints": {Since: since, Until: time.Now().Add(2500 * time.Millisecond), By: "kubectl-edit"}}, leads: leads, query: service,
			want: "wrong: Endpoints of the Service are repaired in 3 s, because kubectl-edit has changed them",
		},
		"somebody keeps changing": {
			waits: waits{"Endpoints": {Since: since, Until: time.Now().Add(2500 * time.Millisecond), Repairs: 7}}, leads: leads, query: service,
			want: "wrong: Endpoints of the Service are repaired in 3 s, because another program keeps changing them (repaired 7 times so far)",
		},
		"somebody has kept changing": {
			waits: waits{"Endpoints": {Since: since, By: "kubectl-edit", Repairs: 7, Repaired: time.Now().Add(-20 * time.Second)}}, leads: leads, query: service,
			want: "wrong: Endpoints of the Service were last repaired 20s ago, because kubectl-edit keeps changing them (repaired 7 times so far): find that writer",
		},
		"without the Lease": {
			leads: someLeadership{failing: "leases is forbidden"}, query: service,
			want: "wrong: this process can't write Endpoints and slices, and doesn't know whether another one does: leases is forbidden",
		},
		"nobody is known": {query: service, want: "unknown: no process is known to write"},
		"a standby":       {leads: someLeadership{leader: "other"}, query: service, want: "note: another process writes Endpoints and slices, and knows whether that fails: other"},
		"something else":  {leads: leads, query: inspect.Query{Name: "www.example.org"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			for _, s := range (waitExplainer{test.waits, test.leads, nil}).Explain(t.Context(), test.query) {
				got += string(s.State) + ": " + s.Text
			}
			if !strings.HasPrefix(got, test.want) || (test.want == "") != (got == "") {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// The reason of a contested Service has no number and no time, so that all Services with one writer are one
// finding.
func TestCauseOfContestedServices(t *testing.T) {
	now := time.Now()
	want := "EndpointSlices are repaired again and again, because other keeps changing them: find that writer, and stop one of the two (`signpost check controllers`)"
	for name, wait := range map[string]reconcile.Wait{
		"waits":    {By: "other", Repairs: 5, Until: now.Add(time.Minute)},
		"repaired": {By: "other", Repairs: 9, Repaired: now},
	} {
		if got := waitCause("EndpointSlices", wait); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
