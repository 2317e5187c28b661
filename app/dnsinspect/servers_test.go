package dnsinspect

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/authority"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/publisher"
)

// Responses of servers are compared with a zone that has www A 192.0.2.1 with the TTL 60.
func TestCompareResponse(t *testing.T) {
	row := func(change func(*publisher.Row)) publisher.ZoneTrace {
		r := publisher.Row{RowKey: publisher.RowKey{Key: dns.Key{Name: "www.example.test", Type: "A"}}, State: publisher.RowPublished, Targets: []string{"192.0.2.1"}, TTL: 60}
		if change != nil {
			change(&r)
		}
		return publisher.ZoneTrace{Zone: dns.Zone{Name: "example.test"}, Rows: []publisher.Row{r}}
	}
	good := authority.Response{Server: "a", Type: "A", Code: "NOERROR", Authoritative: true, Targets: []string{"192.0.2.1"}, TTL: 60}
	with := func(change func(*authority.Response)) authority.Response {
		a := good
		change(&a)
		return a
	}
	for name, test := range map[string]struct {
		home   publisher.ZoneTrace
		answer authority.Response
		state  inspect.StepState
		text   string
	}{
		"as published":   {row(nil), good, inspect.StepOK, "it answers as published"},
		"no answer":      {row(nil), authority.Response{Type: "A", Err: errors.New("ask a: it has not\nanswered")}, inspect.StepUnknown, "ask a: it has not answered"},
		"refused":        {row(nil), authority.Response{Type: "A", Code: "REFUSED"}, inspect.StepUnknown, "it refuses the question"},
		"server failure": {row(nil), authority.Response{Type: "A", Code: "SERVFAIL"}, inspect.StepUnknown, "with the error SERVFAIL"},
		"lame":           {row(nil), with(func(a *authority.Response) { a.Authoritative = false }), inspect.StepWrong, "it does not have the zone"},
		"no such name":   {row(nil), authority.Response{Type: "A", Code: "NXDOMAIN", Authoritative: true, NegativeTTL: 30}, inspect.StepWrong, "NXDOMAIN"},
		"another TTL":    {row(nil), with(func(a *authority.Response) { a.TTL = 5 }), inspect.StepNote, "with the TTL 5 instead of 60"},
		"another answer": {
			row(nil), with(func(a *authority.Response) { a.Targets = []string{"192.0.2.2"} }), inspect.StepWrong,
			`it answers with A "192.0.2.2", TTL 60, and the zone of the provider has "192.0.2.1"`,
		},
		"an alias":      {row(nil), with(func(a *authority.Response) { a.Targets, a.Alias = nil, "lb.test" }), inspect.StepWrong, "a CNAME to lb.test"},
		"steered":       {row(func(r *publisher.Row) { r.Steered = true }), with(func(a *authority.Response) { a.Targets = []string{"192.0.2.2"} }), inspect.StepNote, "which the provider derives"},
		"alias target":  {row(func(r *publisher.Row) { r.Targets = []string{"lb.test"} }), good, inspect.StepNote, "which the provider derives"},
		"not published": {row(func(r *publisher.Row) { r.State = publisher.RowPending }), good, inspect.StepNote, "it answers with A"},
	} {
		t.Run(name, func(t *testing.T) {
			if j := compareResponse(test.home, test.answer); j.state != test.state || !strings.Contains(j.text, test.text) {
				t.Errorf("%s: %s; want %s: %s", j.state, j.text, test.state, test.text)
			}
		})
	}
}

// Servers with the same result are one step, and different results are mentioned.
func TestServerSteps(t *testing.T) {
	w := &explanation{}
	w.addServerSteps(publisher.Trace{Name: "www.example.test"}, []serverResult{
		{Response: authority.Response{Server: "a", Type: "A", Code: "NOERROR"}, state: inspect.StepOK, text: "it answers as published", ttl: 60},
		{Response: authority.Response{Server: "b", Type: "A", Code: "NOERROR"}, state: inspect.StepWrong, text: "it answers with nothing"},
		{Response: authority.Response{Server: "c", Type: "A", Code: "NOERROR"}, state: inspect.StepOK, text: "it answers as published", ttl: 60},
	})
	want := []string{
		"2 servers (a, c), asked for www.example.test A: it answers as published; a resolver may hold an older answer for up to 60 seconds (TTL); other servers of the zone say something else",
		"the server b, asked for www.example.test A: it answers with nothing",
	}
	if len(w.steps) != 2 || w.steps[0].Text != want[0] || !strings.HasPrefix(w.steps[1].Text, want[1]) || w.steps[1].State != inspect.StepWrong {
		t.Errorf("%+v", w.steps)
	}
}

// The zone of a webhook provider has no name: no servers are looked up for it, which is no error.
func TestZoneWithoutName(t *testing.T) {
	w := &explanation{}
	h := publisher.ZoneTrace{Read: time.Now()}
	w.zone(publisher.Trace{Name: "www.example.test"}, h)
	(&Role{}).queryServers(t.Context(), w, publisher.Trace{Name: "www.example.test"}, h)
	if len(w.steps) != 2 || !strings.HasPrefix(w.steps[0].Text, "the zone of the provider holds the name; it was read at") ||
		w.steps[1].State != inspect.StepNote || w.steps[1].Text != "the provider names no zones, so the name servers are not known and not asked" {
		t.Errorf("%+v", w.steps)
	}
}

// A delayed removal says until when the records stay, or what it waits for.
func TestRemovalStep(t *testing.T) {
	ref := inspect.ObjectRef{Kind: "DNSEndpoint", Namespace: "shop", Name: "web"}
	r := publisher.Removal{
		Origin: desired.Origin{Source: "crd", Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name},
		Names:  []string{"a.example.test", "b.example.test"}, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	w := &explanation{}
	w.removal(&ref, r)
	r.Unreadable = true
	w.removal(&ref, r)
	const begin = "DNSEndpoint shop/web asks for nothing any more (source crd), and its records of a.example.test, b.example.test stay"
	want := []string{
		begin + " until 2026-01-02T03:04:05Z, because an object also disappears when its CustomResourceDefinition is removed",
		begin + ", because objects of the kind DNSEndpoint can't be read or the kind is being removed: they are removed once it has been readable for some seconds",
	}
	for i, text := range want {
		if w.steps[i].State != inspect.StepNote || w.steps[i].Text != text {
			t.Errorf("%+v\nwant %s", w.steps[i], text)
		}
	}
}

// Deleted records have a readable name.
func TestAddChanges(t *testing.T) {
	var d inspect.Delta[inspect.Record]
	key := publisher.RowKey{Zone: "example.test", Key: dns.Key{Name: "b", Type: "A"}}
	addChanges(&d, "", publisher.Changes{Rows: []publisher.Row{{State: publisher.RowPublished}}, Gone: []publisher.RowKey{key}})
	if len(d.Changed) != 1 || !slices.Equal(d.Gone, []string{recordID("", key)}) || !slices.Equal(d.GoneNames, []string{"b A"}) {
		t.Errorf("%+v", d)
	}
}
