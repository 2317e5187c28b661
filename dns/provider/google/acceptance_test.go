package google

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/apitest"
	"github.com/signpostd/signpost/testkit/clouddnstest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

// Records and their ownership records are created, changed and removed in one request each, also at the apex
// and with a wildcard, and a second run changes nothing (GO1, GO2, GO3, GO4 of spec/clouds.md).
func TestPlainRecords(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.Prefix = "%{record_type}-."
		w.Settle(1,
			set("a.shop.test", "A", "192.0.2.1"), set("a.shop.test", "AAAA", "2001:db8::1", "ttl=60"), set("c.shop.test", "CNAME", "lb.example.net", "ttl=120"),
			set("shop.test", "A", "192.0.2.9"), set("*.shop.test", "A", "192.0.2.8"), set("CamelCase.shop.test", "A", "192.0.2.7"), set("_x._tcp.shop.test", "CNAME", "LB.example.net."))
		w.Expect("a A 192.0.2.1", "a AAAA 2001:db8::1", "c CNAME lb.example.net.", "shop.test A 192.0.2.9", "* A 192.0.2.8", "camelcase A 192.0.2.7", "_x._tcp CNAME lb.example.net.")
		if w.OwnershipRecords() != 7 {
			t.Errorf("%d ownership records, want 7", w.OwnershipRecords())
		}
		if ttl := w.server.Get(shop, "a.shop.test", "A").TTL; ttl != 300 {
			t.Errorf("the TTL is %d, want 300", ttl)
		}
		rest := []*dns.RecordSet{set("shop.test", "A", "192.0.2.9"), set("CamelCase.shop.test", "A", "192.0.2.7"), set("_x._tcp.shop.test", "CNAME", "LB.example.net.")}
		w.Settle(1, append(rest, set("a.shop.test", "A", "192.0.2.2,192.0.2.3"), set("a.shop.test", "AAAA", "2001:db8::1", "ttl=90"), set("c.shop.test", "CNAME", "lb2.example.net", "ttl=120"), set("*.shop.test", "A", "192.0.2.6"))...)
		w.Expect("a A 192.0.2.2 192.0.2.3", "a AAAA 2001:db8::1", "c CNAME lb2.example.net.", "* A 192.0.2.6", "shop.test A 192.0.2.9", "camelcase A 192.0.2.7", "_x._tcp CNAME lb.example.net.")
		rest = append(rest, set("a.shop.test", "A", "192.0.2.2,192.0.2.3"), set("*.shop.test", "A", "192.0.2.6"))
		w.Settle(1, append(rest, set("c.shop.test", "CNAME", "lb2.example.net", "ttl=120"))...)
		w.Settle(1, rest...)
		w.Expect("a A 192.0.2.2 192.0.2.3", "* A 192.0.2.6", "shop.test A 192.0.2.9", "camelcase A 192.0.2.7", "_x._tcp CNAME lb.example.net.")
		w.Gone(1)
	})
}

// The other types, with and without dots at the ends of names (GO5 of spec/clouds.md).
func TestOtherTypes(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.Managed = handled
		w.server.AddZone(clouddnstest.Zone{Name: "reverse", DNSName: "2.0.192.in-addr.arpa"})
		for _, dot := range []string{"", "."} {
			// There are two zones, and so two requests.
			w.Settle(2*(1-len(dot)),
				set("m.shop.test", "MX", "10 mx1.example.net"+dot), set("n.shop.test", "NS", "ns1.example.net"+dot), set("_s._tcp.shop.test", "SRV", "1 2 80 sip.example.net."),
				set("t.shop.test", "TXT", `"one" "two"`), set("p.shop.test", "NAPTR", `100 10 "U" "E2U+sip" "!^.*$!sip:info@example.net!" .`), set("7.2.0.192.in-addr.arpa", "PTR", "host.example.net"+dot))
		}
		w.Expect("m MX 10 mx1.example.net.", "n NS ns1.example.net.", "_s._tcp SRV 1 2 80 sip.example.net.", `t TXT "one" "two"`, `p NAPTR 100 10 "U" "E2U+sip" "!^.*$!sip:info@example.net!" .`)
		if got := w.has("reverse"); len(got) != 1 || got[0] != "7.2.0.192.in-addr.arpa PTR host.example.net." {
			t.Errorf("the reverse zone has %q", got)
		}
	})
	withFixture(t, func(w *fixture) {
		w.Managed = handled
		long := strings.Repeat("x", 280)
		w.Settle(1, set("t.shop.test", "TXT", long), set("u.shop.test", "TXT", `a "quoted" part`))
		w.Expect(`t TXT "`+long[:255]+`" "`+long[255:]+`"`, `u TXT "a \"quoted\" part"`)
		w.Gone(1)
	})
}

