package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/test/bufconn"

	"github.com/signpostd/signpost/app/admin"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const hash = "0123456789abcdef"

// fakeQueue implements [ApprovalQueue] with fixed plans.
type fakeQueue struct {
	plans    []budget.Plan
	err      error
	approved []string
	// unplanned is true in the first seconds of a term.
	unplanned bool
}

func (d *fakeQueue) Plans() []budget.Plan { return d.plans }

func (d *fakeQueue) Unplanned() (time.Time, bool) {
	return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), d.unplanned
}

func (d *fakeQueue) Approve(_ context.Context, hash string, except []string) (budget.Approval, error) {
	if d.err != nil {
		return budget.Approval{}, d.err
	}
	if !slices.ContainsFunc(d.plans, func(p budget.Plan) bool { return p.Hash == hash }) {
		return budget.Approval{}, budget.ErrUnknownPlan
	}
	d.approved = append(d.approved, hash+" except "+strings.Join(except, ","))
	return budget.Approval{Plan: hash, Zone: dns.Zone{Name: "shop.test"}, Deletions: 3, Updates: 1, Excepted: len(except)}, nil
}

func planOf(zone, hash string, deletions, updates int) budget.Plan {
	p := budget.Plan{Zone: dns.Zone{Name: zone, ID: "id"}, Hash: hash, Owned: 200, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	for i := range deletions + updates {
		old := &dns.RecordSet{Name: fmt.Sprintf("n%04d.%s", i, zone), Type: "A", Targets: []string{"192.0.2.1"}}
		c := dns.Change{Old: old}
		if i >= deletions {
			c.New = &dns.RecordSet{Name: old.Name, Type: "A", Targets: []string{"192.0.2.2"}}
		}
		p.Changes = append(p.Changes, c)
	}
	return p
}

// serve passes a request to the handlers of these publishers.
func serve(t *testing.T, leads Leadership, r *http.Request, queues ...*fakeQueue) *httptest.ResponseRecorder {
	t.Helper()
	var publishers []Publisher
	for i, d := range queues {
		publishers = append(publishers, Publisher{Name: fmt.Sprint("p", i), Queue: d})
	}
	mux := http.NewServeMux()
	for path, handler := range plansOf(publishers, leads) {
		mux.Handle(path, handler)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

func leading() (bool, string) { return true, "" }

// losing leads at the first call only.
func losing() Leadership {
	asked := 0
	return func() (bool, string) {
		asked++
		return asked == 1, ""
	}
}

// request returns a request from this host. A request that changes something comes from the same
// user, over its socket.
func request(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if method != http.MethodGet && method != http.MethodHead {
		r = r.WithContext(WithSameUser(r.Context()))
	}
	r.RemoteAddr, r.Host = "127.0.0.1:40000", "localhost:7979"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func decodeResponse[A any](t *testing.T, w *httptest.ResponseRecorder) A {
	t.Helper()
	var a A
	d := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		t.Errorf("%d %s: %v", w.Code, w.Body, err)
	}
	return a
}

// Requests of other hosts and of web pages in an operator's browser are refused, also of pages
// whose name resolves to 127.0.0.1 (DNS rebinding).
func TestUntrustedRequests(t *testing.T) {
	for name, test := range map[string]struct {
		from, host, origin, site string
		code                     int
	}{
		"kubectl port-forward":            {code: 200},
		"by address":                      {host: "127.0.0.1:7979", code: 200},
		"another port, forwarded":         {host: "localhost:1234", code: 200},
		"no port":                         {host: "LOCALHOST", code: 200},
		"IPv6":                            {from: "[::1]:40000", host: "[::1]:7979", code: 200},
		"IPv6 without a port":             {from: "[::ffff:127.0.0.1]:40000", host: "[::1]", code: 200},
		"its own page":                    {origin: "http://localhost:7979", site: "same-origin", code: 200},
		"typed into a browser":            {site: "none", code: 200},
		"another pod":                     {from: "10.42.0.7:40000", code: 403},
		"tenants S4: Istio's sidecar":     {from: "127.0.0.6:40000", code: 403},
		"S4: for a loopback address":      {host: "127.0.0.6:7979", code: 403},
		"S4: a mapped loopback address":   {host: "[::ffff:127.0.0.1]:7979", code: 403},
		"a client that isn't known":       {from: "@", code: 403},
		"DNS rebinding":                   {host: "evil.example:7979", code: 403},
		"rebinding, with its origin":      {host: "evil.example:7979", origin: "http://evil.example:7979", site: "same-origin", code: 403},
		"localhost as a part":             {host: "localhost.evil.example", code: 403},
		"a name before":                   {host: "evil.example@127.0.0.1:7979", code: 403},
		"the address of the pod":          {host: "10.42.0.7:7979", code: 403},
		"all addresses":                   {host: "0.0.0.0:7979", code: 403},
		"an address as a number":          {host: "2130706433:7979", code: 403},
		"a zone":                          {host: "[::1%25eth0]:7979", code: 403},
		"no host":                         {host: " ", code: 403},
		"a page of another site":          {origin: "http://evil.example", site: "cross-site", code: 403},
		"a page of another local server":  {origin: "http://localhost:3000", site: "same-site", code: 403},
		"a page without Sec-Fetch":        {origin: "https://localhost:7979", code: 403},
		"a page that hides":               {origin: "null", code: 403},
		"an image on a page":              {site: "cross-site", code: 403},
		"an image on another local page":  {site: "same-site", code: 403},
		"an origin that can't be parsed":  {origin: "http://[", code: 403},
		"an origin with its own user":     {origin: "http://localhost:7979@evil.example", code: 403},
		"the same host with another port": {host: "localhost:7979", origin: "http://localhost:79790", code: 403},
	} {
		t.Run(name, func(t *testing.T) {
			approval := request(http.MethodPost, ApprovePath(hash), "{}").WithContext(t.Context()) // not of the same user
			for _, r := range []*http.Request{request(http.MethodGet, PlanPath, ""), request(http.MethodHead, PlanPath, ""), request(http.MethodGet, PlanPath+"/"+hash, ""), approval} {
				want := test.code
				if r == approval {
					want = 403 // tenants S4: a place on the loopback interface is not enough to approve
				}
				d := &fakeQueue{plans: []budget.Plan{planOf("shop.test", hash, 3, 1)}}
				if test.from != "" {
					r.RemoteAddr = test.from
				}
				if test.host != "" {
					r.Host = test.host
				}
				if test.origin != "" {
					r.Header.Set("Origin", test.origin)
				}
				if test.site != "" {
					r.Header.Set("Sec-Fetch-Site", test.site)
				}
				w := serve(t, leading, r, d)
				if w.Code != want {
					t.Errorf("%s %s: %d %s, want %d", r.Method, r.URL, w.Code, w.Body, want)
				}
				if w.Code != 200 && (len(d.approved) > 0 || strings.Contains(w.Body.String(), "shop.test")) {
					t.Errorf("%s %s has an effect, or tells something: %s", r.Method, r.URL, w.Body)
				}
				if w.Header().Get("Access-Control-Allow-Origin") != "" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
					t.Errorf("headers %v", w.Header())
				}
			}
		})
	}
	// A web page can't reach the socket of our user, and would be refused there.
	r := request(http.MethodPost, ApprovePath(hash), "{}")
	r.Header.Set("Origin", "http://evil.example")
	if w := serve(t, leading, r, &fakeQueue{}); w.Code != http.StatusForbidden {
		t.Errorf("a page over the socket: %d", w.Code)
	}
	r = request(http.MethodGet, PlanPath, "")
	r.Header["Origin"] = []string{"http://localhost:7979", "http://evil.example"}
	if w := serve(t, leading, r); w.Code != http.StatusForbidden {
		t.Errorf("two origins: %d", w.Code)
	}
}

func TestApprove(t *testing.T) {
	d, other := &fakeQueue{plans: []budget.Plan{planOf("shop.test", hash, 3, 1)}}, &fakeQueue{}
	w := serve(t, leading, request(http.MethodPost, ApprovePath(hash), `{"except":["a.shop.test"]}`), other, d)
	want := Approval{Publisher: "p1", Zone: "shop.test", Hash: hash, Deletions: 3, Updates: 1, Excepted: 1}
	if got := decodeResponse[Approval](t, w); w.Code != 200 || got != want || !slices.Equal(d.approved, []string{hash + " except a.shop.test"}) {
		t.Errorf("%d %+v, approved %q", w.Code, got, d.approved)
	}
}

// Malformed and large requests approve nothing, and use little memory.
func TestHostileRequests(t *testing.T) {
	many := `{"except":["` + strings.Repeat(`a","`, MaxExcept) + `a"]}`
	for name, test := range map[string]struct {
		method, path, body, kind string
		code                     int
	}{
		"another method":         {method: http.MethodPut, code: 405},
		"asks with GET":          {method: http.MethodGet, code: 405},
		"deletes":                {method: http.MethodDelete, path: PlanPath, code: 405},
		"posts a list":           {path: PlanPath, body: "{}", code: 405},
		"another path":           {path: PlanPath + "/" + hash + "/refuse", code: 404},
		"a form":                 {kind: "application/x-www-form-urlencoded", body: "except=a", code: 415},
		"a form as text":         {kind: "text/plain", body: "{}", code: 415},
		"no type":                {kind: "-", body: "{}", code: 415},
		"a charset":              {kind: "application/json; charset=utf-8", body: "{}", code: 200},
		"no body":                {code: 400},
		"no JSON":                {body: "{", code: 400},
		"a list":                 {body: "[]", code: 400},
		"null":                   {body: "null", code: 200},
		"an unknown field":       {body: `{"expect":["a"]}`, code: 400},
		"a text":                 {body: `{"except":"a"}`, code: 400},
		"two objects":            {body: `{"except":[]}{"except":["a"]}`, code: 400},
		"nested":                 {body: strings.Repeat(`{"except":[`, 20000), code: 400},
		"a long name":            {body: `{"except":["` + strings.Repeat("a", 300) + `"]}`, code: 400},
		"many names":             {body: many, code: 413},
		"a large body":           {body: `{"except":["` + strings.Repeat("a", MaxBody) + `"]}`, code: 413},
		"spaces":                 {body: strings.Repeat(" ", MaxBody+1) + "{}", code: 413},
		"an unknown hash":        {path: ApprovePath("0000000000000000"), body: "{}", code: 404},
		"no hash":                {path: ApprovePath("nonesuch"), body: "{}", code: 400},
		"a long hash":            {path: ApprovePath(strings.Repeat("a", 5000)), body: "{}", code: 400},
		"a path in the hash":     {path: ApprovePath("..%2f..%2fx"), body: "{}", code: 400},
		"a hash in upper case":   {path: ApprovePath(strings.ToUpper(hash)), body: "{}", code: 400},
		"a plan that isn't held": {method: http.MethodGet, path: PlanPath + "/0000000000000000", code: 404},
		"a negative offset":      {method: http.MethodGet, path: PlanPath + "?offset=-1", code: 400},
		"a huge offset":          {method: http.MethodGet, path: PlanPath + "?offset=99999999999999999999", code: 400},
		"an offset of a plan":    {method: http.MethodGet, path: PlanPath + "/" + hash + "?offset=x", code: 400},
	} {
		t.Run(name, func(t *testing.T) {
			d := &fakeQueue{plans: []budget.Plan{planOf("shop.test", hash, 3, 1)}}
			method, path := test.method, test.path
			if method == "" {
				method = http.MethodPost
			}
			if path == "" {
				path = ApprovePath(hash)
			}
			r := request(method, path, test.body)
			if test.kind != "" {
				r.Header.Set("Content-Type", strings.TrimPrefix(test.kind, "-"))
			}
			w := serve(t, leading, r, d)
			if w.Code != test.code || (w.Code != 200) != (len(d.approved) == 0) {
				t.Errorf("%d %s, approved %q, want %d", w.Code, w.Body, d.approved, test.code)
			}
			if w.Body.Len() > 1000 {
				t.Errorf("the answer has %d bytes", w.Body.Len())
			}
			if w.Code != 200 && w.Code != 405 && path != PlanPath+"/"+hash+"/refuse" && decodeResponse[Failure](t, w).Error == "" {
				t.Error("no reason is given")
			}
		})
	}
}

// Each error of a publisher has a status of its own, and says what to do.
func TestErrors(t *testing.T) {
	follower := func() (bool, string) { return false, "signpost-1_x" }
	unknown := func() (bool, string) { return false, "" }
	for name, test := range map[string]struct {
		leads  Leadership
		err    error
		code   int
		text   string
		leader string
	}{
		"a follower":              {leads: follower, code: 409, text: "signpost-1_x", leader: "signpost-1_x"},
		"nobody leads":            {leads: unknown, code: 409, text: "is unknown"},
		"has just lost the lease": {leads: losing(), err: budget.ErrNotLeading, code: 409, text: "does not lead"},
		"waits for its sources":   {leads: leading, err: budget.ErrNotLeading, code: 503, text: "not planned yet"},
		"not planned yet":         {leads: leading, err: budget.ErrNotPlanned, code: 503, text: "try again in some seconds"},
		"has changed":             {leads: leading, err: fmt.Errorf("%w: held is now: x", budget.ErrPlanChanged), code: 422, text: "held is now: x"},
		"several zones":           {leads: leading, err: budget.ErrAmbiguousPlan, code: 422, text: "nothing was approved"},
		"nothing left":            {leads: leading, err: budget.ErrNothingLeft, code: 422, text: "no change of this plan"},
		"not in the plan":         {leads: leading, err: fmt.Errorf("%w: x", budget.ErrNotInPlan), code: 422, text: "under this name"},
		"unknown":                 {leads: leading, err: budget.ErrUnknownPlan, code: 404, text: "such as " + hash},
		"doesn't answer":          {leads: leading, err: fmt.Errorf("approve: %w", context.DeadlineExceeded), code: 503, text: "approve"},
		"can't store":             {leads: leading, err: errors.New("no route to host"), code: 503, text: "no route"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &fakeQueue{plans: []budget.Plan{planOf("shop.test", hash, 3, 1)}, err: test.err}
			w := serve(t, test.leads, request(http.MethodPost, ApprovePath(hash), "{}"), d)
			if f := decodeResponse[Failure](t, w); w.Code != test.code || !strings.Contains(f.Error, test.text) || f.Leader != test.leader {
				t.Errorf("%d %+v", w.Code, f)
			}
			if leads, _ := test.leads(); !leads {
				if w := serve(t, test.leads, request(http.MethodGet, PlanPath, ""), d); w.Code != 409 {
					t.Errorf("the list: %d", w.Code)
				}
			}
		})
	}
	w := serve(t, leading, request(http.MethodPost, ApprovePath(hash), "{}"), &fakeQueue{})
	if f := decodeResponse[Failure](t, w); w.Code != 404 || !strings.Contains(f.Error, "nothing is held") {
		t.Errorf("%d %+v", w.Code, f)
	}
}

func TestPages(t *testing.T) {
	d := &fakeQueue{}
	for i := range 2*PageSize + 7 {
		d.plans = append(d.plans, planOf(fmt.Sprintf("z%04d.test", i), fmt.Sprintf("%016x", i), 1, 2))
	}
	d.plans[3] = planOf("z0003.test", hash, PageSize, 1)
	d.plans[3].Changes[0].Old.Targets = slices.Repeat([]string{"x"}, 100000)
	slices.Reverse(d.plans)
	var zones []string
	for offset := 0; ; {
		w := serve(t, leading, request(http.MethodGet, fmt.Sprint(PlanPath, "?offset=", offset), ""), d)
		list := decodeResponse[PlanList](t, w)
		if w.Code != 200 || list.Total != len(d.plans) || len(list.Plans) > PageSize {
			t.Fatalf("%d, %d plans of %d", w.Code, len(list.Plans), list.Total)
		}
		for _, p := range list.Plans {
			zones = append(zones, p.Zone)
		}
		if offset = list.Next; offset == 0 {
			break
		}
	}
	if len(zones) != len(d.plans) || !slices.IsSorted(zones) {
		t.Errorf("%d zones were listed of %d", len(zones), len(d.plans))
	}
	one := decodeResponse[Plan](t, serve(t, leading, request(http.MethodGet, PlanPath+"/"+hash, ""), d))
	if one.Deletions != PageSize || one.Updates != 1 || len(one.Changes) != PageSize || one.Next != PageSize || len(one.Changes[0].Targets) != maxTargets+1 {
		t.Errorf("%d deletions, %d updates, %d changes, next %d", one.Deletions, one.Updates, len(one.Changes), one.Next)
	}
	one = decodeResponse[Plan](t, serve(t, leading, request(http.MethodGet, fmt.Sprint(PlanPath, "/", hash, "?offset=", one.Next), ""), d))
	want := Change{Action: "update", Name: "n0500.z0003.test", Type: "A", Targets: []string{"192.0.2.1"}, NewTargets: []string{"192.0.2.2"}}
	if len(one.Changes) != 1 || fmt.Sprint(one.Changes[0]) != fmt.Sprint(want) || one.Next != 0 {
		t.Errorf("the last page is %+v", one)
	}
	if list := decodeResponse[PlanList](t, serve(t, leading, request(http.MethodGet, PlanPath+"?offset=99999", ""), d)); len(list.Plans) != 0 || list.Next != 0 {
		t.Errorf("behind the end: %d plans", len(list.Plans))
	}
}

// local is a listener whose connections come from this host.
type local struct{ *bufconn.Listener }

func (l local) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return localConn{c}, err
}

