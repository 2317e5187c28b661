package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/metrictest"
)

func TestRecords(t *testing.T) {
	tests := map[string]struct {
		reply reply
		want  []*dns.RecordSet
		fails bool
		is    error
	}{
		"none":                     {reply: reply{status: 200, body: `[]`}, want: []*dns.RecordSet{}},
		"null":                     {reply: reply{status: 200, body: `null`}, want: []*dns.RecordSet{}},
		"media type is free":       {reply: reply{status: 200, body: `[]`, media: "text/plain"}, want: []*dns.RecordSet{}},
		"keys in any case":         {reply: reply{status: 200, body: `[{"DNSName":"a.test.","recordtype":"A","Targets":["192.0.2.1"]}]`}, want: []*dns.RecordSet{{Name: "a.test", Type: "A", Targets: []string{"192.0.2.1"}}}},
		"case 215: 500 is passing": {reply: reply{status: 500, body: "oops"}, fails: true},
		"case 215: 404":            {reply: reply{status: 404}, fails: true, is: provider.ErrRejected},
		"401":                      {reply: reply{status: 401}, fails: true, is: provider.ErrCredentials},
		"403":                      {reply: reply{status: 403}, fails: true, is: provider.ErrCredentials},
		"429":                      {reply: reply{status: 429}, fails: true, is: provider.ErrThrottled},
		"another success":          {reply: reply{status: 206, body: `[]`}, fails: true},
		// One record without a type made the whole listing fail (W7).
		"null inside": {reply: reply{status: 200, body: `[null]`}, want: []*dns.RecordSet{}},
		"no type":     {reply: reply{status: 200, body: `[{"dnsName":"b.test"},{"dnsName":"a.test","recordType":"A"}]`}, want: []*dns.RecordSet{{Name: "a.test", Type: "A"}}},
		"no name":     {reply: reply{status: 200, body: `[{"recordType":"A"}]`}, want: []*dns.RecordSet{}},
		"cut off":     {reply: reply{status: 200, body: `[{"dnsName":"a.test"`}, fails: true},
		"two values":  {reply: reply{status: 200, body: `[][]`}, fails: true},
		"no answer":   {fails: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			sidecar := speaking().with("GET /records", tt.reply)
			registry := prometheus.NewRegistry()
			in := input(sidecar)
			in.Registerer = registry
			p := open(t, in)
			got, err := p.Records(t.Context(), dns.Zone{})
			if (err != nil) != tt.fails || err != nil && got != nil {
				t.Fatalf("listed %v, error %v", got, err)
			}
			for _, class := range []error{provider.ErrCredentials, provider.ErrRejected, provider.ErrThrottled} {
				if errors.Is(err, class) != (class == tt.is) {
					t.Errorf("error %v is %v: %v", err, class, !(class == tt.is))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("listed (-want +got):\n%s", diff)
			}
			wantErrors := 0.0
			if tt.fails {
				wantErrors = 1
			}
			counts := gauges(t, registry)
			if counts["records_requests_total"] != 1 || counts["records_errors_total"] != wantErrors {
				t.Errorf("counted %v", counts)
			}
			if tt.reply.status != 0 && sidecar.drained != 2 {
				t.Errorf("%d of 2 bodies were read to their end and closed", sidecar.drained)
			}
		})
	}
}

func gauges(t *testing.T, g prometheus.Gatherer) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for series, value := range metrictest.Series(t, g) {
		all[strings.TrimPrefix(series, "external_dns_webhook_provider_")] = value
	}
	return all
}

