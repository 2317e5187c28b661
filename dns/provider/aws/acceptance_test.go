package aws

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/apitest"
	"github.com/signpostd/signpost/testkit/awstest"
	"github.com/signpostd/signpost/testkit/providertest"
	"github.com/signpostd/signpost/testkit/publishertest"
	"github.com/signpostd/signpost/testkit/route53test"
)

const (
	classic = "web-1.eu-west-1.elb.amazonaws.com"
	network = "web-2.elb.eu-west-1.amazonaws.com"
)

// Records and their ownership records are created, changed and removed in one request each, and a second run
// changes nothing (AW1, AW2, AW3 of spec/clouds.md).
func TestPlainRecords(t *testing.T) {
	withFixture(t, func(w *fixture) {
		first := []*dns.RecordSet{
			set("a.shop.test", "A", "192.0.2.1"), set("a.shop.test", "AAAA", "2001:db8::1", "ttl=60"), set("c.shop.test", "CNAME", "lb.example.net", "ttl=120"),
		}
		w.Settle(1, first...)
		w.Expect("a A 192.0.2.1", "a AAAA 2001:db8::1", "c CNAME lb.example.net.")
		if w.OwnershipRecords() != 3 {
			t.Errorf("%d ownership records, want 3", w.OwnershipRecords())
		}
		if ttl := *w.server.Get("Z1", "a.shop.test", "A").TTL; ttl != 300 {
			t.Errorf("the TTL is %d, want 300", ttl)
		}
		w.Settle(1, set("a.shop.test", "A", "192.0.2.2,192.0.2.3"), set("a.shop.test", "AAAA", "2001:db8::1", "ttl=90"), set("c.shop.test", "CNAME", "lb2.example.net", "ttl=120"))
		w.Expect("a A 192.0.2.2 192.0.2.3", "a AAAA 2001:db8::1", "c CNAME lb2.example.net.")
		w.Settle(1, set("a.shop.test", "A", "192.0.2.2,192.0.2.3"), set("c.shop.test", "CNAME", "lb2.example.net", "ttl=120"))
		w.Expect("a A 192.0.2.2 192.0.2.3", "c CNAME lb2.example.net.")
		w.Gone(1)
	})
}

// Names of AWS become aliases of both families, and CNAMEs with --aws-prefer-cname (AW4 of spec/clouds.md).
func TestNamesOfAWS(t *testing.T) {
	withFixture(t, func(w *fixture) {
		wanted := []*dns.RecordSet{
			set("a.shop.test", "CNAME", classic), set("b.shop.test", "CNAME", network, "aws/evaluate-target-health=false"),
			set("c.shop.test", "CNAME", "d1.cloudfront.net"), set("x.shop.test", "CNAME", "db.eu-west-1.rds.amazonaws.com"),
		}
		w.Prefix = "%{record_type}-."
		w.Settle(1, wanted...)
		plain := []string{"x CNAME db.eu-west-1.rds.amazonaws.com."}
		want := plain
		for _, family := range []string{"A", "AAAA"} {
			want = append(want, "a "+family+" alias "+classic+". Z32O12XQLNTSW2 true", "b "+family+" alias "+network+". Z2IFOLAFXWLO4F false",
				"c "+family+" alias d1.cloudfront.net. Z2FDTNDATAQYW2 true")
		}
		w.Expect(want...)
		w.arguments = []string{"--aws-prefer-cname"}
		w.Settle(1, wanted...)
		w.Expect("a CNAME "+classic+".", "b CNAME "+network+".", "c CNAME d1.cloudfront.net.", plain[0])
		w.arguments = nil
		apex := set("shop.test", "CNAME", network)
		w.Settle(1, append(wanted, apex)...)
		w.Expect(append(want, "shop.test A alias "+network+". Z2IFOLAFXWLO4F true", "shop.test AAAA alias "+network+". Z2IFOLAFXWLO4F true")...)
		w.Gone(1)
		w.arguments = []string{"--aws-prefer-cname"}
		if _, err := w.Run(apex); err == nil || !strings.Contains(err.Error(), "a CNAME can't be at the apex") {
			t.Errorf("a CNAME at the apex: %v", err)
		}
	})
}

// --aws-evaluate-target-health=false is for those that don't say (AW4 of spec/clouds.md).
func TestHealthOfTargets(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.arguments = []string{"--aws-evaluate-target-health=false"}
		w.Settle(1, set("a.shop.test", "CNAME", classic, "alias=A"), set("b.shop.test", "CNAME", classic, "alias=A", "aws/evaluate-target-health=true"))
		w.Expect("a A alias "+classic+". Z32O12XQLNTSW2 false", "b A alias "+classic+". Z32O12XQLNTSW2 true")
	})
}

