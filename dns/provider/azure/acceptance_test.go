package azure

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/azuretest"
)

// Records and their ownership records are created, changed and removed, also at the apex and for a wildcard;
// a second run changes nothing (AZ1, AZ2, AZ3, AZ4 of spec/clouds.md).
func TestPlainRecords(t *testing.T) {
	inBoth(t, func(w *fixture) {
		w.Prefix, w.Wildcard = "%{record_type}-.", "any"
		w.Settle(10, set("shop.test", "A", "192.0.2.1"), set("*.shop.test", "A", "192.0.2.2"), set("a.shop.test", "A", "192.0.2.1"),
			set("a.shop.test", "AAAA", "2001:db8::1", "ttl=60"), set("c.shop.test", "CNAME", "lb.example.net", "ttl=120"))
		w.Expect("@ A 192.0.2.1", "* A 192.0.2.2", "a A 192.0.2.1", "a AAAA 2001:db8::1", "c CNAME lb.example.net")
		if w.OwnershipRecords() != 5 || w.server.Get(zoneName, "a-.any", "TXT") == nil || w.server.Get(zoneName, "a-", "TXT") == nil {
			t.Errorf("ownership records: %v", w.server.Sets(zoneName))
		}
		if ttl := *w.server.Get(zoneName, "a", "A").TTL; ttl != 300 {
			t.Errorf("the TTL is %d, want 300", ttl)
		}
		w.Settle(4, set("shop.test", "A", "192.0.2.9"), set("*.shop.test", "A", "192.0.2.2"), set("a.shop.test", "A", "192.0.2.2,192.0.2.3"),
			set("a.shop.test", "AAAA", "2001:db8::1", "ttl=90"), set("c.shop.test", "CNAME", "lb2.example.net", "ttl=120"))
		w.Expect("@ A 192.0.2.9", "* A 192.0.2.2", "a A 192.0.2.2 192.0.2.3", "a AAAA 2001:db8::1", "c CNAME lb2.example.net")
		w.Gone(10)
	})
}

// All other types, and texts of several values and of several strings (AZ5 of spec/clouds.md).
func TestOtherTypes(t *testing.T) {
	inBoth(t, func(w *fixture) {
		w.Managed = []string{"MX", "SRV", "PTR", "TXT", "NS"}
		w.addZone("2.0.192.in-addr.arpa", azuretest.Group)
		long := strings.Repeat("x", 280)
		wanted := []*dns.RecordSet{
			set("m.shop.test", "MX", "10 mail1.example.net,20 Mail2.example.net."), set("_s._tcp.shop.test", "SRV", "1 2 443 srv.example.net."),
			set("7.2.0.192.in-addr.arpa", "PTR", "www.shop.test"), set("t.shop.test", "TXT", "one,two words"), set("q.shop.test", "TXT", `"v=spf1 -all"`),
			set("l.shop.test", "TXT", long), set("w.shop.test", "TXT", `"a" "b"`),
		}
		want := []string{
			"m MX 10/mail1.example.net 20/Mail2.example.net", "_s._tcp SRV 1/2/443/srv.example.net", `t TXT ["one"] ["two words"]`, `q TXT ["v=spf1 -all"]`,
			fmt.Sprintf("l TXT [%q %q]", long[:255], long[255:]), `w TXT ["a" "b"]`,
		}
		if !w.private {
			wanted = append(wanted, set("n.shop.test", "NS", "ns1.example.net,ns2.example.net"))
			want = append(want, "n NS ns1.example.net ns2.example.net")
		}
		w.Settle(2*len(wanted), wanted...)
		w.Expect(want...)
		if got := w.has("2.0.192.in-addr.arpa"); fmt.Sprint(got) != "[7 PTR www.shop.test]" {
			t.Errorf("the reverse zone has %v", got)
		}
		wanted[3], want[2] = set("t.shop.test", "TXT", "one,three"), `t TXT ["one"] ["three"]`
		w.Settle(1, wanted...)
		w.Expect(want...)
		w.Gone(2 * len(wanted))
	})
}

