package inspect

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fixture is what the roles of a test offer.
type fixture struct {
	streams  []Stream
	services []Service
	records  []Record
	zones    []Zone
	steps    []Step
	err      error
	asked    RecordFilter
}

func (w *fixture) Streams() []Stream                     { return slices.Clone(w.streams) }
func (w *fixture) CountStreams() (open, behind int)      { return len(w.streams), 1 }
func (w *fixture) CountServices() int                    { return len(w.services) }
func (w *fixture) HasService(ns, name string) bool       { return ns == "shop" && name == "web" }
func (w *fixture) Zones(context.Context) ([]Zone, error) { return w.zones, w.err }
func (w *fixture) Explain(context.Context, Query) []Step { return w.steps }

func (w *fixture) Services(f ServiceFilter) ServiceList {
	all := slices.DeleteFunc(slices.Clone(w.services), func(s Service) bool { return len(f.States) > 0 && !slices.Contains(f.States, s.State) })
	part, page := Window(all, f.Offset, f.Limit)
	return ServiceList{Services: part, Page: page}
}

func (w *fixture) Records(_ context.Context, f RecordFilter) (RecordList, error) {
	w.asked = f
	all := slices.DeleteFunc(slices.Clone(w.records), func(r Record) bool { return len(f.States) > 0 && !slices.Contains(f.States, r.State) })
	part, page := Window(all, f.Offset, f.Limit)
	return RecordList{Records: part, Page: page}, w.err
}

func (w *fixture) RecordChanges(context.Context, int) (Delta[Record], error) {
	return Delta[Record]{}, w.err
}

func (w *fixture) offers() []Offer {
	return []Offer{{Role: "destination", Streams: w, Services: w, Explains: w}, {Role: "dns", Records: w, Zones: w}}
}

func streamsNumbered(n int) []Stream {
	list := make([]Stream, n)
	for i := range list {
		list[i] = Stream{
			ID: fmt.Sprint(i), Target: fmt.Sprintf("web-%d.shop.svc.cluster.local:80", i%7), Service: fmt.Sprintf("shop/web-%d", i%7),
			Pod: fmt.Sprintf("client-%05d", i), Namespace: "shop", Node: fmt.Sprintf("n%d", i%3), Peer: "10.0.0.1:1", State: StreamSynced,
		}
	}
	if n > 10 {
		list[9].State, list[10].State = StreamBehind, StreamStale
	}
	return list
}

// ask sends a request of this host to a server.
func ask(s *Server, path string) *httptest.ResponseRecorder {
	return send(s, request(http.MethodGet, path, ""))
}