// Aliases of one family, and to a name of the own zone (AW5, AW6 of spec/clouds.md).
func TestAliases(t *testing.T) {
	withFixture(t, func(w *fixture) {
		wanted := []*dns.RecordSet{
			set("a.shop.test", "CNAME", classic, "alias=A"), set("b.shop.test", "CNAME", classic, "alias=AAAA"), set("c.shop.test", "A", classic, "alias=true"),
			set("d.shop.test", "CNAME", "a.shop.test", "alias=A"), set("e.shop.test", "CNAME", classic, "alias=false"),
		}
		w.Settle(1, wanted...)
		w.Expect("a A alias "+classic+". Z32O12XQLNTSW2 true", "b AAAA alias "+classic+". Z32O12XQLNTSW2 true", "c A alias "+classic+". Z32O12XQLNTSW2 true",
			"d A alias a.shop.test. Z1 true", "e CNAME "+classic+".")
		_, err := w.Run(append(wanted, set("f.shop.test", "CNAME", "lb.example.net", "alias=true"))...)
		if err == nil || !strings.Contains(err.Error(), "aws-target-hosted-zone") {
			t.Errorf("an alias to a name in another zone: %v", err)
		}
		if _, err := (mapping{}).wire(set("f.shop.test", "A", "x y.eu-west-1.elb.amazonaws.com", "alias=true")); err == nil {
			t.Error("an alias to what is no name is no error")
		}
		w.Gone(1)
	})
}

// In each of several zones of one name, an alias to a name of that zone points into it (AW6 of
// spec/clouds.md).
func TestAliasInEachZone(t *testing.T) {
	alias := set("d.shop.test", "CNAME", "a.shop.test", "alias=A")
	for _, id := range []string{"Z1", "Z2"} {
		stored, err := mapping{Zone: dns.Zone{ID: "/hostedzone/" + id, Name: zoneName}}.wire(alias)
		if err != nil || *stored[0].AliasTarget.HostedZoneId != id {
			t.Errorf("zone %s: %v, %v", id, stored, err)
		}
	}
	withFixture(t, func(w *fixture) {
		w.server.AddZone(route53test.Zone{ID: "Z2", Name: zoneName, Private: true})
		w.Settle(2, set("a.shop.test", "A", "192.0.2.1"), alias)
		for _, id := range []string{"Z1", "Z2"} {
			if has := w.has(id); !slices.Contains(has, "d A alias a.shop.test. "+id+" true") || len(has) != 2 {
				t.Errorf("zone %s has %q", id, has)
			}
		}
	})
}

// The zone of an alias's target can be given, is compared, and removed (AW7 of spec/clouds.md).
func TestTargetZone(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.Settle(1, set("a.shop.test", "CNAME", "x.eu-west-1.elasticbeanstalk.amazonaws.com", "alias=A", "aws/target-hosted-zone=Z2NYPWQ7DFZAZH"),
			set("b.shop.test", "CNAME", classic, "alias=A", "aws/target-hosted-zone=/hostedzone/Z32O12XQLNTSW2"))
		w.Expect("a A alias x.eu-west-1.elasticbeanstalk.amazonaws.com. Z2NYPWQ7DFZAZH true", "b A alias "+classic+". Z32O12XQLNTSW2 true")
		w.Settle(1, set("a.shop.test", "CNAME", "x.eu-west-1.elasticbeanstalk.amazonaws.com", "alias=A", "aws/target-hosted-zone=Z00000000OTHER"),
			set("b.shop.test", "CNAME", classic, "alias=A"))
		w.Expect("a A alias x.eu-west-1.elasticbeanstalk.amazonaws.com. Z00000000OTHER true", "b A alias "+classic+". Z32O12XQLNTSW2 true")
		w.Gone(1)
	})
}

// A name can ask for a zone by its ID. It gets no other (AW8 of spec/clouds.md).
func TestZoneByID(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.Settle(1, set("a.shop.test", "A", "192.0.2.1", "aws/hosted-zone-id=Z1"), set("b.shop.test", "A", "192.0.2.1", "aws/hosted-zone-id=/hostedzone/Z1"))
		w.Expect("a A 192.0.2.1", "b A 192.0.2.1")
		_, err := w.Run(set("a.shop.test", "A", "192.0.2.1"), set("b.shop.test", "A", "192.0.2.1"), set("c.shop.test", "A", "192.0.2.1", "aws/hosted-zone-id=Z2"))
		if err == nil || !strings.Contains(err.Error(), "asks for the zone Z2") {
			t.Errorf("another zone: %v", err)
		}
		w.Expect("a A 192.0.2.1", "b A 192.0.2.1")
		w.Gone(1)
	})
}

// Of two zones of one name, only the one that is asked for gets the name, and it can be another one later.
// AW17 of spec/clouds.md: a name that is in one of them only is completed in the other (AW8 of
// spec/clouds.md).
func TestTwinZones(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.server.AddZone(route53test.Zone{ID: "Z2", Name: zoneName, Private: true})
		both, one := set("a.shop.test", "A", "192.0.2.1"), func(id string) *dns.RecordSet {
			return set("b.shop.test", "A", "192.0.2.1", "aws/hosted-zone-id="+id)
		}
		w.Publish(1, one("Z2"))
		w.Settle(2, both, one("Z2"))
		if first, second := w.has("Z1"), w.has("Z2"); !slices.Equal(first, []string{"a A 192.0.2.1"}) || !slices.Equal(second, []string{"a A 192.0.2.1", "b A 192.0.2.1"}) {
			t.Errorf("Z1 has %q, Z2 %q", first, second)
		}
		w.Settle(2, both, one("Z1"))
		if first, second := w.has("Z1"), w.has("Z2"); !slices.Equal(second, []string{"a A 192.0.2.1"}) || !slices.Equal(first, []string{"a A 192.0.2.1", "b A 192.0.2.1"}) {
			t.Errorf("Z1 has %q, Z2 %q", first, second)
		}
		w.server.AddZone(route53test.Zone{ID: "Z3", Name: zoneName, Private: true})
		w.Settle(1, both, one("Z1"))
		if third := w.has("Z3"); !slices.Equal(third, []string{"a A 192.0.2.1"}) {
			t.Errorf("Z3 has %q", third)
		}
	})
}

