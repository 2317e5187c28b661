package aws

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/testkit/publishertest"
	"github.com/signpostd/signpost/testkit/route53test"
)

// The hosted zones of services (spec/dns.md §A).
func TestServiceZones(t *testing.T) {
	for name, want := range map[string]string{
		"x.eu-west-1.elb.amazonaws.com": "Z32O12XQLNTSW2", "dualstack.x.eu-west-1.elb.amazonaws.com": "Z32O12XQLNTSW2", "X.elb.eu-west-1.amazonaws.com.": "Z2IFOLAFXWLO4F",
		"x.cn-north-1.elb.amazonaws.com.cn": "Z1GDH35T77C1KE", "x.elb.cn-north-1.amazonaws.com.cn": "Z3QFB96KMJ7ED6", "x.cn-north-1.elb.amazonaws.com": "", "x.eu-west-1.elb.amazonaws.com.cn": "",
		"d1.cloudfront.net": "Z2FDTNDATAQYW2", "cloudfront.net": "", "notcloudfront.net": "", "x.awsglobalaccelerator.com": "Z2BJ6XQ5FK7U4H",
		"vpce-1.vpce-svc-2.eu-west-1.vpce.amazonaws.com": "Z38GZ743OKFT7T", "d-1.execute-api.eu-west-1.amazonaws.com": "ZLY8HYME6SFDD",
		"db.eu-west-1.rds.amazonaws.com": "", "x.mars-1.elb.amazonaws.com": "", "elb.amazonaws.com": "", "amazonaws.com": "", "lb.example.net": "", "x.elb.amazonaws.com.example.net": "", "": "",
	} {
		if got := zoneOfService(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for region, zones := range zonesOfRegion {
		for _, id := range []string{zones.loadBalancers, zones.networkLoadBalancers, zones.vpcEndpoints, zones.apiGateways} {
			if id != "" && !strings.HasPrefix(id, "Z") || strings.Count(region, "-") < 2 {
				t.Errorf("%s %s", region, id)
			}
		}
	}
}

// Texts are escaped in octal, split at 255 bytes and joined again.
func TestTexts(t *testing.T) {
	long := strings.Repeat("x", 255)
	for target, want := range map[string]string{
		`"a" "b"`: `"a" "b"`, `"say \"hi\" \\ there"`: `"say \"hi\" \\ there"`, `"\228"`: `"\344"`, `"` + long + `y"`: `"` + long + `" "y"`, `""`: `""`,
	} {
		got := wireText(target)
		if got != want || listedText(got) != target {
			t.Errorf("%s is stored as %s, want %s, and listed as %s", target, got, want, listedText(got))
		}
	}
	for value, want := range map[string]string{`unquoted`: `unquoted`, `"no end`: `"no end`, `"a\"`: `"a\"`, ``: ``, `"a"  "b"`: `"a" "b"`, `"\377\009"`: `"\255009"`} {
		if got := listedText(value); got != want {
			t.Errorf("%s is listed as %s, want %s", value, got, want)
		}
	}
}

// What Adjust announces is what is listed, and it announces the same of that. What is listed
// says all that a deletion needs.
func FuzzMapping(f *testing.F) {
	f.Add("www", "A", "192.0.2.1", int64(0), "", "", "")
	f.Add("www", "CNAME", "x.eu-west-1.elb.amazonaws.com", int64(60), "", "aws/evaluate-target-health", "no")
	f.Add("*", "CNAME", "www.shop.test", int64(60), "", "alias", "true")
	f.Add("t", "TXT", `"a\228" "b"`, int64(1), "one", "aws/weight", "007")
	f.Add("m", "MX", "10  mx.example.net.", int64(1), "one", "aws/geoproximity-coordinates", "1 , 2")
	f.Add("n", "NAPTR", `1 1 "S" "SIP" "" _sip.example.net`, int64(1), "", "aws/target-hosted-zone", "/hostedzone/Z9")
	m := mapping{Zone: dns.Zone{ID: "/hostedzone/Z1", Name: zoneName}, evaluate: true}
	f.Fuzz(func(t *testing.T, name, recordType, target string, ttl int64, id, property, value string) {
		r := &dns.RecordSet{Name: name + "." + zoneName, Type: recordType, Targets: strings.Split(target, "|"), TTL: ttl, SetIdentifier: id}
		if property != "" {
			r.Properties = []dns.Property{{Name: property, Value: value}}
		}
		stored, err := m.wire(r)
		if err != nil {
			return
		}
		first, _ := m.adjusted(r)
		for i, announced := range first {
			if !m.plain(&stored[i], announced) {
				t.Errorf("%v is listed as %v, from which it doesn't follow", stored[i], announced)
			}
			again, err := m.adjusted(announced)
			if err != nil || len(again) != 1 || cmp.Diff(announced, again[0]) != "" {
				t.Errorf("%v becomes %v, and that %v, %v", r, announced, again, err)
			}
		}
	})
}

// What a batch has no room for comes in the next one; aliases come after their targets, and go
// before them.
func TestOrderOfBatches(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.arguments = []string{"--aws-batch-change-size=2"}
		w.Publish(3, set("a.shop.test", "CNAME", "z.shop.test", "alias=A"), set("z.shop.test", "A", "192.0.2.1"), set("m.shop.test", "A", "192.0.2.1"))
		w.Expect("a A alias z.shop.test. Z1 true", "z A 192.0.2.1", "m A 192.0.2.1")
		w.Publish(3)
		if n := w.server.Refused(); n > 0 {
			t.Errorf("%d batches were refused", n)
		}
	})
}

