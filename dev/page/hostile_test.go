package page_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/signpostd/signpost/app/inspect"
)

// hostile are texts that somebody may write into an object, or an untrusted server into a record.
var hostile = []string{
	`<img src=x onerror=alert(1)>`,
	`<script>alert(2)</script>`,
	`"><svg/onload=alert(3)>`,
	`javascript:alert(4)`,
	`</td></tr></table><iframe srcdoc="<script>alert(5)</script>">`,
	"{{constructor.constructor('alert(6)')()}}",
	"\u202egnp.exe\u202c\u2066 left \u200bright\ufeff",
	"line\nbreak\ttab\x00nul\x1b[31m",
	strings.Repeat("x", 5000),
	strings.Repeat("W", 300) + "." + strings.Repeat("a/b", 900),
	"__proto__", "constructor",
	"𝕏" + strings.Repeat("é́́́́", 200),
}

// badFixture returns a fixture with such a text in every field.
func badFixture() *fixture {
	w := shop()
	w.records, w.services, w.streams, w.problems, w.steps = nil, nil, nil, nil, nil
	for i, text := range hostile {
		o := inspect.ObjectRef{Kind: text, Namespace: text, Name: text, Cluster: text}
		w.records = append(w.records, inspect.Record{
			ID: fmt.Sprint(i), Publisher: text, Zone: text, Name: text, Type: text, SetIdentifier: text, State: inspect.RecordFailing,
			Wanted: slices.Repeat([]string{text}, 50), Targets: []string{text, text}, Owner: text, Message: text, Objects: slices.Repeat([]inspect.ObjectRef{o}, 40),
		})
		w.services = append(w.services, inspect.Service{Namespace: text, Name: text, Ports: []string{text}, Remote: text})
		w.streams = append(w.streams, inspect.Stream{ID: fmt.Sprint(i), Target: text, Service: text, Peer: text, Pod: text, Namespace: text, Node: text, View: text, State: inspect.StreamBehind})
		w.problems = append(w.problems, inspect.Problem{ID: fmt.Sprint(i), Object: o, Field: text, Value: text, Reason: text})
		w.status.Clusters = append(w.status.Clusters, inspect.Cluster{Name: text, State: text, Secret: text, Server: text, TrustDomain: text, Reason: text})
		w.status.Tables = append(w.status.Tables, inspect.Table{Kind: text, Group: text, State: text, Reason: text, Detail: text})
		w.status.Details = append(w.status.Details, text)
		w.status.Leading = append(w.status.Leading, inspect.Leading{Role: text, Leader: text})
		w.steps = append(w.steps, inspect.Step{What: text, State: inspect.StepState(text), Text: text, Object: &o, More: []string{text}})
	}
	w.steps = append(w.steps, inspect.Step{What: "x", State: inspect.StepWrong, Text: hostile[0]})
	w.status.Process, w.status.Version = hostile[0], hostile[2]
	plan := planOf("0123456789abcdef", hostile[4], len(hostile))
	for i, text := range hostile {
		plan.Changes[i].Old.Name, plan.Changes[i].Old.Type, plan.Changes[i].Old.Targets = text, text, []string{text}
	}
	w.plans = append(w.plans[:0], plan)
	return w
}

// made counts the elements that only text interpreted as markup could have created, and scripts that ran.
const made = `document.querySelectorAll("img, iframe, object, embed, body script, body svg:not(.mark, #figures svg), [onerror], [onload], a[href]:not(.skip), link:not([href^='/assets/'])").length`

// TestHostileText shows that untrusted text stays text everywhere: it creates no element, runs no script, and
// doesn't widen the page.
func TestHostileText(t *testing.T) {
	w := badFixture()
	url := w.serve(t)
	for _, width := range []int64{390, 1600} {
		b := newTab(t, url)
		b.run(chromedp.EmulateViewport(width, 900))
		b.open("#q=shop/web&tab=records")
		b.awaitText("#verdict", hostile[0])
		for _, tab := range []string{"services", "streams", "records", "plans", "problems", "clusters", "tables"} {
			b.run(chromedp.Click(chromedp.CSS("#tab-" + tab)))
			b.await(fmt.Sprintf(`document.querySelector("#tab-%s").getAttribute("aria-selected") === "true" && document.querySelectorAll("#panel tbody tr, #panel .changes li").length >= %d`, tab, len(hostile)))
			b.awaitText("#panel", `<img src=x onerror=alert(1)>`)
			if n := eval[int](b, made); n != 0 {
				t.Errorf("%d, %s: %d elements are not ours", width, tab, n)
			}
			if !eval[bool](b, notWide) {
				t.Errorf("%d, %s: the page is wider than the window: %s", width, tab, eval[[]string](b, `[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map((e) => e.outerHTML.slice(0, 200))`))
			}
			if n := eval[int](b, `document.body.innerText.length`); n > 400_000 {
				t.Errorf("%d, %s: %d characters are shown", width, tab, n)
			}
			text := eval[string](b, `document.body.textContent`)
			for _, r := range "\u202e\u2066\u200b\ufeff\x00\x1b" {
				if strings.ContainsRune(text, r) {
					t.Errorf("%s: %U is in the page", tab, r)
				}
			}
			if strings.Contains(text, strings.Repeat("x", 2000)) {
				t.Errorf("%s: more than 2,000 characters of a text are shown", tab)
			}
			b.shot(fmt.Sprintf("hostile %s %d", tab, width))
		}
		// A change brings such texts into the list of changes, and an approval into the confirmation.
		r := w.records[0]
		r.Message = "changed"
		w.change(r)
		b.awaitText("#feed", hostile[0])
		b.run(chromedp.Click(chromedp.CSS("#tab-plans")))
		b.click("#panel", "Approve…")
		b.awaitText("#confirm", "<iframe srcdoc=")
		if n := eval[int](b, made); n != 0 {
			t.Errorf("%d elements are not ours", n)
		}
		b.click("#confirm", "Cancel")
		if eval[bool](b, `"polluted" in {}`) {
			t.Error("a prototype has changed")
		}
		// newTab fails the test for a dialog, an error or a violation of the policy.
	}
}

