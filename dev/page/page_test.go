package page_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
)

// TestShows shows that the page has the numbers and all lists of the API.
func TestShows(t *testing.T) {
	w := shop()
	url := w.serve(t)
	b := newTab(t, url)
	b.open("")
	for _, want := range []string{"40\nServices", "30\nstreams", "1\nstreams behind", "60\nrecords", "published\n24", "conflict\n6", "12\nheld deletions in 1 zone", "2\nproblems", "1\nclusters"} {
		compact := strings.ReplaceAll(b.text("#tiles"), "\n\n", "\n")
		if !strings.Contains(compact, want) {
			t.Errorf("no %q in the tiles:\n%s", want, compact)
		}
	}
	for _, want := range []string{"signpost-7c9d-x2x", "v0.0.0-test", "destination, dns", "this process"} {
		b.awaitText("#process", want)
	}
	for _, list := range []struct {
		tab  string
		rows int
		text string
	}{
		{"services", 40, "shop/web-39"},
		{"records", 60, "www-00.example.org"},
		{"problems", 2, "is no duration: write 5m"},
		{"clusters", 1, "https://east.example:6443"},
		{"tables", 3, "may not list servers"},
		{"streams", 30, "web-29.shop.svc.cluster.local:80"},
	} {
		b.run(chromedp.Click(chromedp.CSS("#tab-" + list.tab)))
		b.await(fmt.Sprintf(`document.querySelectorAll("#panel tbody tr").length === %d && document.querySelector("#panel").innerText.includes(%q)`, list.rows, list.text))
	}
	if first := b.text("#panel tbody tr"); !strings.Contains(first, "behind") || !strings.Contains(first, "web-17") {
		t.Errorf("the first stream is %q, want the one that is behind", first)
	}
}

// TestNow shows that the page starts with the current problems, the worst first and each cause once, or says
// that there are none.
func TestNow(t *testing.T) {
	w := shop()
	url := w.serve(t)
	b := newTab(t, url)
	b.open("")
	b.awaitText("#panel .now.is-wrong", "things are not as objects ask for")
	b.awaitText("#panel .findings", "The server answered REFUSED")
	if n := eval[int](b, `[...document.querySelectorAll("#panel .finding")].filter((e) => e.innerText.includes("No zone of the provider holds this name")).length`); n != 1 {
		t.Errorf("one cause is there %d times", n)
	}
	if last := eval[string](b, `document.querySelector("#panel .finding:last-child .state").innerText`); !strings.Contains(last, "warning") {
		t.Errorf("the last one is %q, want a warning", last)
	}
	b.click("#panel .finding", "record www-")
	b.awaitText("#verdict", "www-")
	b.run(chromedp.Click(chromedp.CSS("#answer-close")))
	w.do(func() {
		w.records, w.problems, w.plans, w.status.Tables = nil, nil, nil, nil
		for i := range w.streams {
			w.streams[i].State = inspect.StreamSynced
		}
		for i := range w.services {
			w.services[i].State = inspect.ServiceServed
		}
	})
	b.awaitText("#panel .now.is-well", "Nothing is wrong.")
	b.await(`document.querySelectorAll("#panel .finding").length === 0`)
	call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown, Key: "/"})
	b.run(chromedp.Click(chromedp.CSS("#tab-services")), chromedp.KeyEvent("n"))
	b.await(`document.activeElement.id === "tab-now"`)
}

// TestFilters shows that the server filters and pages by text, state and zone.
func TestFilters(t *testing.T) {
	w := shop()
	url := w.serve(t)
	b := newTab(t, url)
	b.open("#tab=records")
	b.click("#panel", "conflict")
	b.await(`document.querySelectorAll("#panel tbody tr").length === 6`)
	b.awaitText("#panel", "belongs to the owner")
	b.click("#panel", "conflict")
	b.click("#panel", "internal.example.net")
	b.await(`document.querySelectorAll("#panel tbody tr").length === 18`)
	b.run(chromedp.SendKeys(chromedp.CSS("#panel input[type=search]"), "web-0"))
	b.await(`[...document.querySelectorAll("#panel tbody tr")].length === 3 && location.hash.includes("search=web-0")`)
	b.run(chromedp.SendKeys(chromedp.CSS("#panel input[type=search]"), "zzz"))
	b.awaitText("#panel", "Nothing matches")
}

