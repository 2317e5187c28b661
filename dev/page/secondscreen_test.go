package page_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/signpostd/signpost/app/inspect"
)

// TestReplicas shows that the first view has one line for each replica: this one, with its Leases and since
// when it holds them, and one of another revision.
func TestReplicas(t *testing.T) {
	w := shop()
	b := newTab(t, w.serve(t))
	b.open("")
	b.awaitText(".replicas li:nth-child(1)", "ready signpost-7c9d-x2x this page leads dns since 3 h v0.0.0-test up")
	b.awaitText(".replicas li:nth-child(2)", "not ready signpost-5f01-b8r stands by other revision 5f01 up")
	b.awaitText(".replicas li:nth-child(3)", "ready signpost-7c9d-k4q stands by v0.0.0-test up")
	w.do(func() {
		w.status.Leading = []inspect.Leading{{Role: "dns", Lease: "signpost/dns", Leader: "signpost-7c9d-k4q_B", Since: ago(time.Now(), time.Second)}}
	})
	b.awaitText(".replicas li:nth-child(3)", "leads dns since")
	b.awaitText(".replicas li:nth-child(1)", "stands by")
	w.do(func() { w.status.Leading = []inspect.Leading{{Role: "dns", Lease: "signpost/dns"}} })
	b.awaitText(".replica-list", "No leader is known for dns.")
}

// TestFigures shows that each figure has a line, its numbers as text and a text alternative, and that unknown
// values are a gap.
func TestFigures(t *testing.T) {
	w := shop()
	b := newTab(t, w.serve(t))
	b.open("")
	b.await(`document.querySelectorAll("#figures svg[role=img] path[d]").length === 4`)
	b.awaitText("#figures .figure:nth-child(2)", "1 streams behind 0 to 1")
	if got, want := eval[string](b, `document.querySelectorAll("#figures svg")[1].getAttribute("aria-label")`), "streams behind in the last 15 minutes: 1 now, lowest 0, highest 1"; got != want {
		t.Errorf("the alternative is %q, want %q", got, want)
	}
	if n := eval[int](b, `document.querySelectorAll("#figures path")[3].getAttribute("d").split("M").length - 1`); n != 2 {
		t.Errorf("the line of records has %d parts, want 2", n)
	}
	v := 77
	w.do(func() { w.figures.Figures[0].Values = append(w.figures.Figures[0].Values[1:], &v) })
	b.awaitText("#figures .figure:nth-child(1)", "77 open streams")
	w.do(func() { w.figures = &inspect.Figures{IntervalSeconds: 5} })
	b.await(`document.querySelector("#figures").hidden`)
}

// TestFiguresOfProcess shows that a process has figures from its start.
func TestFiguresOfProcess(t *testing.T) {
	w := shop()
	w.figures = nil
	b := newTab(t, w.serve(t))
	b.open("")
	b.awaitText("#figures", "30 open streams")
}

// TestPhoneRows shows that on a phone each row is one line that fits, until a tap or a key opens it.
func TestPhoneRows(t *testing.T) {
	w := shop()
	url := w.serve(t)
	b := newTab(t, url)
	b.run(chromedp.EmulateViewport(360, 800))
	b.open("")
	for _, tab := range []string{"services", "streams", "records", "problems", "clusters", "tables"} {
		b.run(chromedp.Click(chromedp.CSS("#tab-" + tab)))
		b.await(`document.querySelector("#tab-` + tab + `").getAttribute("aria-selected") === "true" && document.querySelectorAll("#panel tbody tr").length > 0 && document.querySelector("#panel").getAttribute("aria-busy") !== "true"`)
		high := eval[float64](b, `Math.max(...[...document.querySelectorAll("#panel tbody tr")].map((e) => e.getBoundingClientRect().height))`)
		if high > 44 {
			t.Errorf("%s: a row is %.0f pixels high, more than a line", tab, high)
		}
		if !eval[bool](b, notWide) {
			t.Errorf("%s: the page is wider than the window", tab)
		}
		b.run(chromedp.Focus(chromedp.CSS("#panel tbody tr:first-child td.opener button")), chromedp.KeyEvent(kb.Enter))
		b.await(`document.querySelector("#panel tbody tr").getBoundingClientRect().height > 60 && document.activeElement.getAttribute("aria-expanded") === "true"`)
		if !eval[bool](b, notWide) {
			t.Errorf("%s: the page is wider than the window with an open row", tab)
		}
		b.shot(fmt.Sprintf("open %s 360", tab))
		b.run(chromedp.KeyEvent(kb.Enter))
		b.await(`document.querySelector("#panel tbody tr").getBoundingClientRect().height <= 44`)
	}
}
