package publisher

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
)

// CNAME loops, including those through a wildcard, aren't published, because resolvers answer them
// with SERVFAIL. Published records stay, and an Event says why (dns F7).
func TestLoops(t *testing.T) {
	cname := func(name, target string) *dns.RecordSet {
		return &dns.RecordSet{Name: name + "." + zoneName, Type: dns.TypeCNAME, Targets: []string{target + "." + zoneName}}
	}
	for name, test := range map[string]struct {
		asked []*dns.RecordSet
		want  []string
		says  string
	}{
		"to itself": {
			[]*dns.RecordSet{cname("www", "www")},
			[]string{"www.shop.test A 192.0.2.9"},
			"the CNAMEs www.shop.test → www.shop.test are a loop",
		},
		"in a circle": {
			[]*dns.RecordSet{cname("www", "l2"), cname("l2", "l3"), cname("l3", "www")},
			[]string{"www.shop.test A 192.0.2.9"},
			"www.shop.test → l2.shop.test → l3.shop.test → www.shop.test",
		},
		"a wildcard": {
			[]*dns.RecordSet{cname("*.w", "x.w")},
			[]string{"www.shop.test A 192.0.2.9"},
			"*.w.shop.test → x.w.shop.test → *.w.shop.test",
		},
		"a wildcard for a name that is there": {
			[]*dns.RecordSet{cname("*", "www"), cname("x", "y")},
			[]string{"www.shop.test A 192.0.2.9", "*.shop.test CNAME www.shop.test", "x.shop.test CNAME y.shop.test"},
			"",
		},
		"a chain": {
			[]*dns.RecordSet{cname("l1", "l2"), cname("l2", "www")},
			[]string{"www.shop.test A 192.0.2.9", "l1.shop.test CNAME l2.shop.test", "l2.shop.test CNAME www.shop.test"},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				w.start()
				w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.9"))
				waitIdle()
				w.takeNotices()
				w.inOnePass(func() {
					if test.asked[0].Name == "www."+zoneName {
						w.objects.set("web")
					}
					for _, r := range test.asked {
						object, _, _ := strings.Cut(r.Name, ".")
						w.objects.set("o"+object, record(t, "o"+object, r.Name, r.Type, r.Targets...))
					}
				})
				time.Sleep(5 * time.Minute)
				w.expectZone(test.want...)
				notices := strings.Join(w.takeNotices(), "\n")
				if n := strings.Count(notices, test.says); test.says != "" && n != 1 || strings.Contains(notices, "FailedSync") != (test.says != "") {
					t.Errorf("notices:\n%s", notices)
				}
				// Without the loop, what was asked for is published.
				w.objects.set("ol3")
				w.objects.set("owww", record(t, "owww", "www."+zoneName, "A", "192.0.2.1"))
				w.objects.set("ow", record(t, "ow", "x.w."+zoneName, "A", "192.0.2.1"))
				time.Sleep(2 * time.Minute)
				for _, r := range w.zone() {
					if strings.HasPrefix(r, "www.shop.test A 192.0.2.1") {
						return
					}
				}
				t.Errorf("zone: %v", w.zone())
			})
		})
	}
}

