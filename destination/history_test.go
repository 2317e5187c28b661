package destination

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/history"
)

// remembered returns the history of a Service as text.
func remembered(l *history.Log, name string) (lines []string) {
	key := history.Key{Namespace: "ns", Name: name}
	l.Walk(history.Scope{Key: &key}, time.Time{}, func(_ history.Key, e history.Entry) {
		lines = append(lines, fmt.Sprintf("%d:%d streams %d places %d endpoints %d +%v ~%v -%v %s%s", e.Action, e.Port, e.Streams, e.Places, e.Endpoints, e.Added, e.Changed, e.Removed, e.ClientZone, e.ClientNode))
	})
	return lines
}

// The history has each change once, whatever the number of streams, and nothing else.
func TestHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := testConfig()
		config.History = history.New(history.DefaultBytes, nil)
		f := start(t, config, service("web"), nodeIn("n1", "east"), nodeIn("n2", "west"), pod("a"), pod("b"), slice("s", at("10.0.0.1", podKey("a"))))
		for range 3 {
			f.get(getPath, `{"ns":"shop","nodeName":"n1"}`)
		}
		f.get(getPath, `{"ns":"shop","nodeName":"n2"}`)
		f.settle()
		if got := remembered(config.History, "web"); len(got) != 0 {
			t.Errorf("before any change: %q", got)
		}
		f.change(put(slice("s", at("10.0.0.1", podKey("a")), at("10.0.0.2", podKey("b")))))
		f.change(put(slice("s", at("10.0.0.1", podKey("a")), at("10.0.0.2", podKey("b")))))
		f.change(put(slice("s", at("10.0.0.2", podKey("b")))))
		f.change(put(slice("s")))
		want := []string{
			"2:80 streams 4 places 1 endpoints 2 +[10.0.0.2:8080] ~[] -[] ",
			"2:80 streams 4 places 1 endpoints 1 +[] ~[] -[10.0.0.1:8080] ",
			"2:80 streams 4 places 1 endpoints 0 +[] ~[] -[10.0.0.2:8080] ",
		}
		if got := remembered(config.History, "web"); !slices.Equal(got, want) {
			t.Errorf("changes:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// Equal changes of several views are one entry. Different changes are separate entries, up to a limit.
func TestSentChanges(t *testing.T) {
	entryOf := func(ip string) *entry {
		return &entry{endpoint: catalog.Endpoint{Addr: netip.AddrPortFrom(netip.MustParseAddr(ip), 80)}, wire: []byte(ip), labels: &labels{}}
	}
	a, b := entryOf("10.0.0.1"), entryOf("10.0.0.2")
	var all sentChanges
	exists := &response{exists: true, entries: []*entry{a}}
	for range 3 {
		all.add(&view{streams: 2}, exists, difference{added: []*entry{a}})
	}
	all.add(&view{streams: 1}, exists, difference{added: []*entry{b}})
	all.add(&view{streams: 1}, exists, difference{removed: []*entry{b}})
	all.add(&view{streams: 9}, exists, difference{}) // only the kind of filter has changed
	if len(all) != 3 || all[0].streams != 6 || all[0].places != 3 || all[1].streams != 1 {
		t.Errorf("%+v", all)
	}
	for i := range 100 {
		all.add(&view{streams: 1}, exists, difference{added: []*entry{entryOf(fmt.Sprintf("10.0.1.%d", i))}})
	}
	streams := 0
	for _, c := range all {
		streams += c.streams
	}
	if len(all) != maxSentChanges || streams != 108 {
		t.Errorf("%d changes of %d streams, want %d of 108", len(all), streams, maxSentChanges)
	}
	d := difference{added: []*entry{a, b}, replaced: []*entry{a}}
	if added := d.newEntries(); len(added) != 1 || added[0] != b {
		t.Errorf("new entries are %v", added)
	}
}
