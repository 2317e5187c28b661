package inspect

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/kube"
)

// Findings with one cause are joined, the worst are first, and a subject of several processes
// counts once.
func TestSummarize(t *testing.T) {
	at := time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)
	find := func(area Area, severity Severity, subject, cause, process string) Finding {
		return Finding{Area: area, Severity: severity, Subject: subject, Cause: cause, Count: 1, Since: &at, Processes: []string{process}}
	}
	now := Summarize([]Finding{
		find(AreaProblem, SeverityWarning, "Service shop/web", "no duration", "a"),
		find(AreaRecord, SeverityError, "record b A", "REFUSED", "a"),
		find(AreaRecord, SeverityError, "record a A", "REFUSED", "a"),
		find(AreaZone, SeverityError, "zone example.org", "REFUSED", "a"),
		find(AreaService, SeverityWarning, "Service shop/web", "no endpoint", "a"),
		find(AreaService, SeverityError, "Service shop/web", "no endpoint is ready", "b"),
		find(AreaProblem, SeverityWarning, "Service shop/web", "no number", "b"),
	}, at)
	var got []string
	for _, f := range now.Findings {
		got = append(got, fmt.Sprintf("%s %s %s %v %d %s %v", f.Severity, f.Area, f.Subject, f.Others, f.Count, f.Cause, f.Processes))
	}
	want := []string{
		"error zone zone example.org [record a A record b A] 3 REFUSED [a]",
		"error service Service shop/web [] 1 no endpoint is ready [a b]",
		"warning problem Service shop/web [] 1 no duration [a]",
		"warning problem Service shop/web [] 1 no number [b]",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || now.Total != 6 {
		t.Errorf("%d subjects:\n%s\nwant:\n%s", now.Total, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The refusals of one DNS server are one finding, though each names its record. The cause has the
// name of the first.
func TestRefusalsOfAServerAreOneFinding(t *testing.T) {
	at := time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)
	record := func(name, cause string) Finding {
		return Finding{Area: AreaRecord, Severity: SeverityError, Subject: "record " + name + " A", Explain: name, Cause: cause, Count: 1}
	}
	var all []Finding
	for _, name := range []string{"a.example.org", "b.example.org", "c.example.org"} {
		all = append(all, record(name, "update "+name+" and a-"+name+": the server refuses it (REFUSED)"))
	}
	now := Summarize(append(all, record("d.example.org", "update d.example.org and a-d.example.org: throttled")), at)
	if len(now.Findings) != 2 || now.Total != 4 || now.Findings[0].Count != 3 || now.Findings[0].Cause != all[0].Cause || len(now.Findings[0].Others) != 2 {
		t.Errorf("%+v", now)
	}
}

// The failures of all writes are one finding, though each names its objects.
func TestFailingWritesAreOneFinding(t *testing.T) {
	at := time.Date(2026, 11, 26, 9, 0, 0, 0, time.UTC)
	write := func(namespace, name, err string) Finding {
		slice := name + "-x7" + name
		return Finding{
			Area: AreaWrite, Severity: SeverityError, Subject: "Service " + namespace + "/" + name, Explain: "Service/" + namespace + "/" + name, Count: 1,
			Cause: fmt.Sprintf("EndpointSlices can't be written: update EndpointSlice %s/%s: Put \"https://k/apis/x/v1/namespaces/%s/endpointslices/%s\": %q is forbidden: %s", namespace, slice, namespace, slice, slice, err),
		}
	}
	all := []Finding{
		write("shop", "web", "denied"), write("shop", "api", "denied"), write("east", "web", "denied"),
		write("shop", "db", "exceeded quota"),
	}
	now := Summarize(all, at)
	if len(now.Findings) != 2 || now.Total != 4 || now.Findings[0].Count != 3 || !strings.Contains(now.Findings[0].Cause, "east/web-x7web") || now.Findings[1].Subject != "Service shop/db" {
		t.Errorf("%+v", now)
	}
}

// Split-horizon: zones of one name, and their records and plans, are findings of their own.
func TestNowOfZonesWithOneName(t *testing.T) {
	w := &fixture{
		zones: []Zone{{Publisher: "private", Name: "shop.test", ID: "1", Problem: "REFUSED"}, {Publisher: "private", Name: "shop.test", ID: "2", Problem: "the zone is too large"}},
		records: []Record{
			{Publisher: "private", Name: "www.shop.test", Type: "A", State: RecordFailing, Message: "throttled", ZoneID: "1"},
			{Publisher: "public", Name: "www.shop.test", Type: "A", State: RecordConflict, Message: "belongs to another owner", ZoneID: "3"},
		},
	}
	const one, two = "0123456789abcdef", "fedcba9876543210"
	offers := append(w.offers(), Offer{
		Role:       "dns",
		Publishers: []Publisher{{Name: "private", Queue: &fakeQueue{plans: []budget.Plan{planOf("shop.test", one, 1, 0)}}}, {Name: "public", Queue: &fakeQueue{plans: []budget.Plan{planOf("shop.test", two, 2, 0)}}}},
		Leadership: func() (bool, string) { return true, "" },
	})
	now := decodeResponse[Now](t, ask(New(Config{Offers: offers}), NowPath))
	var got []string
	for _, f := range now.Findings {
		got = append(got, f.Subject+": "+f.Cause)
	}
	text := strings.Join(got, "\n")
	for _, want := range []string{
		"zone shop.test of the publisher private: REFUSED", "zone shop.test of the publisher private (2): the zone is too large",
		"record www.shop.test A of the publisher private: throttled", "record www.shop.test A of the publisher public: belongs to another owner",
		"signpost approve " + one, "signpost approve " + two,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// A response is bounded for any number of problems, and has the number of omitted findings.
func TestSummarizeBounds(t *testing.T) {
	var all []Finding
	for i := range 500 {
		all = append(all, Finding{Area: AreaRecord, Severity: SeverityError, Subject: fmt.Sprint("record ", i), Cause: "one cause", Count: 1})
		all = append(all, Finding{Area: AreaProblem, Severity: SeverityWarning, Subject: fmt.Sprint("Service ", i), Cause: fmt.Sprint("cause ", i), Count: 1})
	}
	now := Summarize(all, time.Now())
	if len(now.Findings) != maxFindings || now.Omitted != 501-maxFindings || now.Total != 1000 {
		t.Errorf("%d findings, %d left out, %d subjects", len(now.Findings), now.Omitted, now.Total)
	}
	if f := now.Findings[0]; f.Count != 500 || len(f.Others) != maxOthers {
		t.Errorf("%d subjects, %d others", f.Count, len(f.Others))
	}
}

// A kind that a cluster may lack is no finding if the cluster lacks it, unless a source of DNS records
// needs it.
func TestMissingKinds(t *testing.T) {
	missing := Table{Kind: "externalworkload", State: string(kube.Waiting), Reason: string(kube.NotFound), Detail: "the server could not find it"}
	for name, test := range map[string]struct {
		change func(*Table)
		found  int
	}{
		"optional":         {func(*Table) {}, 0},
		"of a source":      {func(t *Table) { t.Source = true }, 1},
		"required":         {func(t *Table) { t.Required = true }, 1},
		"known objects":    {func(t *Table) { t.Objects = 1 }, 1},
		"optional refused": {func(t *Table) { t.Reason = string(kube.Forbidden) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			table := missing
			test.change(&table)
			s := New(Config{Status: func() Status { return Status{Ready: true, Tables: []Table{table}} }})
			if now := decodeResponse[Now](t, ask(s, NowPath)); len(now.Findings) != test.found {
				t.Errorf("%+v", now)
			}
		})
	}
}

// unwritten has the failing writes of a test.
type unwritten []Wait

func (u unwritten) Waits(int) ([]Wait, int) { return u, len(u) + 2 }

// Problems of each area are found, and nothing else.
func TestNow(t *testing.T) {
	since := time.Now().Add(-time.Minute)
	w := &fixture{
		streams: []Stream{
			{ID: "1", Target: "web.shop.svc.cluster.local:80", Service: "shop/web", Pod: "cart-1", Namespace: "shop", State: StreamBehind},
			{ID: "2", Target: "web.shop.svc.cluster.local:80", State: StreamSynced},
		},
		services: []Service{{Namespace: "shop", Name: "typo", State: ServiceEmpty}, {Namespace: "shop", Name: "ports", State: ServiceUnserved}, {Namespace: "shop", Name: "web", State: ServiceServed}},
		records: []Record{
			{ID: "1", Name: "www.example.org", Type: "A", State: RecordNoZone, Message: "no zone holds it"},
			{ID: "2", Name: "api.example.org", Type: "A", State: RecordPublished},
			{ID: "3", Name: "old.example.org", Type: "A", State: RecordForeign},
		},
		zones: []Zone{{Name: "example.org", Problem: "REFUSED"}, {Problem: "these names are in no zone of the provider"}, {Name: "example.com"}},
		steps: []Step{{What: "Selector", State: StepWrong, Text: "the selector matches no pod"}},
	}
	const refused = "the API server https://10.0.0.1:6443 can't be reached: dial tcp 10.0.0.1:6443: connect: connection refused"
	status := Status{
		Process: "p", Ready: false, Details: []string{"pods: waiting"},
		Leading:  []Leading{{Role: "controllers", Lease: "a/b"}, {Role: "dns", Lease: "a/c", Leader: "other"}},
		Tables:   []Table{{Kind: "pods", State: "waiting", Reason: "unreachable", Detail: refused, Required: true}, {Kind: "nodes", State: "waiting", Reason: "unreachable", Detail: refused, Required: true}, {Kind: "services", State: "synced", StaleSeconds: 2}, {Kind: "jobs", State: "waiting", Reason: "forbidden", Detail: "jobs.batch is forbidden"}},
		Clusters: []Cluster{{Name: "east", State: "synced"}, {Name: "west", State: "stale", Since: since}, {Name: "west", Secret: "to-west", State: "unusable", Reason: "not a kubeconfig", Since: since}, {Secret: "nameless", State: "unusable", Reason: "no name", Since: since}},
	}
	offers := append(w.offers(), Offer{Role: "controllers", Writes: unwritten{{Namespace: "shop", Name: "big", Reason: "quota exceeded", Since: since}}})
	s := New(Config{
		Offers: offers, Status: func() Status { return status },
		Problems: func() []Problem {
			return []Problem{{Object: ObjectRef{Kind: "Service", Namespace: "shop", Name: "web"}, Field: "ttl", Reason: "is no number", Since: since}}
		},
	})
	now := decodeResponse[Now](t, ask(s, NowPath))
	var got []string
	for _, f := range now.Findings {
		got = append(got, fmt.Sprintf("%s %s %v: %s", f.Area, f.Subject, f.Others, f.Cause))
	}
	text := strings.Join(got, "\n")
	for _, want := range []string{
		"leader role controllers []: no process is known to lead by the Lease a/b",
		"kind kind jobs []: it can't be read: waiting forbidden: jobs.batch is forbidden: grant list and watch on it; `signpost check` names each missing right",
		"kind kind nodes [kind pods]: the API server https://10.0.0.1:6443 can't be reached: dial tcp",
		"cluster cluster west []: it is stale", "cluster Secret to-west of the cluster west []: not a kubeconfig", "cluster Secret nameless []: no name", "zone zone example.org []: REFUSED", "write Service shop/big []: quota exceeded", "2 more Services",
		"service Service shop/ports [Service shop/typo]: the selector matches no pod", "stream client shop/cart-1 of web.shop", "record record www.example.org A []: no zone holds it",
		"problem Service shop/web []: ttl: is no number",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	if len(now.Findings) != 13 || len(now.Unknown) > 0 || now.Findings[0].Area != AreaLeader {
		t.Errorf("%d findings, unknown %v:\n%s", len(now.Findings), now.Unknown, text)
	}
	each := decodeResponse[Now](t, ask(s, NowPath+"?each=true"))
	if len(each.Findings) != 15 || each.Total != now.Total {
		t.Errorf("%d of %d subjects on their own, want those of %d", len(each.Findings), each.Total, now.Total)
	}
}

// Failing requests for a Lease are an error if no process is known to lead, because nobody writes then.
func TestLeaseTrouble(t *testing.T) {
	for leader, want := range map[string]Severity{"": SeverityError, "other": SeverityWarning} {
		s := New(Config{
			Status: func() Status {
				return Status{Ready: true, Leading: []Leading{{Role: "controllers", Lease: "a/b", Leader: leader, Trouble: "leases is forbidden"}}}
			},
			Problems: func() []Problem {
				return []Problem{{Object: ObjectRef{Kind: "Lease", Namespace: "a", Name: "b"}, Reason: "leases is forbidden"}}
			},
		})
		now := decodeResponse[Now](t, ask(s, NowPath))
		if len(now.Findings) != 1 || now.Findings[0].Severity != want || strings.Contains(now.Findings[0].Cause, "nobody writes") != (leader == "") {
			t.Errorf("with the leader %q: %+v", leader, now.Findings)
		}
	}
}

// A process without problems has no findings, and failed checks are unknown.
func TestNothingIsWrong(t *testing.T) {
	w := &fixture{services: []Service{{Namespace: "shop", Name: "web", State: ServiceServed}}}
	ready := func() Status { return Status{Process: "p", Ready: true} }
	offers := w.offers()
	offers[0].Streams = nil
	if now := decodeResponse[Now](t, ask(New(Config{Offers: offers, Status: ready}), NowPath)); len(now.Findings)+len(now.Unknown) > 0 || now.Findings == nil || now.Checked.IsZero() {
		t.Errorf("%+v", now)
	}
	w.err = context.DeadlineExceeded
	if now := decodeResponse[Now](t, ask(New(Config{Offers: offers, Status: ready}), NowPath)); len(now.Unknown) != 2 {
		t.Errorf("%+v", now)
	}
	if now := decodeResponse[Now](t, ask(New(Config{Status: func() Status { return Status{Process: "p", Details: []string{"waits"}} }}), NowPath)); len(now.Findings) != 1 || now.Findings[0].Cause != "waits" {
		t.Errorf("%+v", now)
	}
}

// The cause of a Service is searched once a minute, and a Service without a problem isn't listed.
func TestCausesAreKept(t *testing.T) {
	w := &counted{fixture: fixture{services: []Service{{Namespace: "shop", Name: "web", State: ServiceEmpty}}, steps: []Step{{State: StepWrong, Text: "no pod"}}}}
	s := New(Config{Offers: []Offer{{Role: "destination", Services: w, Explains: w}}})
	for range 3 {
		if found := s.finder.find(t.Context(), false).findings; len(found) != 1 || found[0].Cause != "no pod" {
			t.Errorf("%+v", found)
		}
		s.finder.last.at = time.Time{} // as if a long time had gone by
	}
	if w.explained != 1 {
		t.Errorf("explained %d times, want once", w.explained)
	}
	w.services[0].State, w.steps = ServicePartly, []Step{{State: StepNote, Text: "as somebody wants it"}}
	if found := s.finder.find(t.Context(), false).findings; len(found) > 0 {
		t.Errorf("%+v", found)
	}
}

// Fifty Services are explained within the time limit, also if each takes a quarter of a second, and
// a panic of an explanation is one of the search.
func TestManyCauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &lateExplainer{}
		for i := range 50 {
			w.services = append(w.services, Service{Namespace: fmt.Sprint("shop-", i/10), Name: fmt.Sprint("web-", i), State: ServiceEmpty})
		}
		s := New(Config{Offers: []Offer{{Role: "destination", Services: w, Explains: w}}})
		for _, f := range s.finder.find(t.Context(), false).findings {
			if !strings.HasPrefix(f.Cause, "no pod") {
				t.Errorf("%s: %s", f.Subject, f.Cause)
			}
		}
		w.panics = true
		w.services = append(w.services, Service{Namespace: "shop", Name: "other", State: ServiceEmpty})
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		s.finder.search(t.Context(), false)
	})
}

// A cause that is no longer current is searched again. It is shown for some minutes if the search has
// no time for it, then the general cause of the state.
func TestOldCauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &lateExplainer{fixture: fixture{services: []Service{{Namespace: "shop", Name: "web", State: ServiceEmpty}}}}
		s := New(Config{Offers: []Offer{{Role: "destination", Services: w, Explains: w}}})
		check := func(ctx context.Context, want string) {
			t.Helper()
			if found := s.finder.search(ctx, false).findings; len(found) != 1 || found[0].Cause != want {
				t.Errorf("%+v, want %s", found, want)
			}
		}
		noTime, cancel := context.WithCancel(t.Context())
		cancel()
		check(noTime, stateCause(ServiceEmpty))
		check(t.Context(), "no pod of web")
		time.Sleep(causeTTL)
		begun := time.Now()
		if check(t.Context(), "no pod of web"); time.Since(begun) == 0 {
			t.Error("the cause was not searched again")
		}
		time.Sleep(maxCauseAge - time.Second)
		check(noTime, "no pod of web")
		time.Sleep(2 * time.Second)
		check(noTime, stateCause(ServiceEmpty))
	})
}

