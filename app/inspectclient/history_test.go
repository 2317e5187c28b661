package inspectclient

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/testkit/inspecttest"
)

// keeping is a process with a history. The request is stored in requested.
func keeping(t *testing.T, requested *url.Values, h inspect.History) *inspecttest.Process {
	var mu sync.Mutex
	return &inspecttest.Process{Paths: map[string]http.Handler{inspect.HistoryPath: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		*requested = r.URL.Query()
		mu.Unlock()
		if err := json.NewEncoder(w).Encode(h); err != nil {
			t.Error(err)
		}
	})}}
}

// The changes of all processes are one list, sorted by time, without control characters of tenants.
func TestHistory(t *testing.T) {
	at := time.Date(2026, 11, 26, 14, 3, 0, 0, time.Local)
	var requested, other url.Values
	one := keeping(t, &requested, inspect.History{Total: 2, Changes: []inspect.PastChange{
		{At: at.Add(2 * time.Second), Kind: inspect.ChangeSent, Subject: "shop/web", Streams: 12, Text: "port 80: removed 10.0.0.7:8080, 2 endpoints"},
		{At: at.Add(4 * time.Second), Kind: inspect.ChangeSent, Subject: "shop/web", Streams: 1, Text: "port 80: no endpoints left"},
	}})
	two := keeping(t, &other, inspect.History{Total: 9, Changes: []inspect.PastChange{
		{At: at.Add(1 * time.Second), Kind: inspect.ChangeWrite, Subject: "shop/web", Text: "EndpointSlice/web-1 updated", Source: "endpoint_slice"},
		{At: at.Add(3 * time.Second), Kind: inspect.ChangeRecord, Subject: "www.example.org", Zone: "example.org", Text: "TXT updated: a → \x1b[31m", Why: "Service/shop/web asks for other targets"},
	}})
	c, notes := newClient(t, one, two, &inspecttest.Process{})
	a, err := c.History(t.Context(), HistoryQuery{Subject: url.Values{"service": {"shop/web"}}, Since: 10 * time.Minute, Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	if requested.Get("service") != "shop/web" || requested.Get("since") != "10m0s" || requested.Get("limit") != "3" || other.Encode() != requested.Encode() {
		t.Errorf("requested for %v and %v", requested, other)
	}
	check(t, "table", printed(t, "wide", a), "TIME      SUBJECT          WHAT             CHANGE                                       WHY                                      SOURCE  PROCESS\n"+
		"14:03:02  shop/web         told 12 streams  port 80: removed 10.0.0.7:8080, 2 endpoints  -                                        -       p0\n"+
		"14:03:03  www.example.org  example.org      TXT updated: a → \\u001b[31m                  Service/shop/web asks for other targets  -       p1\n"+
		"14:03:04  shop/web         told 1 stream    port 80: no endpoints left                   -                                        -       p0\n"+
		"\nThe newest 3 of 11 changes are shown: name a subject, or set --limit.\n")
	check(t, "names", printed(t, "name", a), "shop/web\nwww.example.org\nshop/web\n")
	if text := printed(t, "json", a); !strings.Contains(text, `"process": "p1"`) || strings.Contains(text, "\x1b") {
		t.Errorf("JSON: %s", text)
	}
	if !strings.Contains(notes.String(), "p2: ask for the history") {
		t.Errorf("notes: %s", notes)
	}
}

func TestNothingChanged(t *testing.T) {
	var requested url.Values
	quiet := keeping(t, &requested, inspect.History{Changes: []inspect.PastChange{}})
	for since, want := range map[time.Duration]string{10 * time.Minute: "10m", time.Hour: "1h", 90 * time.Second: "1m30s", 30 * time.Second: "30s"} {
		c, _ := newClient(t, quiet, quiet)
		a, err := c.History(t.Context(), HistoryQuery{Since: since, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		check(t, "text", printed(t, "table", a), "Nothing changed in the last "+want+" (2 processes asked).\n")
	}
	c, _ := newClient(t, &inspecttest.Process{Paths: map[string]http.Handler{inspect.HistoryPath: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error":"there is no such path: there are /api/v1alpha1/status"}`))
	})}})
	if _, err := c.History(t.Context(), HistoryQuery{Since: time.Minute, Limit: 1}); err == nil || !strings.Contains(err.Error(), "its version keeps no history") {
		t.Errorf("a process of an earlier version: %v", err)
	}
}
