package page_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// notWide is true if nothing makes the page wider than the window.
const notWide = `document.documentElement.scrollWidth <= document.documentElement.clientWidth`

// contrasts are the texts whose contrast to the background is below 4.5.
const contrasts = `(() => {
  const c = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => { c.clearRect(0, 0, 1, 1); c.fillStyle = color; c.fillRect(0, 0, 1, 1); return [...c.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => { for (; e; e = e.parentElement) { const b = rgba(getComputedStyle(e).backgroundColor); if (b[3] === 255) return b; } return [255, 255, 255, 255]; };
  const bad = [];
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || e.offsetParent === null || e.disabled) continue;
    const a = light(rgba(getComputedStyle(e).color)), b = light(behind(e));
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) bad.push(e.className + " " + e.textContent.slice(0, 30) + " " + contrast.toFixed(2));
  }
  return bad;
})()`

// TestLooks shows that each list fits at three widths, light and dark, and that each text is readable.
func TestLooks(t *testing.T) {
	w := shop()
	url := w.serve(t)
	for _, scheme := range []string{"light", "dark"} {
		for _, size := range [][2]int64{{390, 844}, {900, 1000}, {1600, 1000}} {
			t.Run(fmt.Sprintf("%s %d", scheme, size[0]), func(t *testing.T) {
				b := newTab(t, url)
				b.run(chromedp.EmulateViewport(size[0], size[1]))
				call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
				b.open("#q=shop%2Fweb-01&tab=records")
				b.awaitText("#verdict", "targetPort http")
				back := eval[string](b, `getComputedStyle(document.body).backgroundColor`)
				if dark := back == "rgb(18, 22, 21)"; dark != (scheme == "dark") {
					t.Errorf("the background is %s", back)
				}
				b.shot(fmt.Sprintf("explain %s %d", scheme, size[0]))
				b.run(chromedp.Click(chromedp.CSS("#answer-close")))
				for _, name := range []string{"now", "services", "streams", "records", "plans", "problems", "clusters", "tables"} {
					b.run(chromedp.Click(chromedp.CSS("#tab-" + name)))
					b.await(`document.querySelector("#tab-` + name + `").getAttribute("aria-selected") === "true" && document.querySelector("#panel table tbody tr, #panel .changes li, #panel .finding") !== null && document.querySelector("#panel").getAttribute("aria-busy") !== "true"`)
					if !eval[bool](b, notWide) {
						t.Errorf("%s: the page is wider than the window", name)
					}
					for _, bad := range eval[[]string](b, contrasts) {
						t.Errorf("%s: hard to read: %s", name, bad)
					}
					b.shot(fmt.Sprintf("%s %s %d", name, scheme, size[0]))
				}
			})
		}
	}
}