// lateExplainer takes a quarter of a second for an explanation.
type lateExplainer struct {
	fixture
	panics bool
}

func (e *lateExplainer) Explain(ctx context.Context, q Query) []Step {
	if e.panics {
		panic("bad")
	}
	select {
	case <-time.After(250 * time.Millisecond):
		return []Step{{State: StepWrong, Text: "no pod of " + q.Service.Name}}
	case <-ctx.Done():
		return []Step{{State: StepUnknown, Text: "out of time"}}
	}
}

// An early response waits for no explanation and uses the cached causes.
func TestKnownCauses(t *testing.T) {
	w := &counted{fixture: fixture{services: []Service{{Namespace: "shop", Name: "web", State: ServiceEmpty}}, steps: []Step{{State: StepWrong, Text: "no pod"}}}}
	s := New(Config{Offers: []Offer{{Role: "destination", Services: w, Explains: w}}})
	early := func() string {
		return decodeResponse[Now](t, ask(s, NowPath+"?known=true")).Findings[0].Cause
	}
	s.finder.searching.Lock() // as if another client waits for explanations
	if got := early(); got != stateCause(ServiceEmpty) || w.explained != 0 {
		t.Errorf("%q, explained %d times", got, w.explained)
	}
	s.finder.searching.Unlock()
	ask(s, NowPath)
	s.finder.last.at = time.Time{} // as if a long time had gone by
	if got := early(); got != "no pod" || w.explained != 1 {
		t.Errorf("%q, explained %d times", got, w.explained)
	}
	s.finder.last.at, w.services = time.Now().Add(-maxEarlyAge/2), nil
	if got := early(); got != "no pod" {
		t.Errorf("%q, want the last complete answer", got)
	}
	if now := decodeResponse[Now](t, ask(s, NowPath)); len(now.Findings) > 0 {
		t.Errorf("a complete answer is old: %+v", now)
	}
}