// A CNAME with the name of an ownership record isn't created, in whatever order the two are asked
// for, and an Event says why (dns F8).
func TestCNAMEAtAnOwnershipRecord(t *testing.T) {
	for _, first := range []string{"together", "www", "a-www"} {
		t.Run(first, func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				w.change = unprefixed(t, "")
				sets := map[string]*dns.RecordSet{
					"www":   record(t, "www", "www."+zoneName, "A", "192.0.2.1"),
					"a-www": record(t, "a-www", "a-www."+zoneName, "CNAME", "lb.example.net"),
				}
				w.start()
				if sets[first] != nil {
					w.objects.set(first, sets[first])
					waitIdle()
				}
				w.inOnePass(func() {
					for name, r := range sets {
						w.objects.set(name, r)
					}
				})
				time.Sleep(5 * time.Minute)
				want, why := "www.shop.test A 192.0.2.1", "a-www.shop.test is the ownership record of "
				if first == "a-www" {
					want, why = "a-www.shop.test CNAME lb.example.net", "the ownership record can't be written"
				}
				w.expectZone(want)
				w.expectNotices(map[string]int{why: 1})
				w.objects.set(map[string]string{"www": "www", "together": "www", "a-www": "a-www"}[first])
				time.Sleep(5 * time.Minute)
				if want == "www.shop.test A 192.0.2.1" {
					w.expectZone("a-www.shop.test CNAME lb.example.net")
				} else {
					w.expectZone("www.shop.test A 192.0.2.1")
				}
			})
		})
	}
}

// Once decides about a CNAME at an ownership record as Run does, and reports the same (dns F8).
func TestCNAMEAtAnOwnershipRecordOnce(t *testing.T) {
	for _, dryRun := range []bool{true, false} {
		t.Run(fmt.Sprintf("dry run %t", dryRun), func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				w.change = func(c *Config) {
					unprefixed(t, "")(c)
					c.DryRun = dryRun
				}
				w.objects.set("a-www", record(t, "a-www", "a-www."+zoneName, "CNAME", "lb.example.net"))
				w.objects.set("www", record(t, "www", "www."+zoneName, "A", "192.0.2.1"))
				for range 3 {
					plans, err := w.make().Once(t.Context(), closedChannel(), Within(onceLimit))
					if err != nil || len(plans) != 1 || !plans[0].Done {
						t.Fatalf("plans: %+v, %v", plans, err)
					}
					for _, c := range plans[0].Changes {
						if c.RecordSet().Type == dns.TypeCNAME {
							t.Errorf("plans to %s", describe(c))
						}
					}
					waiting := plans[0].Waiting
					if len(waiting) != 1 || waiting[0].Name != "a-www."+zoneName || waiting[0].Reason != ReasonConflict ||
						!strings.HasPrefix(waiting[0].Message, "a-www.shop.test is the ownership record of www.shop.test") {
						t.Errorf("waits: %+v", waiting)
					}
				}
				if !dryRun {
					w.expectZone("www.shop.test A 192.0.2.1")
				}
			})
		})
	}
}

// A dry run plans no record set whose ownership record can't be written, and says why, as a run that
// publishes (dns F8).
func TestDryRunOfRefusedRecords(t *testing.T) {
	cname := &dns.RecordSet{Name: "a-www." + zoneName, Type: dns.TypeCNAME, Targets: []string{"lb.example.net"}}
	text := func(name, owner string) *dns.RecordSet {
		return &dns.RecordSet{Name: name + zoneName, Type: dns.TypeTXT, Targets: []string{`"heritage=external-dns,external-dns/owner=` + owner + `"`}}
	}
	for name, test := range map[string]struct {
		zone  []*dns.RecordSet
		asked bool
		says  string
	}{
		"a manual CNAME":                    {[]*dns.RecordSet{cname}, false, "a-www.shop.test, the name of its ownership record, has a CNAME"},
		"our CNAME":                         {[]*dns.RecordSet{cname, text("cname-a-www.", "me")}, true, "a-www.shop.test, the name of its ownership record, has a CNAME"},
		"our CNAME that is to be deleted":   {[]*dns.RecordSet{cname, text("cname-a-www.", "me")}, false, ""},
		"an ownership record of others":     {[]*dns.RecordSet{text("a-www.", "other")}, false, `owner "other" has a TXT record under a-www.shop.test`},
		"an orphaned ownership record":      {[]*dns.RecordSet{text("a-www.", "me")}, false, ""},
		"nothing that has to do with the A": {nil, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFixture(t)
				w.change = func(c *Config) {
					unprefixed(t, "")(c)
					c.DryRun = true
				}
				for _, r := range test.zone {
					w.byHand(dns.Change{New: r})
				}
				w.objects.set("www", record(t, "www", "www."+zoneName, "A", "192.0.2.1"))
				if test.asked {
					w.objects.set("a-www", record(t, "a-www", cname.Name, "CNAME", cname.Targets...))
				}
				plans, err := w.make().Once(t.Context(), closedChannel(), Within(onceLimit))
				if err != nil || len(plans) != 1 || !plans[0].Done {
					t.Fatalf("plans: %+v, %v", plans, err)
				}
				creates := slices.ContainsFunc(plans[0].Changes, func(c dns.Change) bool { return c.Old == nil })
				waiting := plans[0].Waiting
				if creates != (test.says == "") || (len(waiting) == 0) != (test.says == "") {
					t.Fatalf("changes: %+v, waits: %+v", plans[0].Changes, waiting)
				}
				if test.says != "" && (waiting[0].Name != "www."+zoneName || !strings.HasPrefix(waiting[0].Message, test.says)) {
					t.Errorf("waits: %+v", waiting)
				}
			})
		})
	}
}