// A TXT record set without records, as the portal can make it, isn't ours. It is reported as what it is, and doesn't
// prevent other types of its name.
func TestEmptyTexts(t *testing.T) {
	inBoth(t, func(w *fixture) {
		w.Managed = []string{"A", "TXT"}
		text := address("t", "")
		text.A, text.Type = nil, "TXT"
		w.server.Set(zoneName, text)
		for range 2 {
			_, err := w.Run(set("t.shop.test", "TXT", "x"), set("t.shop.test", "A", "192.0.2.2"))
			if want := "t.shop.test TXT: the zone has a record set without records here"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
			w.Expect("t TXT", "t A 192.0.2.2")
		}
	})
}

// An NS record in a private zone is refused, and its ownership record isn't made. The others are (AZ6 of
// spec/clouds.md).
func TestNSInPrivateZone(t *testing.T) {
	inKind(t, true, func(w *fixture) {
		w.Managed = []string{"A", "NS"}
		_, err := w.Run(set("n.shop.test", "NS", "ns1.example.net"), set("a.shop.test", "A", "192.0.2.1"))
		if err == nil || !strings.Contains(err.Error(), "no records of the type NS") {
			t.Errorf("error %v", err)
		}
		w.Expect("a A 192.0.2.1")
		if w.OwnershipRecords() != 1 {
			t.Errorf("%d ownership records, want 1", w.OwnershipRecords())
		}
	})
}

// Tags become metadata of records and ownership records, with any name of the provider, and further runs
// change nothing (AZ7 of spec/clouds.md).
func TestTags(t *testing.T) {
	for _, name := range []string{"azure", "azure-dns", "azure-private-dns"} {
		inKind(t, name == "azure-private-dns", func(w *fixture) {
			w.name = name
			tagged := func(tags string) *dns.RecordSet { return set("a.shop.test", "A", "192.0.2.1", "azure/tags="+tags) }
			w.Publish(2, tagged("e=5,team=web, b=2,c=3,d=4"))
			for range 3 {
				w.Publish(0, w.Asked()...)
			}
			for _, r := range w.server.Sets(zoneName) {
				if fmt.Sprint(r.Metadata) != "map[b:2 c:3 d:4 e:5 team:web]" {
					t.Errorf("%s has the metadata %v", line(r), r.Metadata)
				}
			}
			w.Settle(2, tagged("team=shop"))
			w.Settle(2, set("a.shop.test", "A", "192.0.2.1"))
			if m := w.server.Get(zoneName, "a", "A").Metadata; len(m) > 0 {
				t.Errorf("metadata %v", m)
			}
			w.Gone(2)
		})
	}
}

// Tags that can't be are refused, each for itself (spec/clouds.md §4.4).
func TestWrongTags(t *testing.T) {
	for tags, want := range map[string]string{
		"team": "key=value", "=x": "key=value", "keys=x": "can't be called", "a=" + strings.Repeat("x", 257): "may have 256", strings.Repeat("k", 513) + "=1": "may have 512",
		"a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1,j=1,k=1": "10 or fewer",
	} {
		withFixture(t, func(w *fixture) {
			if _, err := w.Run(set("a.shop.test", "A", "192.0.2.1", "azure/tags="+tags), set("b.shop.test", "A", "192.0.2.1")); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v", tags, err)
			}
			w.Expect("b A 192.0.2.1")
		})
	}
}

// A record set that Azure refuses by itself keeps no other name from being published: one to which the role
// gives no right, or one with a policy or a lock.
func TestOneRecordSetRefused(t *testing.T) {
	for name, fault := range map[string]*azuretest.Fault{
		"no right": {Status: 403, Code: "AuthorizationFailed", Message: "does not have authorization to perform action"},
		"policy":   {Status: 403, Code: "RequestDisallowedByPolicy", Message: "was disallowed by policy"},
		"lock":     {Status: 409, Code: "ScopeLocked", Message: "cannot perform write operation because following scope(s) are locked"},
	} {
		t.Run(name, func(t *testing.T) {
			inBoth(t, func(w *fixture) {
				w.before(func(c azuretest.Call) *azuretest.Fault {
					if c.Operation == azuretest.Put && c.Name == "bad" {
						return fault
					}
					return nil
				})
				w.CheckOneRefused(50)
			})
		})
	}
}