// A zone that is deleted while it is used is looked for again, also if only changes are made.
func TestZoneDeleted(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.arguments = append(w.arguments, "--aws-zones-cache-duration=1h")
		w.CheckZoneDeleted(set("a.shop.test", "A", "192.0.2.1"), func() { w.server.DeleteZone("Z1") })
	})
}

// A name in a private zone is in a shorter private zone, too: each has its own readers.
func TestNestedPrivateZones(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.server.DeleteZone("Z1")
		w.server.AddZone(route53test.Zone{ID: "Z2", Name: zoneName, Private: true})
		w.server.AddZone(route53test.Zone{ID: "Z3", Name: "eu." + zoneName, Private: true})
		w.Settle(2, set("a.eu.shop.test", "A", "192.0.2.1"))
		for _, id := range []string{"Z2", "Z3"} {
			if has := w.has(id); !slices.Equal(has, []string{"a.eu A 192.0.2.1"}) {
				t.Errorf("%s has %q", id, has)
			}
		}
	})
}

// All routing policies, with changes within and between them, and the removal of one of two record sets (AW9
// of spec/clouds.md).
func TestRoutingFamilies(t *testing.T) {
	policies := map[string][2][]string{
		"weighted":                      {{"aws/weight=10"}, {"aws/weight=0"}},
		"latency":                       {{"aws/region=eu-west-1"}, {"aws/region=us-east-1"}},
		"failover":                      {{"aws/failover=primary"}, {"aws/failover=SECONDARY"}},
		"multivalue":                    {{"aws/multi-value-answer=true"}, {"aws/multi-value-answer="}},
		"continent":                     {{"aws/geolocation-continent-code=EU"}, {"aws/geolocation-continent-code=NA"}},
		"country":                       {{"aws/geolocation-country-code=US", "aws/geolocation-subdivision-code=NY"}, {"aws/geolocation-country-code=*"}},
		"geoproximity by region":        {{"aws/geoproximity-region=eu-west-1"}, {"aws/geoproximity-region=us-east-1", "aws/geoproximity-bias=-20"}},
		"geoproximity by coordinates":   {{"aws/geoproximity-coordinates=49.22,-74.01"}, {"aws/geoproximity-coordinates=1, 2", "aws/geoproximity-bias=5"}},
		"geoproximity by group of zone": {{"aws/geoproximity-local-zone-group=usw2-lax1"}, {"aws/geoproximity-local-zone-group=usw2-den1"}},
	}
	for name, policy := range policies {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(w *fixture) {
				with := func(id, target string, properties []string) *dns.RecordSet {
					return set("a.shop.test", "A", target, append(properties, "id="+id)...)
				}
				w.Settle(1, with("one", "192.0.2.1", policy[0]), with("two", "192.0.2.2", policy[1]))
				w.Expect("a A[one] 192.0.2.1", "a A[two] 192.0.2.2")
				w.Settle(1, with("one", "192.0.2.3", policy[0]), with("two", "192.0.2.2", policy[1]))
				w.Expect("a A[one] 192.0.2.3", "a A[two] 192.0.2.2")
				if w.OwnershipRecords() != 2 {
					t.Errorf("%d ownership records, want 2", w.OwnershipRecords())
				}
				w.Settle(1, with("two", "192.0.2.2", policy[0]))
				w.Expect("a A[two] 192.0.2.2")
				// To another policy, and to none.
				w.Settle(1, with("two", "192.0.2.2", policies["weighted"][0]), with("three", "192.0.2.3", policies["weighted"][1]))
				w.Settle(1, set("a.shop.test", "A", "192.0.2.2"))
				w.Expect("a A 192.0.2.2")
				w.Gone(1)
			})
		})
	}
}

// Properties that contradict each other, or that Route 53 doesn't know, are said to whom they
// belong, and the record stays as it was (spec/clouds.md §1.5).
func TestContradictions(t *testing.T) {
	for _, test := range []struct {
		properties []string
		want       string
	}{
		{[]string{"id=a"}, "needs a routing policy"},
		{[]string{"aws/weight=1"}, "needs a set identifier"},
		{[]string{"id=a", "aws/weight=1", "aws/region=eu-west-1"}, "different routing policies"},
		{[]string{"id=a", "aws/weight=many"}, "a whole number from 0 to 255"},
		{[]string{"id=a", "aws/weight=256"}, "a whole number from 0 to 255"},
		{[]string{"id=a", "aws/region="}, "aws/region is empty"},
		{[]string{"id=a", "aws/failover=THIRD"}, "PRIMARY or SECONDARY"},
		{[]string{"id=a", "aws/geolocation-continent-code=EU", "aws/geolocation-country-code=DE"}, "choose one"},
		{[]string{"id=a", "aws/geolocation-subdivision-code=NY"}, "must have a value"},
		{[]string{"id=a", "aws/geoproximity-bias=1"}, "exactly one of the properties"},
		{[]string{"id=a", "aws/geoproximity-coordinates=91,0"}, "latitude and longitude"},
		{[]string{"id=a", "aws/geoproximity-region=eu-west-1", "aws/geoproximity-bias=100"}, "from -99 to 99"},
		{[]string{"aws/wieght=1"}, "unknown"},
	} {
		m := mapping{Zone: dns.Zone{ID: "/hostedzone/Z1", Name: zoneName}}
		if sets, err := m.adjusted(set("a.shop.test", "A", "192.0.2.1", test.properties...)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v, %v, want an error with %q", test.properties, sets, err, test.want)
		}
	}
	withFixture(t, func(w *fixture) {
		w.Settle(1, set("a.shop.test", "A", "192.0.2.1"))
		if _, err := w.Run(set("a.shop.test", "A", "192.0.2.2", "aws/weight=1"), set("b.shop.test", "A", "192.0.2.1")); err == nil {
			t.Error("a weight without a set identifier is no error")
		}
		w.Expect("a A 192.0.2.1", "b A 192.0.2.1")
	})
}

