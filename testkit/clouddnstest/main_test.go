package clouddnstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	dnsapi "google.golang.org/api/dns/v1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"

	"github.com/signpostd/signpost/internal/handlertransport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// authorizedTransport adds a token.
type authorizedTransport struct {
	http.RoundTripper
	token string
}

func (a authorizedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+a.token)
	return a.RoundTripper.RoundTrip(r)
}

// client returns the SDK's client for a server.
func client(t *testing.T, server *Server) *dnsapi.Service {
	t.Helper()
	sender := &http.Client{Transport: authorizedTransport{server.Transport(), server.issue().AccessToken}}
	service, err := dnsapi.NewService(t.Context(), option.WithHTTPClient(sender))
	if err != nil {
		t.Fatal(err)
	}
	return service
}

// newServer returns a server with the public zone example, and its client.
func newServer(t *testing.T) (*Server, *dnsapi.Service) {
	t.Helper()
	server := New()
	server.AddZone(Zone{Name: "example", ID: 7, DNSName: "example.test"})
	return server, client(t, server)
}

// set returns a record set below example.test.
func set(name, recordType string, datas ...string) *dnsapi.ResourceRecordSet {
	return &dnsapi.ResourceRecordSet{Name: strings.TrimPrefix(name+".example.test.", "."), Type: recordType, Ttl: 60, Rrdatas: datas}
}

func add(sets ...*dnsapi.ResourceRecordSet) *dnsapi.Change { return &dnsapi.Change{Additions: sets} }

func drop(sets ...*dnsapi.ResourceRecordSet) *dnsapi.Change { return &dnsapi.Change{Deletions: sets} }

// send sends a change, and returns the status of the answer, its first reason, and all messages.
func send(t *testing.T, c *dnsapi.Service, change *dnsapi.Change) (status int, reason, messages string) {
	t.Helper()
	_, err := c.Changes.Create(Project, "example", change).Context(t.Context()).Do()
	return answerOf(t, err)
}

func answerOf(t *testing.T, err error) (status int, reason, messages string) {
	t.Helper()
	if err == nil {
		return 200, "", ""
	}
	api, ok := errors.AsType[*googleapi.Error](err)
	if !ok {
		t.Fatalf("not an answer: %v", err)
	}
	for _, item := range api.Errors {
		messages += item.Message + "\n"
	}
	return api.Code, api.Errors[0].Reason, messages
}

func must(t *testing.T, c *dnsapi.Service, change *dnsapi.Change) {
	t.Helper()
	if status, _, messages := send(t, c, change); status != 200 {
		t.Fatalf("%d: %s", status, messages)
	}
}

func addresses(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("10.0.%d.%d", i/250, i%250)
	}
	return list
}