func send(s *Server, r *http.Request) *httptest.ResponseRecorder {
	mux := http.NewServeMux()
	for path, handler := range s.Handlers() {
		mux.Handle(path, handler)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

func TestStreamFilters(t *testing.T) {
	s := New(Config{Offers: (&fixture{streams: streamsNumbered(2100)}).offers()})
	for query, want := range map[string]int{
		"":                                    2100,
		"service=shop/web-1":                  300,
		"pod=shop/client-00042":               1,
		"pod=other/client-00042":              0,
		"node=n1":                             700,
		"state=behind":                        1,
		"state=behind,stale":                  2,
		"search=CLIENT-0004":                  10,
		"search=web-3&node=n2":                100,
		"search=10.0.0.1":                     2100,
		"service=shop/web-1&node=n1&limit=3":  100,
		"offset=2099":                         2100,
		"offset=5000":                         2100,
		"service=shop/web-1&offset=299&node=": 300,
		"search=" + strings.Repeat("x", 512):  0,
		"service=" + strings.Repeat("a", 100) + "/b": 0,
	} {
		w := ask(s, StreamsPath+"?"+query)
		if list := decodeResponse[StreamList](t, w); w.Code != 200 || list.Total != want || list.Streams == nil {
			t.Errorf("%q: %d, %d streams, want %d", query, w.Code, list.Total, want)
		}
	}
}

// Each stream is on exactly one page, in order.
func TestStreamPages(t *testing.T) {
	s := New(Config{Offers: (&fixture{streams: streamsNumbered(1234)}).offers()})
	var all []Stream
	for offset := 0; ; {
		list := decodeResponse[StreamList](t, ask(s, fmt.Sprint(StreamsPath, "?limit=100&offset=", offset)))
		all = append(all, list.Streams...)
		if offset = list.Next; offset == 0 {
			break
		}
	}
	if sorted := slices.IsSortedFunc(all, func(a, b Stream) int { return (&streamFilter{}).compare(&a, &b) }); len(all) != 1234 || !sorted {
		t.Errorf("%d streams, sorted: %v", len(all), sorted)
	}
	if list := decodeResponse[StreamList](t, ask(s, StreamsPath)); len(list.Streams) != PageSize || list.Next != PageSize {
		t.Errorf("%d streams, next %d", len(list.Streams), list.Next)
	}
}

// A page at any offset equals that part of the sorted list.
func TestSortedWindow(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		all := make([]int, random.IntN(3000))
		for i := range all {
			all[i] = random.IntN(500)
		}
		offset, limit := random.IntN(len(all)+10), 1+random.IntN(PageSize)
		sorted := slices.Sorted(slices.Values(all))
		want, wantPage := Window(sorted, offset, limit)
		got, page := sortedWindow(all, func(a, b *int) int { return *a - *b }, offset, limit)
		if !slices.Equal(got, want) || page != wantPage {
			t.Fatalf("%d of %d from %d on: %v, %+v, want %v, %+v", limit, len(all), offset, got, page, want, wantPage)
		}
	}
}

// With several states the worst streams come first, and each state is sorted like all.
func TestWorstStreamsFirst(t *testing.T) {
	s := New(Config{Offers: (&fixture{streams: []Stream{
		{ID: "1", Target: "a", State: StreamSynced},
		{ID: "2", Target: "d", State: StreamBehind},
		{ID: "3", Target: "c", State: StreamStale},
		{ID: "4", Target: "b", State: StreamBehind},
	}}).offers()})
	for query, want := range map[string]string{
		"?state=behind,stale,synced": "4 2 3 1",
		"?state=synced,behind":       "4 2 1",
		"?state=behind":              "4 2",
		"":                           "1 4 3 2",
	} {
		var got []string
		for _, stream := range decodeResponse[StreamList](t, ask(s, StreamsPath+query)).Streams {
			got = append(got, stream.ID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
}

func TestBadParameters(t *testing.T) {
	s := New(Config{Offers: (&fixture{streams: streamsNumbered(3)}).offers()})
	for path, want := range map[string]string{
		StatusPath + "?verbose=1":                           `the parameter "verbose" is unknown: none is allowed here`,
		StreamsPath + "?servcie=a/b":                        "allowed are service, pod, node, state, search, offset, limit",
		StreamsPath + "?offset=-1":                          "from 0 to",
		StreamsPath + "?offset=99999999999999999999":        "from 0 to",
		StreamsPath + "?limit=501":                          "from 1 to 500",
		StreamsPath + "?limit=0":                            "from 1 to 500",
		StreamsPath + "?limit=1&limit=2":                    "2 times",
		StreamsPath + "?service=web":                        "NAMESPACE/NAME",
		StreamsPath + "?service=a/b/c":                      "NAMESPACE/NAME",
		StreamsPath + "?pod=/a":                             "NAMESPACE/NAME",
		StreamsPath + "?state=slow":                         "allowed are behind, stale, synced",
		StreamsPath + "?search=" + strings.Repeat("x", 513): "may have 512",
		StreamsPath + "?%zz=1":                              "percent encoding",
		RecordsPath + "?state=published,lost":               "allowed are published, pending",
		RecordsPath + "?object=web":                         "KIND/NAMESPACE/NAME",
		RecordsPath + "?object=Service/shop/w%0Ab":          "can't be the name",
		ServicesPath + "?name=web":                          "allowed are namespace, state, search, offset, limit",
		ZonesPath + "?zone=a":                               "allowed are offset, limit",
		ProblemsPath + "?kind=Service":                      "allowed are search",
		ConfigPath + "?secrets=1":                           "none is allowed",
		ExplainPath:                                         "0 of the parameters",
		ExplainPath + "?q=a&name=b":                         "2 of the parameters",
		ExplainPath + "?name=a&namespace=b":                 "belongs to q",
		ExplainPath + "?service=web":                        "NAMESPACE/NAME:PORT",
		ExplainPath + "?address=web":                        "IP:PORT",
		ExplainPath + "?name=a%20b":                         "a DNS name",
		ExplainPath + "?object=a":                           "KIND/NAMESPACE/NAME",
		ChangesPath + "?topics=status,prices":               "allowed are records, status, streams",
		ChangesPath + "?topic=status":                       "allowed are topics",
		PlanPath + "?limit=1000":                            "this process has no plans",
	} {
		w := ask(s, path)
		code := http.StatusBadRequest
		if strings.HasPrefix(path, PlanPath) {
			code = http.StatusNotFound
		}
		if f := decodeResponse[Failure](t, w); w.Code != code || !strings.Contains(f.Error, want) || len(f.Error) > 700 {
			t.Errorf("%.100s: %d %.300s, want %s", path, w.Code, f.Error, want)
		}
	}
}

// A process without the required role names it in the error.
func TestLackingRoles(t *testing.T) {
	alone := func(w *fixture) []Offer { return w.offers()[1:] }
	for path, want := range map[string]string{
		StreamsPath:              "no streams: the role destination has them, and this process runs dns",
		ServicesPath:             "no Services",
		ExplainPath + "?q=a.b.c": "no explanations",
		PlanPath:                 "no plans",
		ConfigPath:               "settings",
		Root + "/nonesuch":       "there are " + StatusPath,
		Root + "/":               "there are " + StatusPath,
		Root:                     "there are " + StatusPath,
	} {
		w := ask(New(Config{Offers: alone(&fixture{})}), path)
		if f := decodeResponse[Failure](t, w); w.Code != 404 || !strings.Contains(f.Error, want) {
			t.Errorf("%s: %d %s", path, w.Code, f.Error)
		}
	}
	if w := ask(New(Config{}), RecordsPath); w.Code != 404 || !strings.Contains(w.Body.String(), "runs no role") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
		for _, path := range []string{StatusPath, ChangesPath} {
			if w := send(New(Config{}), request(method, path, "{}")); w.Code != 405 {
				t.Errorf("%s %s: %d", method, path, w.Code)
			}
		}
	}
}

func TestRecordsAndZones(t *testing.T) {
	records := []Record{
		{ID: "1", Zone: "example.org", Name: "www.example.org", Type: "A", State: RecordPublished, Wanted: []string{"192.0.2.1"}, Objects: []ObjectRef{{Kind: "Service", Namespace: "shop", Name: "web"}}},
		{ID: "2", Zone: "example.org", Name: "api.example.org", Type: "CNAME", State: RecordHeld, Targets: []string{"lb.example.com"}},
		{ID: "3", Publisher: "inside", Zone: "shop.test", Name: "db.shop.test", Type: "A", State: RecordConflict},
	}
	w := &fixture{records: records, zones: []Zone{{Name: "example.org", Records: map[RecordState]int{RecordHeld: 1, RecordPublished: 1}}, {Name: "shop.test", Records: map[RecordState]int{RecordHeld: 2}}}}
	s := New(Config{Offers: w.offers()})
	for query, want := range map[string]RecordFilter{
		"":                    {Limit: PageSize},
		"zone=EXAMPLE.org.":   {Zone: "example.org", Limit: PageSize},
		"state=held,conflict": {States: []RecordState{RecordHeld, RecordConflict}, Limit: PageSize},
		"publisher=inside":    {Publisher: "inside", Limit: PageSize},
		"search=LB.exam":      {Search: "lb.exam", Limit: PageSize},
		"object=svc/shop/web": {Object: &ObjectRef{Kind: "Service", Namespace: "shop", Name: "web"}, Limit: PageSize},
		"limit=1&offset=1":    {Offset: 1, Limit: 1},
	} {
		list := decodeResponse[RecordList](t, ask(s, RecordsPath+"?"+query))
		if !reflect.DeepEqual(w.asked, want) || list.Total == 0 || len(list.Records) != min(list.Total, want.Limit) {
			t.Errorf("%q: asked for %+v, want %+v; %+v", query, w.asked, want, list)
		}
	}
	if status := decodeResponse[Status](t, ask(s, StatusPath)); status.Counts.Records[RecordHeld] != 3 || *status.Counts.Streams != 0 {
		t.Errorf("%+v", status.Counts)
	}
	w.err = &NotLeading{Leader: "signpost-1"}
	for _, path := range []string{RecordsPath, ZonesPath} {
		if answer := ask(s, path); answer.Code != 409 || decodeResponse[Failure](t, answer).Leader != "signpost-1" {
			t.Errorf("%s: %d %s", path, answer.Code, answer.Body)
		}
	}
	w.err = errors.New("the publisher doesn't answer")
	if answer := ask(s, RecordsPath); answer.Code != 503 {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
	if status := decodeResponse[Status](t, ask(s, StatusPath)); status.Counts.Records != nil {
		t.Errorf("%+v", status.Counts)
	}
}

func TestTypedQueries(t *testing.T) {
	service := func(namespace, name string, port uint16) Query {
		return Query{Service: &ServiceQuery{Namespace: namespace, Name: name, Port: port}}
	}
	portNamed := func(namespace, name, port string) Query {
		return Query{Service: &ServiceQuery{Namespace: namespace, Name: name, PortName: port}}
	}
	object := func(kind, namespace, name string) Query {
		return Query{Object: &ObjectRef{Kind: kind, Namespace: namespace, Name: name}}
	}
	named := func(name string) Query { return Query{Name: name} }
	address := func(text string) Query { return Query{Address: netip.MustParseAddrPort(text)} }
	bare := func(text string) Query { return Query{Address: netip.AddrPortFrom(netip.MustParseAddr(text), 0)} }
	s := New(Config{Offers: (&fixture{}).offers()})
	for text, want := range map[string]Query{
		"shop/web":                              service("shop", "web", 0),
		"shop/web:8080":                         service("shop", "web", 8080),
		" svc/web -n shop ":                     service("shop", "web", 0),
		"svc/web --namespace shop":              service("shop", "web", 0),
		"service/web":                           service("default", "web", 0),
		"svc/shop/web":                          service("shop", "web", 0),
		"Service/shop/web:80":                   service("shop", "web", 80),
		"web.shop:80":                           service("shop", "web", 80),
		"web.shop":                              service("shop", "web", 0),
		"web.shop:443":                          service("shop", "web", 443),
		"web -n shop":                           service("shop", "web", 0),
		"web.shop.svc":                          service("shop", "web", 0),
		"web.shop.svc.cluster.local":            service("shop", "web", 0),
		"WEB.shop.svc.Cluster.Local.":           service("shop", "web", 0),
		"web.shop.svc.cluster.local:8080":       service("shop", "web", 8080),
		"db-0.db.shop.svc.cluster.local":        {Service: &ServiceQuery{Namespace: "shop", Name: "db", Hostname: "db-0"}},
		"web-0.web:80 -n shop":                  {Service: &ServiceQuery{Namespace: "shop", Name: "web", Hostname: "web-0", Port: 80}}, // mesh, finding 9
		"web.shop:80 -n shop":                   service("shop", "web", 80),
		"web.shop:http":                         portNamed("shop", "web", "http"),
		"db.bank:pg-sql":                        portNamed("bank", "db", "pg-sql"),
		"svc/web:http -n shop":                  portNamed("shop", "web", "http"),
		"shop/web:http":                         portNamed("shop", "web", "http"),
		"web.shop.svc.cluster.local:http":       portNamed("shop", "web", "http"),
		"deploy/web -n shop":                    object("Deployment", "shop", "web"), // first-hour M5
		"sp/shop/web.shop.svc.cluster.local":    object("ServiceProfile", "shop", "web.shop.svc.cluster.local"),
		"http://web.shop.svc.cluster.local/a?b": service("shop", "web", 80),
		"https://web.shop:8443/":                service("shop", "web", 8443),
		"http://web.shop":                       service("shop", "web", 80),
		"10.0.0.7":                              bare("10.0.0.7"),
		"10.0.0.7:8080":                         address("10.0.0.7:8080"),
		"[fd00::7]:8080":                        address("[fd00::7]:8080"),
		"fd00::7":                               bare("fd00::7"),
		"[fd00::7]":                             bare("fd00::7"),
		"::ffff:10.0.0.7":                       bare("10.0.0.7"),
		"http://10.0.0.7:8080/x":                address("10.0.0.7:8080"),
		"http://10.0.0.7/x":                     address("10.0.0.7:80"),
		"http://[fd00::7]/x":                    address("[fd00::7]:80"),
		"www.example.org":                       named("www.example.org"),
		"WWW.Example.ORG.":                      named("www.example.org"),
		"example.org":                           named("example.org"),
		"example.org:443":                       named("example.org"),
		"https://example.org/":                  named("example.org"),
		"https://www.example.org/a":             named("www.example.org"),
		"*.example.org":                         named("*.example.org"),
		"web.shop.":                             named("web.shop"),
		"web.svc.svc":                           service("svc", "web", 0),
		"web.shop.svc.example.org":              named("web.shop.svc.example.org"),
		"_sip._tcp.example.org":                 named("_sip._tcp.example.org"),
		"localhost":                             named("localhost"),
		"pod/shop/web-1":                        object("Pod", "shop", "web-1"),
		"po/web-1 -n shop":                      object("Pod", "shop", "web-1"),
		"pod/web-1":                             object("Pod", "default", "web-1"),
		"node/n1":                               object("Node", "", "n1"),
		"ing/shop/web":                          object("Ingress", "shop", "web"),
		"HTTPRoute/shop/web":                    object("HTTPRoute", "shop", "web"),
		"httproutes/shop/web":                   object("HTTPRoute", "shop", "web"),
		"ingresses.networking.k8s.io/web":       object("Ingress", "default", "web"),
		"VirtualServer/web -n shop":             object("VirtualServer", "shop", "web"),
		"VirtualServer/shop/web":                object("VirtualServer", "shop", "web"),
	} {
		p := parameters{values: map[string]string{"q": text}}
		got, err := s.query(p)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.AddrPort{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{
		"a b", "a b c", "web -x shop", "web:0", "web:99999", "web:", ":80", "a//b", "/", "a/b/c/d", "a..b", "http://", "http://[", "-n shop",
		"web -n a_b", "10.0.0.7:0", "fe80::1%eth0", "svc/", "svc//web", strings.Repeat("a", 64) + ".org",
		strings.Repeat("a.", 200) + "org", "\x00", "svc/we b", "pod/shop/w\neb", "shop/web:a_b", "10.0.0.7:http", "www.example.org:http", "pod/shop/web-1:http", "svc/web.shop",
	} {
		if q, err := s.query(parameters{values: map[string]string{"q": text}}); err == nil {
			t.Errorf("%q is taken for %s", text, q)
		}
	}
	if q, err := s.query(parameters{values: map[string]string{"q": "svc/web", "namespace": "shop"}}); err != nil || q.Service.Namespace != "shop" {
		t.Errorf("with a namespace: %+v, %v", q.Service, err)
	}
}

// Any text gives a query or an error, and never both or neither.
func FuzzTypedQuery(f *testing.F) {
	for _, text := range []string{"svc/web -n shop", "http://a.b:80/x", "10.0.0.1:80", "[::1]", "a.b.svc.cluster.local:1"} {
		f.Add(text)
	}
	s := New(Config{})
	f.Fuzz(func(t *testing.T, text string) {
		q, err := s.query(parameters{values: map[string]string{"q": text}})
		set := 0
		for _, is := range []bool{q.Service != nil, q.Object != nil, q.Name != "", q.Address.Addr().IsValid()} {
			if is {
				set++
			}
		}
		if want := map[bool]int{true: 1, false: 0}[err == nil]; set != want && text != "" {
			t.Errorf("%q: %d of a query, %v", text, set, err)
		}
	})
}

func TestConclude(t *testing.T) {
	step := func(state StepState, text string) Step { return Step{State: state, Text: text} }
	for name, test := range map[string]struct {
		steps   []Step
		verdict Verdict
		summary string
	}{
		"nothing":             {nil, VerdictUnknown, "nothing is known about x here: check the name, or query processes with other roles"},
		"a note only":         {[]Step{step(StepNote, "a"), step(StepNote, "b")}, VerdictOK, "a"},
		"a note about it":     {[]Step{step(StepNote, "a"), {State: StepNote, Text: "b", Object: &ObjectRef{}}}, VerdictOK, "b"},
		"well":                {[]Step{step(StepOK, "a"), step(StepOK, "b"), step(StepNote, "c")}, VerdictOK, "b"},
		"the first wrong one": {[]Step{step(StepOK, "a"), step(StepUnknown, "b"), step(StepWrong, "c"), step(StepWrong, "d"), step(StepOK, "e")}, VerdictWrong, "c"},
		"unknown":             {[]Step{step(StepOK, "a"), step(StepUnknown, "b"), step(StepUnknown, "c")}, VerdictUnknown, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			e := Conclude("x", test.steps)
			if e.Verdict != test.verdict || e.Summary != test.summary || len(e.Steps) != len(test.steps) {
				t.Errorf("%+v", e)
			}
		})
	}
	many := slices.Repeat([]Step{{State: StepOK, More: slices.Repeat([]string{"x"}, 100)}}, 1000)
	e := Conclude("x", many)
	if len(e.Steps) != maxSteps || len(e.Steps[0].More) != maxMore || e.Steps[0].More[maxMore-1] != "and 81 more" || len(many[0].More) != 100 {
		t.Errorf("%d steps, %q", len(e.Steps), e.Steps[0].More)
	}
}

func TestExplainPath(t *testing.T) {
	w := &fixture{steps: []Step{{What: "Service", State: StepWrong, Text: "it declares no port 81", Object: &ObjectRef{Kind: "Service", Namespace: "shop", Name: "web"}}}}
	s := New(Config{Offers: w.offers()})
	e := decodeResponse[Explanation](t, ask(s, ExplainPath+"?q=shop/web:81"))
	if e.Subject != "Service shop/web, port 81" || e.Verdict != VerdictWrong || e.Summary != "it declares no port 81" || e.Steps[0].Role != "destination" {
		t.Errorf("%+v", e)
	}
}

// The known problems of an object, and of a Service's ServiceProfile, are notes of the explanation
// (first-hour H1 and H2).
func TestExplainSaysProblems(t *testing.T) {
	profile := ObjectRef{Kind: "ServiceProfile", Namespace: "shop", Name: "web.shop.svc.cluster.local"}
	problems := func() []Problem {
		return []Problem{
			{Object: profile, Field: "spec.routes[0].timeout", Reason: "it is no duration"},
			{Object: ObjectRef{Kind: "Secret", Namespace: "shop", Name: "east"}, Reason: "no kubeconfig"},
			{Object: ObjectRef{Kind: "Service", Namespace: "shop", Name: "other"}, Reason: "of another one"},
			{Object: ObjectRef{Kind: "Service", Namespace: "shop", Name: "web", Cluster: "east"}, Reason: "of another cluster"},
		}
	}
	s := New(Config{Offers: (&fixture{}).offers(), Problems: problems})
	for q, want := range map[string]string{
		"?q=shop/web": profile.Title() + ", spec.routes[0].timeout: it is no duration;",
		"?object=ServiceProfile/shop/web.shop.svc.cluster.local": profile.Title() + ", spec.routes[0].timeout: it is no duration;",
		"?object=Secret/shop/east":                               "Secret shop/east: no kubeconfig;",
	} {
		e := decodeResponse[Explanation](t, ask(s, ExplainPath+q))
		if e.Verdict != VerdictOK || len(e.Steps) != 1 || e.Steps[0].State != StepNote || !strings.HasPrefix(e.Steps[0].Text, want) {
			t.Errorf("%s: %+v", q, e)
		}
	}
}

// decide implements [Access] by the text of the token.
type decide func(token, verb, path string) error

func (d decide) Allow(_ context.Context, a Attempt) error { return d(a.Token, a.Verb, a.Path) }

// tenants S4: a setting makes requests from this host need a token, too.
func TestLoopbackIsNotTrusted(t *testing.T) {
	s := New(Config{Loopback: LoopbackUntrusted, Access: decide(func(token, verb, _ string) error {
		if token == "good" && verb == "get" {
			return nil
		}
		return &Refused{"no role"}
	})})
	r := request(http.MethodGet, StatusPath, "")
	if w := send(s, r); w.Code != 403 || !strings.Contains(w.Body.String(), "--inspect-trust-loopback") {
		t.Errorf("without a token: %d %s", w.Code, w.Body)
	}
	if s.MayRead(r) {
		t.Error("the details of /ready are open")
	}
	r.Header.Set("Authorization", "Bearer good")
	if w := send(s, r); w.Code != 200 {
		t.Errorf("with a token: %d %s", w.Code, w.Body)
	}
	if !s.MayRead(r) {
		t.Error("the details of /ready are closed to a token")
	}
	if w := send(s, request(http.MethodGet, StatusPath, "").WithContext(WithSameUser(t.Context()))); w.Code != 200 {
		t.Errorf("our own user: %d %s", w.Code, w.Body)
	}
}

// tenants S4: a token that may approve does so from anywhere, and one that may only read doesn't.
func TestApprovalByToken(t *testing.T) {
	s := New(Config{
		Offers: []Offer{{Role: "dns", Publishers: []Publisher{{Queue: &fakeQueue{}}}, Leadership: leading}},
		Access: decide(func(token, verb, path string) error {
			if token == "approver" && verb == "post" && path == ApprovePath(hash) {
				return nil
			}
			return &Refused{"no role"}
		}),
	})
	for token, want := range map[string]int{"approver": 404, "reader": 403, "": 403} {
		r := request(http.MethodPost, ApprovePath(hash), "{}").WithContext(t.Context())
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		if w := send(s, r); w.Code != want {
			t.Errorf("%q: %d %s, want %d", token, w.Code, w.Body, want)
		}
	}
}

// HEAD is a read: it counts against the limit of reads and needs the right to get (tenants, finding
// 20).
func TestHeadIsARead(t *testing.T) {
	var verbs []string
	s := New(Config{Access: decide(func(_, verb, _ string) error { verbs = append(verbs, verb); return nil })})
	inside, release := make(chan struct{}), make(chan struct{})
	blocked := s.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			inside <- struct{}{}
			<-release
		}
		w.WriteHeader(http.StatusOK)
	}))
	var all sync.WaitGroup
	for range writesAtATime {
		r := request(http.MethodHead, StatusPath, "")
		r.Header.Set("Authorization", "Bearer x")
		all.Go(func() { blocked.ServeHTTP(httptest.NewRecorder(), r) })
		<-inside
	}
	w := httptest.NewRecorder()
	blocked.ServeHTTP(w, request(http.MethodPost, StatusPath, ""))
	if w.Code != 200 {
		t.Errorf("a write while others send HEAD: %d", w.Code)
	}
	close(release)
	all.Wait()
	if want := slices.Repeat([]string{"get"}, writesAtATime); !slices.Equal(verbs, want) {
		t.Errorf("verbs %v, want %v", verbs, want)
	}
}

// tenants S13: offset+limit overflowed.
func TestHugeOffset(t *testing.T) {
	s := New(Config{Offers: (&fixture{streams: streamsNumbered(3)}).offers()})
	for _, path := range []string{StreamsPath, ServicesPath, RecordsPath, ZonesPath, ProblemsPath} {
		for _, offset := range []string{"9223372036854775807", "9223372036854775300", "1000000001"} {
			if w := ask(s, path+"?offset="+offset); w.Code != 400 || !strings.Contains(w.Body.String(), "from 0 to 1000000000") {
				t.Errorf("%s?offset=%s: %d %s", path, offset, w.Code, w.Body)
			}
		}
		if w := ask(s, path+"?offset=1000000000"); w.Code != 200 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// Requests of other hosts are allowed with a token, but never those of web pages.
func TestTokens(t *testing.T) {
	s := New(Config{Access: decide(func(token, verb, path string) error {
		switch {
		case token == "down":
			return errors.New("no API server")
		case token == "good" && verb == "get" && path == StatusPath:
			return nil
		default:
			return &Refused{"bind it to a role"}
		}
	})})
	for name, test := range map[string]struct {
		from, host, token, origin, site string
		code                            int
		want                            string
	}{
		"good":                 {token: "Bearer good", code: 200},
		"in lower case":        {token: "bearer  good", code: 200},
		"refused":              {token: "Bearer bad", code: 403, want: "bind it to a role"},
		"none":                 {code: 403, want: "or send a token"},
		"for localhost":        {host: "localhost:9996", code: 403, want: "not from this host"},
		"no API server":        {token: "Bearer down", code: 503, want: "can't be checked now"},
		"a password":           {token: "Basic Z29vZA==", code: 401, want: "Bearer"},
		"empty":                {token: "Bearer", code: 401, want: "Bearer"},
		"from here, but wrong": {from: "127.0.0.1:1", host: "localhost", token: "Bearer bad", code: 403, want: "bind it"},
		"a page with a token":  {token: "Bearer good", origin: "http://evil.example", code: 403, want: "another origin"},
		"a page that hides":    {token: "Bearer good", site: "cross-site", code: 403, want: "another site"},
		"two tokens":           {token: "Bearer good\x00Bearer good", code: 401, want: "once"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(http.MethodGet, StatusPath, "")
			r.RemoteAddr, r.Host = "10.42.0.7:40000", "signpost.signpost.svc:9996"
			if test.from != "" {
				r.RemoteAddr = test.from
			}
			if test.host != "" {
				r.Host = test.host
			}
			for value := range strings.SplitSeq(test.token, "\x00") {
				if value != "" {
					r.Header.Add("Authorization", value)
				}
			}
			if test.origin != "" {
				r.Header.Set("Origin", test.origin)
			}
			if test.site != "" {
				r.Header.Set("Sec-Fetch-Site", test.site)
			}
			if w := send(s, r); w.Code != test.code || !strings.Contains(w.Body.String(), test.want) {
				t.Errorf("%d %s, want %d %s", w.Code, w.Body, test.code, test.want)
			}
			r.URL.Path = ChangesPath // for which this token doesn't count either
			if w := send(s, r); w.Code == 200 {
				t.Error("the changes are open")
			}
		})
	}
	r := request(http.MethodGet, StatusPath, "")
	r.Header.Set("Authorization", "Bearer good")
	if w := send(New(Config{}), r); w.Code != 403 || !strings.Contains(w.Body.String(), "without a token") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A process with two roles that serve gRPC lists and counts the streams of both.
func TestStreamsOfTwoRoles(t *testing.T) {
	s := New(Config{Offers: []Offer{
		{Role: "destination", Streams: &fixture{streams: []Stream{{ID: "1"}}}},
		{Role: "xds", Streams: &fixture{streams: []Stream{{ID: "xds-1"}, {ID: "xds-2"}}}},
	}})
	if list := decodeResponse[StreamList](t, ask(s, StreamsPath)); len(list.Streams) != 3 {
		t.Errorf("%d streams are listed, want 3: %+v", len(list.Streams), list.Streams)
	}
	if c := s.Status(t.Context()).Counts; c.Streams == nil || *c.Streams != 3 || *c.StreamsBehind != 2 {
		t.Errorf("the counts are %+v", c)
	}
}