func TestApply(t *testing.T) {
	a, b := set("a.test", "A", "192.0.2.1"), set("a.test", "A", "192.0.2.2")
	c := set("c.test", "A", "192.0.2.3")
	relabelled := a.Clone()
	relabelled.Labels[dns.LabelOwner] = "me"
	longer := a.Clone()
	longer.TTL = 61
	objects := a.Clone()
	objects.Labels, objects.Objects = nil, []dns.Object{{Name: "x"}}
	const aJSON = `{"dnsName":"a.test","targets":["192.0.2.1"],"recordType":"A","recordTTL":60}`
	const bJSON = `{"dnsName":"a.test","targets":["192.0.2.2"],"recordType":"A","recordTTL":60}`
	const cJSON = `{"dnsName":"c.test","targets":["192.0.2.3"],"recordType":"A","recordTTL":60}`
	tests := map[string]struct {
		changes []dns.Change
		status  int
		sent    string
		fails   bool
		is      error
	}{
		"nothing":                           {},
		"create":                            {changes: []dns.Change{{New: a}}, status: 204, sent: `{"create":[` + aJSON + `]}`},
		"delete":                            {changes: []dns.Change{{Old: a}}, status: 204, sent: `{"delete":[` + aJSON + `]}`},
		"update":                            {changes: []dns.Change{{Old: a, New: b}}, status: 204, sent: `{"updateOld":[` + aJSON + `],"updateNew":[` + bJSON + `]}`},
		"equal pair":                        {changes: []dns.Change{{Old: a, New: objects}}},
		"equal pair and another":            {changes: []dns.Change{{Old: a, New: a}, {New: c}}, status: 204, sent: `{"create":[` + cJSON + `]}`},
		"TTL differs":                       {changes: []dns.Change{{Old: a, New: longer}}, status: 204, sent: `{"updateOld":[` + aJSON + `],"updateNew":[` + strings.Replace(aJSON, ":60}", ":61}", 1) + `]}`},
		"labels differ":                     {changes: []dns.Change{{Old: a, New: relabelled}}, status: 204, sent: `{"updateOld":[` + aJSON + `],"updateNew":[` + strings.TrimSuffix(aJSON, "}") + `,"labels":{"owner":"me"}}]}`},
		"case 215: 200 instead of 204":      {changes: []dns.Change{{New: a}}, status: 200, sent: `{"create":[` + aJSON + `]}`, fails: true},
		"413":                               {changes: []dns.Change{{New: a}}, status: 413, sent: `{"create":[` + aJSON + `]}`, fails: true, is: provider.ErrRejected},
		"401":                               {changes: []dns.Change{{New: a}}, status: 401, sent: `{"create":[` + aJSON + `]}`, fails: true, is: provider.ErrCredentials},
		"500":                               {changes: []dns.Change{{New: a}}, status: 500, sent: `{"create":[` + aJSON + `]}`, fails: true},
		"307 is not followed with a change": {changes: []dns.Change{{New: a}}, status: 307, sent: `{"create":[` + aJSON + `]}`, fails: true},
		"302 is not followed with a change": {changes: []dns.Change{{New: a}}, status: 302, sent: `{"create":[` + aJSON + `]}`, fails: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			sidecar := speaking().with("POST /records", reply{status: tt.status, body: "said\n"}).
				with("GET /moved", reply{status: 204}).with("POST /moved", reply{status: 204})
			if strings.Contains(tt.sent, "Old") || strings.Contains(tt.sent, "delete") || name == "equal pair and another" {
				sidecar.with("GET /records", reply{status: 200, body: "[" + aJSON + "]"})
			}
			err := open(t, input(sidecar)).Apply(t.Context(), dns.Zone{}, tt.changes)
			if (err != nil) != tt.fails {
				t.Fatalf("error %v", err)
			}
			for _, class := range []error{provider.ErrCredentials, provider.ErrRejected} {
				if errors.Is(err, class) != (class == tt.is) {
					t.Errorf("error %v is %v: %v", err, class, !(class == tt.is))
				}
			}
			if tt.sent == "" {
				if len(sidecar.asked) != 0 {
					t.Errorf("sent %v", sidecar.asked)
				}
				return
			}
			if diff := cmp.Diff([]string{"GET /", "GET /records", "POST /records"}, sidecar.requests()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			last := sidecar.asked[len(sidecar.asked)-1]
			if last.body != tt.sent || last.header.Get("Content-Type") != MediaType || last.header.Get("Accept") != "" {
				t.Errorf("sent %v %s, want %s", last.header, last.body, tt.sent)
			}
		})
	}
}

// TestRefusedReading shows that a program which refuses to list its records before a change doesn't seem to
// refuse the change.
func TestRefusedReading(t *testing.T) {
	for status, want := range map[int]error{400: provider.ErrUnread, 401: provider.ErrCredentials} {
		sidecar := speaking().with("GET /records", reply{status: status, body: "said"})
		err := open(t, input(sidecar)).Apply(t.Context(), dns.Zone{}, []dns.Change{{New: set("a.test", "A", "192.0.2.1")}})
		if !errors.Is(err, want) || errors.Is(err, provider.ErrRejected) || !strings.Contains(err.Error(), "said") {
			t.Errorf("%d: %v, want %v", status, err, want)
		}
	}
}

