package report_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/internal/report"
)

func newReporter(t *testing.T) *report.Reporter {
	t.Helper()
	r, err := report.New(report.Config{Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// listed returns the problems as text, the most recently met first.
func listed(r *report.Reporter) []string {
	var all []string
	for _, k := range r.Problems() {
		all = append(all, k.Name+" "+k.Field+" "+k.Reason)
	}
	return all
}

// Only the newest problem of a field is listed, and none of a deleted object.
func TestProblems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReporter(t)
		with := func(name, field, reason, uid string) objectmeta.Problem {
			return objectmeta.Problem{Kind: "Service", Namespace: "shop", Name: name, Field: field, Reason: reason, UID: uid}
		}
		begun := time.Now()
		for _, p := range []objectmeta.Problem{
			with("web", "ports", "a", "1"), with("web", "selector", "b", "1"), with("db", "ports", "a", "2"), with("web", "ports", "c", "1"), with("web", "selector", "b", "1"),
		} {
			r.Report(p)
			time.Sleep(time.Second)
		}
		if diff := cmp.Diff([]string{"web selector b", "web ports c", "db ports a"}, listed(r)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if first := r.Problems()[0]; first.Since.Sub(begun) != time.Second || first.Last.Sub(begun) != 4*time.Second {
			t.Errorf("since %v, last %v", first.Since, first.Last)
		}
		r.Report(with("web", "type", "d", "9")) // another Service of that name
		if diff := cmp.Diff([]string{"web type d", "db ports a"}, listed(r)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A fixed problem is not listed, and one that was met since is.
func TestFixed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReporter(t)
		web := objectmeta.Problem{Kind: "Service", Namespace: "shop", Name: "web"}
		for _, field := range []string{"a", "b"} {
			p := web
			p.Field, p.Reason, p.UID = field, "bad", "1"
			r.Report(p)
			time.Sleep(time.Second)
		}
		east := web
		east.Cluster, east.Reason = "east", "bad"
		r.Report(east)
		r.Fixed(web, time.Now().Add(-time.Second))
		if diff := cmp.Diff([]string{"web  bad", "web b bad"}, listed(r)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		r.Fixed(east, time.Now().Add(time.Second))
		if diff := cmp.Diff([]string{"web b bad"}, listed(r)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The listed problems are bounded, in number and length.
func TestListedProblemsAreBounded(t *testing.T) {
	r := newReporter(t)
	long := strings.Repeat("é", 1<<16)
	for i := range 20_000 {
		r.Report(objectmeta.Problem{Kind: "Service", Namespace: strings.Repeat("n", 63), Name: fmt.Sprint("s", i), Field: long, Reason: long})
	}
	all, bytes := r.Problems(), 0
	for _, k := range all {
		bytes += len(k.Field) + len(k.Reason) + len(k.Namespace)
	}
	if len(all) == 0 || len(all) > 2000 || bytes > 1<<20 || all[0].Name != "s19999" {
		t.Errorf("%d problems of %d bytes, the first of %s", len(all), bytes, all[0].Name)
	}
}

// Many problems of a namespace or of a linked cluster drop none of others from the list.
func TestListedProblemsOfOthersStay(t *testing.T) {
	for name, flood := range map[string]func(i int) objectmeta.Problem{
		"of a namespace": func(i int) objectmeta.Problem {
			return objectmeta.Problem{Kind: "Service", Namespace: "evil", Name: fmt.Sprint("s", i), Field: "f", Reason: "r"}
		},
		"of a linked cluster": func(i int) objectmeta.Problem {
			return objectmeta.Problem{Kind: "Service", Cluster: "east", Namespace: fmt.Sprint("ns", i), Name: "s", Field: "f", Reason: "r"}
		},
		"long": func(i int) objectmeta.Problem {
			return objectmeta.Problem{Kind: "Service", Namespace: "evil", Name: fmt.Sprint("s", i), Field: "f", Reason: strings.Repeat("r", 500)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReporter(t)
			for i := range 50 {
				r.Report(objectmeta.Problem{Kind: "Service", Namespace: fmt.Sprint("shop", i%5), Name: fmt.Sprint("web", i), Field: "f", Reason: "r"})
			}
			for i := range 5000 {
				r.Report(flood(i))
			}
			all, others := r.Problems(), 0
			for _, k := range all {
				if strings.HasPrefix(k.Namespace, "shop") {
					others++
				}
			}
			if others != 50 || len(all) < 1500 {
				t.Errorf("%d of 50 problems of others among %d", others, len(all))
			}
		})
	}
}
