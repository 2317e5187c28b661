package webhookserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/webhook"
	"github.com/signpostd/signpost/dns/webhookserver"
	"github.com/signpostd/signpost/testkit/pipetest"
)

// backend is a provider whose behaviour a test sets.
type backend struct {
	zones    []dns.Zone
	zonesErr error
	records  map[string][]*dns.RecordSet
	listErr  error
	// applyErr are errors by the names of zones.
	applyErr map[string]error
	batch    int
	pause    time.Duration

	mu      sync.Mutex
	applied []string
	at      []time.Time
}

func (b *backend) Zones(context.Context) ([]dns.Zone, error) { return b.zones, b.zonesErr }

func (b *backend) Records(_ context.Context, z dns.Zone) ([]*dns.RecordSet, error) {
	return b.records[z.ID], b.listErr
}

func (b *backend) Capabilities() provider.Capabilities {
	return provider.Capabilities{BatchSize: b.batch, BatchInterval: b.pause}
}

func (b *backend) Apply(_ context.Context, z dns.Zone, changes []dns.Change) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at = append(b.at, time.Now())
	line := z.ID + ":"
	for _, c := range changes {
		switch {
		case c.Old == nil:
			line += " +" + c.New.Name
		case c.New == nil:
			line += " -" + c.Old.Name
		default:
			line += " =" + c.New.Name
		}
	}
	b.applied = append(b.applied, line)
	return b.applyErr[z.Name]
}

// adjusting is a backend that adjusts.
type adjusting struct {
	*backend
	response []*dns.RecordSet
	err      error
	// refuses is the name of the record set that is refused.
	refuses string
}

func (a adjusting) Adjust(_ context.Context, _ dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	responses := make([]provider.Adjusted, len(wanted))
	for i, r := range wanted {
		if r.Name == a.refuses {
			responses[i].Err = provider.ErrRejected
		}
	}
	responses[0].Sets = a.response
	return responses, a.err
}

// filtering is a backend that has a filter.
type filtering struct {
	*backend
	filter dns.Filter
}

func (f filtering) DomainFilter(context.Context) dns.Filter { return f.filter }

func one(name string) *backend {
	return &backend{zones: []dns.Zone{{ID: "1", Name: name}}}
}

// defaults returns a config with the limits of the protocol.
func defaults(p provider.Provider) webhookserver.Config {
	return webhookserver.Config{Provider: p, Limits: *webhook.DefaultLimits()}
}

// ask sends a request to a server for a provider.
func ask(p provider.Provider, method, path, body string) *httptest.ResponseRecorder {
	c := defaults(p)
	c.MaxBodySize = 4096
	w := httptest.NewRecorder()
	webhookserver.New(c).Handler().ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	return w
}