// A name whose type changes is never without records. Only a CNAME can't be beside others (AZ8 of
// spec/clouds.md).
func TestTypeChange(t *testing.T) {
	inBoth(t, func(w *fixture) {
		w.Settle(2, set("a.shop.test", "A", "192.0.2.1"))
		w.server.SetHooks(azuretest.Hooks{After: func(azuretest.Call) *azuretest.Fault {
			if len(w.has(zoneName)) == 0 {
				t.Error("the name has no records")
			}
			return nil
		}})
		w.Settle(4, set("a.shop.test", "AAAA", "2001:db8::1"))
		w.endFaults()
		w.Expect("a AAAA 2001:db8::1")
		w.Settle(4, set("a.shop.test", "CNAME", "lb.example.net"))
		w.Expect("a CNAME lb.example.net")
		w.Settle(6, set("a.shop.test", "A", "192.0.2.1"), set("a.shop.test", "AAAA", "2001:db8::1"))
		w.Expect("a A 192.0.2.1", "a AAAA 2001:db8::1")
		if w.OwnershipRecords() != 2 {
			t.Errorf("%d ownership records, want 2", w.OwnershipRecords())
		}
		w.Gone(4)
	})
}

// If a CNAME is refused, what it was to replace is there again (spec/clouds.md §4.6).
func TestRefusedTypeChange(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.Settle(2, set("a.shop.test", "A", "192.0.2.1"))
		w.before(func(c azuretest.Call) *azuretest.Fault {
			if c.Operation == azuretest.Put && c.Type == "CNAME" {
				return azuretest.Refused
			}
			return nil
		})
		if _, err := w.Run(set("a.shop.test", "CNAME", "lb.example.net")); err == nil {
			t.Error("no error")
		}
		w.Expect("a A 192.0.2.1")
		if w.OwnershipRecords() != 1 {
			t.Errorf("ownership records: %v", w.server.Sets(zoneName))
		}
		w.endFaults()
		w.Settle(4, w.Asked()...)
	})
}

// Without its ownership record there is no record. Others are made (AZ9 of spec/clouds.md).
func TestOwnershipRecordFails(t *testing.T) {
	for name, fault := range map[string]*azuretest.Fault{"refused": azuretest.Refused, "failed": azuretest.Failed, "lost": azuretest.Lost} {
		t.Run(name, func(t *testing.T) {
			inBoth(t, func(w *fixture) {
				w.before(func(c azuretest.Call) *azuretest.Fault {
					if c.Operation == azuretest.Put && c.Type == "TXT" && c.Name == "a-bad" {
						return fault
					}
					return nil
				})
				wanted := []*dns.RecordSet{set("bad.shop.test", "A", "192.0.2.1"), set("a.shop.test", "A", "192.0.2.1"), set("b.shop.test", "A", "192.0.2.1")}
				if _, err := w.Run(wanted...); err == nil || !strings.Contains(err.Error(), "bad.shop.test") {
					t.Errorf("error %v", err)
				}
				w.Expect("a A 192.0.2.1", "b A 192.0.2.1")
				if w.OwnershipRecords() != 2 {
					t.Errorf("%d ownership records, want 2", w.OwnershipRecords())
				}
				w.endFaults()
				w.Settle(2, wanted...)
				w.Expect("a A 192.0.2.1", "b A 192.0.2.1", "bad A 192.0.2.1")
			})
		})
	}
}

