package inspectclient

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/testkit/inspecttest"
)

const planHash = "0123456789abcdef"

func holder() *inspecttest.Process {
	p := dnsProcess("leads")
	plan := inspect.Plan{Zone: "shop.test", Hash: planHash, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Deletions: 1100, Owned: 2000}
	for i := range plan.Deletions {
		plan.Changes = append(plan.Changes, inspect.Change{Action: "delete", Name: fmt.Sprintf("n%04d.shop.test", i), Type: "A", Targets: []string{"192.0.2.1"}})
	}
	p.Plans = []inspect.Plan{plan}
	return p
}

func waits() *inspecttest.Process {
	p := dnsProcess("waits")
	p.NotLeading = &inspect.Failure{Error: "this process does not lead: ask the leader, signpost-1", Leader: "signpost-1"}
	return p
}

// The leader is found among the replicas, and only the leader gets the approval.
func TestApprove(t *testing.T) {
	leader := holder()
	var approved []string
	leader.Approved = func(hash string, except []string) { approved = append(approved, hash, strings.Join(except, "+")) }
	c, notes := newClient(t, waits(), destination(), leader)
	a, err := c.Plans(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if text := printed(t, "name", a); text != "plan/"+planHash+"\n" {
		t.Errorf("held: %s", text)
	}
	if a, err = c.Plan(t.Context(), planHash, ""); err != nil || len(a.Table.Rows) != 1100 || a.Text != "\nHeld in the zone shop.test: deletions 1100, updates 0. Nothing was approved.\n" || approved != nil {
		t.Errorf("shown: %v, %d changes, %s, approved %q", err, len(a.Table.Rows), a.Text, approved)
	}
	if a, err = c.Approve(t.Context(), planHash, "", []string{"a.shop.test", "b.shop.test"}); err != nil || strings.Join(approved, " ") != planHash+" a.shop.test+b.shop.test" {
		t.Errorf("%v, approved %q", err, approved)
	}
	want := "approved in the zone shop.test: deletions 1100, updates 0\nleft out, and still held under another hash: 2\n" +
		"valid until 2026-01-02T03:04:05Z for changes that can't be made at once\n"
	check(t, "approval", printed(t, "table", a), want)
	if notes.Len() > 0 {
		t.Errorf("notes %s", notes)
	}
}

func TestApproveErrors(t *testing.T) {
	idle := dnsProcess("leads")
	idle.Plans = []inspect.Plan{}
	for name, test := range map[string]struct {
		p    *inspecttest.Process
		hash string
		want string
	}{
		"unknown hash":    {holder(), "00000000000000ff", "held are such as " + planHash},
		"nothing is held": {idle, planHash, "nothing is held now"},
		"nobody leads":    {waits(), planHash, "ask the leader, signpost-1"},
		"another role":    {destination(), planHash, "doesn't have the role"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := newClient(t, test.p)
			if _, err := c.Approve(t.Context(), test.hash, "", nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v; want %q", err, test.want)
			}
		})
	}
}

// If one process doesn't know the plan, the approval is sent to the next one.
func TestApproveAtSecondLeader(t *testing.T) {
	idle, knows := dnsProcess("leads"), holder()
	idle.Plans = []inspect.Plan{}
	approved := ""
	knows.Approved = func(hash string, _ []string) { approved = hash }
	c, _ := newClient(t, idle, knows)
	if _, err := c.Approve(t.Context(), planHash, "", nil); err != nil || approved != planHash {
		t.Errorf("%v, approved %q", err, approved)
	}
}

// A hash of plans of two publishers or processes is neither shown nor approved until the plan is
// named (split-horizon V1).
func TestHashOfSeveralPlans(t *testing.T) {
	var approved []string
	publishers := dnsProcess("leads")
	publishers.Plans = []inspect.Plan{{Publisher: "public", Zone: "shop.test", Hash: planHash}, {Publisher: "private", Zone: "shop.test", Hash: planHash}}
	publishers.Approved = func(hash string, _ []string) { approved = append(approved, hash) }
	one, other := holder(), holder()
	one.Approved, other.Approved = publishers.Approved, publishers.Approved
	for name, processes := range map[string][]*inspecttest.Process{"two publishers": {publishers}, "two processes": {one, other}} {
		c, _ := newClient(t, processes...)
		if _, err := c.Plan(t.Context(), planHash, ""); err == nil || !strings.Contains(err.Error(), "2 plans have the hash") {
			t.Errorf("show, %s: %v", name, err)
		}
		if _, err := c.Approve(t.Context(), planHash, "", nil); err == nil || !strings.Contains(err.Error(), "--publisher") || approved != nil {
			t.Errorf("approve, %s: %v, approved %q", name, err, approved)
		}
	}
	c, _ := newClient(t, publishers)
	a, err := c.Plan(t.Context(), planHash, "private")
	if err != nil || !strings.Contains(a.Text, `of the publisher "private"`) {
		t.Errorf("show private: %v, %s", err, a.Text)
	}
	if _, err := c.Approve(t.Context(), planHash, "private", nil); err != nil || len(approved) != 1 {
		t.Errorf("approve private: %v, approved %q", err, approved)
	}
	if a, err := c.Plans(t.Context(), "private"); err != nil || len(a.Table.Rows) != 1 || a.Table.Rows[0][2] != "private" {
		t.Errorf("list private: %v, %v", err, a.Table.Rows)
	}
}

// A new leader reports in its first seconds that its held plans aren't known yet (day2 B14).
func TestPlansNotPlannedYet(t *testing.T) {
	p := dnsProcess("leads")
	since := time.Now().Add(-3 * time.Second)
	p.Plans, p.Unplanned = []inspect.Plan{}, []inspect.Unplanned{{Publisher: "public", Since: &since}}
	c, _ := newClient(t, p)
	a, err := c.Plans(t.Context(), "")
	if err != nil || strings.Contains(a.Text, "Nothing is held") || !strings.Contains(a.Text, `Not planned yet: the publisher "public" has led for 3`) {
		t.Errorf("%v, %s", err, a.Text)
	}
	if _, err := c.Plan(t.Context(), planHash, ""); err == nil || !strings.Contains(err.Error(), "not planned everything yet") {
		t.Errorf("show: %v", err)
	}
}