func TestStatuses(t *testing.T) {
	broken := errors.New("the API is down")
	record := `{"dnsName":"a","targets":["1.2.3.4"],"recordType":"A","setIdentifier":"x","recordTTL":1,"labels":{"a":"b"},"providerSpecific":[{"name":"n","value":"v"}]}`
	usual := strings.TrimSuffix(strings.Repeat(record+",", 4096/len(record)-1), ",")
	tests := map[string]struct {
		provider           provider.Provider
		method, path, body string
		status             int
		response           string
	}{
		"negotiate":                {one("example.test"), "GET", "/", "", 200, `{"include":[".example.test","example.test"]}`},
		"negotiate anywhere":       {one("example.test"), "GET", "/any/path", "", 200, `{"include":[".example.test","example.test"]}`},
		"negotiate by POST":        {one("example.test"), "POST", "/", "", 400, ""},
		"zones fail":               {&backend{zonesErr: broken}, "GET", "/", "", 500, ""},
		"no zones":                 {&backend{}, "GET", "/", "", 500, ""},
		"without names":            {one(""), "GET", "/", "", 200, `{}`},
		"filter":                   {filtering{one(""), dns.NewDomainFilter([]string{"b.test"}, []string{"a.b.test"})}, "GET", "/", "", 200, `{"include":["b.test"],"exclude":["a.b.test"]}`},
		"filter that is code":      {filtering{one(""), dns.MatchAll()}, "GET", "/", "", 200, `{}`},
		"list nothing":             {one("example.test"), "GET", "/records", "", 200, `[]`},
		"list":                     {&backend{zones: []dns.Zone{{ID: "1"}, {ID: "2"}}, records: map[string][]*dns.RecordSet{"1": {{Name: "a", Type: "A"}}, "2": {{Name: "b", Type: "A"}}}}, "GET", "/records", "", 200, `[{"dnsName":"a","recordType":"A"},{"dnsName":"b","recordType":"A"}]`},
		"list without zones":       {&backend{zonesErr: broken}, "GET", "/records", "", 500, ""},
		"list fails":               {&backend{zones: []dns.Zone{{}}, listErr: broken}, "GET", "/records", "", 500, ""},
		"wrong method for records": {one("example.test"), "PUT", "/records", "", 400, ""},
		"wrong method to adjust":   {one("example.test"), "GET", "/adjustendpoints", "", 400, ""},
		"adjust without adjuster":  {one("example.test"), "POST", "/adjustendpoints", `[{"dnsName":"a"}]`, 200, `[{"dnsName":"a"}]`},
		"adjust nothing":           {one("example.test"), "POST", "/adjustendpoints", `null`, 200, `[]`},
		"adjust":                   {adjusting{one(""), []*dns.RecordSet{{Name: "b"}}, nil, ""}, "POST", "/adjustendpoints", `[{"dnsName":"a"}]`, 200, `[{"dnsName":"b"}]`},
		"adjust outside":           {adjusting{one("example.test"), []*dns.RecordSet{{Name: "b"}}, nil, ""}, "POST", "/adjustendpoints", `[{"dnsName":"a"}]`, 200, `[{"dnsName":"a"}]`},
		"adjust one that is bad":   {adjusting{one(""), nil, nil, "b"}, "POST", "/adjustendpoints", `[{"dnsName":"a"},{"dnsName":"b","recordType":"A"}]`, 500, "adjust b A: rejected by the provider\n"},
		"adjust without zones":     {adjusting{&backend{zonesErr: broken}, nil, nil, ""}, "POST", "/adjustendpoints", `[{"dnsName":"a"}]`, 500, ""},
		"apply too often":          {&backend{zones: []dns.Zone{{}}, applyErr: map[string]error{"": provider.ErrThrottled}}, "POST", "/records", `{"create":[{"dnsName":"a.example.test"}]}`, 503, ""},
		"adjust to nothing":        {adjusting{one(""), nil, nil, ""}, "POST", "/adjustendpoints", `[{"dnsName":"a"}]`, 200, `[]`},
		"adjust fails":             {adjusting{one(""), nil, broken, ""}, "POST", "/adjustendpoints", `[{"dnsName":"a"}]`, 500, ""},
		"adjust null":              {one("example.test"), "POST", "/adjustendpoints", `[null]`, 400, ""},
		"adjust nonsense":          {one("example.test"), "POST", "/adjustendpoints", `{}`, 400, ""},
		"adjust no body":           {one("example.test"), "POST", "/adjustendpoints", ``, 400, ""},
		"adjust many":              {one("example.test"), "POST", "/adjustendpoints", "[" + usual + "]", 200, "[" + usual + "]"},
		"adjust two values":        {one("example.test"), "POST", "/adjustendpoints", `[][]`, 400, ""},
		"case 215: 413":            {one("example.test"), "POST", "/adjustendpoints", `[{"dnsName":"` + strings.Repeat("a", 5000) + `"}]`, 413, ""},
		"413 behind the end":       {one("example.test"), "POST", "/records", `{}` + strings.Repeat(" ", 5000), 413, ""},
		"413 for what it needs":    {one("example.test"), "POST", "/records", `{"create":[` + strings.Repeat("{},", 1000) + `{}]}`, 413, ""},
		"apply nothing":            {one("example.test"), "POST", "/records", `{}`, 204, ""},
		"apply":                    {one("example.test"), "POST", "/records", `{"create":[{"dnsName":"a.example.test"}]}`, 204, ""},
		"apply in old spelling":    {one("example.test"), "POST", "/records", `{"Create":[{"dnsName":"a.example.test"}],"Delete":null}`, 204, ""},
		"apply in no zone":         {one("example.test"), "POST", "/records", `{"create":[{"dnsName":"a.other.test"}]}`, 500, ""},
		"apply halves of pairs":    {one("example.test"), "POST", "/records", `{"updateOld":[{"dnsName":"a.example.test"}]}`, 400, ""},
		"apply null":               {one("example.test"), "POST", "/records", `{"delete":[null]}`, 400, ""},
		"apply nonsense":           {one("example.test"), "POST", "/records", `[`, 400, ""},
		"apply without zones":      {&backend{zonesErr: broken}, "POST", "/records", `{"create":[{"dnsName":"a.example.test"}]}`, 500, ""},
		"apply fails":              {&backend{zones: []dns.Zone{{}}, applyErr: map[string]error{"": provider.ErrRejected}}, "POST", "/records", `{"create":[{"dnsName":"a.example.test"}]}`, 500, ""},
		"path of old":              {one("example.test"), "POST", "/applychanges", `{}`, 400, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := ask(tt.provider, tt.method, tt.path, tt.body)
			if w.Code != tt.status {
				t.Errorf("status %d and %q, want %d", w.Code, w.Body, tt.status)
			}
			if tt.status/100 == 2 && w.Body.String() != tt.response {
				t.Errorf("response %s, want %s", w.Body, tt.response)
			}
			if got := w.Header().Get("Content-Type"); tt.status == 200 && got != webhook.MediaType {
				t.Errorf("media type %s", got)
			}
		})
	}
}