// A health check is added, changed and removed (AW10 of spec/clouds.md).
func TestHealthCheck(t *testing.T) {
	withFixture(t, func(w *fixture) {
		for _, id := range []string{"", "11111111-1111", "22222222-2222", ""} {
			r := set("a.shop.test", "A", "192.0.2.1")
			if id != "" {
				r.SetProperty(propertyHealthCheck, id)
			}
			w.Settle(1, r)
			if got := w.server.Get("Z1", "a.shop.test", "A").HealthCheckID; got != id {
				t.Errorf("the health check is %q, want %q", got, id)
			}
		}
	})
}

// Names that have to be escaped, or are spelled with capital letters (AW11 of spec/clouds.md).
func TestNames(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.Prefix = "%{record_type}-."
		w.Settle(1, set("*.shop.test", "A", "192.0.2.1"), set("shop.test", "A", "192.0.2.2"), set("_x._tcp.shop.test", "CNAME", "lb.example.net"),
			set("CamelCase.shop.test", "A", "192.0.2.3"), set("a-*.shop.test", "A", "192.0.2.4"), set("x.*.y.shop.test", "A", "192.0.2.5"))
		w.Expect(`\052 A 192.0.2.1`, "shop.test A 192.0.2.2", "_x._tcp CNAME lb.example.net.", "camelcase A 192.0.2.3", `a-\052 A 192.0.2.4`, `x.\052.y A 192.0.2.5`)
		w.Gone(1)
	})
	// Names with characters that other providers can't have (clouds F3).
	withFixture(t, func(w *fixture) {
		names := []string{"a@b", "x(1)", `"q"`, "$v", "a;b", "a,b", `back\slash`, `\9x`}
		var wanted []*dns.RecordSet
		for _, name := range names {
			wanted = append(wanted, set(name+".shop.test", "A", "192.0.2.1"))
		}
		w.Settle(1, wanted...)
		w.Expect(`a\100b A 192.0.2.1`, `x\0501\051 A 192.0.2.1`, `\042q\042 A 192.0.2.1`, `\044v A 192.0.2.1`, `a\073b A 192.0.2.1`, `a\054b A 192.0.2.1`,
			`back\134slash A 192.0.2.1`, `\1349x A 192.0.2.1`)
		if w.OwnershipRecords() != len(names) {
			t.Errorf("%d ownership records, want %d", w.OwnershipRecords(), len(names))
		}
		w.Gone(1)
		if _, err := w.Run(set(`\100x.shop.test`, "A", "192.0.2.1")); err == nil {
			t.Error("a name with an escape of Route 53 is published")
		}
		w.Expect()
	})
	for _, name := range []string{"a@b.shop.test", "*.shop.test", `back\slash.test`, "*.*.x"} {
		if got := plainName(wireName(name)); got != name {
			t.Errorf("%s becomes %s", name, got)
		}
	}
	if got := plainName(`\052.a\100b.\9.\05`); got != `*.a@b.\9.\05` {
		t.Errorf("got %s", got)
	}
}

// The other types, with and without dots at the ends of names (AW12 of spec/clouds.md).
func TestOtherTypes(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.Managed = handled
		for _, dot := range []string{"", "."} {
			w.Settle(1-len(dot),
				set("m.shop.test", "MX", "10 mx1.example.net"+dot), set("n.shop.test", "NS", "ns1.example.net"+dot), set("_s._tcp.shop.test", "SRV", "1 2 80 sip.example.net."),
				set("t.shop.test", "TXT", `"one" "two"`), set("p.shop.test", "NAPTR", `100 10 "U" "E2U+sip" "!^.*$!sip:info@example.net!" .`), set("q.shop.test", "NAPTR", `1 1 "S" "SIP" "" _sip.example.net`+dot))
		}
		w.Expect("m MX 10 mx1.example.net.", "n NS ns1.example.net.", "_s._tcp SRV 1 2 80 sip.example.net.", `t TXT "one" "two"`,
			`p NAPTR 100 10 "U" "E2U+sip" "!^.*$!sip:info@example.net!" .`, `q NAPTR 1 1 "S" "SIP" "" _sip.example.net.`)
		w.Gone(1)
	})
}

// A name that changes its type is there all the time, because deletion and creation are in one request, also
// with small batches (AW13 of spec/clouds.md).
func TestTypeChanges(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.arguments = []string{"--aws-batch-change-size=4"}
		for _, next := range []*dns.RecordSet{
			set("a.shop.test", "A", "192.0.2.1"), set("a.shop.test", "CNAME", "lb.example.net"), set("a.shop.test", "CNAME", classic, "alias=A"),
			set("a.shop.test", "A", "192.0.2.1"), set("a.shop.test", "CNAME", classic, "alias=AAAA"), set("a.shop.test", "AAAA", "2001:db8::1"),
		} {
			w.Settle(1, next)
		}
		w.Expect("a AAAA 2001:db8::1")
	})
}

