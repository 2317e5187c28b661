package inspectclient

import (
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/testkit/inspecttest"
)

// The findings of all processes are joined by cause, and processes that don't respond are unknown.
func TestNow(t *testing.T) {
	since := time.Now().Add(-3 * time.Minute)
	found := inspect.Finding{Area: inspect.AreaService, Severity: inspect.SeverityError, Subject: "Service shop/web", Count: 1, Cause: "the selector matches no pod", Explain: "Service/shop/web"}
	other := found
	other.Subject = "Service shop/cart"
	zone := inspect.Finding{Area: inspect.AreaZone, Severity: inspect.SeverityError, Subject: "zone example.org", Count: 1, Cause: "REFUSED\x1b[31m", Since: &since}
	one := &inspecttest.Process{Now: &inspect.Now{Findings: []inspect.Finding{found, other}, Checked: time.Now()}}
	two := &inspecttest.Process{Now: &inspect.Now{Findings: []inspect.Finding{found, zone}, Checked: time.Now()}}
	c, _ := newClient(t, one, two, &inspecttest.Process{})
	a, verdict, err := c.Now(t.Context())
	if err != nil || verdict != inspect.VerdictWrong {
		t.Fatal(verdict, err)
	}
	check(t, "table", printed(t, "wide", a), "SEVERITY  AREA     SUBJECT                              FOR  CAUSE                        PROCESSES\n"+
		"ERROR     zone     zone example.org                     3m   REFUSED\\u001b[31m            p1\n"+
		"ERROR     service  Service shop/cart, Service shop/web  -    the selector matches no pod  p0,p1\n"+
		"\nWrong: 3 subjects, 2 causes. More of one: signpost explain Service/shop/web\n"+
		"Not known: p2: ask for what is wrong now: its version doesn't have `signpost now`\n")
	check(t, "names", printed(t, "name", a), "zone/zone/example.org\nservice/Service/shop/cart\n")
}

func TestNothingIsWrong(t *testing.T) {
	well := &inspecttest.Process{Now: &inspect.Now{Findings: []inspect.Finding{}, Checked: time.Now()}}
	c, _ := newClient(t, well, well)
	a, verdict, err := c.Now(t.Context())
	if err != nil || verdict != inspect.VerdictOK {
		t.Fatal(verdict, err)
	}
	check(t, "text", printed(t, "table", a), "Nothing is wrong (2 processes asked).\n")
	c, _ = newClient(t, &inspecttest.Process{})
	if _, _, err := c.Now(t.Context()); err == nil || !strings.Contains(err.Error(), "ask for what is wrong now") {
		t.Errorf("got %v", err)
	}
}
