package cloudflaretest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client sends requests to a server with a zone, example.dev.
type client struct {
	t      *testing.T
	server *Server
	zone   string
	header http.Header
}

func newClient(t *testing.T, plan string) *client {
	c := &client{t: t, server: New(), header: http.Header{"Authorization": {"Bearer " + Token}}}
	c.zone = c.server.AddZone(Zone{Name: "example.dev", Plan: plan})
	return c
}

// reply is an answer.
type reply struct {
	Status  int
	Header  http.Header
	Success bool
	Errors  []message
	Result  json.RawMessage
	Info    info `json:"result_info"`
}

// code returns the code that says most: that of the first cause, or else that of the first message.
func (r reply) code() int {
	switch {
	case len(r.Errors) == 0:
		return 0
	case len(r.Errors[0].Chain) > 0:
		return r.Errors[0].Chain[0].Code
	}
	return r.Errors[0].Code
}

// send sends a request, and returns the answer. Path is below zones/ID.
func (c *client) send(method, path, body string) reply {
	c.t.Helper()
	address := "https://api.test" + root + "zones/" + c.zone + path
	if !strings.HasPrefix(path, "/") {
		address = "https://api.test" + root + path
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, address, bytes.NewReader([]byte(body)))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header = c.header
	resp, err := c.server.Transport().RoundTrip(req)
	if err != nil {
		return reply{}
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	r := reply{Status: resp.StatusCode, Header: resp.Header}
	if err := json.Unmarshal(text, &r); err != nil {
		c.t.Fatalf("%s: %v", text, err)
	}
	return r
}

// batch sends a batch, and returns the status and the code of its answer.
func (c *client) batch(body string) (status, code int) {
	c.t.Helper()
	r := c.send(http.MethodPost, "/dns_records/batch", body)
	return r.Status, r.code()
}

// post sends a batch with new records.
func (c *client) post(records ...string) (status, code int) {
	c.t.Helper()
	return c.batch(`{"posts":[` + strings.Join(records, ",") + `]}`)
}

func (c *client) expect(what string, status, code, wantStatus, wantCode int) {
	c.t.Helper()
	if status != wantStatus || code != wantCode {
		c.t.Errorf("%s: status %d and code %d, want %d and %d", what, status, code, wantStatus, wantCode)
	}
}

// Credentials are a token, or a key and an e-mail address (fundamentals/api/how-to/make-api-calls).
func TestCredentials(t *testing.T) {
	for _, test := range []struct {
		header       http.Header
		status, code int
	}{
		{http.Header{"Authorization": {"Bearer " + Token}}, 200, 0},
		{http.Header{"X-Auth-Key": {Key}, "X-Auth-Email": {Email}}, 200, 0},
		{http.Header{}, 400, 9106},
		{http.Header{"Authorization": {"Bearer x"}}, 400, 6111},
		{http.Header{"Authorization": {"Basic " + Token}}, 400, 6111},
		{http.Header{"Authorization": {"Bearer another-token-of-somebody"}}, 403, 9109},
		{http.Header{"X-Auth-Key": {Key}, "X-Auth-Email": {"x@example.net"}}, 403, 9103},
	} {
		c := newClient(t, Free)
		c.header = test.header
		r := c.send(http.MethodGet, "zones", "")
		c.expect(fmt.Sprint(test.header), r.Status, r.code(), test.status, test.code)
		if r.Header.Get("CF-RAY") == "" {
			t.Error("no CF-RAY")
		}
	}
}

// What isn't there, and what the token may not do.
func TestRoutes(t *testing.T) {
	c := newClient(t, Free)
	for _, test := range []struct {
		method, path string
		status, code int
	}{
		{"GET", "accounts", 404, 7000},
		{"GET", "/nothing", 404, 7000},
		{"PUT", "/dns_records", 404, 7000},
		{"POST", "/dns_records/batch/x", 404, 7000},
		{"GET", "zones/ffff/dns_records", 404, 7003},
		{"POST", "/dns_records/batch", 400, 9207},
		{"GET", "", 404, 7000},
	} {
		r := c.send(test.method, test.path, "{")
		c.expect(test.method+" "+test.path, r.Status, r.code(), test.status, test.code)
	}
	c.server.Deny(ListRecords, c.zone)
	r := c.send(http.MethodGet, "/dns_records", "")
	c.expect("denied", r.Status, r.code(), 403, 10000)
	c.server.Permit(ListRecords, c.zone)
	r = c.send(http.MethodGet, "/dns_records", "")
	c.expect("permitted", r.Status, r.code(), 200, 0)
}

// A batch is made as a whole or not at all, in the order deletes, patches, puts, posts; the first
// error is the answer (dns/manage-dns-records/how-to/batch-record-changes).
func TestBatch(t *testing.T) {
	c := newClient(t, Free)
	status, code := c.post(`{"type":"A","name":"a.example.dev","content":"192.0.2.1"}`, `{"type":"TXT","name":"a-a","content":"\"x\""}`)
	c.expect("create", status, code, 200, 0)
	a, text := c.server.Get(c.zone, "a.example.dev", "A"), c.server.Get(c.zone, "a-a.example.dev", "TXT")
	if a == nil || text == nil || a.TTL != 1 || a.Comment != nil {
		t.Fatalf("records %v", c.server.Records(c.zone))
	}
	status, code = c.batch(fmt.Sprintf(`{"deletes":[{"id":%q}],"posts":[{"type":"A","name":"b","content":"192.0.2.1"},{"type":"A","name":"c","content":"x"}]}`, a.ID))
	c.expect("one is wrong", status, code, 400, 9005)
	if n := len(c.server.Records(c.zone)); n != 2 {
		t.Errorf("%d records after a batch that was refused", n)
	}
	// The CNAME is only possible because the deletion comes first.
	status, code = c.batch(fmt.Sprintf(`{"posts":[{"type":"CNAME","name":"a","content":"B.example.net."}],"deletes":[{"id":%q}],"patches":[{"id":%q,"ttl":120}]}`, a.ID, text.ID))
	c.expect("another type", status, code, 200, 0)
	if r := c.server.Get(c.zone, "a.example.dev", "CNAME"); r == nil || r.Content != "b.example.net" {
		t.Errorf("CNAME %v", r)
	}
	if r := c.server.Get(c.zone, "a-a.example.dev", "TXT"); r.TTL != 120 || r.Content != `"x"` {
		t.Errorf("a patch made %v", r)
	}
	// A put replaces everything.
	status, code = c.batch(fmt.Sprintf(`{"puts":[{"id":%q,"type":"TXT","name":"a-a","content":"\"y\""}]}`, text.ID))
	if r := c.server.Get(c.zone, "a-a.example.dev", "TXT"); r.TTL != 1 || r.Content != `"y"` {
		t.Errorf("a put made %v, status %d, code %d", r, status, code)
	}
	for _, kind := range []string{"deletes", "patches", "puts"} {
		status, code = c.batch(`{"` + kind + `":[{"id":"none"}]}`)
		c.expect(kind+" of nothing", status, code, 404, 81044)
	}
	id := c.server.Put(c.zone, Record{Name: "mail.example.dev", Type: "MX", Content: "x", Meta: map[string]any{"read_only": true}})
	status, code = c.batch(fmt.Sprintf(`{"deletes":[{"id":%q}]}`, id))
	c.expect("read only", status, code, 400, 9300)
}

// A batch has 200 operations on a free plan and 3,500 on others
// (dns/manage-dns-records/how-to/batch-record-changes).
func TestBatchLimits(t *testing.T) {
	for plan, most := range map[string]int{Free: 200, Pro: 3500} {
		c := newClient(t, plan)
		var posts []string
		for i := range most + 1 {
			posts = append(posts, fmt.Sprintf(`{"type":"A","name":"n%d","content":"192.0.2.1"}`, i))
		}
		status, code := c.post(posts...)
		c.expect(plan+" too many", status, code, 400, 9207)
		status, code = c.post(posts[1:]...)
		c.expect(plan+" as many as may be", status, code, 200, 0)
		status, code = c.batch(`{}`)
		c.expect(plan+" none", status, code, 400, 9207)
	}
	c := newClient(t, Free)
	c.zone = c.server.AddZone(Zone{Name: "small.dev", Quota: 1})
	status, code := c.post(`{"type":"A","name":"a","content":"192.0.2.1"}`, `{"type":"A","name":"b","content":"192.0.2.1"}`)
	c.expect("quota", status, code, 400, 81045)
}

// Values and attributes (dns/manage-dns-records/reference/dns-record-types, .../record-attributes, .../ttl).
func TestValues(t *testing.T) {
	label := strings.Repeat("x", 64)
	for _, test := range []struct {
		plan, record string
		code         int
	}{
		{Free, `{"type":"A","name":"a","content":"192.0.2.1","ttl":60}`, 0},
		{Free, `{"type":"A","name":"*.a","content":"192.0.2.1","ttl":86400}`, 0},
		{Free, `{"type":"A","name":"a","content":"192.0.2.1","ttl":30}`, 9021},
		{Enterprise, `{"type":"A","name":"a","content":"192.0.2.1","ttl":30}`, 0},
		{Enterprise, `{"type":"A","name":"a","content":"192.0.2.1","ttl":29}`, 9021},
		{Pro, `{"type":"A","name":"a","content":"192.0.2.1","ttl":86401}`, 9021},
		{Free, `{"type":"A","name":"a","content":"2001:db8::1"}`, 9005},
		{Free, `{"type":"AAAA","name":"a","content":"192.0.2.1"}`, 9006},
		{Free, `{"type":"AAAA","name":"a","content":"2001:db8::1%eth0"}`, 9006},
		{Free, `{"type":"CNAME","name":"a","content":"a..b"}`, 9007},
		{Free, `{"type":"MX","name":"a","content":"mx.example.net"}`, 9008},
		{Free, `{"type":"MX","name":"a","content":"mx.example.net","priority":65536}`, 9008},
		{Free, `{"type":"MX","name":"a","content":".","priority":0}`, 0},
		{Free, `{"type":"TXT","name":"a","content":""}`, 9011},
		{Free, `{"type":"SRV","name":"a","content":"1 2 80 x.example.net"}`, 9101},
		{Free, `{"type":"SRV","name":"a","data":{"priority":1,"weight":2,"port":65536,"target":"x.example.net"}}`, 9102},
		{Free, `{"type":"SRV","name":"a","data":{"priority":1,"weight":2,"port":80,"target":"x.example.net"}}`, 0},
		{Free, `{"type":"SRV","name":"a","data":7}`, 9101},
		{Free, `{"type":"DNAME","name":"a","content":"x.example.net"}`, 9003},
		{Free, `{"type":"A","name":"` + label + `","content":"192.0.2.1"}`, 9000},
		{Free, `{"type":"A","name":"a..b","content":"192.0.2.1"}`, 9000},
		{Free, `{"type":"TXT","name":"a","content":"x","proxied":true}`, 9004},
		{Free, `{"type":"A","name":"a","content":"192.0.2.1","comment":"` + strings.Repeat("ä", 100) + `"}`, 0},
		{Free, `{"type":"A","name":"a","content":"192.0.2.1","comment":"` + strings.Repeat("ä", 101) + `"}`, 9313},
		{Pro, `{"type":"A","name":"a","content":"192.0.2.1","comment":"` + strings.Repeat("ä", 500) + `"}`, 0},
		{Pro, `{"type":"A","name":"a","content":"192.0.2.1","comment":"a\nb"}`, 9313},
		{Free, `{"type":"A","name":"a","content":"192.0.2.1","tags":["a:b"]}`, 9300},
		{Pro, `{"type":"A","name":"a","content":"192.0.2.1","tags":["a:b"]}`, 0},
		{Pro, `{"type":"A","name":"a","content":"192.0.2.1","tags":["a b:c"]}`, 9301},
	} {
		c := newClient(t, test.plan)
		want := 200
		if test.code != 0 {
			want = 400
		}
		status, code := c.post(test.record)
		c.expect(test.plan+" "+test.record, status, code, want, test.code)
	}
	c := newClient(t, Free)
	c.post(`{"type":"A","name":"a","content":"192.0.2.1","ttl":300,"proxied":true}`, `{"type":"A","name":"x.other.dev","content":"192.0.2.1"}`)
	if r := c.server.Get(c.zone, "a.example.dev", "A"); r.TTL != 1 {
		t.Errorf("a proxied record has the TTL %d", r.TTL)
	}
	if c.server.Get(c.zone, "x.other.dev.example.dev", "A") == nil {
		t.Error("a name outside of the zone isn't relative")
	}
}

// Records that exclude each other (API reference, dns/records, notes on creating a record), and how long all
// records of a name and type may be (dns/manage-dns-records/reference/dns-record-types).
func TestConflicts(t *testing.T) {
	a, cname, ns := `{"type":"A","name":"a","content":"192.0.2.1"}`, `{"type":"CNAME","name":"a","content":"x.example.net"}`, `{"type":"NS","name":"a","content":"ns.example.net"}`
	text := `{"type":"TXT","name":"a","content":"x"}`
	long := func(c string) string { return `{"type":"TXT","name":"a","content":"` + strings.Repeat(c, 4096) + `"}` }
	for _, test := range []struct {
		records []string
		code    int
	}{
		{[]string{a, a}, 81058},
		{[]string{a, cname}, 81053},
		{[]string{cname, a}, 81054},
		{[]string{cname, `{"type":"CNAME","name":"a","content":"y.example.net"}`}, 81053},
		{[]string{cname, text}, 0},
		{[]string{ns, a}, 81056},
		{[]string{text, ns}, 81056},
		{[]string{a, `{"type":"A","name":"a","content":"192.0.2.2"}`}, 0},
		{[]string{`{"type":"MX","name":"a","content":"mx.example.net","priority":1}`, `{"type":"MX","name":"a","content":"mx.example.net","priority":2}`}, 0},
		{[]string{long("x"), long("y")}, 0},
		{[]string{long("x"), long("y"), text}, 9012},
	} {
		c := newClient(t, Free)
		want := 200
		if test.code != 0 {
			want = 400
		}
		status, code := c.post(test.records...)
		c.expect(fmt.Sprintf("%.200v", test.records), status, code, want, test.code)
	}
}

// Pages, filters and the order of lists (API reference, zones and dns/records, list).
func TestLists(t *testing.T) {
	c := newClient(t, Free)
	for i := range 250 {
		c.server.Put(c.zone, Record{Name: fmt.Sprintf("n%03d.example.dev", i), Type: "A", Content: "192.0.2.1"})
	}
	for _, test := range []struct {
		path                string
		count, total, pages int
	}{
		{"/dns_records", 100, 250, 3},
		{"/dns_records?page=3", 50, 250, 3},
		{"/dns_records?page=4", 0, 250, 3},
		{"/dns_records?per_page=5000", 250, 250, 1},
		{"/dns_records?name.exact=N007.example.dev", 1, 1, 1},
		{"/dns_records?name.endswith=9.example.dev", 25, 25, 1},
		{"/dns_records?name.exact=none", 0, 0, 0},
		{"zones", 1, 1, 1},
		{"zones?per_page=50", 1, 1, 1},
	} {
		r := c.send(http.MethodGet, test.path, "")
		var rows []json.RawMessage
		if err := json.Unmarshal(r.Result, &rows); err != nil || len(rows) != test.count || r.Info.TotalCount != test.total || r.Info.TotalPages != test.pages {
			t.Errorf("%s: %d rows, %+v, %v", test.path, len(rows), r.Info, err)
		}
	}
	for path, code := range map[string]int{"zones?per_page=51": 6114, "/dns_records?per_page=5000001": 6114, "/dns_records?page=x": 6114, "/dns_records?nmae=x": 1004, "/custom_hostnames?per_page=51": 6114} {
		r := c.send(http.MethodGet, path, "")
		c.expect(path, r.Status, r.code(), 400, code)
	}
}

// A user has 1,200 requests in five minutes (fundamentals/api/reference/limits).
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, Free)
		c.server.SetRate(3)
		for range 3 {
			if r := c.send(http.MethodGet, "zones", ""); r.Status != 200 {
				t.Errorf("status %d", r.Status)
			}
		}
		time.Sleep(time.Minute)
		if r := c.send(http.MethodGet, "zones", ""); r.Status != 429 || r.Header.Get("Retry-After") != "240" {
			t.Errorf("status %d, Retry-After %s", r.Status, r.Header.Get("Retry-After"))
		}
		time.Sleep(4 * time.Minute)
		if r := c.send(http.MethodGet, "zones", ""); r.Status != 200 {
			t.Errorf("status %d after five minutes", r.Status)
		}
	})
}