// The ownership record of a record that can't be deleted stays (AZ10 of spec/clouds.md).
func TestDeletionFails(t *testing.T) {
	for name, fault := range map[string]*azuretest.Fault{"refused": azuretest.Refused, "failed": azuretest.Failed, "lost": azuretest.Lost} {
		t.Run(name, func(t *testing.T) {
			inBoth(t, func(w *fixture) {
				w.Settle(2, set("a.shop.test", "A", "192.0.2.1"))
				w.before(func(c azuretest.Call) *azuretest.Fault {
					if c.Operation == azuretest.Delete && c.Type == "A" {
						return fault
					}
					return nil
				})
				if _, err := w.Run(); err == nil {
					t.Error("no error")
				}
				w.Expect("a A 192.0.2.1")
				if w.OwnershipRecords() != 1 {
					t.Errorf("%d ownership records, want 1", w.OwnershipRecords())
				}
				w.endFaults()
				w.Gone(2)
			})
		})
	}
}

// More records than a set can have are refused, before anything is sent (AZ11 of spec/clouds.md).
func TestTooManyAddresses(t *testing.T) {
	inBoth(t, func(w *fixture) {
		var many []string
		for i := range 21 {
			many = append(many, fmt.Sprintf("192.0.2.%d", i))
		}
		requests, err := w.Run(set("a.shop.test", "A", strings.Join(many, ",")), set("b.shop.test", "A", strings.Join(many[:20], ",")))
		if err == nil || !strings.Contains(err.Error(), "21 targets") || writes(requests) != 2 {
			t.Errorf("%v, %v", requests, err)
		}
		if w.server.Get(zoneName, "b", "A") == nil || w.OwnershipRecords() != 1 {
			t.Errorf("the zone has %v", w.server.Sets(zoneName))
		}
	})
}

// After an answer that there are too many requests, there is none before the time that it names, whatever it
// is about (AZ12 of spec/clouds.md).
func TestThrottled(t *testing.T) {
	for _, operation := range []string{azuretest.Put, azuretest.ListSets, azuretest.ListZones} {
		for _, seconds := range []int{3, 10, 59, 300} {
			if operation == azuretest.ListZones && seconds > 60 {
				continue // Without any zone, a run that isn't repeated has nothing to wait for.
			}
			t.Run(fmt.Sprint(operation, seconds), func(t *testing.T) {
				inBoth(t, func(w *fixture) { throttle(w, operation, seconds) })
			})
		}
	}
}

func throttle(w *fixture, operation string, seconds int) {
	var until time.Time
	throttled, times := 0, 2
	if seconds > 60 {
		times = 1 // Then other calls begin at the same moment.
	}
	w.before(func(c azuretest.Call) *azuretest.Fault {
		if time.Now().Before(until) && c.Operation != "Token" {
			w.T.Errorf("%v before the time was over", c)
		}
		if c.Operation != operation || throttled == times {
			return nil
		}
		throttled++
		until = time.Now().Add(time.Duration(seconds) * time.Second)
		return azuretest.Throttled(seconds)
	})
	wanted := []*dns.RecordSet{set("a.shop.test", "A", "192.0.2.1"), set("b.shop.test", "A", "192.0.2.1")}
	if !w.private {
		// The others would be under way when the answer comes.
		wanted = wanted[:1]
	}
	more := 0
	if operation == azuretest.Put {
		more = times
	}
	w.Publish(2*len(wanted)+more, wanted...)
}

// A pause is one for all publishers of the subscription.
func TestPauseOfASubscription(t *testing.T) {
	inBoth(t, func(w *fixture) {
		w.Accounts = new(provider.Accounts)
		var until time.Time
		w.before(func(c azuretest.Call) *azuretest.Fault {
			switch {
			case c.Operation == "Token":
			case until.IsZero():
				until = time.Now().Add(30 * time.Second)
				return azuretest.Throttled(30)
			case time.Now().Before(until):
				w.T.Errorf("%v before the time was over", c)
			}
			return nil
		})
		limited, end := context.WithTimeout(w.T.Context(), 10*time.Second)
		defer end()
		for range 2 {
			if _, err := w.open().Zones(limited); err == nil {
				w.T.Error("no error in the pause")
			}
		}
		if _, err := w.open().Zones(w.T.Context()); err != nil {
			w.T.Error(err)
		}
	})
}