// changes.create (reference), error-messages, records-overview, json-record and quotas: what a
// change is refused for. Nothing of a refused change is made.
func TestRefusedChanges(t *testing.T) {
	with := func(r *dnsapi.ResourceRecordSet, change func(*dnsapi.ResourceRecordSet)) *dnsapi.ResourceRecordSet {
		change(r)
		return r
	}
	ttl := func(seconds int64) func(*dnsapi.ResourceRecordSet) {
		return func(r *dnsapi.ResourceRecordSet) { r.Ttl = seconds }
	}
	apex := with(set("", "NS", "ns-cloud-a1.googledomains.com.", "ns-cloud-a2.googledomains.com."), ttl(21600))
	var many []*dnsapi.ResourceRecordSet
	for i := range 1001 {
		many = append(many, set(fmt.Sprint("m", i), "A", "192.0.2.1"))
	}
	var long []*dnsapi.ResourceRecordSet
	for i := range 401 {
		long = append(long, set(fmt.Sprint("l", i), "TXT", `"`+strings.Repeat("x", 248)+`"`))
	}
	for name, test := range map[string]struct {
		change         *dnsapi.Change
		status         int
		reason, wanted string
	}{
		"add what exists":               {add(set("a", "A", "192.0.2.9")), 409, "alreadyExists", "The resource 'entity.change.additions[a.example.test.][A]' named 'a.example.test. (A)' already exists"},
		"add one thing twice":           {add(set("b", "A", "192.0.2.9"), set("b", "A", "192.0.2.8")), 409, "alreadyExists", "additions[b.example.test.][A]"},
		"delete what doesn't exist":     {drop(set("b", "A", "192.0.2.1")), 404, "notFound", "deletions[b.example.test.][A]"},
		"delete with another value":     {drop(set("c", "CNAME", "y.example.net.")), 412, "conditionNotMet", "deletions[c.example.test.][CNAME]"},
		"delete with another TTL":       {drop(with(set("a", "A", "192.0.2.1"), ttl(61))), 412, "conditionNotMet", "deletions[a.example.test.][A]"},
		"delete without values":         {drop(set("a", "A")), 400, "invalid", "deletions[a.example.test.][A].rrdata': '<empty>'"},
		"CNAME beside another":          {add(set("a", "CNAME", "x.example.net.")), 400, "cnameResourceRecordSetConflict", "has a resource record set of the type 'A'"},
		"another beside a CNAME":        {add(set("c", "TXT", `"x"`)), 400, "cnameResourceRecordSetConflict", "additions[c.example.test.][TXT]"},
		"CNAME at the apex":             {add(set("", "CNAME", "x.example.net.")), 400, "cnameResourceRecordSetConflict", "additions[example.test.][CNAME]"},
		"NS of the apex":                {drop(apex), 400, "invalidZoneApex", "exactly one resource record set of type 'NS'"},
		"outside":                       {add(&dnsapi.ResourceRecordSet{Name: "notexample.test.", Type: "A", Ttl: 60, Rrdatas: []string{"192.0.2.1"}}), 400, "invalid", "[notexample.test.][A].name'"},
		"name without a dot":            {add(&dnsapi.ResourceRecordSet{Name: "b.example.test", Type: "A", Ttl: 60, Rrdatas: []string{"192.0.2.1"}}), 400, "invalid", ".name'"},
		"empty label":                   {add(set("b.", "A", "192.0.2.1")), 400, "invalid", ".name'"},
		"long label":                    {add(set(strings.Repeat("x", 64), "A", "192.0.2.1")), 400, "invalid", ".name'"},
		"unknown type":                  {add(set("b", "DNAME", "x.example.net.")), 400, "invalid", ".type'"},
		"TTL":                           {add(with(set("b", "A", "192.0.2.1"), ttl(-1))), 400, "invalid", ".ttl'"},
		"no value":                      {add(set("b", "A")), 400, "invalid", ".rrdata'"},
		"one value twice":               {add(set("b", "A", "192.0.2.1", "192.0.2.1")), 400, "invalid", ".rrdata[1]'"},
		"address":                       {add(set("b", "A", "2001:db8::1")), 400, "invalid", ".rrdata[0]'"},
		"IPv6 address":                  {add(set("b", "AAAA", "192.0.2.1")), 400, "invalid", ".rrdata[0]'"},
		"host without a dot":            {add(set("b", "CNAME", "x.example.net")), 400, "invalid", ".rrdata[0]'"},
		"two CNAMEs":                    {add(set("b", "CNAME", "x.example.net.", "y.example.net.")), 400, "invalid", ".rrdata'"},
		"MX":                            {add(set("b", "MX", "mx.example.net.")), 400, "invalid", ".rrdata[0]'"},
		"SRV without a dot":             {add(set("b", "SRV", "1 2 3 x.example.net")), 400, "invalid", ".rrdata[0]'"},
		"NAPTR":                         {add(set("b", "NAPTR", "x")), 400, "invalid", ".rrdata[0]'"},
		"TXT without an end":            {add(set("b", "TXT", `"text`)), 400, "invalid", ".rrdata[0]'"},
		"TXT string of 256":             {add(set("b", "TXT", `"`+strings.Repeat("x", 256)+`"`)), 400, "invalid", ".rrdata[0]'"},
		"TXT with an impossible escape": {add(set("b", "TXT", `"\256"`)), 400, "invalid", ".rrdata[0]'"},
		"TXT with a byte":               {add(set("b", "TXT", "\"\u00e4\"")), 400, "invalid", ".rrdata[0]'"},
		"101 values":                    {add(set("b", "A", addresses(101)...)), 403, "quotaExceeded", "The limit is 100"},
		"9 name servers":                {add(set("b", "NS", "a.test.", "b.test.", "c.test.", "d.test.", "e.test.", "f.test.", "g.test.", "h.test.", "i.test.")), 403, "quotaExceeded", "[b.example.test.][NS]"},
		"1001 additions":                {add(many...), 403, "quotaExceeded", "ResourceRecordSetAdditionsPerChange"},
		"1001 deletions":                {drop(many...), 403, "quotaExceeded", "ResourceRecordSetDeletionsPerChange"},
		"more than 100,000 bytes":       {add(long...), 403, "quotaExceeded", "TotalRrdataSizePerChange"},
		"nothing":                       {&dnsapi.Change{}, 400, "required", "entity.change"},
		"one of two":                    {add(set("fine", "A", "192.0.2.1"), set("a", "A", "192.0.2.9")), 409, "alreadyExists", "additions[a.example.test.][A]"},
	} {
		t.Run(name, func(t *testing.T) {
			server, c := newServer(t)
			must(t, c, add(set("a", "A", "192.0.2.1"), set("c", "CNAME", "x.example.net.")))
			status, reason, messages := send(t, c, test.change)
			if status != test.status || reason != test.reason || !strings.Contains(messages, test.wanted) {
				t.Errorf("%d %s %s, want %d %s %q", status, reason, messages, test.status, test.reason, test.wanted)
			}
			if len(server.Sets("example")) != 2 || server.Refused() != 1 {
				t.Errorf("the zone has %v, %d were refused", server.Sets("example"), server.Refused())
			}
		})
	}
}