// A name that changes its type is there all the time, because deletion and addition are in one request, also
// with small batches (GO6 of spec/clouds.md).
func TestTypeChanges(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.arguments = []string{"--google-batch-change-size=4"}
		for _, next := range []*dns.RecordSet{
			set("a.shop.test", "A", "192.0.2.1"), set("a.shop.test", "CNAME", "lb.example.net"), set("a.shop.test", "AAAA", "2001:db8::1"), set("a.shop.test", "CNAME", "lb.example.net"),
		} {
			w.Settle(1, next)
		}
		w.Expect("a CNAME lb.example.net.")
		w.arguments = []string{"--google-batch-change-size=1"}
		_, err := w.Run(set("a.shop.test", "CNAME", "lb.example.net"), set("b.shop.test", "A", "192.0.2.1"))
		if err == nil || !strings.Contains(err.Error(), "too many for one request") {
			t.Errorf("a unit of two in batches of one: %v", err)
		}
		w.Expect("a CNAME lb.example.net.")
	})
}

// The filters of zones. Zones whose records are elsewhere aren't used (GO7 of spec/clouds.md).
func TestZoneFilters(t *testing.T) {
	prepare(t)
	server := clouddnstest.New()
	for _, z := range []clouddnstest.Zone{
		{Name: "shop", ID: 4711, DNSName: "shop.test"},
		{Name: "sub-shop", ID: 4712, DNSName: "sub.shop.test"},
		{Name: "shop-inside", ID: 4713, DNSName: "shop.test", Private: true},
		{Name: "other", ID: 14711, DNSName: "other.test"},
		{Name: "peer", DNSName: "peer.shop.test", Private: true, Peering: true},
		{Name: "forward", DNSName: "forward.shop.test", Private: true, Forwarding: true},
		{Name: "directory", DNSName: "directory.shop.test", Private: true, Directory: true},
	} {
		server.AddZone(z)
	}
	for _, test := range []struct {
		arguments, domains, ids []string
		want                    string
	}{
		{want: "other shop shop-inside sub-shop"},
		{ids: []string{"14711"}, want: "other"},
		{ids: []string{"4711"}, want: "other shop"},
		{ids: []string{"shop"}, want: "shop sub-shop"},
		{ids: []string{"4712", "inside"}, want: "shop-inside sub-shop"},
		{arguments: []string{"--google-zone-visibility=private"}, want: "shop-inside"},
		{arguments: []string{"--google-zone-visibility=public"}, want: "other shop sub-shop"},
		{domains: []string{"sub.shop.test"}, want: "sub-shop"},
		{domains: []string{"x.sub.shop.test"}, want: ""},
	} {
		in := input(server)
		in.Domains, in.ZoneIDs = dns.NewDomainFilter(test.domains, nil), test.ids
		zones, err := open(t, in, test.arguments...).Zones(t.Context())
		var ids []string
		for _, z := range zones {
			ids = append(ids, z.ID)
		}
		if got := strings.Join(ids, " "); err != nil || got != test.want {
			t.Errorf("%v %v %v: zones %s, %v, want %s", test.arguments, test.domains, test.ids, got, err, test.want)
		}
	}
	// A name in a zone that isn't managed isn't published to the one above.
	in := input(server)
	in.ZoneIDs = []string{"4711"}
	p := open(t, in, "--google-zone-visibility=public")
	if p.DomainFilter(t.Context()).Match("a.shop.test") {
		t.Error("a name passes before the zones are known")
	}
	zones, err := p.Zones(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	filter := p.DomainFilter(t.Context())
	if !filter.Match("a.shop.test") || filter.Match("a.sub.shop.test") || filter.Match("a.foreign.test") {
		t.Error("the filter passes names of zones that aren't managed")
	}
	err = p.Apply(t.Context(), zones[0], []dns.Change{{New: set("a.sub.shop.test", "A", "192.0.2.1")}})
	if !errors.Is(err, provider.ErrRejected) || !strings.Contains(err.Error(), "in a zone below it") {
		t.Errorf("a name of a zone that isn't managed: %v", err)
	}
}

// Many zones are listed by pages (GO7 of spec/clouds.md).
func TestManyZones(t *testing.T) {
	prepare(t)
	server := clouddnstest.New()
	for i := range 2500 {
		server.AddZone(clouddnstest.Zone{Name: fmt.Sprint("z", i), DNSName: fmt.Sprintf("z%d.test", i)})
	}
	if zones, err := open(t, input(server)).Zones(t.Context()); err != nil || len(zones) != 2500 || len(server.Calls()) != 3 {
		t.Errorf("%d zones, %v", len(zones), err)
	}
}

// A public and a private zone of one name both get the records, each all of them, and what is missing in one
// is added there. With the visibility, one of them does (GO8 of spec/clouds.md).
func TestZonesOfOneName(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.server.AddZone(clouddnstest.Zone{Name: "inside", DNSName: zoneName, Private: true})
		wanted := []*dns.RecordSet{set("a.shop.test", "A", "192.0.2.1"), set("b.shop.test", "A", "192.0.2.1")}
		w.Settle(2, wanted...)
		w.Expect("a A 192.0.2.1", "b A 192.0.2.1")
		if got := w.server.Sets("inside"); len(got) != 4 || w.OwnershipRecords() != 2 {
			t.Errorf("the private zone has %v, and there are %d ownership records", got, w.OwnershipRecords())
		}
		w.server.Remove("inside", "b.shop.test", "A")
		w.Settle(1, wanted...)
		if got := w.server.Sets("inside"); len(got) != 4 {
			t.Errorf("the private zone has %v", got)
		}
		w.arguments = []string{"--google-zone-visibility=private"}
		w.Settle(1)
		w.Expect("a A 192.0.2.1", "b A 192.0.2.1")
		if got := w.server.Sets("inside"); len(got) != 0 {
			t.Errorf("the private zone has %v", got)
		}
	})
}

