package pdns

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/testkit/providertest"
	"github.com/signpostd/signpost/testkit/publishertest"
)

func TestConformance(t *testing.T) {
	providertest.Run(t, providertest.Options{
		Types: handled,
		Open: func(t *testing.T, in provider.Input) providertest.Fixture {
			zone := freshZone(t)
			reverse := newZone(t, fmt.Sprintf("%d.10.in-addr.arpa", zones.Add(1)))
			child := newZone(t, "sub."+zone.Name)
			return providertest.Fixture{
				Provider: open(t, in), Zone: zone.Name, Child: child.Name, Reverse: reverse.Name, Lookup: providertest.DNS(server.DNS),
				Reopen: func(t *testing.T) provider.Provider { return open(t, in) },
			}
		},
	})
}

func set(name, recordType string, targets ...string) *dns.RecordSet {
	return &dns.RecordSet{Name: name, Type: recordType, Targets: targets, TTL: 60}
}

func aliased(r *dns.RecordSet) *dns.RecordSet {
	r.Properties = aliasProperty()
	return r
}

// stored returns what the API has in a zone but SOA and NS, as "type name targets".
func stored(t *testing.T, p *powerDNS, zone dns.Zone) []string {
	t.Helper()
	sets, err := p.api.zone(t.Context(), zone)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, s := range sets {
		if s.Type == "SOA" || s.Type == "NS" {
			continue
		}
		line := strings.TrimSuffix(s.Name, "."+zone.Name+".") + " " + s.Type
		for _, r := range s.Records {
			line += " " + r.Content
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

// §17: a name changes its type in one call, ALIAS included, and an ALIAS can be deleted.
func TestTypeChanges(t *testing.T) {
	zone := freshZone(t)
	p := open(t, input())
	www, apex := "www."+zone.Name, zone.Name
	a := set(www, dns.TypeA, "192.0.2.1")
	aaaa := set(www, dns.TypeAAAA, "2001:db8::1")
	cname := set(www, dns.TypeCNAME, "lb.example.net")
	alias := aliased(set(www, dns.TypeCNAME, "lb.example.net"))
	top := aliased(set(apex, dns.TypeCNAME, "lb.example.net"))
	topText := set(apex, dns.TypeTXT, `"text"`)
	steps := []struct {
		name    string
		changes []dns.Change
		want    []string
	}{
		{"create", []dns.Change{{New: a}, {New: aaaa}}, []string{"www A 192.0.2.1", "www AAAA 2001:db8::1"}},
		// Even when the creation comes first.
		{"A to CNAME", []dns.Change{{New: cname}, {Old: a}, {Old: aaaa}}, []string{"www CNAME lb.example.net."}},
		{"CNAME to ALIAS", []dns.Change{{Old: cname, New: alias}}, []string{"www ALIAS lb.example.net."}},
		{"ALIAS to CNAME", []dns.Change{{Old: alias, New: cname}}, []string{"www CNAME lb.example.net."}},
		{"CNAME to A", []dns.Change{{Old: cname}, {New: a}}, []string{"www A 192.0.2.1"}},
		{"A to ALIAS", []dns.Change{{Old: a}, {New: alias}}, []string{"www ALIAS lb.example.net."}},
		{"ALIAS to A", []dns.Change{{Old: alias}, {New: a}}, []string{"www A 192.0.2.1"}},
		{"apex", []dns.Change{{Old: a}, {New: set(apex, dns.TypeCNAME, "lb.example.net")}, {New: topText}}, []string{apex + ". ALIAS lb.example.net.", apex + `. TXT "text"`}},
		{"apex changes", []dns.Change{{Old: top, New: set(apex, dns.TypeCNAME, "lb2.example.net")}}, []string{apex + ". ALIAS lb2.example.net.", apex + `. TXT "text"`}},
		{"apex goes", []dns.Change{{Old: aliased(set(apex, dns.TypeCNAME, "lb2.example.net"))}, {Old: topText}}, nil},
	}
	for _, s := range steps {
		if err := p.Apply(t.Context(), zone, s.changes); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if diff := cmp.Diff(s.want, stored(t, p, zone)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", s.name, diff)
		}
	}
}

// Disabled records aren't listed, and were wiped together with the record set that was written over them.
// They stay as they are (D4).
func TestDisabledRecordsStay(t *testing.T) {
	zone := freshZone(t)
	p := open(t, input())
	mustRequest(t, http.MethodPatch, "zones/"+zone.ID, map[string]any{"rrsets": []any{map[string]any{
		"name": "www." + zone.ID, "type": "A", "ttl": 60, "changetype": "REPLACE",
		"records": []any{map[string]any{"content": "203.0.113.9", "disabled": true}},
	}}})
	one, two := set("www."+zone.Name, dns.TypeA, "192.0.2.1"), set("www."+zone.Name, dns.TypeA, "192.0.2.2")
	for _, step := range []struct {
		change dns.Change
		want   string
	}{
		{dns.Change{New: one}, "www A 192.0.2.1 203.0.113.9"},
		{dns.Change{Old: one, New: two}, "www A 192.0.2.2 203.0.113.9"},
		{dns.Change{Old: two}, "www A 203.0.113.9"},
	} {
		if err := p.Apply(t.Context(), zone, []dns.Change{step.change}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{step.want}, stored(t, p, zone)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
	if listed, err := p.Records(t.Context(), zone); err != nil || slices.ContainsFunc(listed, func(r *dns.RecordSet) bool { return r.Type == dns.TypeA }) {
		t.Errorf("listed %v, %v", listed, err)
	}
}

// A LUA record answers as records of the types in it. So the listing has these record sets, with the code as targets,
// and nothing is written beside it or in its place. A real record set of the same type hides it.
func TestLUARecordsStay(t *testing.T) {
	zone := freshZone(t)
	p := open(t, input())
	www := "www." + zone.ID
	mustRequest(t, http.MethodPatch, "zones/"+zone.ID, zonePatch{RRSets: []rrset{
		{Name: www, Type: "LUA", TTL: 60, ChangeType: "REPLACE", Records: []record{{Content: `A "ifportup(443, {'192.0.2.7'})"`}, {Content: `CAA "x()"`}, {Content: `TXT "off()"`, Disabled: true}}},
		{Name: "both." + zone.ID, Type: "LUA", TTL: 60, ChangeType: "REPLACE", Records: []record{{Content: `A "y()"`}}},
		{Name: "both." + zone.ID, Type: "A", TTL: 60, ChangeType: "REPLACE", Records: []record{{Content: "192.0.2.1"}}},
	}})
	listed, err := p.Records(t.Context(), zone)
	if err != nil {
		t.Fatal(err)
	}
	listed = slices.DeleteFunc(listed, func(r *dns.RecordSet) bool { return r.Type == dns.TypeNS })
	slices.SortFunc(listed, func(a, b *dns.RecordSet) int { return strings.Compare(a.Name, b.Name) })
	lua := set("www."+zone.Name, dns.TypeA, `LUA "ifportup(443, {'192.0.2.7'})"`)
	lua.Properties = []dns.Property{{Name: "pdns/lua", Value: "true"}}
	if diff := cmp.Diff([]*dns.RecordSet{set("both."+zone.Name, dns.TypeA, "192.0.2.1"), lua}, listed); diff != "" {
		t.Fatalf("listed (-want +got):\n%s", diff)
	}
	before := stored(t, p, zone)
	w := publishertest.NewFixture(t)
	w.Provider = p
	w.Ask(publishertest.Set("www."+zone.Name, "A", "192.0.2.1"), publishertest.Set("www."+zone.Name, "AAAA", "2001:db8::1"))
	settled := make(chan struct{})
	close(settled)
	plans, err := w.Publisher(p).Once(t.Context(), settled, publisher.Within(time.Minute))
	if err != nil || len(plans) != 1 || len(plans[0].Waiting) != 1 || plans[0].Waiting[0].Reason != publisher.ReasonConflict {
		t.Errorf("plans %+v, %v, want a conflict", plans, err)
	}
	wanted := set("www."+zone.Name, dns.TypeA, "192.0.2.1")
	if err := p.Apply(t.Context(), zone, []dns.Change{{New: wanted}}); !errors.Is(err, provider.ErrStale) {
		t.Errorf("an A record beside it: %v", err)
	}
	for _, c := range []dns.Change{{Old: lua, New: wanted}, {Old: lua}} {
		if err := p.Apply(t.Context(), zone, []dns.Change{c}); !errors.Is(err, provider.ErrRejected) || !strings.Contains(err.Error(), "LUA record") {
			t.Errorf("in its place: %v", err)
		}
	}
	if diff := cmp.Diff(before, stored(t, p, zone)); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

func adjustedBy(t *testing.T, p *powerDNS, zone dns.Zone, wanted []*dns.RecordSet) ([]*dns.RecordSet, error) {
	t.Helper()
	answers, err := p.Adjust(t.Context(), zone, wanted)
	var sets []*dns.RecordSet
	for _, answer := range answers {
		sets = append(sets, answer.Sets...)
	}
	return sets, err
}

func TestAliasIsListedAndAdjusted(t *testing.T) {
	zone := freshZone(t)
	p := open(t, input())
	wanted := []*dns.RecordSet{
		set(zone.Name, dns.TypeCNAME, "LB.example.net."),
		aliased(set("www."+zone.Name, dns.TypeCNAME, "lb.example.net")),
		set("plain."+zone.Name, dns.TypeCNAME, "lb.example.net"),
		aliased(set("a."+zone.Name, dns.TypeA, "192.0.2.1")),
		set("text."+zone.Name, dns.TypeTXT, "not quoted", `"bücher" "second"`, `"`+strings.Repeat("x", 600)+`"`, "not quoted"),
		set("mail."+zone.Name, dns.TypeMX, "10  mail.example.net.", "0 ."),
		set("srv."+zone.Name, dns.TypeSRV, "1 2  3 host.example.net."),
	}
	wanted[2].Properties = []dns.Property{{Name: dns.PropertyAlias, Value: "false"}, {Name: "webhook/x", Value: "y"}}
	adjusted, err := adjustedBy(t, p, zone, wanted)
	if err != nil {
		t.Fatal(err)
	}
	var changes []dns.Change
	for _, r := range adjusted {
		changes = append(changes, dns.Change{New: r})
	}
	if err := p.Apply(t.Context(), zone, changes); err != nil {
		t.Fatal(err)
	}
	listed, err := p.Records(t.Context(), zone)
	if err != nil {
		t.Fatal(err)
	}
	byKey := map[dns.Key]*dns.RecordSet{}
	for _, r := range listed {
		byKey[r.Key()] = r
	}
	for _, want := range adjusted {
		got := byKey[want.Key()]
		if got == nil || !dns.SameTargets(got.Targets, want.Targets) || !slices.Equal(got.Properties, want.Properties) {
			t.Errorf("listed %v, adjusted %v", got, want)
		}
	}
	again, err := adjustedBy(t, p, zone, adjusted)
	if err != nil {
		t.Fatal(err)
	}
	for i := range again {
		if again[i] != adjusted[i] {
			t.Errorf("%s is adjusted once more, from %v to %v", adjusted[i].Name, adjusted[i], again[i])
		}
	}
}

func TestDisabledRecordsAreHidden(t *testing.T) {
	zone := freshZone(t)
	mustRequest(t, http.MethodPatch, "zones/"+zone.ID, zonePatch{RRSets: []rrset{
		{Name: "some." + zone.ID, Type: "A", TTL: 60, ChangeType: "REPLACE", Records: []record{{Content: "192.0.2.1"}, {Content: "192.0.2.2", Disabled: true}}},
		{Name: "none." + zone.ID, Type: "A", TTL: 60, ChangeType: "REPLACE", Records: []record{{Content: "192.0.2.1", Disabled: true}}},
	}})
	listed, err := open(t, input()).Records(t.Context(), zone)
	if err != nil {
		t.Fatal(err)
	}
	want := []*dns.RecordSet{set("some."+zone.Name, dns.TypeA, "192.0.2.1")}
	listed = slices.DeleteFunc(listed, func(r *dns.RecordSet) bool { return r.Type == dns.TypeNS })
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
}

func TestZonesAndResidualZones(t *testing.T) {
	apex := freshZone(t)
	child := newZone(t, "child."+apex.Name)
	deep := newZone(t, "managed.child."+apex.Name)
	in := input()
	in.Domains = dns.NewDomainFilter([]string{apex.Name}, []string{child.Name})
	// The deepest zone is managed although the one above is not.
	in.Domains = either{in.Domains, dns.NewDomainFilter([]string{deep.Name}, nil)}
	p := open(t, in)
	got, err := p.Zones(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got, func(a, b dns.Zone) int { return len(a.Name) - len(b.Name) })
	if diff := cmp.Diff([]dns.Zone{apex, deep}, got); diff != "" {
		t.Errorf("zones (-want +got):\n%s", diff)
	}
	filter := p.DomainFilter(t.Context())
	for name, want := range map[string]bool{
		apex.Name: true, "www." + apex.Name: true, child.Name: false, "www." + child.Name: false,
		deep.Name: true, "WWW." + deep.Name + ".": true, "www.elsewhere.test": false,
	} {
		if filter.Match(name) != want {
			t.Errorf("the filter passes %s: %v", name, !want)
		}
	}
	err = p.Apply(t.Context(), apex, []dns.Change{{New: set("www."+child.Name, dns.TypeA, "192.0.2.1")}})
	if !errors.Is(err, provider.ErrRejected) {
		t.Errorf("a name of another zone: %v", err)
	}
}

// either passes what one of two filters passes.
type either struct{ a, b dns.Filter }

func (e either) Match(name string) bool { return e.a.Match(name) || e.b.Match(name) }

func TestZoneFilters(t *testing.T) {
	one, other := freshZone(t), freshZone(t)
	for _, ending := range []string{one.ID, one.Name} {
		in := input()
		in.ZoneIDs = []string{ending}
		got, err := open(t, in).Zones(t.Context())
		if err != nil || !slices.Equal(got, []dns.Zone{one}) {
			t.Errorf("zones with the id %s: %v, %v", ending, got, err)
		}
	}
	in := input()
	in.ZoneNames = []string{other.Name}
	got, err := open(t, in).Zones(t.Context())
	if err != nil || !slices.Equal(got, []dns.Zone{other}) {
		t.Errorf("zones with the name %s: %v, %v", other.Name, got, err)
	}
}

// If a change is impossible, no change of its call is made.
func TestRejected(t *testing.T) {
	zone := freshZone(t)
	p := open(t, input())
	long := set("long."+zone.Name, dns.TypeA, "192.0.2.1")
	long.TTL = 1 << 31
	twice := set("conflict."+zone.Name, dns.TypeCNAME, "a.example.net")
	for _, bad := range [][]dns.Change{
		{{New: long}},
		{{New: set("bad."+zone.Name, dns.TypeSRV, "nonsense")}},
		{{New: twice}, {New: set("conflict."+zone.Name, dns.TypeA, "192.0.2.1")}},
		{{New: twice}, {New: twice}},
	} {
		changes := append([]dns.Change{{New: set("good."+zone.Name, dns.TypeA, "192.0.2.1")}}, bad...)
		if err := p.Apply(t.Context(), zone, changes); !errors.Is(err, provider.ErrRejected) {
			t.Errorf("%v: %v", bad[0].New, err)
		}
		if rest := stored(t, p, zone); rest != nil {
			t.Errorf("%v: the zone has %v", bad[0].New, rest)
		}
	}
}

func TestWrongKey(t *testing.T) {
	zone := freshZone(t)
	p, err := (&Config{Server: server.API, ServerID: "localhost", APIKey: "wrong-secret"}).Open(t.Context(), input())
	if err != nil {
		t.Fatal(err)
	}
	_, zonesErr := p.Zones(t.Context())
	_, recordsErr := p.Records(t.Context(), zone)
	applyErr := p.Apply(t.Context(), zone, []dns.Change{{New: set("www."+zone.Name, dns.TypeA, "192.0.2.1")}})
	for _, err := range []error{zonesErr, recordsErr, applyErr} {
		if !errors.Is(err, provider.ErrCredentials) || strings.Contains(err.Error(), "secret") {
			t.Errorf("error %v", err)
		}
	}
}
