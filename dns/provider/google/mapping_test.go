package google

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dnsapi "google.golang.org/api/dns/v1"
	"google.golang.org/api/googleapi"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider/batch"
	"github.com/signpostd/signpost/testkit/clouddnstest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

// Texts are quoted, split at 255 bytes and joined again.
func TestTexts(t *testing.T) {
	long := strings.Repeat("x", 255)
	for target, want := range map[string]string{
		`"a" "b"`: `"a" "b"`, `"say \"hi\" \\ there"`: `"say \"hi\" \\ there"`, `"\228"`: `"\228"`, `"` + long + `y"`: `"` + long + `" "y"`, `""`: `""`,
	} {
		got := dns.QuoteText(target)
		if got != want || listedText(got) != target {
			t.Errorf("%s is stored as %s, want %s, and listed as %s", target, got, want, listedText(got))
		}
	}
	for value, want := range map[string]string{`word`: `"word"`, `two words`: `"two" "words"`, `"no end`: `"no end`, ``: ``, `"a"  "b"`: `"a" "b"`} {
		if got := listedText(value); got != want {
			t.Errorf("%s is listed as %s, want %s", value, got, want)
		}
	}
}

// What Adjust announces is what is listed, and it announces the same of that. What is listed
// says all that a deletion needs.
func FuzzMapping(f *testing.F) {
	f.Add("www", "A", "192.0.2.1", int64(0), "")
	f.Add("*", "CNAME", "WWW.shop.test.", int64(60), "alias")
	f.Add("t", "TXT", `"a\228" "b"`, int64(1), "google/x")
	f.Add("m", "MX", "10  mx.example.net.", int64(1), "")
	f.Add("s", "SRV", "1 2 3 x.example.net.", int64(1), "")
	f.Add("n", "NAPTR", `1 1 "S" "SIP" "" _sip.example.net`, int64(1), "")
	zone := dns.Zone{ID: shop, Name: zoneName}
	f.Fuzz(func(t *testing.T, name, recordType, target string, ttl int64, property string) {
		r := &dns.RecordSet{Name: name + "." + zoneName, Type: recordType, Targets: strings.Split(target, "|"), TTL: ttl}
		if property != "" {
			r.Properties = []dns.Property{{Name: property, Value: "x"}}
		}
		stored, err := wire(zone, r)
		if err != nil {
			return
		}
		announced, err := adjusted(zone, r)
		if err != nil || !plain(zone, stored, announced) {
			t.Errorf("%v is listed as %v, from which it doesn't follow; %v", stored, announced, err)
		}
		again, err := adjusted(zone, announced)
		if err != nil || cmp.Diff(announced, again) != "" {
			t.Errorf("%v becomes %v, and that %v, %v", r, announced, again, err)
		}
	})
}

// The record sets that an answer names, by name or by place, are those of a unit. The others are
// sent again.
func TestBlame(t *testing.T) {
	unitOf := func(name string) *unit {
		return &unit{Group: &batch.Group{Subject: name}, Swaps: []batch.Swap[rawSet]{
			{Key: dns.Key{Name: name, Type: "A"}, New: &dnsapi.ResourceRecordSet{Name: name + ".", Type: "A"}},
			{Key: dns.Key{Name: "a-" + name, Type: "TXT"}, Gone: &dnsapi.ResourceRecordSet{Name: "a-" + name + ".", Type: "TXT"}, New: &dnsapi.ResourceRecordSet{Name: "a-" + name + ".", Type: "TXT"}},
		}}
	}
	for message, want := range map[string]string{
		"Invalid value for 'entity.change.additions[b.shop.test.][A].rrdata[0]': 'x'":           "a.shop.test c.shop.test",
		"Invalid value for 'entity.change.additions[A-B.shop.test.][TXT].rrdata[0]': 'x'":       "a.shop.test c.shop.test",
		"Invalid value for 'entity.change.additions[2].name': 'x'":                              "a.shop.test c.shop.test",
		"Precondition not met for 'entity.change.deletions[2]'":                                 "a.shop.test b.shop.test",
		"'entity.change.additions[a.shop.test.][A]' 'entity.change.deletions[a-b.shop.test.]'":  "c.shop.test",
		"Invalid value for 'entity.change.additions[99].name': 'x'":                             "a.shop.test b.shop.test c.shop.test",
		"Invalid value for 'entity.change.additions[99999999999999999999999999].name': 'x'":     "a.shop.test b.shop.test c.shop.test",
		"Invalid value for 'entity.change.deletions[-1].name': 'x'":                             "a.shop.test b.shop.test c.shop.test",
		"Invalid value for 'entity.change.additions[nobody.shop.test.][A].rrdata[0]': 'x'":      "a.shop.test b.shop.test c.shop.test",
		"nothing that names anything, not even entity.change.additions[] or a.shop.test at all": "a.shop.test b.shop.test c.shop.test",
	} {
		units := []*unit{unitOf("a.shop.test"), unitOf("b.shop.test"), unitOf("c.shop.test")}
		var rest []string
		for _, u := range blame(units, change(units), &apiError{items: []googleapi.ErrorItem{{Reason: "invalid", Message: message}}}) {
			rest = append(rest, u.Subject)
		}
		if got := strings.Join(rest, " "); got != want {
			t.Errorf("%s: %s is left, want %s", message, got, want)
		}
	}
}

// A request has at most 1000 additions and 100,000 bytes (spec/clouds.md §3.7).
func TestLimitsOfRequests(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.Managed = handled
		var wanted []*dns.RecordSet
		for i := range 60 {
			wanted = append(wanted, set(fmt.Sprintf("t%d.shop.test", i), "TXT", `"`+strings.Repeat("x", 4000)+`"`))
		}
		for i := range 600 {
			wanted = append(wanted, set(fmt.Sprintf("n%d.shop.test", i), "A", "192.0.2.1"))
		}
		requests, err := w.Run(wanted...)
		if err != nil || w.server.Refused() > 0 || len(w.has(shop)) != 660 || requests[clouddnstest.CreateChange] > 5 {
			t.Errorf("%v, %v: %d refused, %d record sets", requests, err, w.server.Refused(), len(w.has(shop)))
		}
	})
}

// The zone as ExternalDNS writes it, in each form of its ownership records: there is nothing to
// change. Where only the form without a type is there, the other one is added, once.
func TestZonesOfExternalDNS(t *testing.T) {
	publishertest.CheckZonesOfExternalDNS(t, func(t *testing.T, check func(*publishertest.Fixture, func(*dns.RecordSet))) {
		withFixture(t, func(w *fixture) {
			check(w.Fixture, func(r *dns.RecordSet) {
				if r.Type == dns.TypeCNAME {
					r.Targets[0] += "."
				}
				w.server.Put(shop, clouddnstest.RecordSet{Name: r.Name, Type: r.Type, TTL: r.TTL, Datas: r.Targets})
			})
		})
	})
}