// Somebody has edited the TTL, the order of the targets and a property since the zone was listed.
// The program gets Old exactly as it lists the record now: some find by that what they have to
// change.
func TestApplySendsOldAsListed(t *testing.T) {
	a := set("a.test", "A", "192.0.2.1", "192.0.2.2")
	a.TTL, a.Labels = 0, map[string]string{dns.LabelOwner: "me"}
	b := set("a.test", "A", "192.0.2.3")
	const listed = `{"dnsName":"a.test","targets":["192.0.2.2","192.0.2.1"],"recordType":"A","recordTTL":300,"labels":{"owner":"me"},"providerSpecific":[{"name":"webhook/x","value":"1"}]}`
	for name, tt := range map[string]struct {
		change dns.Change
		want   string
	}{
		"update": {dns.Change{Old: a, New: b}, `{"updateOld":[` + listed + `],"updateNew":[{"dnsName":"a.test","targets":["192.0.2.3"],"recordType":"A","recordTTL":60}]}`},
		"delete": {dns.Change{Old: a}, `{"delete":[` + listed + `]}`},
	} {
		t.Run(name, func(t *testing.T) {
			sidecar := speaking().with("POST /records", reply{status: 204}).
				with("GET /records", reply{status: 200, body: "[" + strings.Replace(listed, `"labels":{"owner":"me"},`, "", 1) + "]"})
			if err := open(t, input(sidecar)).Apply(t.Context(), dns.Zone{}, []dns.Change{tt.change}); err != nil {
				t.Fatal(err)
			}
			if got := sidecar.asked[len(sidecar.asked)-1].body; got != tt.want {
				t.Errorf("sent %s, want %s", got, tt.want)
			}
		})
	}
}

func TestRedirectedQuestions(t *testing.T) {
	sidecar := speaking().with("GET /", reply{status: 301}).with("GET /moved", reply{status: 200, body: `{}`})
	if _, err := open(t, input(sidecar)).Zones(t.Context()); err != nil {
		t.Error(err)
	}
	sidecar = speaking().with("GET /", reply{status: 301}).with("GET /moved", reply{status: 301})
	if _, err := open(t, input(sidecar)).Zones(t.Context()); err == nil || len(sidecar.asked) != maxRedirects+1 {
		t.Errorf("round in circles: %v after %d requests", err, len(sidecar.asked))
	}
}