// What doesn't fit into one batch is refused, and never split (AW13 of spec/clouds.md).
func TestUnitLargerThanABatch(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.arguments = []string{"--aws-batch-change-size=3"}
		_, err := w.Run(set("a.shop.test", "CNAME", classic), set("b.shop.test", "A", "192.0.2.1"))
		if err == nil || !strings.Contains(err.Error(), "too many for one batch") {
			t.Errorf("got %v", err)
		}
		w.Expect("b A 192.0.2.1")
	})
}

// What others have made stays as it is, and their names get no other type. Record sets with policies that
// Signpost can't have are seen, and left alone (AW14 of spec/clouds.md).
func TestUnownedRecords(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.Managed = handled
		ttl := int64(60)
		unowned := []route53test.RecordSet{
			{Name: "a.shop.test", Type: "A", TTL: &ttl, ResourceRecords: []route53test.Value{{Value: "203.0.113.1"}}},
			{Name: "b.shop.test", Type: "A", TTL: &ttl, ResourceRecords: []route53test.Value{{Value: "203.0.113.2"}}},
			{Name: "a-b.shop.test", Type: "TXT", TTL: &ttl, ResourceRecords: []route53test.Value{{Value: `"heritage=external-dns,external-dns/owner=other"`}}},
			{Name: "c.shop.test", Type: "A", TTL: &ttl, SetIdentifier: "x", CidrRoutingConfig: &route53test.CidrRoutingConfig{CollectionID: "c", LocationName: "l"}, ResourceRecords: []route53test.Value{{Value: "203.0.113.3"}}},
			{Name: "d.shop.test", Type: "A", TTL: &ttl, TrafficPolicyInstanceID: "t"},
			{Name: "e.shop.test", Type: "CAA", TTL: &ttl, ResourceRecords: []route53test.Value{{Value: `0 issue "ca.example.net"`}}},
		}
		for _, r := range unowned {
			w.server.Put("Z1", r)
		}
		before := w.server.Sets("Z1")
		requests, _ := w.Run(set("a.shop.test", "A", "192.0.2.1"), set("a.shop.test", "AAAA", "2001:db8::1"), set("b.shop.test", "A", "192.0.2.1"), set("b.shop.test", "AAAA", "2001:db8::1"),
			set("d.shop.test", "A", "192.0.2.1"))
		if after := w.server.Sets("Z1"); !slices.EqualFunc(after, before, func(a, b route53test.RecordSet) bool { return line(a) == line(b) }) {
			t.Errorf("the zone has %v, had %v; %v", after, before, requests)
		}
	})
}

// An ownership record that ExternalDNS has made with a TTL of 60 s, and values in a form that Signpost
// wouldn't write, are removed as they are (AW15 of spec/clouds.md).
func TestExactDeletion(t *testing.T) {
	withFixture(t, func(w *fixture) {
		ttl, odd := int64(60), int64(1234)
		w.server.Put("Z1", route53test.RecordSet{Name: "a.shop.test", Type: "CNAME", TTL: &odd, ResourceRecords: []route53test.Value{{Value: "LB.example.net"}}})
		w.server.Put("Z1", route53test.RecordSet{Name: "cname-a.shop.test", Type: "TXT", TTL: &ttl, ResourceRecords: []route53test.Value{{Value: `"heritage=external-dns,external-dns/owner=me"`}}})
		w.Gone(1)
	})
}

// The filters of zones (AW16 of spec/clouds.md).
func TestZoneFilters(t *testing.T) {
	start(t)
	server := route53test.New()
	for _, z := range []route53test.Zone{
		{ID: "Z1", Name: "shop.test", Tags: map[string]string{"team": "web", "env": "live"}},
		{ID: "Z2", Name: "sub.shop.test", Tags: map[string]string{"team": "web"}},
		{ID: "Z3", Name: "shop.test", Private: true},
		{ID: "Z12", Name: "other.test"},
	} {
		server.AddZone(z)
	}
	for _, test := range []struct {
		arguments []string
		domains   []string
		ids       []string
		want      string
	}{
		{want: "Z12 Z1 Z3 Z2"},
		{ids: []string{"Z1"}, want: "Z1"},
		{ids: []string{"/hostedzone/Z2", "Z3"}, want: "Z3 Z2"},
		{arguments: []string{"--aws-zone-type=private"}, want: "Z3"},
		{arguments: []string{"--aws-zone-type=public"}, want: "Z12 Z1 Z2"},
		{arguments: []string{"--aws-zone-tags=team=web"}, want: "Z1 Z2"},
		{arguments: []string{"--aws-zone-tags=team", "--aws-zone-tags= env = live "}, want: "Z1"},
		{arguments: []string{"--aws-zone-tags=team=other"}, want: ""},
		{domains: []string{"sub.shop.test"}, want: "Z2"},
		{domains: []string{"x.sub.shop.test"}, want: ""},
		{domains: []string{"x.sub.shop.test"}, arguments: []string{"--aws-zone-match-parent"}, want: "Z1 Z3 Z2"},
	} {
		in := input()
		in.Domains, in.ZoneIDs = dns.NewDomainFilter(test.domains, nil), test.ids
		in.Wrap = providertest.Through(server.Transport())
		p := open(t, in, test.arguments...)
		zones, err := p.Zones(t.Context())
		var ids []string
		for _, z := range zones {
			ids = append(ids, bareID(z.ID))
		}
		if got := strings.Join(ids, " "); err != nil || got != test.want {
			t.Errorf("%v %v %v: zones %s, %v, want %s", test.arguments, test.domains, test.ids, got, err, test.want)
		}
	}
	// A name in a zone that isn't managed isn't published to the one above.
	in := input()
	in.ZoneIDs, in.Wrap = []string{"Z1"}, providertest.Through(server.Transport())
	p := open(t, in)
	if _, err := p.Zones(t.Context()); err != nil {
		t.Fatal(err)
	}
	filter := p.DomainFilter(t.Context())
	if !filter.Match("a.shop.test") || filter.Match("a.sub.shop.test") || filter.Match("a.other.test") {
		t.Error("the filter passes names of zones that aren't managed")
	}
}