// Listings lag behind if a test wants that, and faults come before or after the effect.
func TestLagAndHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, Free)
		c.server.SetLag(3 * time.Second)
		c.post(`{"type":"A","name":"a","content":"192.0.2.1"}`)
		if r := c.send(http.MethodGet, "/dns_records", ""); r.Info.TotalCount != 0 {
			t.Error("the listing doesn't lag behind")
		}
		time.Sleep(3 * time.Second)
		if r := c.send(http.MethodGet, "/dns_records", ""); r.Info.TotalCount != 1 {
			t.Error("the listing lags behind for too long")
		}
		for after, n := range map[bool]int{false: 1, true: 2} {
			fail := func(Call) *Fault { return Failed }
			hooks := Hooks{Before: fail}
			if after {
				hooks = Hooks{After: fail}
			}
			c.server.SetHooks(hooks)
			status, _ := c.post(fmt.Sprintf(`{"type":"A","name":"b%v","content":"192.0.2.1"}`, after))
			if got := len(c.server.Records(c.zone)); status != 500 || got < n {
				t.Errorf("after %v: status %d, %d records", after, status, got)
			}
		}
		c.server.SetHooks(Hooks{Before: func(Call) *Fault { return Lost }})
		if r := c.send(http.MethodGet, "zones", ""); r.Status != 0 {
			t.Errorf("an answer with status %d on a lost connection", r.Status)
		}
	})
}

