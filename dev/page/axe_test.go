package page_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestAxe shows that axe finds no violation of WCAG 2.2 A and AA in any list, wide and narrow. AXE is the
// path of axe.min.js, such as that of the npm package axe-core 4. Without AXE the test is skipped, because
// the repository has no copy.
func TestAxe(t *testing.T) {
	file := os.Getenv("AXE")
	if file == "" {
		t.Skip("AXE isn't set: name axe.min.js of the npm package axe-core")
	}
	axe, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	url := shop().serve(t)
	for _, width := range []int64{390, 1600} {
		b := newTab(t, url)
		b.run(chromedp.EmulateViewport(width, 1000))
		b.open("#q=shop%2Fweb-01")
		b.awaitText("#verdict", "targetPort http")
		b.await(`document.querySelectorAll("#figures path[d]").length === 4`)
		b.run(chromedp.Evaluate[chromedp.Void](string(axe) + "; undefined"))
		for _, tab := range []string{"now", "services", "streams", "records", "plans", "problems", "clusters", "tables"} {
			b.run(chromedp.Click(chromedp.CSS("#tab-" + tab)))
			b.await(`document.querySelector("#panel table tbody tr, #panel .changes li, #panel .finding") !== null && document.querySelector("#panel").getAttribute("aria-busy") !== "true"`)
			b.run(chromedp.Evaluate[chromedp.Void](`window.found = undefined; axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }).then((r) => { window.found = r.violations.map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + n.failureSummary).join(" | ")); }, (e) => { window.found = [String(e)]; }); undefined`))
			b.await(`window.found !== undefined`)
			for _, v := range eval[[]string](b, `window.found`) {
				t.Error(fmt.Sprint(tab, " ", width, ": ", v))
			}
		}
	}
}
