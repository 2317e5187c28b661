package page_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/webui"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
)

// fixture has the data of the roles. Its fields are changed with do.
type fixture struct {
	mu       sync.Mutex
	streams  []inspect.Stream
	services []inspect.Service
	records  []inspect.Record
	problems []inspect.Problem
	steps    []inspect.Step
	plans    []budget.Plan
	asked    []inspect.Query
	approved []approval
	posts    []string
	changed  []inspect.Record
	status   inspect.Status
	replicas []inspect.Replica
	figures  *inspect.Figures // nil for those that the server records
	leader   string           // of dns; empty if this process leads
	// arrived is called with the path of each request before it is handled. It may be nil, and is set before
	// serve.
	arrived func(path string)
}

// approval is a received request for approval.
type approval struct {
	hash   string
	except []string
}

func (w *fixture) do(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// change changes a record and notifies listeners.
func (w *fixture) change(r inspect.Record) {
	w.do(func() {
		if i := slices.IndexFunc(w.records, func(old inspect.Record) bool { return old.ID == r.ID }); i >= 0 {
			w.records[i] = r
		} else {
			w.records = append(w.records, r)
		}
		w.changed = append(w.changed, r)
	})
}

func locked[T any](w *fixture, read func() T) T {
	w.mu.Lock()
	defer w.mu.Unlock()
	return read()
}

func (w *fixture) Streams() []inspect.Stream {
	return locked(w, func() []inspect.Stream { return slices.Clone(w.streams) })
}

func (w *fixture) CountStreams() (open, behind int) {
	for _, s := range w.Streams() {
		open++
		if s.State == inspect.StreamBehind {
			behind++
		}
	}
	return open, behind
}

func (w *fixture) CountServices() int {
	return locked(w, func() int { return len(w.services) })
}

func (w *fixture) HasService(namespace, name string) bool {
	return locked(w, func() bool {
		return slices.ContainsFunc(w.services, func(s inspect.Service) bool { return s.Namespace == namespace && s.Name == name })
	})
}

func (w *fixture) Services(f inspect.ServiceFilter) inspect.ServiceList {
	all := locked(w, func() []inspect.Service { return slices.Clone(w.services) })
	all = slices.DeleteFunc(all, func(s inspect.Service) bool {
		return !strings.Contains(s.Namespace+"/"+s.Name, f.Search) || len(f.States) > 0 && !slices.Contains(f.States, s.State)
	})
	part, page := inspect.Window(all, f.Offset, f.Limit)
	return inspect.ServiceList{Services: part, Page: page}
}

func (w *fixture) Records(_ context.Context, f inspect.RecordFilter) (inspect.RecordList, error) {
	all := locked(w, func() []inspect.Record { return slices.Clone(w.records) })
	all = slices.DeleteFunc(all, func(r inspect.Record) bool { return !admits(f, r) })
	part, page := inspect.Window(all, f.Offset, f.Limit)
	return inspect.RecordList{Records: part, Page: page}, nil
}

// admits reports whether a record passes a filter by zone, state, and text of its name, targets and objects.
func admits(f inspect.RecordFilter, r inspect.Record) bool {
	texts := append([]string{r.Name}, r.Targets...)
	for _, o := range r.Objects {
		texts = append(texts, o.String())
	}
	return (f.Zone == "" || r.Zone == f.Zone) && (len(f.States) == 0 || slices.Contains(f.States, r.State)) &&
		slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), f.Search) })
}

// RecordChanges returns the records that have changed since the last call.
func (w *fixture) RecordChanges(context.Context, int) (inspect.Delta[inspect.Record], error) {
	return locked(w, func() inspect.Delta[inspect.Record] {
		d := inspect.Delta[inspect.Record]{Changed: w.changed}
		w.changed = nil
		return d
	}), nil
}

func (w *fixture) Zones(context.Context) ([]inspect.Zone, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var zones []inspect.Zone
	for _, r := range w.records {
		i := slices.IndexFunc(zones, func(z inspect.Zone) bool { return z.Name == r.Zone })
		if i < 0 {
			zones, i = append(zones, inspect.Zone{Name: r.Zone, Records: map[inspect.RecordState]int{}}), len(zones)
		}
		zones[i].Records[r.State]++
	}
	return zones, nil
}