// A client that leaves early doesn't end the search for the next client.
func TestImpatientClient(t *testing.T) {
	w := &counted{fixture: fixture{services: []Service{{Namespace: "shop", Name: "web", State: ServiceEmpty}}, steps: []Step{{State: StepWrong, Text: "no pod"}}}}
	s := New(Config{Offers: []Offer{{Role: "destination", Services: w, Explains: w}}})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if found := s.finder.find(gone, false).findings; len(found) != 1 || found[0].Cause != "no pod" {
		t.Errorf("%+v", found)
	}
}

// Records are listed only if a zone counts wrong ones, because listing visits every record.
func TestRecordsAreCountedFirst(t *testing.T) {
	for _, c := range []struct {
		zones []Zone
		lists int
	}{
		{[]Zone{{Name: "example.org", Records: map[RecordState]int{RecordPublished: 9, RecordForeign: 2}}}, 0},
		{[]Zone{{Name: "example.org", Records: map[RecordState]int{RecordPublished: 9, RecordFailing: 1}}}, 1},
		{[]Zone{{Name: "example.org", Records: map[RecordState]int{RecordPublished: 9}}, {Records: map[RecordState]int{RecordNoZone: 1}}}, 1},
		{[]Zone{{Name: "example.org"}}, 1},
	} {
		w := &counted{fixture: fixture{zones: c.zones}}
		ask(New(Config{Offers: []Offer{{Role: "dns", Records: w, Zones: w}}}), NowPath)
		if w.listed != c.lists {
			t.Errorf("%+v: records were listed %d times, want %d", c.zones, w.listed, c.lists)
		}
	}
}