// A listing of zones that is denied once is an error of one cycle (AZ13 of spec/clouds.md).
func TestZonesDenied(t *testing.T) {
	inBoth(t, func(w *fixture) {
		w.server.Deny(azuretest.ListZones, "")
		p := w.open()
		if _, err := p.Zones(w.T.Context()); !errors.Is(err, provider.ErrCredentials) || !strings.Contains(err.Error(), "/read") {
			t.Errorf("error %v", err)
		}
		requests, err := w.Run(set("a.shop.test", "A", "192.0.2.1"))
		if err == nil || writes(requests) != 0 {
			t.Errorf("%v, %v", requests, err)
		}
		w.server.Permit(azuretest.ListZones, "")
		w.Provider = p
		w.Settle(2, w.Asked()...)
	})
}

// What somebody else has made since the listing isn't written over, and no ownership record says that it is
// ours (AZ14 of spec/clouds.md).
func TestExternalChange(t *testing.T) {
	inBoth(t, func(w *fixture) {
		ttl := int64(60)
		theirs := azuretest.RecordSet{Name: "a", Type: "A", Properties: azuretest.Properties{TTL: &ttl, A: []azuretest.A{{Address: "203.0.113.1"}}}}
		made := false
		w.before(func(c azuretest.Call) *azuretest.Fault {
			if c.Operation == azuretest.Put && c.Type == "A" && !made {
				made = true
				w.server.Set(zoneName, theirs)
			}
			return nil
		})
		if _, err := w.Run(set("a.shop.test", "A", "192.0.2.1")); err != nil {
			t.Log(err)
		}
		w.Expect("a A 203.0.113.1")
		if w.OwnershipRecords() != 0 || !made {
			t.Errorf("%d ownership records", w.OwnershipRecords())
		}
		w.Publish(0, w.Asked()...)
	})
}

// A wildcard whose ownership record can't be is refused. Without the ownership record it would be nobody's
// (AZ15 of spec/clouds.md).
func TestWildcard(t *testing.T) {
	inBoth(t, func(w *fixture) {
		requests, err := w.Run(set("*.shop.test", "A", "192.0.2.1"), set("a.shop.test", "A", "192.0.2.1"))
		if err == nil || !strings.Contains(err.Error(), "--txt-wildcard-replacement") || writes(requests) != 2 {
			t.Errorf("%v, %v", requests, err)
		}
		w.Expect("a A 192.0.2.1")
		w.Wildcard = "any"
		w.Settle(2, w.Asked()...)
		w.Expect("* A 192.0.2.1", "a A 192.0.2.1")
		w.Gone(4)
	})
}

// Which zones are used (AZ16 of spec/clouds.md).
func TestZoneFilters(t *testing.T) {
	for name, test := range map[string]struct {
		domains, ids, names []string
		group               string
		want                string
	}{
		"group":                         {nil, nil, nil, "", "[a.test b.a.test shop.test]"},
		"other group":                   {nil, nil, nil, "other", "[c.test]"},
		"domain":                        {[]string{"a.test"}, nil, nil, "", "[a.test b.a.test]"},
		"ID":                            {nil, []string{"/a.test"}, nil, "", "[a.test]"},
		"ID in capitals":                {nil, []string{"Zones/A.test"}, nil, "", "[a.test]"},
		"domain and another ID":         {[]string{"shop.test"}, []string{"/a.test"}, nil, "", "[]"},
		"name":                          {nil, nil, []string{"shop.test"}, "", "[shop.test]"},
		"name of the zone above":        {[]string{"x.shop.test"}, nil, []string{"shop.test"}, "", "[shop.test]"},
		"name, or the domain and ID":    {[]string{"a.test"}, []string{"b.a.test"}, []string{"shop.test"}, "", "[b.a.test shop.test]"},
		"a group in different capitals": {nil, nil, nil, "RG-DNS", "[a.test b.a.test shop.test]"},
	} {
		t.Run(name, func(t *testing.T) {
			inBoth(t, func(w *fixture) {
				w.addZone("a.test", azuretest.Group)
				w.addZone("b.a.test", azuretest.Group)
				w.addZone("c.test", "other")
				w.Domains, w.ids, w.names = dns.NewDomainFilter(test.domains, nil), test.ids, test.names
				if test.group != "" {
					w.arguments = append(w.arguments, "--azure-resource-group="+test.group)
				}
				zones, err := w.open().Zones(w.T.Context())
				if err != nil {
					t.Fatal(err)
				}
				got := []string{}
				for _, z := range zones {
					got = append(got, z.Name)
				}
				if fmt.Sprint(got) != test.want {
					t.Errorf("zones %v, want %v", got, test.want)
				}
			})
		})
	}
}

