package page_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/signpostd/signpost/app/inspect"
)

// manyItems returns a fixture with 10,000 Services, 20,000 streams and 100,000 records.
func manyItems() *fixture {
	w := shop()
	w.services, w.streams, w.records = nil, nil, nil
	for i := range 10_000 {
		w.services = append(w.services, inspect.Service{Namespace: "shop", Name: fmt.Sprintf("web-%05d", i), State: inspect.ServiceServed, Ports: []string{"http:80"}, Ready: 3, Streams: 2})
	}
	for i := range 20_000 {
		w.streams = append(w.streams, inspect.Stream{ID: fmt.Sprint(i), Method: "Get", Target: fmt.Sprintf("web-%05d.shop.svc.cluster.local:80", i/2), Peer: "10.0.0.1:40112", State: inspect.StreamSynced, Endpoints: 3, Sent: 1, Current: 1, Opened: w.status.Started})
	}
	for i := range 100_000 {
		w.records = append(w.records, inspect.Record{ID: fmt.Sprint(i), Zone: "example.org", Name: fmt.Sprintf("n%06d.example.org", i), Type: "A", State: inspect.RecordPublished, Targets: []string{"192.0.2.1"}})
	}
	return w
}

// loadsOfLists is how often each list is loaded.
const loadsOfLists = 7

// TestFirstRows measures the time until the first rows of each list are painted, without a cache, for
// docs/page.md. A list with many items has its first rows soon, because the page reads one page of it.
func TestFirstRows(t *testing.T) {
	url := manyItems().serve(t)
	b := newTab(t, url)
	call(b, network.Enable, network.EnableParams{})
	call(b, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	call(b, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: noteRows})
	for _, list := range []string{"now", "services", "streams", "records"} {
		var loads []stages
		for range loadsOfLists {
			loads = append(loads, b.firstRows(url, list))
		}
		t.Logf("first rows of %s: %s", list, summary(loads))
	}
	b.complaints() // the connections that ended with the page
}

// TestManyRecords shows that the page has never more than one page of 100,000 records, and follows changes of
// them.
func TestManyRecords(t *testing.T) {
	w := manyItems()
	url := w.serve(t)
	b := newTab(t, url)
	b.open("#tab=records")
	b.await(`document.querySelectorAll("#panel tbody tr").length === 100`)
	b.click("#panel", "Next")
	b.awaitText("#panel tbody", "n000100.example.org")
	b.await(`document.querySelectorAll("#panel tbody tr").length === 100`)
	for i := range 30 {
		r := w.records[100+i]
		r.State = inspect.RecordPending
		w.change(r)
	}
	b.await(`document.querySelectorAll("#panel .state.note").length >= 30`)
	if n := eval[int](b, `document.querySelectorAll("*").length`); n > 4000 {
		t.Errorf("the page has %d elements", n)
	}
}

// noteRows is a script that records when the first rows are in the document, and when they are painted.
const noteRows = `(() => {
  const look = new MutationObserver(() => {
    if (window.rows || !document.querySelector("#panel tbody tr, #panel .finding, #panel .now.is-well")) return;
    look.disconnect();
    window.rows = { made: performance.now() };
    requestAnimationFrame(() => {
      const later = new MessageChannel();
      later.port1.onmessage = () => { window.rows.painted = performance.now(); };
      later.port2.postMessage(0);
    });
  });
  look.observe(document, { childList: true, subtree: true });
})();`

// stages are the times of a load, in ms after its start: the document and its scripts were loaded, the rows
// were requested and received, and they were in the document and painted.
type stages struct{ Document, Scripts, Asked, Answered, Made, Painted float64 }

// firstRows loads a list and returns its stages.
func (b *tab) firstRows(url, list string) stages {
	b.Helper()
	b.run(chromedp.Navigate("about:blank"))
	b.run(chromedp.Navigate(url + "/#tab=" + list))
	b.await(`window.rows?.painted > 0`)
	return eval[stages](b, fmt.Sprintf(`(() => {
	  const all = performance.getEntriesByType("resource");
	  const rows = all.find((e) => /\/v1alpha1\/%s(\?|$)/.test(e.name));
	  const scripts = Math.max(...all.filter((e) => e.name.endsWith(".js")).map((e) => e.responseEnd));
	  return { Document: performance.getEntriesByType("navigation")[0].responseEnd, Scripts: scripts, Asked: rows.startTime, Answered: rows.responseEnd, Made: window.rows.made, Painted: window.rows.painted };
	})()`, list))
}

// summary returns the p50 and p90 until the first rows were painted, and the median of each stage.
func summary(loads []stages) string {
	of := func(q float64, stage func(stages) float64) int {
		var all []float64
		for _, s := range loads {
			all = append(all, stage(s))
		}
		slices.Sort(all)
		return int(all[int(math.Round(q*float64(len(all)-1)))])
	}
	painted := func(s stages) float64 { return s.Painted }
	return fmt.Sprintf("p50 %d ms, p90 %d ms of %d loads (document %d, scripts %d, asked %d, answered %d, in the document %d)", of(.5, painted), of(.9, painted), len(loads),
		of(.5, func(s stages) float64 { return s.Document }), of(.5, func(s stages) float64 { return s.Scripts }), of(.5, func(s stages) float64 { return s.Asked }),
		of(.5, func(s stages) float64 { return s.Answered }), of(.5, func(s stages) float64 { return s.Made }))
}
