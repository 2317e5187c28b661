package inspect

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/internal/history"
)

// happened returns a history of changes to a Service, its name and others.
func happened() *history.Log {
	log := history.New(history.DefaultBytes, nil)
	at := time.Now().Add(-30 * time.Minute)
	web := history.Key{Namespace: "shop", Name: "web"}
	www := history.Key{Name: "www.example.org"}
	add := func(key history.Key, after time.Duration, e history.Entry) {
		e.At = at.Add(after)
		log.Add(key, "shop", &e)
	}
	a := netip.MustParseAddrPort
	record := history.Entry{Kind: history.Record, Source: "public", Zone: "example.org", Type: "A", Objects: []string{"Service/shop/web"}}
	change := func(action history.Action, before, after string) history.Entry {
		e := record
		e.Action, e.Old, e.New = action, strings.Fields(before), strings.Fields(after)
		return e
	}
	add(www, 1*time.Second, change(history.Created, "", "192.0.2.1"))
	add(web, 2*time.Second, history.Entry{Kind: history.Written, Action: history.Updated, Source: "endpoint_slice", Object: "EndpointSlice/web-1", Endpoints: 2, NotReady: 1, Removed: []netip.AddrPort{a("10.0.0.7:0")}})
	add(web, 3*time.Second, history.Entry{Kind: history.Sent, Action: history.Updated, Source: "destination", Port: 80, Streams: 12, Places: 2, Endpoints: 2, Added: []netip.AddrPort{a("10.0.0.9:8080")}, Removed: []netip.AddrPort{a("10.0.0.7:8080")}})
	add(web, 4*time.Second, history.Entry{Kind: history.Sent, Action: history.Updated, Source: "destination", Port: 81, Streams: 1, Places: 1, ClientZone: "a", Removed: []netip.AddrPort{a("10.0.0.8:8081")}, MoreRemoved: 5})
	add(www, 5*time.Second, change(history.Updated, "192.0.2.1", "192.0.2.2"))
	add(www, 6*time.Second, change(history.Updated, "198.51.100.6", "192.0.2.2"))
	add(www, 7*time.Second, change(history.Created, "", "192.0.2.2"))
	failed := change(history.Failed, "192.0.2.2", "192.0.2.3")
	failed.Reason = "throttled"
	add(www, 8*time.Second, failed)
	add(www, 9*time.Second, change(history.Deleted, "192.0.2.2", ""))
	add(web, 10*time.Second, history.Entry{Kind: history.Written, Action: history.External, Source: "endpoint_slice", By: "kubectl"})
	add(web, 11*time.Second, history.Entry{Kind: history.Written, Action: history.Failed, Source: "endpoint_slice", Object: "update", Reason: "forbidden"})
	add(web, 12*time.Second, history.Entry{Kind: history.Sent, Action: history.Updated, Source: "xds", Type: "lds", Object: "web.shop:80", Streams: 3})
	add(web, 13*time.Second, history.Entry{Kind: history.Sent, Action: history.Deleted, Source: "destination", Port: 80, Streams: 2})
	add(history.Key{Namespace: "shop", Name: "db"}, 14*time.Second, history.Entry{Kind: history.Sent, Action: history.Updated, Port: 5432, Hostname: "db-0", Streams: 1, Endpoints: 1, Changed: []netip.AddrPort{a("10.0.0.5:5432")}})
	add(history.Key{Name: "other.example.org"}, 15*time.Second, history.Entry{Kind: history.Record, Action: history.Created, Type: "A", New: []string{"10.0.0.7"}, Objects: []string{"ingress/shop/other"}})
	return log
}