type localConn struct{ net.Conn }

func (localConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// A client that doesn't send its announced body is disconnected, and a few of them don't delay
// others for longer.
func TestSlowClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bufconn.Listen(1 << 16)
		s, err := admin.New(admin.Config{Listener: local{l}, Handlers: plansOf([]Publisher{{Queue: &fakeQueue{}}}, leading), Log: slog.New(slog.DiscardHandler), ConnContext: asSameUser})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		send := func() net.Conn {
			conn, err := l.DialContext(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, "POST "+ApprovePath(hash)+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return conn
		}
		begun := time.Now()
		var slow []net.Conn
		for range writesAtATime {
			slow = append(slow, send())
		}
		one := send()
		if answer, _ := io.ReadAll(io.LimitReader(one, 16)); !strings.HasPrefix(string(answer), "HTTP/1.1 503") {
			t.Errorf("one too many: %q", answer)
		}
		_ = one.Close()
		for _, conn := range slow {
			if answer, _ := io.ReadAll(conn); !strings.HasPrefix(string(answer), "HTTP/1.1 400") {
				t.Errorf("a slow one: %q", answer)
			}
			_ = conn.Close()
		}
		if took := time.Since(begun); took > 16*time.Second {
			t.Errorf("they were cut off after %v", took)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func asSameUser(ctx context.Context, _ net.Conn) context.Context { return WithSameUser(ctx) }

// plansOf returns the handlers for the plans of publishers alone, by their patterns.
func plansOf(publishers []Publisher, leadership Leadership) map[string]http.Handler {
	return New(Config{Offers: []Offer{{Role: "dns", Publishers: publishers, Leadership: leadership}}}).Handlers()
}