func (w *fixture) Explain(_ context.Context, q inspect.Query) []inspect.Step {
	return locked(w, func() []inspect.Step {
		w.asked = append(w.asked, q)
		return w.steps
	})
}

func (w *fixture) Plans() []budget.Plan {
	return locked(w, func() []budget.Plan { return slices.Clone(w.plans) })
}

func (w *fixture) Unplanned() (time.Time, bool) { return time.Time{}, false }

// Approve removes a plan.
func (w *fixture) Approve(_ context.Context, hash string, except []string) (budget.Approval, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.plans, func(p budget.Plan) bool { return p.Hash == hash })
	if i < 0 {
		return budget.Approval{}, budget.ErrUnknownPlan
	}
	deletions, updates := w.plans[i].Count()
	a := budget.Approval{Zone: w.plans[i].Zone, Deletions: deletions - len(except), Updates: updates, Excepted: len(except), Until: time.Now().Add(time.Hour)}
	w.approved = append(w.approved, approval{hash, except})
	w.plans = slices.Delete(w.plans, i, i+1)
	return a, nil
}

// approver is an authorizer that allows a token to approve, and nothing else.
type approver struct{}

func (approver) Allow(_ context.Context, a inspect.Attempt) error {
	if a.Token == "may-approve" && a.Verb == "post" {
		return nil
	}
	return &inspect.Refused{Reason: "the token may not do that"}
}