// An answer has an error for each record set that is wrong (error-messages).
func TestSeveralErrors(t *testing.T) {
	_, c := newServer(t)
	must(t, c, add(set("a", "A", "192.0.2.1")))
	if _, _, messages := send(t, c, add(set("a", "A", "192.0.2.2"), set("b", "A", "x"), set("c", "A", "192.0.2.3"))); strings.Count(messages, "\n") != 2 {
		t.Errorf("the messages are %s", messages)
	}
}

// changes.create: a change is checked by what it leaves: deletions come first. Values may be in
// any order, and names in capitals. All types that clients of ours write are accepted.
func TestAcceptedChanges(t *testing.T) {
	server, c := newServer(t)
	must(t, c, add(set("a", "A", "192.0.2.1", "192.0.2.2"), set("*", "A", "192.0.2.1"), set("a-*", "TXT", `"x"`)))
	must(t, c, &dnsapi.Change{Additions: []*dnsapi.ResourceRecordSet{set("A", "CNAME", "x.example.net.")}, Deletions: []*dnsapi.ResourceRecordSet{set("A", "A", "192.0.2.2", "192.0.2.1")}})
	if server.Get("example", "a.example.test", "CNAME") == nil || server.Get("example", "a.example.test", "A") != nil {
		t.Errorf("the zone has %v", server.Sets("example"))
	}
	must(t, c, add(set("b", "AAAA", "2001:db8::1"), set("b", "MX", "10 mx.example.net."), set("b", "NAPTR", `100 10 "U" "E2U+sip" "!^.*$!sip:x@example.net!" .`), set("b", "CAA", `0 issue "x"`),
		set("n", "NS", "ns.example.net."), set("_s._tcp", "SRV", "1 2 3 x.example.net."), set("t", "TXT", `"a \"b\" \\ \228" "c"`, `two words`), set("t", "A", addresses(100)...)))
	answer, err := c.Changes.Create(Project, "7", drop(set("n", "NS", "ns.example.net."))).Do()
	if err != nil || answer.Status != "pending" || answer.Id == "" {
		t.Errorf("by its ID: %v, %v", answer, err)
	}
}

// A change is done some time after it was made (reference, changes).
func TestPropagation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := newServer(t)
		must(t, c, add(set("a", "A", "192.0.2.1")))
		for _, want := range []string{"pending", "done"} {
			if got, err := c.Changes.Get(Project, "example", "1").Do(); err != nil || got.Status != want {
				t.Errorf("%v, %v, want %s", got, err, want)
			}
			time.Sleep(propagation)
		}
		_, err := c.Changes.Get(Project, "example", "2").Do()
		if status, _, _ := answerOf(t, err); status != 404 {
			t.Errorf("an unknown change: %v", err)
		}
	})
}