// Many names take few requests (AW18 of spec/clouds.md).
func TestManyNames(t *testing.T) {
	withFixture(t, func(w *fixture) { w.CheckManyNames(1200, 4, 8, 4, 10) })
}

// One name that Route 53 refuses, with a message that names it or not (AW19 of spec/clouds.md).
func TestOneRefused(t *testing.T) {
	for name, fault := range map[string]string{
		"named":   "[RRSet with DNS name bad.shop.test. is not permitted as it conflicts with other records]",
		"unnamed": "[Invalid Resource Record: 'FATAL problem: Nonsense encountered with '192.0.2.7'']",
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(w *fixture) {
				w.server.SetHooks(route53test.Hooks{Before: func(c route53test.Call) *route53test.Fault {
					for _, change := range c.Changes {
						if change.Set.Name == "bad.shop.test." {
							return &route53test.Fault{Status: 400, Code: "InvalidChangeBatch", Message: fault}
						}
					}
					return nil
				}})
				w.CheckOneRefused(13)
			})
		})
	}
}

// An answer with the status 400 and a code that isn't known, such as for a zone that is full, is about what
// was asked for, and not about Route 53. What it takes is made, and nothing is tried in a hurry (clouds F12).
func TestUnknownRefusal(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.server.SetHooks(route53test.Hooks{Before: func(c route53test.Call) *route53test.Fault {
			for _, change := range c.Changes {
				if strings.HasPrefix(change.Set.Name, "new") {
					return &route53test.Fault{Status: 400, Code: "LimitsExceeded", Message: "Number of records exceeds the limit"}
				}
			}
			return nil
		}})
		requests, err := w.Run(set("new1.shop.test", "A", "192.0.2.7"), set("new2.shop.test", "A", "192.0.2.7"), set("new3.shop.test", "A", "192.0.2.7"),
			set("new4.shop.test", "A", "192.0.2.7"), set("old.shop.test", "A", "192.0.2.1"))
		if err == nil || !strings.Contains(err.Error(), "LimitsExceeded") || !errors.Is(err, provider.ErrRejected) || requests[writes] > 10 {
			t.Errorf("%v, error %v", requests, err)
		}
		w.Expect("old A 192.0.2.1")
	})
}

// A change that is throttled twice is made in the same run (AW20 of spec/clouds.md).
func TestThrottledTwice(t *testing.T) {
	for _, fault := range []*route53test.Fault{route53test.Throttled, route53test.Prior} {
		withFixture(t, func(w *fixture) {
			n := 0
			w.server.SetHooks(route53test.Hooks{Before: func(c route53test.Call) *route53test.Fault {
				if n++; c.Operation == writes && n <= 4 {
					return fault
				}
				return nil
			}})
			if _, err := w.Run(set("a.shop.test", "A", "192.0.2.1")); err != nil {
				t.Error(err)
			}
			w.Expect("a A 192.0.2.1")
		})
	}
}

// A listing that is throttled for good (AW21 of spec/clouds.md).
func TestListingThrottled(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.server.SetHooks(route53test.Hooks{Before: func(c route53test.Call) *route53test.Fault {
			if c.Operation == readings {
				return route53test.Throttled
			}
			return nil
		}})
		requests, err := w.Run(set("a.shop.test", "A", "192.0.2.1"))
		if err == nil || requests[writes] != 0 || publishertest.Total(requests) > 30 {
			t.Errorf("%v, %v", requests, err)
		}
	})
}

// A change that was made, and whose answer was lost, is done. One that wasn't made is sent again (AW22 of
// spec/clouds.md).
func TestLostAnswer(t *testing.T) {
	faults := map[string]*route53test.Fault{"failed": route53test.Failed, "lost": route53test.Lost}
	publishertest.CheckLostAnswers(t, faults, func(t *testing.T, check func(*publishertest.Fixture, *apitest.Control[route53test.Call, route53test.Fault])) {
		withFixture(t, func(w *fixture) { check(w.Fixture, &w.server.Control) })
	})
}

// A zone that may not be changed, or not be listed, doesn't keep the others from being published, and the
// error names the right and the zone (AW23 of spec/clouds.md).
func TestZoneWithoutRights(t *testing.T) {
	for _, operation := range []string{writes, readings} {
		withFixture(t, func(w *fixture) {
			w.server.AddZone(route53test.Zone{ID: "Z2", Name: "locked.test"})
			w.server.Deny(operation, "Z2")
			w.CheckLockedZone(func() int { return len(w.server.Sets("Z2")) }, "allow the action route53:"+operation, "hostedzone/Z2")
		})
	}
}