// A batch has at most 1000 values and 32,000 bytes, also of long texts and many addresses.
func TestLimitsOfBatches(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.Managed = handled
		var wanted []*dns.RecordSet
		for i := range 40 {
			wanted = append(wanted, set(fmt.Sprintf("t%d.shop.test", i), "TXT", `"`+strings.Repeat("x", 2000)+`"`))
		}
		var addresses []string
		for i := range 390 {
			addresses = append(addresses, fmt.Sprintf("10.0.%d.%d", i/200, i%200))
		}
		for i := range 6 {
			wanted = append(wanted, set(fmt.Sprintf("n%d.shop.test", i), "A", strings.Join(addresses, ",")))
		}
		requests, err := w.Run(wanted...)
		if err != nil || w.server.Refused() > 0 || len(w.has("Z1")) != 46 {
			t.Errorf("%v, %v: %d refused, %d record sets", requests, err, w.server.Refused(), len(w.has("Z1")))
		}
		if _, err := w.Run(append(wanted, set("big.shop.test", "A", strings.Join(append(addresses, manyMore(20)...), ",")))...); err == nil || !strings.Contains(err.Error(), "400 in a record set") {
			t.Errorf("410 addresses: %v", err)
		}
	})
}

func manyMore(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("10.9.9.%d", i))
	}
	return list
}

// The zone as ExternalDNS writes it, in each form of its ownership records: there is nothing to
// change. Where only the form without a type is there, the other one is added, once.
func TestZonesOfExternalDNS(t *testing.T) {
	publishertest.CheckZonesOfExternalDNS(t, func(t *testing.T, check func(*publishertest.Fixture, func(*dns.RecordSet))) {
		withFixture(t, func(w *fixture) {
			check(w.Fixture, func(r *dns.RecordSet) { w.server.Put("Z1", record(r.Name, r.Type, r.TTL, r.Targets...)) })
		})
	})
}

func record(name, recordType string, ttl int64, values ...string) route53test.RecordSet {
	r := route53test.RecordSet{Name: name, Type: recordType, TTL: &ttl}
	for _, v := range values {
		r.ResourceRecords = append(r.ResourceRecords, route53test.Value{Value: v})
	}
	return r
}