// With a filter for zones by their names, the one by domain is for the records (AZ16 of spec/clouds.md).
func TestNamesInZonesAbove(t *testing.T) {
	inBoth(t, func(w *fixture) {
		w.Domains, w.names = dns.NewDomainFilter([]string{"x.shop.test"}, nil), []string{zoneName}
		w.Settle(2, set("a.x.shop.test", "A", "192.0.2.1"), set("a.shop.test", "A", "192.0.2.1"))
		w.Expect("a.x A 192.0.2.1")
		// A name in a zone that isn't managed doesn't get into the zone above it.
		w.addZone("y.x.shop.test", azuretest.Group)
		w.Domains = dns.NewDomainFilter([]string{"x.shop.test"}, []string{"y.x.shop.test"})
		w.Publish(0, set("a.x.shop.test", "A", "192.0.2.1"), set("b.y.x.shop.test", "A", "192.0.2.1"))
	})
}

// A zone of several pages (AZ17 of spec/clouds.md).
func TestPages(t *testing.T) {
	inBoth(t, func(w *fixture) {
		w.server.SetPage(100)
		var wanted []*dns.RecordSet
		for i := range 230 {
			wanted = append(wanted, set(fmt.Sprintf("n%d.shop.test", i), "A", "192.0.2.1"))
		}
		w.Publish(460, wanted...)
		requests, err := w.Run(wanted...)
		if err != nil || requests[azuretest.ListSets] != 5 || writes(requests) != 0 {
			t.Errorf("%v, %v", requests, err)
		}
		for i := range 250 {
			w.addZone(fmt.Sprintf("z%d.test", i), azuretest.Group)
		}
		if zones, err := w.open().Zones(w.T.Context()); err != nil || len(zones) != 251 {
			t.Errorf("%d zones, %v", len(zones), err)
		}
	})
}

// What a virtual network has registered is left alone, also if an ownership record says that it is ours (AZ18
// of spec/clouds.md).
func TestRegisteredSets(t *testing.T) {
	inKind(t, true, func(w *fixture) {
		ttl := int64(10)
		registered := azuretest.RecordSet{Name: "vm1", Type: "A", Properties: azuretest.Properties{TTL: &ttl, Registered: true, A: []azuretest.A{{Address: "10.0.0.4"}}}}
		w.server.Set(zoneName, registered)
		w.Publish(0)
		w.Publish(0, set("vm1.shop.test", "A", "192.0.2.1"))
		w.server.Set(zoneName, azuretest.RecordSet{Name: "a-vm1", Type: "TXT", Properties: azuretest.Properties{TTL: &ttl, TXT: []azuretest.TXT{{Strings: []string{`"heritage=external-dns,external-dns/owner=me"`}}}}})
		for _, wanted := range [][]*dns.RecordSet{{set("vm1.shop.test", "A", "192.0.2.1")}, nil} {
			if requests, err := w.Run(wanted...); err == nil || writes(requests) != 0 {
				t.Errorf("%v, %v", requests, err)
			}
		}
		w.Expect("vm1 A 10.0.0.4")
	})
}