// With --txt-wildcard-replacement, a wildcard and the replacement's name share an ownership record.
// A manual record under the one isn't ours although the other is (dns F1).
func TestSharedOwnershipRecord(t *testing.T) {
	for ours, hers := range map[string]string{"*.foo.": "any.foo.", "any.foo.": "*.foo."} {
		t.Run(ours, func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				w.change = ownedBy(t, owner.TXTOptions{OwnerID: "me", WildcardReplacement: "any"})
				w.objects.set("web", record(t, "web", ours+zoneName, "A", "192.0.2.1"))
				w.start()
				waitIdle()
				w.byHand(dns.Change{New: &dns.RecordSet{Name: hers + zoneName, Type: dns.TypeA, Targets: []string{"203.0.113.77"}}})
				time.Sleep(5 * time.Minute)
				both := []string{hers + "shop.test A 203.0.113.77", ours + "shop.test A 192.0.2.1"}
				w.expectZone(both...)
				w.expectNotices(map[string]int{"has the same ownership record as " + ours: 1})
				// After a restart it is unknown who made which, and the manual record stays too.
				w.stop()
				w.start()
				time.Sleep(5 * time.Minute)
				w.expectZone(both...)
				// When the object is deleted, our record stays, because its deletion would leave the manual one
				// as ours.
				w.objects.set("web")
				time.Sleep(5 * time.Minute)
				w.expectZone(both...)
				// Without the manual record, ours is deleted.
				w.byHand(dns.Change{Old: &dns.RecordSet{Name: hers + zoneName, Type: dns.TypeA, Targets: []string{"203.0.113.77"}}})
				time.Sleep(5 * time.Minute)
				w.expectZone()
			})
		})
	}
}

// Both names with one ownership record can be ours. Each is deleted when no object asks for it.
func TestSharedOwnershipRecordOfOurs(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.change = ownedBy(t, owner.TXTOptions{OwnerID: "me", WildcardReplacement: "any"})
		w.objects.set("wild", record(t, "wild", "*.foo."+zoneName, "A", "192.0.2.1"))
		w.objects.set("any", record(t, "any", "any.foo."+zoneName, "A", "192.0.2.2"))
		w.start()
		time.Sleep(2 * time.Minute)
		w.expectZone("*.foo.shop.test A 192.0.2.1", "any.foo.shop.test A 192.0.2.2")
		w.stop()
		w.start()
		time.Sleep(2 * time.Minute)
		w.objects.set("any")
		time.Sleep(2 * time.Minute)
		w.expectZone("*.foo.shop.test A 192.0.2.1")
		w.objects.set("wild")
		time.Sleep(2 * time.Minute)
		w.expectZone()
		w.expectNotices(map[string]int{"FailedSync": 0})
	})
}
