package cloudflare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/testkit/cloudflaretest"
)

// answering is a transport that has a function answer.
type answering func(*http.Request) *http.Response

// RoundTrip implements [http.RoundTripper].
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	resp := a(r)
	resp.Request = r
	return resp, nil
}

func response(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1}
}

// over returns a provider whose requests a function answers.
func over(t *testing.T, f answering) *cloudflareProvider {
	t.Helper()
	environment(t, "https://api.test/client/v4")
	in := input()
	in.Wrap = func(http.RoundTripper) http.RoundTripper { return f }
	return open(t, in)
}

// What answers mean for the changes, and what is said of them (spec/clouds.md §6.7).
func TestClasses(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		want   error
		said   string
	}{
		{400, failed(1004, "DNS Validation Error", `{"code":9021,"message":"Invalid TTL."}`), provider.ErrRejected, "1004 DNS Validation Error: 9021 Invalid TTL."},
		{400, failed(81057, "Record already exists.", ""), provider.ErrStale, "81057"},
		{400, failed(81058, "An identical record already exists.", ""), provider.ErrStale, "81058"},
		{400, failed(81053, "An A, AAAA, or CNAME record with that host already exists.", ""), provider.ErrStale, "81053"},
		{400, failed(81054, "A CNAME record with that host already exists.", ""), provider.ErrStale, "81054"},
		{404, failed(81044, "Record does not exist.", ""), provider.ErrStale, "81044"},
		{400, failed(81045, "The record quota has been exceeded.", ""), provider.ErrRejected, "as many records as its plan allows"},
		{401, failed(10000, "Authentication error", ""), provider.ErrCredentials, "CF_API_TOKEN"},
		{403, failed(9109, "Invalid access token", ""), provider.ErrCredentials, "CF_API_TOKEN"},
		{400, failed(6003, "Invalid request headers", `{"code":6111,"message":"Invalid format for Authorization header"}`), provider.ErrCredentials, "6111"},
		{429, failed(971, "Please wait", ""), provider.ErrThrottled, "971"},
		{400, failed(971, "Please wait", ""), provider.ErrThrottled, "971"},
		{200, failed(1004, "DNS Validation Error", ""), nil, "1004"},
		{500, "oops", nil, "500"},
		{502, "<html>", nil, "<html>"},
		{413, "", provider.ErrRejected, "413"},
		{200, "not JSON", nil, "invalid character"},
		{200, `{"success":false}`, nil, "200"},
		{302, "", nil, "302"},
	} {
		p := over(t, func(*http.Request) *http.Response { return response(test.status, test.body) })
		_, err := p.api.change(t.Context(), "z", operations[outgoing]{Deletes: []outgoing{{ID: "1"}}})
		for _, class := range []error{provider.ErrRejected, provider.ErrStale, provider.ErrCredentials, provider.ErrThrottled} {
			if err == nil || errors.Is(err, class) != (class == test.want) {
				t.Errorf("%d %s: error %v is %v: %v", test.status, test.body, err, class, class != test.want)
			}
		}
		if !strings.Contains(fmt.Sprint(err), test.said) {
			t.Errorf("%d %s: error %v, want %q in it", test.status, test.body, err, test.said)
		}
	}
}

func failed(code int, text, cause string) string {
	return fmt.Sprintf(`{"success":false,"errors":[{"code":%d,"message":%q,"error_chain":[%s]}],"result":null}`, code, text, cause)
}

// What a server says is bounded and quoted where it is shown.
func TestSaid(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	var messages []string
	for range 1000 {
		messages = append(messages, fmt.Sprintf(`{"code":1,"message":"a\nlevel=error %s"}`, long[:20]))
	}
	for _, body := range []string{failed(1004, long, ""), `{"success":false,"errors":[` + strings.Join(messages, ",") + `]}`, long, strings.Repeat(`[`, 1<<20)} {
		p := over(t, func(*http.Request) *http.Response { return response(http.StatusBadRequest, body) })
		_, err := p.api.change(t.Context(), "z", operations[outgoing]{Deletes: []outgoing{{ID: "1"}}})
		if text := fmt.Sprint(err); err == nil || len(text) > 3000 || strings.Contains(text, "\n") {
			t.Errorf("the error has %d bytes: %.200s", len(text), text)
		}
	}
}