// resourceRecordSets.list and managedZones.list (reference): pages, and one record set.
func TestLists(t *testing.T) {
	server, c := newServer(t)
	var sets []*dnsapi.ResourceRecordSet
	for i := range 250 {
		sets = append(sets, set(fmt.Sprint("n", i), "A", "192.0.2.1"))
	}
	must(t, c, add(sets...))
	for size, want := range map[int64]int{0: 100, 30: 30, 200: 200, 2000: 252} {
		call := c.ResourceRecordSets.List(Project, "example")
		if size > 0 {
			call.MaxResults(size)
		}
		page, err := call.Do()
		if err != nil || len(page.Rrsets) != want || (page.NextPageToken == "") != (want == 252) {
			t.Errorf("a page of %d has %d: %v", size, len(page.Rrsets), err)
		}
	}
	n := 0
	for token := "x"; token != ""; {
		page, err := c.ResourceRecordSets.List(Project, "example").PageToken(strings.Trim(token, "x")).Do()
		if err != nil {
			t.Fatal(err)
		}
		n, token = n+len(page.Rrsets), page.NextPageToken
	}
	if n != 252 {
		t.Errorf("all pages have %d", n)
	}
	page, err := c.ResourceRecordSets.List(Project, "example").Name("n7.example.test.").Type("A").Do()
	if err != nil || len(page.Rrsets) != 1 || page.Rrsets[0].Name != "n7.example.test." || page.Rrsets[0].Ttl != 60 {
		t.Errorf("one record set: %v, %v", page, err)
	}
	for what, call := range map[string]*dnsapi.ResourceRecordSetsListCall{
		"name without a dot": c.ResourceRecordSets.List(Project, "example").Name("n7.example.test"),
		"type without name":  c.ResourceRecordSets.List(Project, "example").Type("A"),
		"bad token":          c.ResourceRecordSets.List(Project, "example").PageToken("z"),
		"bad size":           c.ResourceRecordSets.List(Project, "example").MaxResults(-1),
	} {
		_, err := call.Do()
		if status, _, _ := answerOf(t, err); status != 400 {
			t.Errorf("%s: %v", what, err)
		}
	}
	server.AddZone(Zone{Name: "peer", DNSName: "peer.test.", Private: true, Peering: true})
	zones, err := c.ManagedZones.List(Project).Do()
	if err != nil || len(zones.ManagedZones) != 2 || zones.ManagedZones[0].Id != 7 || zones.ManagedZones[0].Visibility != "public" ||
		zones.ManagedZones[1].PeeringConfig == nil || zones.ManagedZones[1].Visibility != "private" || zones.ManagedZones[0].PeeringConfig != nil {
		t.Errorf("zones %v, %v", zones, err)
	}
	if _, err := c.Changes.Create(Project, "peer", add(set("a", "A", "192.0.2.1"))).Do(); err == nil {
		t.Error("a peering zone was changed")
	}
}

// resourceRecordSets (reference): a routing policy is listed in the place of values.
func TestRoutingPolicy(t *testing.T) {
	server, c := newServer(t)
	server.Put("example", RecordSet{Name: "p.example.test", Type: "A", TTL: 60, Policy: json.RawMessage(`{"wrr":{"items":[{"weight":1,"rrdatas":["192.0.2.1"]}]}}`)})
	page, err := c.ResourceRecordSets.List(Project, "example").Name("p.example.test.").Do()
	if err != nil || len(page.Rrsets) != 1 || page.Rrsets[0].RoutingPolicy.Wrr.Items[0].Rrdatas[0] != "192.0.2.1" || len(page.Rrsets[0].Rrdatas) != 0 {
		t.Errorf("%v, %v", page, err)
	}
	if status, _, _ := send(t, c, drop(set("p", "A", "192.0.2.1"))); status != 412 {
		t.Errorf("a deletion with values: %d", status)
	}
}