func TestRouting(t *testing.T) {
	b := &backend{
		zones:    []dns.Zone{{ID: "apex", Name: "example.test"}, {ID: "sub", Name: "sub.example.test"}, {ID: "inside", Name: "sub.example.test", Private: true}, {ID: "bad", Name: "bad.test"}},
		applyErr: map[string]error{"bad.test": errors.New("it is bad")},
	}
	w := ask(b, "POST", "/records", `{
		"create":[{"dnsName":"www.bad.test","recordType":"A"},{"dnsName":"A.Sub.Example.test","recordType":"A"},{"dnsName":"x.example.test","recordType":"A"},{"dnsName":"nowhere.test"}],
		"updateOld":[{"dnsName":"u.example.test","recordType":"A"},{"dnsName":"t.example.test","recordType":"A"}],
		"updateNew":[{"dnsName":"u.example.test","recordType":"A"},{"dnsName":"t.example.test","recordType":"CNAME"}],
		"delete":[{"dnsName":"x.example.test","recordType":"CNAME"}]}`)
	want := []string{
		"apex: -t.example.test -x.example.test =u.example.test +t.example.test +x.example.test",
		"sub: +A.Sub.Example.test", "inside: +A.Sub.Example.test", "bad: +www.bad.test",
	}
	if diff := cmp.Diff(want, b.applied); diff != "" {
		t.Errorf("applied (-want +got):\n%s", diff)
	}
	if text := w.Body.String(); w.Code != 500 || !strings.Contains(text, "it is bad") || !strings.Contains(text, "nowhere.test") {
		t.Errorf("status %d, %s", w.Code, text)
	}
}

func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := one("example.test")
		b.batch, b.pause = 2, 3*time.Second
		s := webhookserver.New(defaults(b))
		send := func() {
			t.Helper()
			const body = `{"create":[{"dnsName":"a.example.test","recordType":"A"},{"dnsName":"b.example.test","recordType":"A"},{"dnsName":"c.example.test","recordType":"A"},
				{"dnsName":"b.example.test","recordType":"AAAA"}],"delete":[{"dnsName":"b.example.test","recordType":"CNAME"}]}`
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, httptest.NewRequest("POST", "/records", strings.NewReader(body)))
			if w.Code != 204 {
				t.Fatalf("status %d, %s", w.Code, w.Body)
			}
		}
		send()
		want := []string{"1: -b.example.test +b.example.test +b.example.test", "1: +a.example.test +c.example.test"}
		if diff := cmp.Diff(want, b.applied); diff != "" {
			t.Errorf("applied (-want +got):\n%s", diff)
		}
		send()
		for i := 1; i < len(b.at); i++ {
			if pause := b.at[i].Sub(b.at[i-1]); pause != b.pause {
				t.Errorf("batch %d came %v after the one before", i, pause)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, "POST", "/records", strings.NewReader(`{"create":[{"dnsName":"a.example.test"}]}`)))
		if w.Code != 500 || len(b.applied) != 4 {
			t.Errorf("a client that went away: status %d, applied %v", w.Code, b.applied)
		}
	})
}