// An answer without an end, and a list without an end, are errors.
func TestEndless(t *testing.T) {
	p := over(t, func(*http.Request) *http.Response {
		resp := response(http.StatusOK, "")
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"success":true,"result":["`), endless{}))
		return resp
	})
	if _, err := p.api.records(t.Context(), dns.Zone{ID: "z"}, query{}); !errors.Is(err, httpapi.ErrTooLarge) {
		t.Errorf("an answer without an end: %v", err)
	}
	for name, size := range map[string]int{"pages": 1, "rows": 5000} {
		if size == 1 && testing.Short() {
			continue // it takes as many requests as a listing may have
		}
		n := 0
		p = over(t, func(*http.Request) *http.Response {
			var rows []string
			for range size {
				n++
				rows = append(rows, fmt.Sprintf(`{"id":"%d"}`, n))
			}
			return response(http.StatusOK, `{"success":true,"result":[`+strings.Join(rows, ",")+`],"result_info":{"total_pages":1000000,"total_count":1000000000}}`)
		})
		if _, err := p.api.records(t.Context(), dns.Zone{ID: "z"}, query{}); !errors.Is(err, listlimit.ErrExceeded) {
			t.Errorf("a list without an end, by %s: %v", name, err)
		}
	}
}

// An ID becomes a part of a path, so what can't be one is an error.
func TestIDs(t *testing.T) {
	for _, id := range []string{"", "../x", "a b", "a\nb", strings.Repeat("x", 65)} {
		text, err := json.Marshal(map[string]any{"success": true, "result": []zone{{ID: id, Name: "shop.test"}}})
		if err != nil {
			t.Fatal(err)
		}
		p := over(t, func(*http.Request) *http.Response { return response(http.StatusOK, string(text)) })
		if _, err := p.Zones(t.Context()); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("the ID %q: %v", id, err)
		}
	}
	p := over(t, func(*http.Request) *http.Response {
		return response(http.StatusOK, `{"success":true,"result":{"id":"other","name":"shop.test"}}`)
	})
	p.filter.IDs = dns.ZoneIDFilter{"00000000000000000000000000000001"}
	if zones, err := p.Zones(t.Context()); err == nil {
		t.Errorf("another zone than the one that was asked for: %v", zones)
	}
}

type endless struct{}

// Read implements [io.Reader].
func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// A list that changes while it is read is read again; what has moved to a page that was read before would be
// missing otherwise. One that changes each time is an error.
func TestListChanges(t *testing.T) {
	for changes, ok := range map[int]bool{0: true, 1: true, 2: true, 3: false} {
		server := start(t)
		id := server.AddZone(cloudflaretest.Zone{Name: "shop.test"})
		var rows []string
		for i := range 250 {
			rows = append(rows, server.Put(id, cloudflaretest.Record{Name: fmt.Sprintf("n%03d.shop.test", i), Type: "A", Content: "192.0.2.1"}))
		}
		done := 0
		server.SetHooks(cloudflaretest.Hooks{After: func(c cloudflaretest.Call) *cloudflaretest.Fault {
			if c.Operation == cloudflaretest.ListRecords && c.Query.Get("page") == "1" && done < changes {
				// The first record of the next page moves to this one.
				server.Remove(id, rows[done])
				done++
			}
			return nil
		}})
		p := open(t, input(), "--cloudflare-dns-records-per-page=100")
		if _, err := p.Zones(t.Context()); err != nil {
			t.Fatal(err)
		}
		sets, err := p.Records(t.Context(), dns.Zone{ID: id, Name: "shop.test"})
		if (err == nil) != ok || ok && len(sets) != 250-changes {
			t.Errorf("%d changes: %d record sets, %v", changes, len(sets), err)
		}
	}
}

// A listing asks for no page that isn't there.
func TestPages(t *testing.T) {
	for rows, want := range map[int]int{0: 1, 99: 1, 100: 1, 101: 2, 300: 3} {
		server := start(t)
		id := server.AddZone(cloudflaretest.Zone{Name: "shop.test"})
		for i := range rows {
			server.Put(id, cloudflaretest.Record{Name: fmt.Sprintf("n%d.shop.test", i), Type: "A", Content: "192.0.2.1"})
		}
		p := open(t, input(), "--cloudflare-dns-records-per-page=100")
		got, err := p.api.records(t.Context(), dns.Zone{ID: id}, query{})
		if calls := len(server.Calls()); err != nil || len(got) != rows || calls != want {
			t.Errorf("%d records: got %d in %d requests, %v", rows, len(got), calls, err)
		}
	}
	// A server that doesn't say how many pages there are.
	p := over(t, func(r *http.Request) *http.Response {
		page := r.URL.Query().Get("page")
		var list []map[string]string
		for i := range map[string]int{"1": 100, "2": 100, "3": 3}[page] {
			list = append(list, map[string]string{"id": fmt.Sprint(page, "-", i)})
		}
		text, _ := json.Marshal(map[string]any{"success": true, "result": list})
		return response(http.StatusOK, string(text))
	})
	p.api.perPage = 100
	if got, err := p.api.records(t.Context(), dns.Zone{ID: "z"}, query{}); err != nil || len(got) != 203 {
		t.Errorf("%d records, %v", len(got), err)
	}
}

