package desired_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
)

// If an object with several names asks for a custom hostname, only the shortest name gets it, with
// all of its record sets, and the object has one Problem (clouds F6).
func TestPropertyOfOneName(t *testing.T) {
	const hostname = "cloudflare/custom-hostname"
	s := newSet(t, desired.Options{Properties: []string{"cloudflare/"}, OneName: []string{hostname}})
	var requested []*dns.RecordSet
	for _, set := range []struct{ name, recordType, target, value string }{
		{"db-0.db.shop.test", "A", "192.0.2.1", "db.example.org,other.example.org"},
		{"db-1.db.shop.test", "A", "192.0.2.2", "db.example.org"},
		{"db.shop.test", "A", "192.0.2.1", " db.example.org"},
		{"db.shop.test", "AAAA", "2001:db8::1", "db.example.org"},
		{"plain.shop.test", "A", "192.0.2.1", ""},
	} {
		r := &dns.RecordSet{Name: set.name, Type: set.recordType, Targets: []string{set.target}}
		if set.value != "" {
			r.Properties = []dns.Property{{Name: hostname, Value: set.value}}
		}
		requested = append(requested, r)
	}
	_, problems := s.Put(desired.Origin{Source: "service", Namespace: "d", Name: "db"}, requested)
	var got []string
	for _, name := range slices.Sorted(s.Names()) {
		for _, r := range s.Want(name) {
			value, _ := r.Property(hostname)
			got = append(got, fmt.Sprintf("%s %s %s", r.Name, r.Type, value))
		}
	}
	want := []string{"db-0.db.shop.test A other.example.org", "db-1.db.shop.test A ", "db.shop.test A  db.example.org", "db.shop.test AAAA db.example.org", "plain.shop.test A "}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(problems) != 1 || problems[0].Value != "db.example.org" || !strings.Contains(problems[0].Reason, "db.shop.test gets it: db-0.db.shop.test and 1 other names") {
		t.Errorf("problems %+v", problems)
	}
	if requested[0].Properties[0].Value != "db.example.org,other.example.org" {
		t.Error("the argument was changed")
	}
}

// TestPropertyOfManyNames shows that the names and the values of a list aren't multiplied: 500 names with a
// list of 20,000 values cost little more than the list, and give a few problems.
func TestPropertyOfManyNames(t *testing.T) {
	const hostname = "cloudflare/custom-hostname"
	s := newSet(t, desired.Options{Properties: []string{"cloudflare/"}, OneName: []string{hostname}})
	var values strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&values, "%d.example.org,", i)
	}
	var requested []*dns.RecordSet
	for i := range 500 {
		requested = append(requested, &dns.RecordSet{
			Name: fmt.Sprintf("%03d.shop.test", i), Type: "A", Targets: []string{"192.0.2.1"},
			Properties: []dns.Property{{Name: hostname, Value: values.String()}},
		})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, problems := s.Put(desired.Origin{Source: "service", Namespace: "d", Name: "db"}, requested)
	runtime.ReadMemStats(&after)
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 64 {
		t.Errorf("%d MB were allocated", mb)
	}
	if len(problems) != 9 || !strings.HasPrefix(problems[8].Reason, "19992 more values") || !strings.Contains(problems[0].Reason, "000.shop.test gets it: 001.shop.test and 498 other names") {
		t.Errorf("got %d problems, such as %+v; want 8 and one that there are more", len(problems), problems[0])
	}
	if value, _ := s.Want("000.shop.test")[0].Property(hostname); value != values.String() {
		t.Error("the shortest name has not kept all values")
	}
	if value, has := s.Want("001.shop.test")[0].Property(hostname); has {
		t.Errorf("another name has %d bytes of values", len(value))
	}
}