func TestCase215ObjectsSurviveAdjust(t *testing.T) {
	www, gone := set("www.test", "A", "192.0.2.1"), set("gone.test", "A", "192.0.2.1")
	www.Objects = []dns.Object{{Kind: "Service", Name: "www"}}
	www.Labels = map[string]string{dns.LabelResource: "service/default/www"}
	sidecar := speaking().with("POST /adjustendpoints", reply{status: 200, body: `[
		{"dnsName":"WWW.test.","recordType":"A","targets":["192.0.2.1"],"providerSpecific":[{"name":"webhook/x","value":"1"}]},
		{"dnsName":"new.test","recordType":"TXT","targets":["y"],"labels":{}}]`})
	got, err := open(t, input(sidecar)).Adjust(t.Context(), dns.Zone{}, []*dns.RecordSet{www, gone})
	if err != nil {
		t.Fatal(err)
	}
	// What belongs to no name that was asked about is dropped.
	want := []provider.Adjusted{
		{Sets: []*dns.RecordSet{{
			Name: "WWW.test", Type: "A", Targets: []string{"192.0.2.1"}, Properties: []dns.Property{{Name: "webhook/x", Value: "1"}},
			Objects: www.Objects, Labels: www.Labels,
		}}},
		{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("adjusted (-want +got):\n%s", diff)
	}
	last := sidecar.asked[len(sidecar.asked)-1]
	if last.header.Get("Accept") != MediaType || last.header.Get("Content-Type") != MediaType || strings.Contains(last.body, "Service") {
		t.Errorf("sent %v %s", last.header, last.body)
	}
}

func TestCase215BodyOverCap(t *testing.T) {
	body := `[{"dnsName":"a.test","recordType":"A"}]`
	for limit, fails := range map[int64]bool{0: false, 10: true, int64(len(body)) - 1: true, int64(len(body)): false, int64(len(body)) + 1: false} {
		sidecar := speaking().with("GET /records", reply{status: 200, body: body})
		p := open(t, input(sidecar), func(c *Config) { c.MaxBodySize = limit })
		if _, err := p.Records(t.Context(), dns.Zone{}); errors.Is(err, ErrBodyTooLarge) != fails || (err != nil) != fails {
			t.Errorf("cap of %d for %d bytes: %v", limit, len(body), err)
		}
	}
	// White space counts too.
	sidecar := speaking().with("GET /records", reply{status: 200, body: body + strings.Repeat(" ", 100)})
	p := open(t, input(sidecar), func(c *Config) { c.MaxBodySize = int64(len(body)) + 50 })
	if _, err := p.Records(t.Context(), dns.Zone{}); !errors.Is(err, ErrBodyTooLarge) {
		t.Errorf("white space over the cap: %v", err)
	}
}

// §17: in a dry run no change is sent, whichever method sends it.
func TestDryRun(t *testing.T) {
	sidecar := speaking()
	in := input(sidecar)
	in.DryRun = true
	p := open(t, in)
	if err := p.Apply(t.Context(), dns.Zone{}, []dns.Change{{New: set("a.test", "A", "192.0.2.1")}}); !errors.Is(err, provider.ErrDryRun) {
		t.Errorf("Apply: %v", err)
	}
	if _, err := p.Adjust(t.Context(), dns.Zone{}, []*dns.RecordSet{set("a.test", "A", "192.0.2.1")}); err != nil {
		t.Errorf("Adjust: %v", err)
	}
	if _, err := p.Records(t.Context(), dns.Zone{}); err != nil {
		t.Errorf("Records: %v", err)
	}
	// A refused request doesn't mean that the program is unreachable.
	if diff := cmp.Diff([]string{"GET /", "GET /records", "POST /adjustendpoints", "GET /records"}, sidecar.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		err := p.do(t.Context(), exchange{method: method, path: "anything", message: struct{}{}, accepts: is(204)})
		if !errors.Is(err, provider.ErrDryRun) {
			t.Errorf("%s: %v", method, err)
		}
	}
}

func TestMetricsAreShared(t *testing.T) {
	registry := prometheus.NewRegistry()
	for range 2 {
		in := input(speaking())
		in.Registerer = registry
		p := open(t, in)
		if err := p.Apply(t.Context(), dns.Zone{}, []dns.Change{{New: set("a.test", "A", "192.0.2.1")}}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Adjust(t.Context(), dns.Zone{}, []*dns.RecordSet{set("a.test", "A", "192.0.2.1")}); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]float64{
		"records_requests_total": 2, "records_errors_total": 0, "applychanges_requests_total": 2,
		"applychanges_errors_total": 0, "adjustendpoints_requests_total": 2, "adjustendpoints_errors_total": 0,
	}
	if diff := cmp.Diff(want, maps.Clone(gauges(t, registry))); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

func TestBasePath(t *testing.T) {
	for _, base := range []string{"http://h.test/a/b", "http://h.test/a/b/"} {
		sidecar := &program{replies: map[string][]reply{
			"GET " + strings.TrimPrefix(base, "http://h.test"): {{status: 200, body: `{}`}}, "GET /a/b/records": {{status: 200, body: `[]`}},
		}}
		if _, err := open(t, input(sidecar), func(c *Config) { c.URL = base }).Records(t.Context(), dns.Zone{}); err != nil {
			t.Errorf("%s: %v", base, err)
		}
	}
}

// Any answer of a program leads to an error, or to record sets that a provider may return.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{`[]`, `null`, `[null]`, `{}`, `[{"dnsName":"a.","recordType":"A","targets":null}]`, `{"include":["a"],"filters":["b"]}`, `{"regexInclude":"("}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := reply{status: 200, body: string(body)}
		p := open(t, input(speaking().with("GET /", r)))
		if _, err := p.Zones(t.Context()); err == nil {
			if _, err := json.Marshal(p.DomainFilter(t.Context())); err != nil {
				t.Errorf("negotiated %s: %v", body, err)
			}
		}
		p = open(t, input(speaking().with("GET /records", r).with("POST /adjustendpoints", r)))
		listed, err := p.Records(t.Context(), dns.Zone{})
		adjusted, adjustErr := p.Adjust(t.Context(), dns.Zone{}, []*dns.RecordSet{set("a", "A", "192.0.2.1")})
		if err == nil && adjustErr != nil {
			t.Errorf("%s: listing %v, adjusting %v", body, err, adjustErr)
		}
		for _, answer := range adjusted {
			listed = append(listed, answer.Sets...)
		}
		for _, r := range listed {
			if r == nil || r.Name == "" || r.Type == "" {
				t.Errorf("%s: got %v", body, r)
			}
		}
	})
}

// silent is a program that never answers.
type silent struct{}

func (silent) RoundTrip(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

func TestCallTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := input(nil)
		in.Wrap = func(http.RoundTripper) http.RoundTripper { return silent{} }
		p := open(t, in, func(c *Config) { c.ReadTimeout, c.WriteTimeout = 2*time.Second, time.Second })
		start := time.Now()
		if _, err := p.requestFilter(t.Context()); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
	})
}