func TestHistory(t *testing.T) {
	s := New(Config{Offers: (&fixture{}).offers(), History: happened()})
	const (
		created  = "www.example.org | A created: 192.0.2.1 | Service/shop/web asks for it"
		written  = "shop/web | EndpointSlice/web-1 updated: removed 10.0.0.7, 2 ready, 1 not ready | "
		told     = "shop/web | port 80: added 10.0.0.9:8080, removed 10.0.0.7:8080, 2 endpoints | "
		none     = "shop/web | port 81, zone a: removed 10.0.0.8:8081 and 5 more, no endpoints left | "
		updated  = "www.example.org | A updated: 192.0.2.1 → 192.0.2.2 | Service/shop/web asks for other targets"
		drifted  = "www.example.org | A updated: 198.51.100.6 → 192.0.2.2 | another writer had changed it"
		restored = "www.example.org | A created: 192.0.2.2 | another writer had deleted it"
		failed   = "www.example.org | A not changed: 192.0.2.2 → 192.0.2.3 | throttled"
		deleted  = "www.example.org | A deleted: 192.0.2.2 | no object asks for it; before: Service/shop/web"
		external = "shop/web | changed by kubectl, to be repaired | "
		refused  = "shop/web | update failed | forbidden"
		listener = "shop/web | lds web.shop:80: another version | "
		gone     = "shop/web | port 80: does not exist | "
		hostname = "shop/db | db-0, port 5432: changed 10.0.0.5:5432, 1 endpoint | "
		other    = "other.example.org | A created: 10.0.0.7 | ingress/shop/other asks for it"
	)
	all := []string{created, written, told, none, updated, drifted, restored, failed, deleted, external, refused, listener, gone, hostname, other}
	for query, want := range map[string][]string{
		"":                                all,
		"since=1h":                        all,
		"since=29m":                       nil,
		"name=www.example.org":            {created, updated, drifted, restored, failed, deleted},
		"service=shop/web":                all[:13],
		"service=shop/web:81":             {created, written, none, updated, drifted, restored, failed, deleted, external, refused, listener},
		"service=shop/db":                 {hostname},
		"service=shop/none":               nil,
		"object=Ingress/shop/other":       {other},
		"object=EndpointSlice/shop/web-1": {written},
		"address=10.0.0.7":                {written, told, other},
		"address=10.0.0.7:8080":           {written, told, other},
		"address=10.0.0.5:1":              nil,
		"q=www.example.org":               {created, updated, drifted, restored, failed, deleted},
		"limit=2":                         {hostname, other},
	} {
		w := ask(s, HistoryPath+"?"+query)
		var h History
		if err := json.Unmarshal(w.Body.Bytes(), &h); err != nil || w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
			continue
		}
		var got []string
		for _, c := range h.Changes {
			got = append(got, fmt.Sprintf("%s | %s | %s", c.Subject, c.Text, c.Why))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
		if total := len(want); query != "limit=2" && h.Total != total || query == "limit=2" && h.Total != len(all) {
			t.Errorf("%s: %d changes in all", query, h.Total)
		}
		if h.Limit != history.DefaultBytes || h.Bytes <= 0 {
			t.Errorf("%s: %d of %d bytes", query, h.Bytes, h.Limit)
		}
	}
}