// An alias of a resource of Azure is unowned, unless an ownership record says that it is ours (spec/clouds.md
// §4.3).
func TestAliasOfResource(t *testing.T) {
	withFixture(t, func(w *fixture) {
		ttl := int64(60)
		alias := azuretest.Properties{TTL: &ttl, TargetResource: &azuretest.Resource{ID: "/subscriptions/x/ip"}}
		w.server.Set(zoneName, azuretest.RecordSet{Name: "a", Type: "A", Properties: alias})
		w.Publish(0, set("a.shop.test", "A", "192.0.2.1"))
		if w.server.Get(zoneName, "a", "A").TargetResource == nil {
			t.Error("the alias was changed")
		}
		w.server.Set(zoneName, azuretest.RecordSet{Name: "a-a", Type: "TXT", Properties: azuretest.Properties{TTL: &ttl, TXT: []azuretest.TXT{{Strings: []string{`"heritage=external-dns,external-dns/owner=me,external-dns/resource=service/default/web"`}}}}})
		w.Settle(1, set("a.shop.test", "A", "192.0.2.1"))
		w.Expect("a A 192.0.2.1")
	})
}

// A change that was made, and whose answer was lost, is done. One that wasn't made is sent again.
func TestLostAnswer(t *testing.T) {
	for name, fault := range map[string]*azuretest.Fault{"failed": azuretest.Failed, "lost": azuretest.Lost} {
		for _, made := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, made %t", name, made), func(t *testing.T) {
				inBoth(t, func(w *fixture) {
					for _, wanted := range [][]*dns.RecordSet{{set("a.shop.test", "A", "192.0.2.1")}, {set("a.shop.test", "A", "192.0.2.2")}, nil} {
						fail := w.server.FailOnce
						if made {
							fail = w.server.LoseOnce
						}
						failed := fail(fault, func(c azuretest.Call) bool { return c.Writes() && c.Type == "A" })
						if requests, err := w.Run(wanted...); err != nil || !failed() {
							t.Errorf("%v, %v", requests, err)
						}
						w.Publish(0, wanted...)
					}
					w.Expect()
				})
			})
		}
	}
}

// A zone that may not be changed, or not be listed, doesn't keep the others from being published,
// and the error names the right.
func TestZoneWithoutRights(t *testing.T) {
	for operation, right := range map[string]string{azuretest.Put: "/write", azuretest.ListSets: "/read"} {
		inBoth(t, func(w *fixture) {
			w.addZone("locked.test", azuretest.Group)
			w.server.Deny(operation, "locked.test")
			w.CheckLockedZone(func() int { return len(w.server.Sets("locked.test")) }, right)
		})
	}
}

// Listings that are three seconds behind lead to nothing wrong.
func TestListingsBehind(t *testing.T) {
	inBoth(t, func(w *fixture) {
		w.server.SetLag(3 * time.Second)
		w.Provider = w.open()
		for _, step := range []*dns.RecordSet{
			set("a.shop.test", "A", "192.0.2.1"), set("a.shop.test", "A", "192.0.2.2"), set("a.shop.test", "CNAME", "lb.example.net"), set("a.shop.test", "A", "192.0.2.2"),
		} {
			if _, err := w.Run(step); err != nil {
				t.Log(err)
			}
			time.Sleep(4 * time.Second)
			if _, err := w.Run(step); err != nil {
				t.Error(err)
			}
			time.Sleep(4 * time.Second)
			w.Publish(0, step)
		}
		w.Expect("a A 192.0.2.2")
	})
}

// A dry run changes nothing, not even if Apply is called.
func TestDryRun(t *testing.T) {
	inBoth(t, func(w *fixture) { w.CheckDryRun(set("a.shop.test", "A", "192.0.2.1")) })
}

// The policies upsert-only and create-only.
func TestPolicies(t *testing.T) {
	inBoth(t, func(w *fixture) { w.CheckPolicies(4, 1, 2) })
}

// A zone that is deleted while it is used is missed at once.
func TestZoneDeleted(t *testing.T) {
	inBoth(t, func(w *fixture) {
		w.CheckZoneDeleted(set("a.shop.test", "A", "192.0.2.1"), func() { w.server.DeleteZone(zoneName) })
	})
}