// TestChanges shows that a change appears without a reload, in its row, in the numbers and in the list of
// changes.
func TestChanges(t *testing.T) {
	w := shop()
	url := w.serve(t)
	b := newTab(t, url)
	b.open("#tab=records&search=www-02")
	b.await(`document.querySelectorAll("#panel tbody tr").length === 1 && (window.same = document.querySelector("#panel tbody tr"))`)
	changed := w.records[slices.IndexFunc(w.records, func(r inspect.Record) bool { return strings.HasPrefix(r.Name, "www-02") })]
	changed.State, changed.Message = inspect.RecordFailing, "The server answered SERVFAIL."
	w.change(changed)
	b.awaitText("#panel tbody tr", "SERVFAIL")
	b.awaitText("#feed", "www-02")
	b.await(`document.querySelector("#tiles").innerText.replace(/\s+/g, " ").includes("failing 7")`)
	if !eval[bool](b, `window.same === document.querySelector("#panel tbody tr")`) {
		t.Error("the row was replaced")
	}
	added := changed
	added.ID, added.Name = "new", "www-02-new.example.net"
	w.change(added)
	b.await(`document.querySelectorAll("#panel tbody tr").length === 2`)
	w.do(func() { w.problems = nil })
	b.await(`document.querySelector("#tiles").innerText.replace(/\s+/g, " ").includes("0 problems")`)
}

// TestLateFirstRequests shows that a change appears even if the first requests arrive after the scripts,
// which may run in either order.
func TestLateFirstRequests(t *testing.T) {
	w := shop()
	listed := make(chan struct{})
	var once sync.Once
	w.arrived = func(path string) {
		switch {
		case strings.HasSuffix(path, "/records"):
			once.Do(func() { close(listed) })
		case strings.HasSuffix(path, "/first.js"):
			<-listed
		}
	}
	url := w.serve(t)
	b := newTab(t, url)
	b.open("#tab=records&search=www-02")
	b.await(`performance.getEntriesByType("resource").some((e) => e.name.endsWith("first.js") && e.responseEnd > 0)`)
	added := w.records[slices.IndexFunc(w.records, func(r inspect.Record) bool { return strings.HasPrefix(r.Name, "www-02") })]
	added.ID, added.Name = "new", "www-02-new.example.net"
	w.change(added)
	b.await(`document.querySelectorAll("#panel tbody tr").length === 2`)
}

// TestExplains shows that a typed name is explained, and is in the address of the page.
func TestExplains(t *testing.T) {
	w := shop()
	url := w.serve(t)
	b := newTab(t, url)
	b.open("")
	call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown, Key: "/"})
	b.await(`document.activeElement.id === "q"`)
	b.run(chromedp.KeyEvent("shop/web-01:80" + kb.Enter))
	b.awaitText("#verdict", "The targetPort http names no port of the pods")
	b.awaitText("#steps", "One of them is not ready.")
	if steps := eval[int](b, `document.querySelectorAll("#steps > li").length`); steps != 5 {
		t.Errorf("%d steps", steps)
	}
	q := locked(w, func() inspect.Query { return w.asked[len(w.asked)-1] })
	if q.Service == nil || q.Service.Name != "web-01" || q.Service.Port != 80 {
		t.Errorf("asked for %v", q)
	}
	shared := newTab(t, url)
	shared.open(eval[string](b, "location.hash"))
	shared.awaitText("#verdict", "Service shop/web-01, port 80")
	b.run(chromedp.NavigateBack())
	b.await(`document.querySelector("#answer").hidden`)

	b.run(chromedp.SetValue(chromedp.CSS("#q"), "!!"), chromedp.Click(chromedp.CSS("#ask button")))
	b.await(`document.querySelector("#verdict").innerText.length > 20 && document.querySelector("#answer").getAttribute("aria-busy") === "false"`)
	allow(b, "400")
}