// The newest changes are kept of many, and no answer is larger than clients read. Of a long list
// only the first targets are known, in the order of whoever wrote it, and after a failed change
// nobody knows what the zone has. Neither is a reason to accuse another writer, or to say that the
// targets stayed.
func TestUnknownTargetsAreNoReason(t *testing.T) {
	targets := func(from, to int) (list []string) {
		for i := from; i <= to; i++ {
			list = append(list, fmt.Sprintf("192.0.2.%d", i))
		}
		return list
	}
	reversed := targets(1, 20)
	slices.Reverse(reversed)
	log := history.New(history.DefaultBytes, nil)
	asks := []string{"Service/shop/web"}
	add := func(name string, entries ...history.Entry) {
		for i, e := range entries {
			e.At, e.Kind, e.Type, e.Objects = time.Now().Add(time.Duration(i-60)*time.Second), history.Record, "A", asks
			log.Add(history.Key{Name: name}, "shop", &e)
		}
	}
	add("order", history.Entry{Action: history.Created, New: targets(1, 20)}, history.Entry{Action: history.Updated, Old: reversed, New: targets(1, 21)})
	add("longer", history.Entry{Action: history.Created, New: targets(1, 20)}, history.Entry{Action: history.Updated, Old: targets(1, 22), New: targets(1, 20)})
	add("last", history.Entry{Action: history.Created, New: targets(1, 20)}, history.Entry{Action: history.Updated, Old: targets(1, 20), New: append(targets(1, 19), "198.51.100.1")})
	add("failed", history.Entry{Action: history.Created, New: targets(1, 1)}, history.Entry{Action: history.Failed, Old: targets(1, 1), New: targets(2, 2), Reason: "timeout"}, history.Entry{Action: history.Updated, Old: targets(2, 2), New: targets(3, 3)})
	for name, want := range map[string]string{
		"order": "Service/shop/web asks for other targets", "longer": "another writer had changed it",
		"last": "Service/shop/web asks for other targets or properties", "failed": "Service/shop/web asks for other targets",
	} {
		var h History
		w := ask(New(Config{Offers: (&fixture{}).offers(), History: log}), HistoryPath+"?name="+name)
		if err := json.Unmarshal(w.Body.Bytes(), &h); err != nil || len(h.Changes) == 0 {
			t.Fatalf("%s: %d %s", name, w.Code, w.Body)
		}
		if got := h.Changes[len(h.Changes)-1].Why; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestHistoryIsBounded(t *testing.T) {
	log := history.New(history.DefaultBytes, nil)
	long := strings.Repeat("x", 1000)
	for i := range 20_000 {
		e := history.Entry{Kind: history.Record, Action: history.Updated, Type: "TXT", TTL: i, Old: []string{long, long, long}, New: []string{long, long}, Reason: long}
		log.Add(history.Key{Name: fmt.Sprintf("%d.example.org", i%1000)}, "shop", &e)
	}
	w := ask(New(Config{Offers: (&fixture{}).offers(), History: log}), HistoryPath)
	var h History
	if err := json.Unmarshal(w.Body.Bytes(), &h); err != nil {
		t.Fatal(err)
	}
	if len(h.Changes) != PageSize || h.Total < 10_000 || w.Body.Len() > 4<<20 {
		t.Errorf("%d of %d changes, %d bytes", len(h.Changes), h.Total, w.Body.Len())
	}
	newest := map[int]bool{}
	for _, c := range h.Changes {
		newest[c.TTL] = true
	}
	if !newest[19_999] {
		t.Error("the newest change is missing")
	}
}

func TestHistoryRefusals(t *testing.T) {
	s := New(Config{Offers: (&fixture{}).offers(), History: history.New(history.DefaultBytes, nil)})
	for query, want := range map[string]string{
		"since=2h":                    "since is",
		"since=yesterday":             "since is",
		"since=-1m":                   "since is",
		"limit=0":                     "limit is",
		"service=web":                 "write NAMESPACE/NAME",
		"name=a.org&service=shop/web": "give exactly one",
		"namespace=shop":              "give exactly one",
		"offset=1":                    "the parameter \"offset\" is unknown",
	} {
		if w := ask(s, HistoryPath+"?"+query); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), strings.ReplaceAll(want, `"`, `\"`)) {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
	none := New(Config{Offers: (&fixture{}).offers()})
	if w := ask(none, HistoryPath); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "--history-bytes") {
		t.Errorf("without a history: %d %s", w.Code, w.Body)
	}
	stranger := request(http.MethodGet, HistoryPath, "")
	stranger.RemoteAddr = "192.0.2.1:1"
	if w := send(s, stranger); w.Code != http.StatusForbidden {
		t.Errorf("a stranger gets %d", w.Code)
	}
}