// A record set and its ownership record are applied together: a provider that refuses the one then
// refuses the other. So are those of a name that is both that of a record set and that of an
// ownership record.
func TestBatchesOfOwnershipRecords(t *testing.T) {
	b := one("example.test")
	b.batch = 2
	set := func(name, recordType, owned string) string {
		text := `{"dnsName":"` + name + `.example.test","recordType":"` + recordType + `"`
		if owned != "" {
			text += `,"labels":{"ownedRecord":"` + owned + `.example.test"}`
		}
		return text + "}"
	}
	body := `{"create":[` + strings.Join([]string{
		set("x", "A", ""), set("y", "A", ""), set("z", "A", ""), set("a-x", "TXT", "x"), set("a-y", "TXT", "y"), set("a-z", "TXT", "z"), set("a-a-z", "TXT", "a-z"), set("a-z", "A", ""),
	}, ",") + `]}`
	w := httptest.NewRecorder()
	webhookserver.New(defaults(b)).Handler().ServeHTTP(w, httptest.NewRequest("POST", "/records", strings.NewReader(body)))
	if w.Code != 204 {
		t.Fatalf("status %d, %s", w.Code, w.Body)
	}
	want := []string{
		"1: +x.example.test +a-x.example.test", "1: +y.example.test +a-y.example.test",
		"1: +z.example.test +a-z.example.test +a-a-z.example.test +a-z.example.test",
	}
	if diff := cmp.Diff(want, b.applied); diff != "" {
		t.Errorf("applied (-want +got):\n%s", diff)
	}
}

// exclusive is a provider that fails the test when it is called twice at the same time.
type exclusive struct {
	*backend
	busy sync.Mutex
	t    *testing.T
	hold chan struct{}
}

func (e *exclusive) Records(context.Context, dns.Zone) ([]*dns.RecordSet, error) {
	if !e.busy.TryLock() {
		e.t.Error("two calls at once")
	} else {
		defer e.busy.Unlock()
	}
	<-e.hold
	return nil, nil
}

func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &exclusive{backend: one("example.test"), t: t, hold: make(chan struct{})}
		s := webhookserver.New(defaults(e))
		done := make(chan int)
		request := func(ctx context.Context) {
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/records", nil))
			done <- w.Code
		}
		for range 3 {
			go request(t.Context())
		}
		synctest.Wait()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		go request(gone)
		if code := <-done; code != 500 {
			t.Errorf("a client that went away while it waited: status %d", code)
		}
		close(e.hold)
		for range 3 {
			if code := <-done; code != 200 {
				t.Errorf("status %d", code)
			}
		}
	})
}

// An error of each of many changes isn't said as a whole.
func TestManyErrors(t *testing.T) {
	c := defaults(one("example.test"))
	var log bytes.Buffer
	c.Log = slog.New(slog.NewTextHandler(&log, nil))
	w := httptest.NewRecorder()
	body := `{"create":[` + strings.TrimSuffix(strings.Repeat(`{"dnsName":"a.other.test","recordType":"A"},`, 5000), ",") + `]}`
	webhookserver.New(c).Handler().ServeHTTP(w, httptest.NewRequest("POST", "/records", strings.NewReader(body)))
	if n := w.Body.Len(); w.Code != 500 || n < 1000 || n > 20_000 || log.Len() < 1000 || log.Len() > 40_000 {
		t.Errorf("status %d, %d bytes, and %d in the log", w.Code, n, log.Len())
	}
}

func TestErrorsAreLogged(t *testing.T) {
	var out bytes.Buffer
	c := defaults(&backend{zonesErr: errors.New("the API is down")})
	c.Log = slog.New(slog.NewTextHandler(&out, nil))
	h := webhookserver.New(c).Handler()
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/records", nil))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/records", strings.NewReader("<")))
	if text := out.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "the API is down") {
		t.Errorf("log %s", text)
	}
}