// The parts of records come in several forms; what can't be is no panic.
func TestTargets(t *testing.T) {
	ten, many := 10.0, 1e300
	for _, test := range []struct {
		r    record
		want string
	}{
		{record{Type: "SRV", Data: json.RawMessage(`{"priority":1,"weight":2,"port":80,"target":"Sip.example.net"}`), Content: "2\t80\tsip.example.net"}, "1 2 80 Sip.example.net."},
		{record{Type: "SRV", Priority: &ten, Content: "2\t80\tsip.example.net"}, "10 2 80 sip.example.net."},
		{record{Type: "SRV", Content: "1 2 80 sip.example.net."}, "1 2 80 sip.example.net."},
		{record{Type: "SRV", Data: json.RawMessage(`[]`), Content: "what"}, "what"},
		{record{Type: "SRV"}, ""},
		{record{Type: "MX", Priority: &ten, Content: "mx.example.net"}, "10 mx.example.net"},
		{record{Type: "MX", Content: "mx.example.net"}, "0 mx.example.net"},
		{record{Type: "TXT", Content: `"a\"b" "c"`}, `"a\"b" "c"`},
		{record{Type: "TXT", Content: `plain text`}, `plain text`},
		{record{Type: "TXT", Content: `"open`}, `"open`},
		{record{Type: "TXT", Content: `"` + strings.Repeat("x", 255) + `" "y"`}, `"` + strings.Repeat("x", 255) + `y"`},
	} {
		if got := target(test.r); got != test.want {
			t.Errorf("%+v is %q, want %q", test.r, got, test.want)
		}
	}
	if got := target(record{Type: "MX", Priority: &many, Content: "x"}); got == "" {
		t.Error("an impossible priority")
	}
}

// Which records other products of Cloudflare keep (spec/clouds.md §6.3).
func TestReadOnly(t *testing.T) {
	for meta, want := range map[string]bool{
		`{}`: false, `null`: false, `{"auto_added":true,"source":"primary"}`: false, `{"managed_by_apps":false,"managed_by_argo_tunnel":false}`: false,
		`{"email_routing":true}`: true, `{"read_only":true}`: true, `{"managed_by_argo_tunnel":true}`: true, `{"origin_worker_id":"x"}`: true,
	} {
		var r record
		if err := json.Unmarshal([]byte(`{"meta":`+meta+`}`), &r); err != nil || r.readOnly() != want {
			t.Errorf("%s: read-only %v, %v", meta, r.readOnly(), err)
		}
	}
}

// The limits of a zone follow from its plan (spec/clouds.md §6.4).
func TestPlans(t *testing.T) {
	for plan, want := range map[subscription]limits{
		{LegacyID: "free"}: freeLimits, {LegacyID: "free", Subscribed: true}: freeLimits, {}: freeLimits, {LegacyID: "new"}: freeLimits,
		{LegacyID: "pro", Subscribed: true}: paidLimits, {LegacyID: "business"}: paidLimits, {LegacyID: "new", Subscribed: true}: paidLimits,
		{LegacyID: "enterprise"}: enterpriseLimits,
	} {
		if got := plan.limits(); got != want {
			t.Errorf("%+v: %+v", plan, got)
		}
	}
}

// Requests are sent at once until there were many, and then three in a second. Changes go first.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, begun := newPace(), time.Now()
		send := func(u urgency, n int) time.Duration {
			for range n {
				if err := p.wait(t.Context(), u); err != nil {
					t.Fatal(err)
				}
			}
			return time.Since(begun).Truncate(time.Second)
		}
		if d := send(reading, burst-reserve); d != 0 {
			t.Errorf("the first ones take %v", d)
		}
		if d := send(writing, reserve); d != 0 {
			t.Errorf("changes take %v after many listings", d)
		}
		if d := send(writing, 30); d != 10*time.Second {
			t.Errorf("30 more take %v", d)
		}
		if send(writing, 1200-burst-30); time.Since(begun) < 5*time.Minute {
			t.Errorf("1,200 requests take %v", time.Since(begun))
		}
	})
}

// An answer with 429, or one that says that nothing is left, holds the next requests back: as long
// as it says, or for a second, and twice as long each time. A longer time is for the publisher to
// wait.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			status int
			header map[string]string
			want   time.Duration
		}{
			{429, map[string]string{"Retry-After": "2"}, 2 * time.Second},
			{429, map[string]string{"Ratelimit": `"default";r=0;t=7`}, 7 * time.Second},
			{429, map[string]string{"Retry-After": "soon"}, time.Second},
			{429, map[string]string{"Retry-After": "300"}, 0},
			{200, map[string]string{"Ratelimit": `"default";r=0;t=20`}, 20 * time.Second},
			{200, map[string]string{"Ratelimit": `"default";r=50;t=20`}, 0},
			{200, map[string]string{"Ratelimit": `"default";r=x;t=`}, 0},
			{200, nil, 0},
		} {
			p, begun := newPace(), time.Now()
			resp := response(test.status, "")
			for name, value := range test.header {
				resp.Header.Set(name, value)
			}
			p.observe(resp)
			if err := p.wait(t.Context(), writing); err != nil || time.Since(begun) != test.want {
				t.Errorf("%d %v: held for %v, %v, want %v", test.status, test.header, time.Since(begun), err, test.want)
			}
		}
		p := newPace()
		var holds []time.Duration
		for range 7 {
			p.observe(response(http.StatusTooManyRequests, ""))
			begun := time.Now()
			_ = p.wait(t.Context(), writing)
			holds = append(holds, time.Since(begun)/time.Second)
		}
		if !slices.Equal(holds, []time.Duration{1, 2, 4, 8, 16, 30, 30}) {
			t.Errorf("held for %v seconds", holds)
		}
	})
}