// One name that Cloud DNS refuses, with a message that names it or not (GO9 of spec/clouds.md).
func TestOneRefused(t *testing.T) {
	for name, message := range map[string]string{
		"named":    "Invalid value for 'entity.change.additions[bad.shop.test.][A].rrdata[0]': '192.0.2.7'",
		"unnamed":  "Invalid request",
		"no place": "Invalid value for 'entity.change.additions[7000].name': 'x'",
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(w *fixture) {
				w.refuseIf(&clouddnstest.Fault{Status: 400, Reason: "invalid", Message: message}, func(c clouddnstest.Call) bool {
					return slices.ContainsFunc(c.Change.Additions, func(r clouddnstest.RecordSet) bool { return r.Name == "bad.shop.test." })
				})
				w.CheckOneRefused(13)
			})
		})
	}
}

// What Cloud DNS would refuse for a reason that is known isn't even sent (GO9 of spec/clouds.md).
func TestNotSent(t *testing.T) {
	withFixture(t, func(w *fixture) {
		many := make([]string, 101)
		for i := range many {
			many[i] = fmt.Sprintf("192.0.2.%d", i)
		}
		w.Managed = handled
		_, err := w.Run(set("a.shop.test", "A", strings.Join(many, ",")), set("n.shop.test", "NS", "a.test,b.test,c.test,d.test,e.test,f.test,g.test,h.test,i.test"),
			set("shop.test", "CNAME", "lb.example.net"), set("b.shop.test", "A", "192.0.2.1"))
		for _, want := range []string{"101 targets", "8 name servers", "apex"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want one with %q", err, want)
			}
		}
		w.Expect("b A 192.0.2.1")
		if w.server.Refused() != 0 {
			t.Error("a request was refused")
		}
	})
}