// Hooks, rights, the rate of requests and lag.
func TestFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, c := newServer(t)
		server.SetHooks(Hooks{Before: func(Call) *Fault { return Exhausted }})
		_, err := c.Changes.Create(Project, "example", add(set("a", "A", "192.0.2.1"))).Do()
		if api, ok := errors.AsType[*googleapi.Error](err); !ok || api.Code != 429 || api.Header.Get("Retry-After") != "3" || len(server.Sets("example")) != 0 {
			t.Errorf("before: %v", err)
		}
		server.SetHooks(Hooks{After: func(Call) *Fault { return Lost }})
		if _, err := c.Changes.Create(Project, "example", add(set("a", "A", "192.0.2.1"))).Do(); !errors.Is(err, handlertransport.ErrCut) || len(server.Sets("example")) != 1 {
			t.Errorf("after: %v", err)
		}
		server.SetHooks(Hooks{})
		server.Deny(CreateChange, "example")
		if status, reason, _ := send(t, c, drop(set("a", "A", "192.0.2.1"))); status != 403 || reason != "forbidden" {
			t.Errorf("without the right: %d %s", status, reason)
		}
		server.Permit(CreateChange, "example")
		server.SetLag(3 * time.Second)
		must(t, c, drop(set("a", "A", "192.0.2.1")))
		for _, want := range []int{3, 2} {
			if page, err := c.ResourceRecordSets.List(Project, "example").Do(); err != nil || len(page.Rrsets) != want {
				t.Errorf("the listing has %v, %v, want %d", page, err, want)
			}
			time.Sleep(4 * time.Second)
		}
		server.SetRate(2)
		for _, want := range []int{404, 404, 403} {
			if status, _, _ := send(t, c, drop(set("a", "A", "192.0.2.1"))); status != want {
				t.Errorf("status %d, want %d", status, want)
			}
		}
		server.DeleteZone("example")
		time.Sleep(time.Second)
		if status, _, messages := send(t, c, add(set("a", "A", "192.0.2.1"))); status != 404 || !strings.Contains(messages, "parameters.managedZone") {
			t.Errorf("without a zone: %d %s", status, messages)
		}
	})
}

// Tokens are needed, for this project, and end (oauth2/service-account; metadata/overview).
func TestTokens(t *testing.T) {
	server, c := newServer(t)
	_, err := c.ManagedZones.List("other").Do()
	if status, _, _ := answerOf(t, err); status != 403 {
		t.Errorf("another project: %v", err)
	}
	server.Revoke()
	_, err = c.ManagedZones.List(Project).Do()
	if status, reason, _ := answerOf(t, err); status != 401 || reason != "authError" {
		t.Errorf("a revoked token: %v", err)
	}
	ask := func(method, path, header, body string) int {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://server"+path, strings.NewReader(body))
		r.Header.Set(metadataHeader, header)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w.Code
	}
	form := url.Values{"grant_type": {grantType}, "assertion": {"a.b.c"}}.Encode()
	for _, test := range []struct {
		method, path, header, body string
		want                       int
	}{
		{"GET", "/computeMetadata/v1/project/project-id", "Google", "", 200},
		{"GET", "/computeMetadata/v1/project/project-id", "", "", 403},
		{"GET", "/computeMetadata/v1/nothing", "Google", "", 404},
		{"GET", "/computeMetadata/v1/instance/service-accounts/default/token?scopes=" + url.QueryEscape(Scope), "Google", "", 200},
		{"GET", "/computeMetadata/v1/instance/service-accounts/default/token?scopes=other", "Google", "", 400},
		{"POST", "/token", "", form, 400},
		{"POST", "/token", "", "grant_type=other", 400},
		{"POST", "/dns/v1/projects/" + Project + "/managedZones/example/changes", "", `{"addition":[]}`, 400},
		{"DELETE", "/dns/v1/projects/" + Project + "/managedZones/example", "", "", 404},
		{"GET", "/else", "", "", 404},
	} {
		if got := ask(test.method, test.path, test.header, test.body); got != test.want {
			t.Errorf("%s %s: %d, want %d", test.method, test.path, got, test.want)
		}
	}
}