// counted counts explanations, and lists of records.
type counted struct {
	fixture
	explained, listed int
}

func (c *counted) Records(ctx context.Context, f RecordFilter) (RecordList, error) {
	c.listed++
	return c.fixture.Records(ctx, f)
}

func (c *counted) Explain(context.Context, Query) []Step {
	c.explained++
	return c.steps
}

// A Service whose slices can't be written has that cause only, and a consequence of something that could
// not be found out isn't a cause.
func TestNowCausesOfServices(t *testing.T) {
	w := &fixture{
		services: []Service{{Namespace: "shop", Name: "quota", State: ServiceEmpty}, {Namespace: "shop", Name: "web", State: ServiceEmpty}},
		steps: []Step{
			{What: "Selector", State: StepUnknown, Text: "pods could not be listed now"},
			{What: "Endpoints", State: StepWrong, Text: "the slices have none"},
		},
	}
	offers := append(w.offers(), Offer{Role: "controllers", Writes: unwritten{{Namespace: "shop", Name: "quota", Reason: "exceeded quota"}}})
	var got []string
	for _, f := range decodeResponse[Now](t, ask(New(Config{Offers: offers}), NowPath)).Findings {
		if f.Count == 1 {
			got = append(got, f.Subject+": "+f.Cause)
		}
	}
	want := []string{"Service shop/quota: exceeded quota", "Service shop/web: " + stateCause(ServiceEmpty)}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the findings are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