// A record set with a routing policy is seen, and left alone, also if it is ours by its ownership record, and
// also if its object is gone. It stops nothing (GO10 of spec/clouds.md).
func TestRoutingPolicies(t *testing.T) {
	for name, policy := range map[string]string{
		"wrr":           `{"wrr":{"items":[{"weight":1,"rrdatas":["203.0.113.1"]},{"weight":2,"rrdatas":["203.0.113.2"]}]}}`,
		"geo":           `{"geo":{"items":[{"location":"us-east1","rrdatas":["203.0.113.1"]}]}}`,
		"primaryBackup": `{"primaryBackup":{"primaryTargets":{"internalLoadBalancers":[{"ipAddress":"10.0.0.1"}]},"backupGeoTargets":{"items":[{"location":"us-east1","rrdatas":["203.0.113.1"]}]}}}`,
		"load balancer": `{"geo":{"items":[{"location":"us-east1","healthCheckedTargets":{"internalLoadBalancers":[{"ipAddress":"10.0.0.1"}]}}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(w *fixture) {
				w.Settle(1, set("ours.shop.test", "A", "203.0.113.1"))
				w.server.Put(shop, clouddnstest.RecordSet{Name: "ours.shop.test", Type: "A", TTL: 300, Policy: json.RawMessage(policy)})
				w.server.Put(shop, clouddnstest.RecordSet{Name: "hers.shop.test", Type: "A", TTL: 300, Policy: json.RawMessage(policy)})
				requests, err := w.Run(set("ours.shop.test", "A", "203.0.113.1"), set("hers.shop.test", "A", "192.0.2.1"), set("c.shop.test", "A", "192.0.2.1"))
				if err == nil || !strings.Contains(err.Error(), "has a routing policy") || requests[clouddnstest.CreateChange] != 1 {
					t.Errorf("%v, %v", requests, err)
				}
				w.Expect("ours A "+policy, "hers A "+policy, "c A 192.0.2.1")
				if _, err := w.Run(set("d.shop.test", "A", "192.0.2.1")); err == nil || !strings.Contains(err.Error(), "has a routing policy") {
					t.Errorf("without its object: %v", err)
				}
				w.Expect("ours A "+policy, "hers A "+policy, "d A 192.0.2.1")
				// Without the policy it is a record set like any other.
				w.server.Put(shop, clouddnstest.RecordSet{Name: "ours.shop.test", Type: "A", TTL: 300, Datas: []string{"203.0.113.1"}})
				w.Settle(1, set("d.shop.test", "A", "192.0.2.1"))
				w.Expect("hers A "+policy, "d A 192.0.2.1")
			})
		})
	}
}

// Many names take few requests, with large pages (GO11 of spec/clouds.md).
func TestManyNames(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.server.SetHooks(clouddnstest.Hooks{Before: func(c clouddnstest.Call) *clouddnstest.Fault {
			if c.Operation == clouddnstest.ListSets && c.PageSize < 500 {
				t.Errorf("a page of %d is asked for", c.PageSize)
			}
			return nil
		}})
		w.CheckManyNames(700, 2, 3, 2, 5)
	})
}

// After an answer that there are too many requests, nothing is sent for as long as it says, or for a second;
// then the same is done in the same run (GO12, GO13 of spec/clouds.md).
func TestThrottled(t *testing.T) {
	for name, test := range map[string]struct {
		fault *clouddnstest.Fault
		pause time.Duration
	}{
		"with a time":    {clouddnstest.Exhausted, 3 * time.Second},
		"without a time": {clouddnstest.RateLimited, time.Second},
		"quota of a rate": {&clouddnstest.Fault{
			Status: 403, Reason: "quotaExceeded", Message: "Quota exceeded for quota metric 'Write requests' and limit 'Write requests per minute'",
		}, time.Second},
	} {
		for _, operation := range []string{clouddnstest.CreateChange, clouddnstest.ListSets, clouddnstest.ListZones} {
			t.Run(name+" "+operation, func(t *testing.T) {
				withFixture(t, func(w *fixture) {
					w.server.AddZone(clouddnstest.Zone{Name: "second", DNSName: "second.test"})
					var from, until time.Time
					times, most := 0, 4
					if operation == clouddnstest.ListZones {
						// More than this is an error of the run.
						most = 2
					}
					w.refuseIf(test.fault, func(c clouddnstest.Call) bool {
						// What was on its way couldn't know.
						if now := time.Now(); now.After(from.Add(latency)) && now.Before(until) {
							t.Errorf("%s is sent %v too early", c.Operation, time.Until(until))
						}
						if c.Operation != operation || times == most {
							return false
						}
						times++
						from, until = time.Now(), time.Now().Add(test.pause)
						return true
					})
					if _, err := w.Run(set("a.shop.test", "A", "192.0.2.1"), set("a.second.test", "A", "192.0.2.1")); err != nil {
						t.Error(err)
					}
					w.Expect("a A 192.0.2.1")
					if times != most {
						t.Errorf("throttled %d times", times)
					}
				})
			})
		}
	}
}

// A long pause is left to the publisher, and other calls aren't sent either (GO12 of spec/clouds.md).
func TestLongPause(t *testing.T) {
	withFixture(t, func(w *fixture) {
		p := w.open()
		fault := *clouddnstest.Exhausted
		fault.RetryAfter = "40"
		w.refuseIf(&fault, func(clouddnstest.Call) bool { return true })
		for _, want := range []int{1, 0} {
			w.server.Calls()
			_, err := p.Zones(w.T.Context())
			throttled, ok := errors.AsType[*provider.ThrottledError](err)
			if !ok || throttled.After != 40*time.Second || len(w.server.Calls()) != want {
				t.Errorf("got %v", err)
			}
		}
	})
}

// A pause is one for all publishers of the project.
func TestPauseOfAProject(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.Accounts = new(provider.Accounts)
		fault := *clouddnstest.Exhausted
		fault.RetryAfter = "40"
		w.refuseIf(&fault, func(clouddnstest.Call) bool { return true })
		for _, want := range []int{1, 0} {
			w.server.Calls()
			if _, err := w.open().Zones(w.T.Context()); !errors.Is(err, provider.ErrThrottled) || len(w.server.Calls()) != want {
				t.Errorf("got %v, want %d requests", err, want)
			}
		}
	})
}

// A change that was made, and whose answer was lost, is done. One that wasn't made is sent again (GO14 of
// spec/clouds.md).
func TestLostAnswer(t *testing.T) {
	faults := map[string]*clouddnstest.Fault{"failed": clouddnstest.Failed, "lost": clouddnstest.Lost}
	publishertest.CheckLostAnswers(t, faults, func(t *testing.T, check func(*publishertest.Fixture, *apitest.Control[clouddnstest.Call, clouddnstest.Fault])) {
		withFixture(t, func(w *fixture) { check(w.Fixture, &w.server.Control) })
	})
}

// If nobody can say what became of a change, its error doesn't either (GO14 of spec/clouds.md).
func TestLostForGood(t *testing.T) {
	withFixture(t, func(w *fixture) {
		p := w.open()
		zones, err := p.Zones(w.T.Context())
		if err != nil {
			t.Fatal(err)
		}
		w.server.SetHooks(clouddnstest.Hooks{
			Before: func(c clouddnstest.Call) *clouddnstest.Fault {
				if c.Operation == clouddnstest.ListSets {
					return clouddnstest.RateLimited
				}
				return nil
			},
			After: func(clouddnstest.Call) *clouddnstest.Fault { return clouddnstest.Lost },
		})
		err = p.Apply(w.T.Context(), zones[0], []dns.Change{{New: set("a.shop.test", "A", "192.0.2.1")}})
		if err == nil || provider.NothingMade(err) || !strings.Contains(err.Error(), "isn't known") {
			t.Errorf("got %v", err)
		}
		w.Expect("a A 192.0.2.1")
	})
}

// A zone that may not be changed, or not be listed, doesn't keep the others from being published, and the
// error names the right and the zone (GO15 of spec/clouds.md).
func TestZoneWithoutRights(t *testing.T) {
	for _, operation := range []string{clouddnstest.CreateChange, clouddnstest.ListSets} {
		withFixture(t, func(w *fixture) {
			w.server.AddZone(clouddnstest.Zone{Name: "locked", DNSName: "locked.test"})
			w.server.Deny(operation, "locked")
			w.CheckLockedZone(func() int { return len(w.server.Sets("locked")) }, "allow dns."+operation+" for the zone locked or the project "+clouddnstest.Project)
			w.server.Permit(operation, "locked")
			w.Publish(1, w.Asked()...)
		})
	}
}

// On a machine of Google, the metadata server says which project it is in, and gives tokens (GO16 of
// spec/clouds.md).
func TestMetadataServer(t *testing.T) {
	prepare(t)
	server := clouddnstest.New()
	server.AddZone(clouddnstest.Zone{Name: shop, DNSName: zoneName})
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	t.Setenv(credentialsFile, "")
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(web.URL, "http://"))
	zones, err := open(t, input(server), "--google-project=").Zones(t.Context())
	if err != nil || len(zones) != 1 {
		t.Errorf("zones %v, %v", zones, err)
	}
	// A metadata server that isn't there yet is asked again.
	t.Setenv("GCE_METADATA_HOST", "127.0.0.1:1")
	p := open(t, input(server), "--google-project=")
	if _, err := p.Zones(t.Context()); err == nil || !strings.Contains(err.Error(), "give --google-project") {
		t.Errorf("without a metadata server: %v", err)
	}
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(web.URL, "http://"))
	if zones, err := p.Zones(t.Context()); err != nil || len(zones) != 1 {
		t.Errorf("zones %v, %v", zones, err)
	}
}

// Listings that are three seconds behind lead to no request that is refused, and each change is made once
// (GO17 of spec/clouds.md).
func TestListingsBehind(t *testing.T) {
	withFixture(t, func(w *fixture) { w.CheckListingsBehind() })
}

// What others have made stays as it is, and their names get no other type (spec/clouds.md §0.2).
func TestUnownedRecords(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.Managed = handled
		for _, r := range []clouddnstest.RecordSet{
			{Name: "a.shop.test", Type: "A", TTL: 60, Datas: []string{"203.0.113.1"}},
			{Name: "b.shop.test", Type: "A", TTL: 60, Datas: []string{"203.0.113.2"}},
			{Name: "a-b.shop.test", Type: "TXT", TTL: 60, Datas: []string{`"heritage=external-dns,external-dns/owner=other"`}},
			{Name: "e.shop.test", Type: "CAA", TTL: 60, Datas: []string{`0 issue "ca.example.net"`}},
		} {
			w.server.Put(shop, r)
		}
		before := w.server.Sets(shop)
		requests, _ := w.Run(set("a.shop.test", "A", "192.0.2.1"), set("a.shop.test", "AAAA", "2001:db8::1"), set("b.shop.test", "A", "192.0.2.1"), set("b.shop.test", "AAAA", "2001:db8::1"))
		if after := w.server.Sets(shop); !slices.EqualFunc(after, before, func(a, b clouddnstest.RecordSet) bool { return line(a) == line(b) }) {
			t.Errorf("the zone has %v, had %v; %v", after, before, requests)
		}
	})
}

// What ExternalDNS or a person has made with another TTL, order or spelling is deleted exactly as
// it is stored (spec/clouds.md §3.6).
func TestExactDeletion(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.Managed = handled
		for _, r := range []clouddnstest.RecordSet{
			{Name: "a.shop.test", Type: "CNAME", TTL: 0, Datas: []string{"LB.example.net."}},
			{Name: "b.shop.test", Type: "A", TTL: 1234, Datas: []string{"192.0.2.9", "192.0.2.1"}},
			{Name: "t.shop.test", Type: "TXT", TTL: 60, Datas: []string{`two words`, `"one" "two"`}},
		} {
			w.server.Put(shop, r)
			w.server.Put(shop, clouddnstest.RecordSet{Name: strings.ToLower(r.Type) + "-" + r.Name, Type: "TXT", TTL: 60, Datas: []string{`"heritage=external-dns,external-dns/owner=me"`}})
		}
		w.Gone(1)
	})
}

// A dry run changes nothing, not even if Apply is called; tokens are fetched nevertheless.
func TestDryRun(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.CheckDryRun(set("a.shop.test", "A", "192.0.2.1"))
		w.Expect()
	})
}

// The policies upsert-only and create-only.
func TestPolicies(t *testing.T) {
	withFixture(t, func(w *fixture) { w.CheckPolicies(1, 1, 1) })
}

// A zone that is deleted while it is used is looked for again. Its records are never taken for
// deleted ones of another zone.
func TestZoneDeleted(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.CheckZoneDeleted(set("a.shop.test", "A", "192.0.2.1"), func() { w.server.DeleteZone(shop) })
	})
}

// Each run has the token once, and a token that was revoked is said to be wrong.
func TestTokens(t *testing.T) {
	prepare(t)
	server := clouddnstest.New()
	server.AddZone(clouddnstest.Zone{Name: shop, DNSName: zoneName})
	synctest.Test(t, func(t *testing.T) {
		tokens := 0
		in := input(server)
		in.Wrap = func(http.RoundTripper) http.RoundTripper {
			return recorder{server.Transport(), func(r *http.Request) {
				if r.URL.Host == "oauth2.googleapis.com" {
					tokens++
				}
			}}
		}
		p := open(t, in)
		for range 3 {
			if _, err := p.Zones(t.Context()); err != nil || tokens != 1 {
				t.Errorf("%d tokens, %v", tokens, err)
			}
		}
		for i, pause := range []time.Duration{time.Hour - time.Second, time.Hour, time.Hour + time.Second} {
			time.Sleep(pause)
			if _, err := p.Zones(t.Context()); err != nil || tokens != i+2 {
				t.Errorf("after an hour: %d tokens, %v", tokens, err)
			}
		}
		server.Revoke()
		if _, err := p.Zones(t.Context()); !errors.Is(err, provider.ErrCredentials) {
			t.Errorf("revoked: %v", err)
		}
	})
}