// allow removes errors for expected responses.
func allow(b *tab, code string) {
	b.Helper()
	for _, c := range b.complaints() {
		if !strings.Contains(c, "status of "+code) {
			b.Errorf("the browser complains: %.500s", c)
		}
	}
}

// TestApproves shows that an approval is one request, without the excluded names, after a confirmation with
// the number of deletions and the zone.
func TestApproves(t *testing.T) {
	w := shop()
	url := w.serve(t)
	b := newTab(t, url)
	b.open("#tab=plans")
	b.await(`document.querySelectorAll("#panel .changes li").length === 12`)
	b.run(chromedp.Click(chromedp.CSS("#panel .changes li:nth-child(3) input")))
	b.click("#panel", "Approve…")
	b.await(`document.querySelector("#confirm").open`)
	if question := b.text("#confirm"); !strings.Contains(question, "11 deletions and 0 updates will be made in zone example.org, without 1 name: old-02.example.org") {
		t.Errorf("the question is %q", question)
	}
	b.click("#confirm", "Cancel")
	if n := locked(w, func() int { return len(w.posts) }); n != 0 {
		t.Fatalf("%d POSTs after Cancel", n)
	}
	// A forwarded port alone is no right to approve (tenants S4).
	b.click("#panel", "Approve…")
	b.click("#confirm", "Approve")
	b.awaitText("#confirm-failed", "needs a token")
	b.click("#confirm", "Cancel")
	allow(b, "403")
	if n := locked(w, func() int { return len(w.approved) }); n != 0 {
		t.Fatalf("%d approvals without a token", n)
	}
	w.do(func() { w.posts = nil })
	b.click("#panel", "Approve…")
	b.awaitText("#confirm-how", "signpost.dev/approve/0123456789abcdef")
	eval[bool](b, `(document.querySelector("#confirm-token").value = "may-approve", true)`)
	// The user clicks twice.
	eval[bool](b, `(() => { const yes = document.querySelector("#confirm-yes"); yes.click(); yes.click(); return true; })()`)
	b.awaitText("#panel", "Approved in example.org: 11 deletions")
	b.awaitText("#panel", "No deletions wait")
	w.do(func() {
		if len(w.posts) != 1 || w.posts[0] != "/api/v1alpha1/plan/0123456789abcdef/approve" {
			t.Errorf("POSTs: %v", w.posts)
		}
		if len(w.approved) != 1 || !slices.Equal(w.approved[0].except, []string{"old-02.example.org"}) {
			t.Errorf("approved: %v", w.approved)
		}
	})
	w.do(func() { w.plans = append(w.plans, planOf("fedcba9876543210", "example.com", 3)) })
	b.awaitText("#panel", "fedcba9876543210")
}

// Who approves sees which targets go, of which set, and how many changes of the plan the page has not shown.
func TestPlanShowsWhatIsApproved(t *testing.T) {
	w := shop()
	plan := planOf("0123456789abcdef", "example.org", 150)
	six := []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5", "192.0.2.6"}
	plan.Changes[0].Old.Targets, plan.Changes[0].Old.SetIdentifier = six, "blue"
	plan.Changes[0].New = &dns.RecordSet{Name: plan.Changes[0].Old.Name, Type: "A", SetIdentifier: "blue", Targets: six[:5]}
	plan.Changes[1].Old.Targets = six
	w.plans = []budget.Plan{plan}
	url := w.serve(t)
	b := newTab(t, url)
	b.open("#tab=plans")
	b.await(`document.querySelectorAll("#panel .changes li").length === 100`)
	for row, want := range map[int]string{1: "set blue 192.0.2.6 → nothing, 5 stay", 2: "192.0.2.1 192.0.2.2 192.0.2.3 192.0.2.4 and 2 more"} {
		if got := strings.Join(strings.Fields(b.text(fmt.Sprintf("#panel .changes li:nth-child(%d)", row))), " "); !strings.HasSuffix(got, want) {
			t.Errorf("row %d: %q, want %q", row, got, want)
		}
	}
	b.click("#panel", "Approve…")
	b.awaitText("#confirm", "50 of these changes have not been shown")
	b.click("#confirm", "Cancel")
	b.click("#panel", "Show more")
	b.await(`document.querySelectorAll("#panel .changes li").length === 150`)
	b.click("#panel", "Approve…")
	b.await(`document.querySelector("#confirm").open`)
	if question := b.text("#confirm"); strings.Contains(question, "not been shown") {
		t.Errorf("the question is %q", question)
	}
}