// TestHostileHash shows that a crafted hash selects what is shown, and has no other effect.
func TestHostileHash(t *testing.T) {
	url := shop().serve(t)
	b := newTab(t, url)
	for _, hash := range []string{
		"#q=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E", "#%", "#tab=__proto__", "#tab=constructor&offset=-5", "#offset=NaN", "#state=%3Cb%3E&tab=records", "#tab=records&offset=1e300",
	} {
		b.open(hash)
		if n := eval[int](b, made); n != 0 {
			t.Errorf("%s: %d elements are not ours", hash, n)
		}
		b.run(chromedp.Navigate("about:blank")) // a list that was refused is loaded again
		allow(b, "400")
	}
}

// attack is what a web page of another origin tries in the browser.
const attack = `<!doctype html><title>attack</title><script>
const target = %q;
const results = {};
async function attempt(name, f) { try { results[name] = await f(); } catch (e) { results[name] = "refused"; } }
const image = (u) => new Promise((d) => { const i = new Image(); i.onload = () => d("loaded"); i.onerror = () => d("refused"); i.src = u; });
const script = (u) => new Promise((d) => { const s = document.createElement("script"); s.onload = () => d("loaded"); s.onerror = () => d("refused"); s.src = u; document.head.append(s); });
const events = (u) => new Promise((d) => { const s = new EventSource(u); s.onopen = () => d("open"); s.onerror = () => { s.close(); d("refused"); }; });
const api = target + "/api/v1alpha1", approve = api + "/plan/0123456789abcdef/approve";
const frame = (u) => new Promise((d) => { const f = document.createElement("iframe"); f.onload = () => { try { d(f.contentDocument ? "read" : "refused"); } catch { d("refused"); } }; f.src = u; document.documentElement.append(f); });
(async () => {
  await attempt("read", async () => (await (await fetch(api + "/status")).text()));
  await attempt("opaque", async () => { await fetch(api + "/status", { mode: "no-cors" }); return "refused"; });
  await attempt("post", async () => (await (await fetch(approve, { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" })).text()));
  await attempt("simple post", async () => { await fetch(approve, { method: "POST", mode: "no-cors", body: "{}" }); return "refused"; });
  await attempt("events", () => events(api + "/changes"));
  await attempt("script", () => script(target + "/assets/app.js"));
  await attempt("image", () => image(target + "/assets/icon.svg"));
  await attempt("frame", () => frame(target + "/"));
  window.results = results;
})();
</script>`

// TestOtherOrigin shows that a web page of another origin can't read, post, listen, frame or load.
func TestOtherOrigin(t *testing.T) {
	w := shop()
	url := w.serve(t)
	other := listenAt(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(rw, attack, url)
	}))
	for _, from := range []string{other, strings.Replace(other, "127.0.0.1", "rebound.example", 1), strings.Replace(other, "127.0.0.1", "localhost", 1)} {
		b := newTab(t, from)
		b.run(chromedp.Navigate(from))
		b.await(`window.results !== undefined`)
		for name, result := range eval[map[string]string](b, `window.results`) {
			if result != "refused" {
				t.Errorf("from %s: %s: %.200s", from, name, result)
			}
		}
		b.complaints() // the browser's refusals
	}
	w.do(func() {
		if len(w.approved) != 0 {
			t.Errorf("approved: %v", w.approved)
		}
	})
}

// TestRebinding shows that a DNS name that was rebound to this host gets nothing, although it is the same
// origin for the browser.
func TestRebinding(t *testing.T) {
	w := shop()
	rebound := strings.Replace(w.serve(t), "127.0.0.1", "rebound.example", 1)
	b := newTab(t, rebound)
	for _, path := range []string{"/", "/assets/app.js", "/api/v1alpha1/status", "/api/v1alpha1/changes"} {
		b.run(chromedp.Navigate(b.url + path))
		if text := b.text("body"); !strings.Contains(text, "another host than localhost") {
			t.Errorf("%s: %.200s", path, text)
		}
	}
	// The page of the refusal has the same origin, so it may send any request.
	eval[bool](b, `(window.answer = null, fetch("/api/v1alpha1/plan/0123456789abcdef/approve", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" }).then((r) => { window.answer = r.status; }), true)`)
	b.await(`window.answer === 403`)
	w.do(func() {
		if len(w.approved) != 0 {
			t.Errorf("approved: %v", w.approved)
		}
	})
	b.complaints() // the browser's errors for the status 403, also for the icon
}