// A policy that allows some names only (the condition key route53:ChangeResourceRecordSetsNormalizedRecordNames)
// doesn't keep the others from being published, although Route 53 denies whole batches.
func TestNamesWithoutRights(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.server.SetHooks(route53test.Hooks{Before: denyBad})
		w.CheckOneRefused(20)
	})
}

// denyBad denies the batches with bad.shop.test.
func denyBad(c route53test.Call) *route53test.Fault {
	if slices.ContainsFunc(c.Changes, func(change route53test.Change) bool { return change.Set.Name == "bad.shop.test." }) {
		return &route53test.Fault{Status: 403, Code: "AccessDenied", Message: "no identity-based policy allows the action"}
	}
	return nil
}

// The same with several batches, of which one is denied after another one was made: nothing is wrong with the
// names that were sent with the denied one.
func TestNamesWithoutRightsInBatches(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.arguments = []string{"--aws-batch-change-size=8"}
		w.server.SetHooks(route53test.Hooks{Before: denyBad})
		w.CheckOneRefused(30)
	})
}

// With a wrong key there is one request. The error says so, and has no secret in it; nor has one without any
// key (AW24 of spec/clouds.md).
func TestWrongKey(t *testing.T) {
	for name, keys := range map[string][2]string{"unknown": {"AKIAOTHER", "the-secret"}, "wrong": {awstest.AccessKeyID, "the-secret"}} {
		t.Run(name, func(t *testing.T) {
			sent := 0
			start(t)
			t.Setenv("AWS_ACCESS_KEY_ID", keys[0])
			t.Setenv("AWS_SECRET_ACCESS_KEY", keys[1])
			server := route53test.New()
			in := input()
			in.Wrap = providertest.Through(providertest.Counting(server.Transport(), &sent))
			_, err := open(t, in).Zones(t.Context())
			if !errors.Is(err, provider.ErrCredentials) || strings.Contains(err.Error(), "the-secret") || sent != 1 {
				t.Errorf("%d requests, %v", sent, err)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		start(t)
		t.Setenv("AWS_ACCESS_KEY_ID", "")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "")
		if _, err := open(t, input()).Zones(t.Context()); !errors.Is(err, provider.ErrCredentials) {
			t.Error(err)
		}
	})
}

// Listings that are three seconds behind lead to no request that is refused, and each change is made once
// (AW25 of spec/clouds.md).
func TestListingsBehind(t *testing.T) {
	withFixture(t, func(w *fixture) { w.CheckListingsBehind() })
}

// A dry run changes nothing, not even if Apply is called (AW26 of spec/clouds.md).
func TestDryRun(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.arguments = []string{"--aws-zone-tags=env"}
		w.server.AddZone(route53test.Zone{ID: "Z2", Name: "tagged.test", Tags: map[string]string{"env": "x"}})
		w.CheckDryRun(set("a.tagged.test", "A", "192.0.2.1"))
	})
}

// The policies upsert-only and create-only (AW27 of spec/clouds.md).
func TestPolicies(t *testing.T) {
	withFixture(t, func(w *fixture) { w.CheckPolicies(1, 1, 1) })
}