// Custom hostnames (cloudflare-for-platforms/cloudflare-for-saas/reference/status-codes/custom-hostnames).
func TestHostnames(t *testing.T) {
	c := newClient(t, Pro)
	c.post(`{"type":"A","name":"a","content":"192.0.2.1"}`)
	hostname := func(name, origin string) string {
		return fmt.Sprintf(`{"hostname":%q,"custom_origin_server":%q,"ssl":{"type":"dv","method":"http"}}`, name, origin)
	}
	for _, test := range []struct {
		body         string
		status, code int
	}{
		{hostname("app.customer.io", "a.example.dev"), 201, 0},
		{hostname("app.customer.io", "a.example.dev"), 409, 1406},
		{hostname("app..io", "a.example.dev"), 400, 1407},
		{hostname("app.example.com", "a.example.dev"), 400, 1411},
		{hostname("other.customer.io", "none.example.dev"), 400, 1416},
		{`{"hostname":"other.customer.io"}`, 400, 1434},
		{`{`, 400, 1400},
	} {
		r := c.send(http.MethodPost, "/custom_hostnames", test.body)
		c.expect(test.body, r.Status, r.code(), test.status, test.code)
	}
	if r := c.send(http.MethodGet, "/custom_hostnames?custom_origin_server=none", ""); r.Info.TotalCount != 0 {
		t.Error("the filter for origins doesn't work")
	}
	id := c.server.Hostnames(c.zone)[0].ID
	for _, want := range []int{200, 404} {
		if r := c.send(http.MethodDelete, "/custom_hostnames/"+id, ""); r.Status != want {
			t.Errorf("delete: status %d, want %d", r.Status, want)
		}
	}
}

// Regions of names (data-localization/regional-services/regional-hostnames).
func TestRegions(t *testing.T) {
	c := newClient(t, Enterprise)
	const path = "/addressing/regional_hostnames"
	for _, test := range []struct {
		method, path, body string
		status             int
	}{
		{"PATCH", path + "/a.example.dev", `{"region_key":"eu"}`, 404},
		{"POST", path, `{"hostname":"a.example.dev","region_key":"mars"}`, 400},
		{"POST", path, `{"hostname":"a.other.dev","region_key":"eu"}`, 400},
		{"POST", path, `{"hostname":"a.example.dev","region_key":"eu"}`, 200},
		{"POST", path, `{"hostname":"a.example.dev","region_key":"us"}`, 409},
		{"PATCH", path + "/a.example.dev", `{"region_key":"us"}`, 200},
		{"GET", path, "", 200},
		{"DELETE", path + "/a.example.dev", "", 200},
		{"DELETE", path + "/a.example.dev", "", 404},
	} {
		if r := c.send(test.method, test.path, test.body); r.Status != test.status {
			t.Errorf("%s %s %s: status %d, want %d", test.method, test.path, test.body, r.Status, test.status)
		}
	}
}