// Ages grow while the page is open, also of what doesn't change otherwise, and the budget of a held plan is the newest.
func TestAges(t *testing.T) {
	w := shop()
	for i := range w.problems {
		w.problems[i].Since = time.Now()
	}
	for i := range w.streams {
		w.streams[i].Opened = time.Now()
	}
	w.plans[0].At = time.Now()
	b := newTab(t, w.serve(t))
	for hash, of := range map[string]string{
		"": `.finding:last-child [data-since]`, "#tab=problems": `tbody [data-since]`, "#tab=streams": `tbody [data-since]`, "#tab=plans": `.plan [data-since]`,
	} {
		b.open(hash)
		b.await(fmt.Sprintf(`(window.age = document.querySelector("#panel %s")?.textContent)`, of))
		b.await(fmt.Sprintf(`document.querySelector("#panel %s").textContent !== window.age`, of))
	}
	w.do(func() { w.plans[0].Spent = budget.Spent{Changes: 7, Limit: 10} })
	b.open("#tab=plans")
	b.awaitText("#panel", "7 of at most 10 deletions without approval")
	w.do(func() { w.plans[0].Spent.Changes = 9 })
	b.awaitText("#panel", "9 of at most 10 deletions without approval")
}

// A plan that takes the place of another one, because one more name is held, keeps what was excluded.
func TestExclusionsStay(t *testing.T) {
	w := shop()
	b := newTab(t, w.serve(t))
	b.open("#tab=plans")
	b.await(`document.querySelectorAll("#panel .changes li").length === 12`)
	b.run(chromedp.Click(chromedp.CSS("#panel .changes li:nth-child(1) input")), chromedp.Click(chromedp.CSS("#panel .changes li:nth-child(3) input")))
	w.do(func() {
		w.plans = []budget.Plan{planOf("fedcba9876543210", "example.org", 13)}
		w.plans[0].Changes = w.plans[0].Changes[1:]
	})
	b.awaitText("#panel", "fedcba9876543210")
	b.await(`document.querySelectorAll("#panel .changes li").length === 12`)
	b.click("#panel", "Approve…")
	b.await(`document.querySelector("#confirm").open`)
	if question := b.text("#confirm"); !strings.Contains(question, "11 deletions and 0 updates will be made in zone example.org, without 1 name: old-02.example.org.") {
		t.Errorf("the question is %q", question)
	}
	eval[bool](b, `(document.querySelector("#confirm-token").value = "secret", true)`)
	b.run(chromedp.KeyEvent(kb.Escape))
	b.await(`!document.querySelector("#confirm").open && document.querySelector("#confirm-token").value === ""`)
}

// No page says that no deletions are held before it knows.
func TestPlansNotRead(t *testing.T) {
	w := shop()
	read := make(chan struct{})
	w.arrived = func(path string) {
		if path == inspect.PlanPath {
			<-read
		}
	}
	b := newTab(t, w.serve(t))
	t.Cleanup(sync.OnceFunc(func() { close(read) }))
	b.open("#tab=plans")
	b.awaitText("#panel", "Reading…")
	b.awaitText("#tiles", "– held deletions in 1 zone")
}