// serve serves the page of a fixture like an admin server. Without roles it has all.
func (w *fixture) serve(t testing.TB, roles ...string) string {
	t.Helper()
	offers := []inspect.Offer{{Role: "destination", Streams: w, Services: w, Explains: w}, {
		Role: "dns", Records: w, Zones: w, Publishers: []inspect.Publisher{{Queue: w}},
		Leadership: func() (bool, string) {
			leader := locked(w, func() string { return w.leader })
			return leader == "", leader
		},
	}}
	if len(roles) > 0 {
		offers = slices.DeleteFunc(offers, func(o inspect.Offer) bool { return !slices.Contains(roles, o.Role) })
	}
	if len(roles) > 0 {
		w.status.Roles = roles
	}
	server := inspect.New(inspect.Config{
		Offers: offers, Access: approver{},
		Status: func() inspect.Status { return locked(w, func() inspect.Status { return w.status }) },
		Problems: func() []inspect.Problem {
			return locked(w, func() []inspect.Problem { return slices.Clone(w.problems) })
		},
		Replicas: func() []inspect.Replica { return locked(w, func() []inspect.Replica { return w.replicas }) },
	})
	// The context ends after the pages were closed.
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	pages, err := webui.Handlers(server.Guard)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for _, handlers := range []map[string]http.Handler{server.Handlers(), pages} {
		for path, h := range handlers {
			mux.Handle(path, h)
		}
	}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.arrived != nil {
			w.arrived(r.URL.Path)
		}
		if r.Method == http.MethodPost {
			w.do(func() { w.posts = append(w.posts, r.URL.Path) })
		}
		if figures := locked(w, func() *inspect.Figures { return w.figures }); figures != nil && r.URL.Path == inspect.FiguresPath {
			rw.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(rw).Encode(figures)
			return
		}
		mux.ServeHTTP(rw, r)
	}))
	t.Cleanup(func() {
		cancel()
		<-done
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// ago returns a time before another one.
func ago(now time.Time, d time.Duration) *time.Time {
	at := now.Add(-d)
	return &at
}

// figuresUntil returns 15 minutes of figures, in which a stream was behind and the records were unknown for a
// while.
func figuresUntil(now time.Time) *inspect.Figures {
	f := &inspect.Figures{Newest: now, IntervalSeconds: 5}
	for name, value := range map[inspect.FigureName]func(i int) int{
		inspect.FigureStreams:     func(i int) int { return 20 + i/18 },
		inspect.FigureBehind:      func(i int) int { return i / 170 },
		inspect.FigureChanges:     func(i int) int { return (i*i*7)%37 + 40*((i%60)/57) },
		inspect.FigureUnpublished: func(i int) int { return 3 + i%50/40 },
	} {
		values := make([]*int, 180)
		for i := range values {
			if v := value(i); name != inspect.FigureUnpublished || i < 40 || i > 60 {
				values[i] = &v
			}
		}
		f.Figures = append(f.Figures, inspect.Figure{Name: name, Values: values})
	}
	order := []inspect.FigureName{inspect.FigureStreams, inspect.FigureBehind, inspect.FigureChanges, inspect.FigureUnpublished}
	slices.SortFunc(f.Figures, func(a, b inspect.Figure) int { return slices.Index(order, a.Name) - slices.Index(order, b.Name) })
	return f
}

// shop returns a fixture with data of all kinds.
func shop() *fixture {
	now := time.Now()
	w := &fixture{status: inspect.Status{
		Version: "v0.0.0-test", Process: "signpost-7c9d-x2x", Roles: []string{"destination", "dns"}, Started: now.Add(-50 * time.Hour), Ready: true,
		Leading:  []inspect.Leading{{Role: "dns", Lease: "signpost/dns", Leads: true, Leader: "signpost-7c9d-x2x_A", Since: ago(now, 3*time.Hour)}},
		Clusters: []inspect.Cluster{{Name: "east", State: "synced", Since: now.Add(-time.Hour), Objects: 812, Secret: "signpost/east", Server: "https://east.example:6443", TrustDomain: "cluster.local"}},
		Tables: []inspect.Table{
			{Kind: "Service", State: "synced", Required: true, Objects: 40},
			{Kind: "Ingress", Group: "networking.k8s.io", State: "synced", Objects: 12},
			{Kind: "Server", Group: "policy.linkerd.io", State: "waiting", Reason: "forbidden", Detail: "may not list servers: grant it with signpost rbac", StaleSeconds: 12},
		},
	}}
	yes, no := true, false
	w.replicas = []inspect.Replica{
		{Process: "signpost-7c9d-x2x", Ready: &yes, Revision: "7c9d", Node: "node-1"},
		{Process: "signpost-7c9d-k4q", Ready: &yes, Revision: "7c9d", Node: "node-2", Started: ago(now, 50*time.Hour)},
		{Process: "signpost-5f01-b8r", Ready: &no, Revision: "5f01", Node: "node-3", Started: ago(now, time.Minute)},
	}
	w.figures = figuresUntil(now)
	states := []inspect.ServiceState{inspect.ServiceServed, inspect.ServiceServed, inspect.ServiceServed, inspect.ServicePartly, inspect.ServiceUnserved}
	for i := range 40 {
		w.services = append(w.services, inspect.Service{Namespace: "shop", Name: fmt.Sprintf("web-%02d", i), State: states[i%len(states)], Ports: []string{"http:80", "metrics:9090"}, Ready: 3 + i%5, NotReady: i % 2, Streams: i})
	}
	for i := range 30 {
		s := inspect.Stream{
			ID: fmt.Sprint("s", i), Method: "Get", Target: fmt.Sprintf("web-%02d.shop.svc.cluster.local:80", i), Service: fmt.Sprintf("shop/web-%02d", i),
			Peer: fmt.Sprintf("10.0.0.%d:40112", i), Pod: fmt.Sprintf("cart-%d", i), Namespace: "shop", Node: fmt.Sprintf("node-%d", i%4), View: "zone-a", State: inspect.StreamSynced,
			Endpoints: 3 + i%5, Sent: 1204, Current: 1204, Opened: now.Add(-time.Duration(i) * time.Hour),
		}
		if i == 17 {
			s.State, s.Current, s.LagSeconds = inspect.StreamBehind, 1300, 14
		}
		w.streams = append(w.streams, s)
	}
	recordStates := []inspect.RecordState{inspect.RecordPublished, inspect.RecordPublished, inspect.RecordPublished, inspect.RecordPublished, inspect.RecordPending, inspect.RecordHeld, inspect.RecordConflict, inspect.RecordNoZone, inspect.RecordFailing, inspect.RecordForeign}
	messages := map[inspect.RecordState]string{
		inspect.RecordConflict: "The zone has an A record of this name that belongs to the owner \"old\". Delete it, or set --txt-owner-id.",
		inspect.RecordHeld:     "The deletion waits for approval: 40 of 60 records would go.",
		inspect.RecordNoZone:   "No zone of the provider holds this name. Add the zone, or correct the annotation.",
		inspect.RecordFailing:  "The server answered REFUSED. Allow updates of this zone by the key k.",
	}
	for i := range 60 {
		zone := []string{"example.org", "example.com", "internal.example.net"}[i%3]
		state := recordStates[i%len(recordStates)]
		if state == inspect.RecordNoZone {
			zone = ""
		}
		r := inspect.Record{
			ID: fmt.Sprint("r", i), Zone: zone, Name: fmt.Sprintf("www-%02d.%s", i, cmp.Or(zone, "example.edu")), Type: "A", State: state, TTL: 300, Owner: "default",
			Wanted: []string{fmt.Sprintf("192.0.2.%d", i)}, Targets: []string{fmt.Sprintf("192.0.2.%d", i)}, Message: messages[state],
			Objects: []inspect.ObjectRef{{Kind: "Ingress", Group: "networking.k8s.io", Namespace: "shop", Name: fmt.Sprintf("web-%02d", i)}},
		}
		if state == inspect.RecordConflict {
			r.Targets = []string{"198.51.100.7"}
		}
		w.records = append(w.records, r)
	}
	slices.SortFunc(w.records, func(a, b inspect.Record) int { return strings.Compare(a.Zone+a.Name, b.Zone+b.Name) })
	w.plans = []budget.Plan{planOf("0123456789abcdef", "example.org", 12)}
	w.problems = []inspect.Problem{
		{ID: "p1", Object: inspect.ObjectRef{Kind: "Service", Namespace: "shop", Name: "cart"}, Field: "metadata.annotations[…/ttl]", Value: "5 minuts", Reason: "is no duration: write 5m", Since: now.Add(-time.Minute)},
		{ID: "p2", Object: inspect.ObjectRef{Kind: "ExternalWorkload", Namespace: "vms", Name: "db-1"}, Field: "spec.meshTLS.identity", Value: "a b", Reason: "is neither a DNS name nor a URI", Since: now.Add(-time.Hour)},
	}
	w.steps = []inspect.Step{
		{What: "Service", State: inspect.StepOK, Text: "Service shop/web-01 has the port 80.", Object: &inspect.ObjectRef{Kind: "Service", Namespace: "shop", Name: "web-01"}},
		{What: "Selector", State: inspect.StepOK, Text: "The selector app=web chooses 4 pods."},
		{What: "Readiness", State: inspect.StepNote, Text: "One of them is not ready.", More: []string{"10.0.1.7 web-01-abc: readiness probe failed"}},
		{What: "Ports", State: inspect.StepWrong, Text: "The targetPort http names no port of the pods: name a container port http, or write its number.", More: []string{"web-01-abc has the ports 8080, 9090"}},
		{What: "Streams", State: inspect.StepUnknown, Text: "No client has a stream for it here."},
	}
	return w
}

func planOf(hash, zone string, n int) budget.Plan {
	p := budget.Plan{Hash: hash, Zone: dns.Zone{Name: zone}, At: time.Now().Add(-7 * time.Minute), Owned: 60}
	for i := range n {
		old := &dns.RecordSet{Name: fmt.Sprintf("old-%02d.%s", i, zone), Type: "A", Targets: []string{fmt.Sprintf("192.0.2.%d", i)}}
		p.Changes = append(p.Changes, dns.Change{Old: old})
	}
	return p
}

// listenAt serves a handler on a local address until the test ends.
func listenAt(t testing.TB, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return "http://" + l.Addr().String()
}
