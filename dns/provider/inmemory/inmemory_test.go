package inmemory_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/inmemory"
	"github.com/signpostd/signpost/testkit/providertest"
)

const zoneName = "example.test"

var zone = dns.Zone{ID: zoneName, Name: zoneName}

func TestConformance(t *testing.T) {
	providertest.Run(t, providertest.Options{
		Open: func(t *testing.T, in provider.Input) providertest.Fixture {
			p := providertest.Open[*inmemory.Provider](t, providertest.Configure(t, inmemory.Plugin().New(), "--inmemory-zone", "Example.test.",
				"--inmemory-zone=sub.example.test", "--inmemory-zone=2.0.192.in-addr.arpa"), in)
			return providertest.Fixture{Provider: p, Zone: zoneName, Child: "sub." + zoneName, Reverse: "2.0.192.in-addr.arpa"}
		},
		Types: []string{
			dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT, dns.TypeSRV, dns.TypeMX, dns.TypeNS, dns.TypePTR, dns.TypeNAPTR, dns.TypeDNAME,
		},
		Properties: []string{"inmemory/x"},
		Twins: func(t *testing.T, _ provider.Input) providertest.Fixture {
			p := inmemory.New(zoneName)
			if err := p.CreatePrivateZone(zoneName); err != nil {
				t.Fatal(err)
			}
			if p.CreatePrivateZone(zoneName) == nil || p.CreatePrivateZone("elsewhere.test") == nil {
				t.Error("a zone has two twins, or one that isn't there has one")
			}
			return providertest.Fixture{Provider: p, Zone: zoneName}
		},
		Rejects: func(zone string) []*dns.RecordSet {
			return []*dns.RecordSet{record("before."+zone, "CNAME", "lb.example.net"), record("before."+zone, "A", "192.0.2.7")}
		},
	})
}

func record(name, recordType string, targets ...string) *dns.RecordSet {
	return &dns.RecordSet{Name: name, Type: recordType, Targets: targets}
}

func TestApplyIsStrict(t *testing.T) {
	www := record("www.example.test", "A", "192.0.2.1", "192.0.2.2")
	alias := record("www.example.test", "CNAME", "lb.example.net")
	created, deleted := dns.Change{New: www}, dns.Change{Old: www}
	for _, test := range []struct {
		name    string
		there   []*dns.RecordSet
		changes []dns.Change
		want    error
	}{
		{name: "creates", changes: []dns.Change{created}},
		{name: "creates what is there", there: []*dns.RecordSet{www}, changes: []dns.Change{created}, want: provider.ErrStale},
		{name: "deletes", there: []*dns.RecordSet{www}, changes: []dns.Change{deleted}},
		{name: "deletes what isn't there", changes: []dns.Change{deleted}, want: provider.ErrStale},
		{
			name: "deletes in another order of targets", there: []*dns.RecordSet{www},
			changes: []dns.Change{{Old: record("WWW.example.test.", "A", "192.0.2.2", "192.0.2.1")}},
		},
		{
			name: "replaces other targets than are there", there: []*dns.RecordSet{www},
			changes: []dns.Change{{Old: record("www.example.test", "A", "192.0.2.1", "192.0.2.3"), New: www}}, want: provider.ErrStale,
		},
		{name: "replaces what isn't there", changes: []dns.Change{{Old: www, New: www}}, want: provider.ErrStale},
		{name: "one key twice", changes: []dns.Change{created, created}, want: inmemory.ErrInvalidBatch},
		{name: "type change", there: []*dns.RecordSet{www}, changes: []dns.Change{deleted, {New: alias}}},
		{name: "type change in the wrong order", there: []*dns.RecordSet{www}, changes: []dns.Change{{New: alias}, deleted}, want: inmemory.ErrConflict},
		{name: "address beside a CNAME", there: []*dns.RecordSet{alias}, changes: []dns.Change{created}, want: inmemory.ErrConflict},
		{name: "in a zone below", changes: []dns.Change{{New: record("x.sub.example.test", "A", "192.0.2.1")}}, want: inmemory.ErrOutside},
		{name: "beside the zone", changes: []dns.Change{{New: record("badexample.test", "A", "192.0.2.1")}}, want: inmemory.ErrOutside},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := inmemory.New(zoneName, "sub.example.test")
			put(t, p, test.there...)
			err := p.Apply(t.Context(), zone, append([]dns.Change{{New: record("first.example.test", "A", "192.0.2.9")}}, test.changes...))
			if !errors.Is(err, test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			first := p.Get(dns.Key{Name: "first.example.test", Type: "A"})
			stale := errors.Is(test.want, provider.ErrStale)
			if rejected := errors.Is(err, provider.ErrRejected); rejected != (test.want != nil && !stale) || rejected != (first == nil) {
				t.Errorf("rejected: %v, the change before was made: %v", rejected, first != nil)
			}
		})
	}
}

func put(t *testing.T, p *inmemory.Provider, records ...*dns.RecordSet) {
	t.Helper()
	for _, r := range records {
		if err := p.Put(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCopies(t *testing.T) {
	p := inmemory.New(zoneName)
	given := &dns.RecordSet{
		Name: "www.example.test", Type: "A", Targets: []string{"192.0.2.1"}, TTL: 60, SetIdentifier: "one",
		Properties: []dns.Property{{Name: "weight", Value: "1"}}, Labels: map[string]string{"owner": "me"},
	}
	if err := p.Apply(t.Context(), zone, []dns.Change{{New: given}}); err != nil {
		t.Fatal(err)
	}
	want := given.Clone()
	want.Labels = nil
	given.Targets[0], given.Properties[0].Value = "changed", "changed"
	for range 2 {
		list, err := p.Records(t.Context(), zone)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]*dns.RecordSet{want}, list); d != "" {
			t.Fatalf("(-want +got)\n%s", d)
		}
		list[0].Targets[0], list[0].Properties[0].Value = "changed", "changed"
	}
	p.Delete(want.Key())
	if got := p.Get(want.Key()); got != nil {
		t.Errorf("still there: %v", got)
	}
}

func TestZones(t *testing.T) {
	if err := inmemory.New(zoneName).CreateZone("EXAMPLE.test."); err == nil {
		t.Error("a zone was created twice")
	}
	if err := inmemory.New(zoneName).Put(record("www.example.org", "A", "192.0.2.1")); err == nil {
		t.Error("a record set was put outside of the zones")
	}
	config := &inmemory.Config{Zones: []string{"a.test", "b.test", "ab.test"}}
	p, err := config.Open(t.Context(), provider.Input{ZoneIDs: []string{"b.test"}})
	if err != nil {
		t.Fatal(err)
	}
	zones, err := p.Zones(t.Context())
	want := []dns.Zone{{ID: "b.test", Name: "b.test"}} // D26: not ab.test
	if d := cmp.Diff(want, zones); d != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, d)
	}
	if _, err := (&inmemory.Config{Zones: []string{"a.test", "A.test"}}).Open(t.Context(), provider.Input{}); err == nil {
		t.Error("opened with one zone twice")
	}
}