// The page of a standby names the leader, and does not say that nothing is held or wrong.
func TestStandby(t *testing.T) {
	w := shop()
	w.leader = "signpost-7c9d-k4q_B"
	w.status.Leading = []inspect.Leading{{Role: "dns", Lease: "signpost/dns", Leader: w.leader}}
	w.problems, w.services, w.streams, w.status.Tables, w.status.Clusters = nil, nil, nil, nil, nil
	b := newTab(t, w.serve(t))
	b.open("")
	b.awaitText("#panel .now", "Nothing is wrong in this process.")
	b.awaitText("#panel", "What only a leader knows is not checked here: see the page of the leader of dns (signpost-7c9d-k4q).")
	b.click("#tabs", "Held plans")
	b.awaitText("#panel", "this process does not lead: ask the leader, signpost-7c9d-k4q")
	allow(b, "409")
	w.do(func() {
		w.leader = ""
		w.status.Leading = []inspect.Leading{{Role: "dns", Lease: "signpost/dns", Leads: true, Leader: "signpost-7c9d-x2x_A"}}
		w.plans = nil
	})
	b.awaitText("#panel", "No deletions wait for approval.")
	w.do(func() {
		w.leader = "signpost-7c9d-k4q_B"
		w.status.Leading = []inspect.Leading{{Role: "dns", Lease: "signpost/dns", Leader: w.leader}}
	})
	b.awaitText("#panel", "this process does not lead: ask the leader, signpost-7c9d-k4q")
	allow(b, "409")
}

// TestRoles shows that a process without a role has no lists of that role.
func TestRoles(t *testing.T) {
	for role, want := range map[string]string{
		"dns": "now records plans problems clusters tables", "destination": "now services streams problems clusters tables", "none": "now problems clusters tables",
	} {
		url := shop().serve(t, role)
		b := newTab(t, url)
		b.open("")
		if got := eval[string](b, `[...document.querySelectorAll("#tabs button")].map((e) => e.id.slice(4)).join(" ")`); got != want {
			t.Errorf("%s: %s, want %s", role, got, want)
		}
	}
}

// TestDisconnected shows that the page says since when the connection is lost, and reconnects by itself.
func TestDisconnected(t *testing.T) {
	w := shop()
	proxy := newProxy(t, w.serve(t))
	b := newTab(t, proxy.url)
	b.open("")
	proxy.cut()
	b.awaitText("#live", "disconnected since ")
	w.do(func() { w.status.Version = "v9.9.9" })
	proxy.restore()
	b.awaitText("#process", "v9.9.9")
	b.awaitText("#live", "live")
	b.awaitText("#feed", "connected again")
	b.complaints() // the errors of the unreachable server
}

// TestKeyboard shows that arrow keys select tabs, and that all controls can be reached and have a visible
// focus.
func TestKeyboard(t *testing.T) {
	url := shop().serve(t)
	b := newTab(t, url)
	b.open("")
	b.run(chromedp.Focus(chromedp.CSS("#tab-services")), chromedp.KeyEvent(kb.ArrowRight))
	b.await(`document.activeElement.id === "tab-streams" && document.activeElement.getAttribute("aria-selected") === "true"`)
	b.run(chromedp.KeyEvent(kb.End))
	b.await(`document.activeElement.id === "tab-tables"`)
	b.run(chromedp.KeyEvent(kb.Home))
	b.await(`document.activeElement.id === "tab-now" && document.querySelectorAll("#panel .finding").length > 0`)
	b.run(chromedp.KeyEvent(kb.ArrowRight))
	b.await(`document.activeElement.id === "tab-services" && document.querySelectorAll("#panel tbody tr").length === 40`)
	b.run(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Tab))
	b.await(`document.activeElement.matches("#panel input[type=search]")`)
	if outline := eval[string](b, `getComputedStyle(document.activeElement).outlineStyle`); outline != "solid" {
		t.Errorf("the outline of the focus is %s", outline)
	}
	b.run(chromedp.Focus(chromedp.CSS("#panel tbody button")), chromedp.KeyEvent(kb.Enter))
	b.awaitText("#verdict", "Service shop/web-00")
	unnamed := eval[[]string](b, `[...document.querySelectorAll("button, input, [role=tabpanel], table")].filter((e) => !(e.textContent.trim() || e.labels?.length || e.getAttribute("aria-label"))).map((e) => e.outerHTML)`)
	if len(unnamed) > 0 {
		t.Errorf("without a name: %q", unnamed)
	}
}