func TestRunWithoutListener(t *testing.T) {
	l := pipetest.NewListener()
	_ = l.Close()
	if err := webhookserver.New(defaults(one("example.test"))).Run(t.Context(), l); err == nil {
		t.Error("serving on a closed listener is no error")
	}
}

// Each request gets a status of the protocol, and the provider gets the record sets of the request.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{`[]`, `{}`, `[null]`, `{"create":[{"dnsName":"a.example.test"}]}`, `{"updateOld":[{}],"updateNew":[null]}`, `{"delete":[{"dnsName":"\u0000"}]}`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		b := one("example.test")
		if w := ask(b, "POST", "/records", string(body)); !slices.Contains([]int{204, 400, 413, 500}, w.Code) {
			t.Errorf("changes %q: status %d", body, w.Code)
		}
		w := ask(b, "POST", "/adjustendpoints", string(body))
		if !slices.Contains([]int{200, 400, 413}, w.Code) {
			t.Errorf("adjust %q: status %d", body, w.Code)
		}
		if w.Code != 200 {
			return
		}
		var sent, got []*dns.RecordSet
		if json.Unmarshal(body, &sent) != nil || json.Unmarshal(w.Body.Bytes(), &got) != nil || !cmp.Equal(marshal(t, sent), marshal(t, got)) {
			t.Errorf("%q was adjusted to %q", body, w.Body)
		}
	})
}

func marshal(t *testing.T, sets []*dns.RecordSet) string {
	t.Helper()
	if sets == nil {
		sets = []*dns.RecordSet{}
	}
	text, err := json.Marshal(sets)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Clients name properties by the keys of annotations, as ExternalDNS does, and providers by their
// declared names.
func TestNamesOfProperties(t *testing.T) {
	const theirs = `"providerSpecific":[{"name":"old.example/cf-proxied","value":"true"},{"name":"webhook/x","value":"1"}]`
	wanted := `[{"dnsName":"www.example.test","targets":["192.0.2.1"],"recordType":"A",` + theirs + `}]`
	renamed := strings.ReplaceAll(wanted, "old.example", "new.example")
	ours := []dns.Property{{Name: "cf/proxied", Value: "true"}, {Name: "webhook/x", Value: "1"}}
	p := &naming{backend: one("example.test")}
	c := defaults(p)
	c.Prefixes = []string{"new.example/", "old.example/"}
	c.Declared = dns.Declarations{{Prefix: "cf/", NamedByKey: true, Annotations: []dns.Annotation{{Name: "cf-proxied", Property: "cf/proxied"}}}}
	send := func(method, path, body, want string) {
		t.Helper()
		w := httptest.NewRecorder()
		webhookserver.New(c).Handler().ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		if got := w.Body.String(); w.Code/100 != 2 || got != want {
			t.Errorf("%s %s responds with %d and\n%s\nwant\n%s", method, path, w.Code, got, want)
		}
	}
	send("POST", "/adjustendpoints", wanted, renamed)
	send("POST", "/records", `{"create":`+wanted+`}`, "")
	if len(p.seen) != 2 {
		t.Fatalf("the provider got %d record sets, want 2", len(p.seen))
	}
	for _, r := range p.seen {
		if !slices.Equal(r.Properties, ours) {
			t.Errorf("the provider got the properties %v", r.Properties)
		}
	}
	send("GET", "/records", "", renamed)
}

// naming is a backend that remembers the record sets that it gets, and lists them.
type naming struct {
	*backend
	seen []*dns.RecordSet
}

func (n *naming) Records(context.Context, dns.Zone) ([]*dns.RecordSet, error) {
	return n.seen[:1], nil
}

func (n *naming) Adjust(_ context.Context, _ dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	n.seen = append(n.seen, wanted...)
	return provider.AdjustEach(wanted, func(r *dns.RecordSet) (*dns.RecordSet, error) { return r, nil }), nil
}

func (n *naming) Apply(_ context.Context, _ dns.Zone, changes []dns.Change) error {
	for _, c := range changes {
		n.seen = append(n.seen, c.New)
	}
	return nil
}