// An object with another routing policy doesn't prevent changes of the record sets that have the name: neither
// a new one, nor one whose policy changes.
func TestOtherPolicy(t *testing.T) {
	const name = "x.shop.test"
	for _, tt := range []struct {
		// before are published first. Then the changes of both objects are made together.
		before, after []*dns.RecordSet
		want          []string
	}{
		{
			[]*dns.RecordSet{set(name, "A", "192.0.2.1")},
			[]*dns.RecordSet{set(name, "A", "192.0.2.7"), set(name, "A", "192.0.2.2", "id=b", "aws/weight=2")},
			[]string{"x A 192.0.2.7"},
		},
		{
			[]*dns.RecordSet{set(name, "A", "192.0.2.1", "id=a", "aws/weight=1")},
			[]*dns.RecordSet{set(name, "A", "192.0.2.7", "id=a", "aws/weight=1"), set(name, "A", "192.0.2.2", "id=b", "aws/geolocation-country-code=DE")},
			[]string{"x A[a] 192.0.2.7"},
		},
		{
			[]*dns.RecordSet{set(name, "A", "192.0.2.1", "id=a", "aws/weight=1"), set(name, "A", "192.0.2.2", "id=b", "aws/weight=1")},
			[]*dns.RecordSet{set(name, "A", "192.0.2.7", "id=a", "aws/weight=1"), set(name, "A", "192.0.2.2", "id=b", "aws/region=eu-west-1")},
			[]string{"x A[a] 192.0.2.7", "x A[b] 192.0.2.2"},
		},
		{
			[]*dns.RecordSet{set(name, "A", "192.0.2.1", "id=a", "aws/weight=1")},
			[]*dns.RecordSet{set(name, "A", "192.0.2.7", "id=a", "aws/weight=1"), set(name, "A", "192.0.2.2"), set(name, "MX", "10 mx.shop.test")},
			[]string{"x A[a] 192.0.2.7", "x MX 10 mx.shop.test."},
		},
		{
			[]*dns.RecordSet{set(name, "A", "192.0.2.1", "id=a", "aws/failover=PRIMARY")},
			[]*dns.RecordSet{set(name, "A", "192.0.2.7", "id=a", "aws/failover=PRIMARY"), set(name, "A", "192.0.2.2", "id=b", "aws/failover=primary")},
			[]string{"x A[a] 192.0.2.7"},
		},
		{
			[]*dns.RecordSet{set(name, "A", "192.0.2.1", "id=a", "aws/failover=PRIMARY"), set(name, "A", "192.0.2.2", "id=b", "aws/failover=SECONDARY")},
			[]*dns.RecordSet{set(name, "A", "192.0.2.7", "id=a", "aws/failover=PRIMARY"), set(name, "A", "192.0.2.2", "id=b", "aws/failover=PRIMARY")},
			[]string{"x A[a] 192.0.2.7", "x A[b] 192.0.2.2"},
		},
		{
			[]*dns.RecordSet{set(name, "A", "192.0.2.1", "id=a", "aws/geolocation-country-code=DE")},
			[]*dns.RecordSet{set(name, "A", "192.0.2.7", "id=a", "aws/geolocation-country-code=DE"), set(name, "A", "192.0.2.2", "id=b", "aws/geolocation-country-code=de")},
			[]string{"x A[a] 192.0.2.7"},
		},
		// Other types with the set identifier of a refused one are changed.
		{
			[]*dns.RecordSet{set(name, "A", "192.0.2.1", "id=a", "aws/weight=1"), set(name, "MX", "10 mx.shop.test", "id=b", "aws/weight=1")},
			[]*dns.RecordSet{set(name, "A", "192.0.2.7", "id=a", "aws/weight=1"), set(name, "A", "192.0.2.2", "id=b", "aws/region=eu-west-1"), set(name, "MX", "10 m2.shop.test", "id=b", "aws/weight=1")},
			[]string{"x A[a] 192.0.2.7", "x MX[b] 10 m2.shop.test."},
		},
		// Two new ones that conflict: the first set identifier gets the name.
		{
			nil,
			[]*dns.RecordSet{set(name, "A", "192.0.2.7", "id=a", "aws/weight=1"), set(name, "A", "192.0.2.2", "id=b", "aws/region=eu-west-1")},
			[]string{"x A[a] 192.0.2.7"},
		},
		{
			nil,
			[]*dns.RecordSet{set(name, "A", "192.0.2.7", "id=a", "aws/region=eu-west-1"), set(name, "A", "192.0.2.2", "id=b", "aws/region=eu-west-1")},
			[]string{"x A[a] 192.0.2.7"},
		},
		{
			nil,
			[]*dns.RecordSet{set(name, "A", "192.0.2.7"), set(name, "A", "192.0.2.2", "id=b", "aws/region=eu-west-1")},
			[]string{"x A 192.0.2.7"},
		},
		// An update comes before a new one, whatever its set identifier.
		{
			[]*dns.RecordSet{set(name, "A", "192.0.2.1", "id=b", "aws/region=eu-west-1")},
			[]*dns.RecordSet{set(name, "A", "192.0.2.7", "id=b", "aws/region=eu-west-2"), set(name, "A", "192.0.2.2", "id=a", "aws/region=eu-west-2")},
			[]string{"x A[b] 192.0.2.7"},
		},
	} {
		withFixture(t, func(w *fixture) {
			w.Managed = append(slices.Clone(w.Managed), "MX")
			w.Settle(min(1, len(tt.before)), tt.before...)
			_, err := w.Run(tt.after...)
			if err == nil || !strings.Contains(err.Error(), ", or another name") {
				t.Errorf("error %v", err)
			}
			w.Expect(tt.want...)
			if w.OwnershipRecords() != len(tt.want) {
				t.Errorf("%d ownership records, want %d", w.OwnershipRecords(), len(tt.want))
			}
			if _, err := w.Run(tt.after[0]); err != nil {
				t.Error(err)
			}
			w.Expect(tt.want[0])
			w.Gone(1)
		})
	}
	withFixture(t, func(w *fixture) {
		w.Settle(1, set(name, "A", "192.0.2.1", "id=a", "aws/weight=1"), set(name, "A", "192.0.2.2", "id=b", "aws/weight=1"))
		w.Settle(1, set(name, "A", "192.0.2.1", "id=a", "aws/region=eu-west-1"), set(name, "A", "192.0.2.2", "id=b", "aws/region=eu-west-2"))
		w.Settle(1, set(name, "A", "192.0.2.1", "id=a", "aws/region=eu-west-2"), set(name, "A", "192.0.2.2", "id=b", "aws/region=eu-west-1"))
		w.Settle(1, set(name, "A", "192.0.2.8", "id=a", "aws/region=eu-west-2"), set(name, "A", "192.0.2.9", "id=b", "aws/region=eu-west-1"), set(name, "A", "192.0.2.9", "id=c", "aws/region=eu-west-3"))
	})
	// A continent and a country can have the same code.
	withFixture(t, func(w *fixture) {
		w.Settle(1, set(name, "A", "192.0.2.1", "id=a", "aws/geolocation-continent-code=AF"))
		w.Settle(1, set(name, "A", "192.0.2.7", "id=a", "aws/geolocation-continent-code=AF"), set(name, "A", "192.0.2.2", "id=b", "aws/geolocation-country-code=AF"))
	})
}
