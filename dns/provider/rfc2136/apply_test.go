package rfc2136

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/bindtest"
)

func created(r *dns.RecordSet) dns.Change       { return dns.Change{New: r} }
func deleted(r *dns.RecordSet) dns.Change       { return dns.Change{Old: r} }
func replaced(old, r *dns.RecordSet) dns.Change { return dns.Change{Old: old, New: r} }

func describing(name string, r *dns.RecordSet) *dns.RecordSet {
	r.Labels = map[string]string{dns.LabelOwnedRecord: name + "." + zoneName}
	return r
}

// meanwhile is a change by somebody else since the listing.
type meanwhile struct {
	name string
	// there is what the zone has, changes are those of the provider, and want is what the zone has then.
	there   []string
	changes []dns.Change
	want    []string
	// harmless is true when the change succeeds all the same.
	harmless bool
}

// cases returns changes by somebody else to the name www.
func cases() []meanwhile {
	www, better, alias := record("www", "A", "192.0.2.1"), record("www", "A", "192.0.2.2"), record("www", "CNAME", "lb.example.net")
	return []meanwhile{
		{
			name: "an address appeared that is to be created", there: []string{"www 300 A 192.0.2.66"},
			changes: []dns.Change{created(www)}, want: []string{"www 300 A 192.0.2.66"},
		},
		{
			name: "another type appeared", there: []string{`www 300 TXT "x"`},
			changes: []dns.Change{created(www)}, want: []string{"www 300 A 192.0.2.1", `www 300 TXT "x"`}, harmless: true,
		},
		{
			name: "an address was added", there: []string{"www 300 A 192.0.2.1", "www 300 A 192.0.2.66"},
			changes: []dns.Change{deleted(www)}, want: []string{"www 300 A 192.0.2.1 | 192.0.2.66"},
		},
		{
			name: "an address was replaced", there: []string{"www 300 A 192.0.2.66"},
			changes: []dns.Change{replaced(www, better)}, want: []string{"www 300 A 192.0.2.66"},
		},
		{
			name:    "an address was deleted",
			changes: []dns.Change{replaced(www, better)},
		},
		{
			name: "only the TTL is another", there: []string{"www 60 A 192.0.2.1"},
			changes: []dns.Change{deleted(www)}, harmless: true,
		},
		{
			name: "an address appeared beside a CNAME that is to be created", there: []string{"www 300 A 192.0.2.66"},
			changes: []dns.Change{created(alias)}, want: []string{"www 300 A 192.0.2.66"},
		},
		{
			name: "a CNAME appeared beside an address that is to be created", there: []string{"www 300 CNAME other.example.net."},
			changes: []dns.Change{created(www)}, want: []string{"www 300 CNAME other.example.net"},
		},
		{
			name: "a text appeared during a type change", there: []string{"www 300 A 192.0.2.1", `www 300 TXT "x"`},
			changes: []dns.Change{deleted(www), created(alias)}, want: []string{"www 300 A 192.0.2.1", `www 300 TXT "x"`},
		},
		{
			name: "certificates are restricted under the name", there: []string{`www 300 CAA 0 issue "ca.example.net"`},
			changes: []dns.Change{created(alias)},
		},
		{
			name: "a type that no list has is under the name", there: []string{"www 300 OPENPGPKEY AQID"},
			changes: []dns.Change{created(alias)},
		},
	}
}

// Changes by somebody else since the listing are never overwritten. A CNAME, or what is beside
// it, is never lost silently (spec/dns.md §17, RFC 2136 3.4.2.2). Other names are changed.
func TestZoneIsNotAsListed(t *testing.T) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) { c.check(t, oneZone(t, "").Addr) })
	}
}

// check plays a case with a server whose zone is empty.
func (c meanwhile) check(t *testing.T, server netip.AddrPort) {
	t.Helper()
	p := open(t, settings(nil, at(server)))
	update(t, server, c.there, nil)
	changes := slices.Concat([]dns.Change{created(record("aaa", "A", "192.0.2.1"))}, c.changes, []dns.Change{created(record("zzz", "A", "192.0.2.1"))})
	err := apply(t, p, changes...)
	checkRefused(t, err, len(changes), !c.harmless)
	expect(t, p, slices.Concat([]string{"aaa 300 A 192.0.2.1"}, c.want, []string{"zzz 300 A 192.0.2.1"})...)
}

// checkRefused checks that of n changes all but the first and the last one were refused, if
// refused is true.
func checkRefused(t *testing.T, err error, n int, refused bool) {
	t.Helper()
	var applyError *provider.ApplyError
	switch {
	case !refused && err == nil:
	case !errors.As(err, &applyError) || len(applyError.Errs) != n:
		t.Fatalf("got %v", err)
	default:
		for i, e := range applyError.Errs {
			if want := refused && i > 0 && i < n-1; (e != nil) != want {
				t.Errorf("change %d: %v", i, e)
			}
		}
	}
}

// The error of an update whose prerequisite isn't met says which ones there are. The zone need not have
// changed: a name may have records of a type that isn't listed (dns F8).
func TestUnmetPrerequisites(t *testing.T) {
	s := oneZone(t, "")
	p := open(t, settings(s))
	somebodyElse(t, s, []string{`alias 300 CAA 0 issue "x"`, "www 300 A 192.0.2.66"}, nil)
	for name, test := range map[string]struct {
		change dns.Change
		says   string
	}{
		"a CNAME beside others": {created(record("alias", "CNAME", "lb.example.net")), "no other record at alias." + zoneName + "., also none of a type that Signpost doesn't list"},
		"there":                 {created(record("www", "A", "192.0.2.1")), "there is a record set that must not be there (YXRRSET); the update requires neither A nor CNAME at www." + zoneName + "."},
		"gone":                  {deleted(record("api", "A", "192.0.2.1")), "the record set doesn't exist any more (NXRRSET); the update requires api." + zoneName + ". A as it was listed"},
	} {
		if err := apply(t, p, test.change); err == nil || !errors.Is(err, provider.ErrStale) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// An ownership record and its record are made together or not at all, wherever they are in the
// list.
func TestOwnershipStaysTogether(t *testing.T) {
	s := oneZone(t, "")
	p := open(t, settings(s, func(c *Config) { c.BatchChangeSize = 1 }))
	somebodyElse(t, s, []string{"www 300 A 192.0.2.66"}, nil)
	changes := []dns.Change{
		created(record("www", "A", "192.0.2.1")),
		created(record("api", "A", "bad")),
		created(record("ok", "A", "192.0.2.3")),
		created(describing("www", record("a-www", "TXT", `"heritage=external-dns"`))),
		created(describing("api", record("a-api", "TXT", `"heritage=external-dns"`))),
		created(describing("ok", record("a-ok", "TXT", `"heritage=external-dns"`))),
	}
	var applyError *provider.ApplyError
	if err := apply(t, p, changes...); !errors.As(err, &applyError) {
		t.Fatalf("got %v", err)
	}
	for i, want := range []error{provider.ErrStale, provider.ErrRejected, nil, provider.ErrStale, provider.ErrRejected, nil} {
		if got := applyError.Errs[i]; !errors.Is(got, want) {
			t.Errorf("change %d: got %v, want %v", i, got, want)
		}
	}
	expect(t, p, `a-ok 300 TXT "heritage=external-dns"`, "ok 300 A 192.0.2.3", "www 300 A 192.0.2.66")
}

func TestGroups(t *testing.T) {
	p := open(t, settings(nil))
	z := p.zones[zoneName]
	changes := []dns.Change{
		created(record("a", "A", "192.0.2.1")),
		created(record("b", "A", "192.0.2.1")),
		created(describing("a", record("txt", "TXT", `"1"`))),
		created(record("c", "A", "192.0.2.1")),
		// One name holds the ownership records of two others: all are one group.
		created(describing("b", record("TXT", "PTR", "x.example.net"))),
	}
	var got []string
	for _, g := range p.groups(z, changes) {
		var indices []string
		for _, e := range g.edits {
			indices = append(indices, fmt.Sprint(e.index))
		}
		slices.Sort(indices)
		got = append(got, strings.Join(indices, " "))
	}
	if want := []string{"0 1 2 4", "3"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A plan never asks for this. A server would ignore one of the two records.
func TestCNAMEInCompany(t *testing.T) {
	p := open(t, settings(nil))
	changes := []dns.Change{created(record("a", "A", "192.0.2.1")), created(record("a", "CNAME", "b.example.net"))}
	for range 2 {
		for _, g := range p.groups(p.zones[zoneName], changes) {
			if !errors.Is(g.err, provider.ErrRejected) {
				t.Errorf("got %v", g.err)
			}
		}
		slices.Reverse(changes)
	}
}

// The name servers of a zone can be replaced at once, although a server ignores the deletion
// of the last one.
func TestApexNameServers(t *testing.T) {
	s := oneZone(t, "")
	p := open(t, settings(s))
	first := record("", "NS", "ns.invalid")
	mustApply(t, p, replaced(first, record("", "NS", "ns1.example.net", "ns2.example.net")))
	expect(t, p, " 300 NS ns1.example.net | ns2.example.net")
	second := record("", "NS", "ns1.example.net", "ns2.example.net")
	third := record("", "NS", "ns3.example.net")
	third.TTL = 60
	mustApply(t, p, replaced(second, third))
	expect(t, p, " 60 NS ns3.example.net")
	fourth := record("", "NS", "ns3.example.net")
	fourth.TTL = 120
	mustApply(t, p, replaced(third, fourth))
	expect(t, p, " 120 NS ns3.example.net")
	if err := apply(t, p, deleted(fourth)); !errors.Is(err, provider.ErrRejected) {
		t.Errorf("deletion: %v", err)
	}
}

// A change of the TTL only changes every record of the set.
func TestTTLOfAll(t *testing.T) {
	s := oneZone(t, "")
	p := open(t, settings(s, func(c *Config) { c.MinTTL = 2 * time.Minute }))
	old := record("www", "A", "192.0.2.1", "192.0.2.2", "192.0.2.3")
	mustApply(t, p, created(old))
	low := old.Clone()
	low.TTL = 60
	mustApply(t, p, replaced(old, low))
	expect(t, p, "www 120 A 192.0.2.1 | 192.0.2.2 | 192.0.2.3")
}

// The changes need more than one message of 65,535 octets, and one name is too large for any
// message.
func TestGreatMessages(t *testing.T) {
	s := oneZone(t, "")
	p := open(t, settings(s))
	text := strings.Repeat("0123456789", 300)
	var changes []dns.Change
	for i := range 45 {
		changes = append(changes, created(record(fmt.Sprintf("text%02d", i), "TXT", `"`+text+`"`)))
	}
	mustApply(t, p, changes...)
	if got := contents(t, p); len(got) != len(changes) || got[0] != `text00 300 TXT "`+text+`"` {
		t.Fatalf("%d of %d are there", len(got), len(changes))
	}
	great := record("great", "TXT")
	for i := range 40 {
		great.Targets = append(great.Targets, fmt.Sprintf(`"%d%s"`, i, text))
	}
	err := apply(t, p, created(record("other", "A", "192.0.2.1")), created(great))
	var applyError *provider.ApplyError
	if !errors.As(err, &applyError) || applyError.Errs[0] != nil || !errors.Is(applyError.Errs[1], provider.ErrRejected) {
		t.Errorf("got %v", err)
	}
}

// The work for a record set grows with its number of targets, not with the square of that.
func TestManyTargets(t *testing.T) {
	old := record("nodes", "A")
	for i := range 5000 {
		old.Targets = append(old.Targets, fmt.Sprintf("10.0.%d.%d", i/250, i%250))
	}
	now := old.Clone()
	now.Targets[0] = "192.0.2.1"
	p := open(t, settings(nil))
	z, err := p.find(testZone)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	e, err := p.newEdit(z, 0, replaced(old, now))
	if err != nil || len(e.gone) != 1 || len(e.fresh) != 1 {
		t.Fatalf("%d records to delete and %d to add, error %v", len(e.gone), len(e.fresh), err)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

// The error for a server that fails names the usual cause.
func TestServerFailure(t *testing.T) {
	server := listen(t, scripted(func(m *mdns.Msg) { m.Rcode = mdns.RcodeServerFailure }))
	p := open(t, settings(nil, func(c *Config) { c.Insecure = true })).at(disabled, server)
	err := apply(t, p, created(record("www", "A", "192.0.2.1")))
	if err == nil || provider.NothingMade(err) || !strings.Contains(err.Error(), "max-records-per-type") {
		t.Error(err)
	}
}

// A text that is split in another way is listed as it is, and can be deleted.
func TestOtherTexts(t *testing.T) {
	s := oneZone(t, "")
	p := open(t, settings(s))
	somebodyElse(t, s, []string{`a 300 TXT "one" "two"`, `b 300 TXT "b\195\188cher" ""`, `c 300 TXT ""`}, nil)
	expect(t, p, `a 300 TXT "one" "two"`, `b 300 TXT "b\195\188cher" ""`, `c 300 TXT ""`)
	list, err := p.Records(t.Context(), testZone)
	if err != nil {
		t.Fatal(err)
	}
	var changes []dns.Change
	for _, r := range list {
		if r.Type == "TXT" {
			changes = append(changes, deleted(r))
		}
	}
	mustApply(t, p, changes...)
	expect(t, p)
}

// With wrong credentials nothing is changed, and the error says so.
func TestCredentials(t *testing.T) {
	s := bind(t, bindtest.Config{
		Zones: []bindtest.Zone{{Name: zoneName}, {Name: "other.test", Key: "other-key"}},
		Keys:  []bindtest.Key{{Name: "other-key", Algorithm: "hmac-sha512", Secret: keySecret}},
	})
	for name, edit := range map[string]func(*Config){
		"unknown key":     func(c *Config) { c.TSIGKeyName = "nobody" },
		"wrong secret":    func(c *Config) { c.TSIGSecret = "d3Jvbmctd3Jvbmctd3Jvbmctd3Jvbmc=" },
		"wrong algorithm": func(c *Config) { c.TSIGAlgorithm = "hmac-sha1" },
		"not the key of the zone": func(c *Config) {
			c.TSIGKeyName, c.TSIGAlgorithm = "other-key", "HMAC-SHA512."
		},
		"no key":                     func(c *Config) { c.Insecure = true },
		"not a zone of the server's": func(c *Config) { c.Zones = []string{"sub.example.test"} },
	} {
		t.Run(name, func(t *testing.T) {
			c := settings(s, edit)
			p, zone := open(t, c), c.Zones[0]
			changes := []dns.Change{
				created(&dns.RecordSet{Name: "a." + zone, Type: "A", Targets: []string{"192.0.2.1"}}),
				created(&dns.RecordSet{Name: "b." + zone, Type: "A", Targets: []string{"192.0.2.1"}}),
			}
			err := p.Apply(t.Context(), dns.Zone{Name: zone}, changes)
			var applyError *provider.ApplyError
			if !errors.Is(err, provider.ErrCredentials) || errors.As(err, &applyError) {
				t.Errorf("Apply: %v", err)
			}
			if _, err := p.Records(t.Context(), dns.Zone{Name: zone}); !errors.Is(err, provider.ErrCredentials) {
				t.Errorf("Records: %v", err)
			}
			if strings.Contains(err.Error(), c.TSIGSecret) {
				t.Errorf("the error has the secret: %v", err)
			}
		})
	}
	expect(t, open(t, settings(s)))
}

// If a key may change only some names, the changes of others are rejected.
func TestPolicy(t *testing.T) {
	s := bind(t, bindtest.Config{Zones: []bindtest.Zone{{
		Name: zoneName, Policy: fmt.Sprintf("grant %s subdomain apps.%s ANY;", keyName, zoneName),
	}}})
	p := open(t, settings(s))
	var changes []dns.Change
	for i := range 7 {
		changes = append(changes, created(record(fmt.Sprintf("n%d.apps", i), "A", "192.0.2.1")))
	}
	changes = append(changes, created(record("n", "A", "192.0.2.1")), created(record("n7.apps", "A", "192.0.2.1")))
	var applyError *provider.ApplyError
	if err := apply(t, p, changes...); !errors.As(err, &applyError) {
		t.Fatalf("got %v", err)
	}
	for i, err := range applyError.Errs {
		if forbidden := i == 7; errors.Is(err, provider.ErrRejected) != forbidden || errors.Is(err, provider.ErrCredentials) || (err != nil) != forbidden {
			t.Errorf("change %d: %v", i, err)
		}
	}
	if got := contents(t, p); len(got) != 8 {
		t.Errorf("the zone has %q", got)
	}
	// A lone name that is forbidden stopped its zone, as bad credentials (D7).
	if err := apply(t, p, created(record("m", "A", "192.0.2.1"))); !errors.Is(err, provider.ErrRejected) || errors.Is(err, provider.ErrCredentials) {
		t.Errorf("only what is forbidden: %v", err)
	}
}

// BIND refuses a host name with an underscore (check-names) with the code that it also has for keys that may
// do nothing. The name was taken for bad credentials, so that its zone waited whenever it came back alone
// (D7).
func TestRefusedName(t *testing.T) {
	s := bind(t, bindtest.Config{Zones: []bindtest.Zone{{Name: zoneName}}})
	for name, p := range map[string]*Provider{
		"with transfers": open(t, settings(s)), "without": open(t, settings(s, func(c *Config) { c.AXFR = false })),
	} {
		for i := range 3 {
			changes := []dns.Change{created(record("has_underscore", "A", "192.0.2.1"))}
			if i == 2 {
				changes = append(changes, created(record("has_another", "A", "192.0.2.1")))
			}
			err := apply(t, p, changes...)
			if !errors.Is(err, provider.ErrRejected) || errors.Is(err, provider.ErrCredentials) || !strings.Contains(err.Error(), "REFUSED") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	expect(t, open(t, settings(s)))
}

// A key that may write only below a name can't write the ownership record of that very name, which stands
// beside it. The error says so (W16).
func TestRefusedOwnershipRecord(t *testing.T) {
	s := bind(t, bindtest.Config{Zones: []bindtest.Zone{{
		Name: zoneName, Policy: fmt.Sprintf("grant %s subdomain apps.%s ANY;", keyName, zoneName),
	}}})
	p := open(t, settings(s))
	ownership := record("a-apps", "TXT", `"heritage=external-dns"`)
	ownership.Labels = map[string]string{dns.LabelOwnedRecord: "apps." + zoneName}
	err := apply(t, p, created(record("apps", "A", "192.0.2.1")), created(ownership))
	for _, want := range []string{"apps." + zoneName, "a-apps." + zoneName, "ownership record", "--txt-prefix"} {
		if !errors.Is(err, provider.ErrRejected) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want one with %s", err, want)
		}
	}
	if got := contents(t, p); len(got) != 0 {
		t.Errorf("the zone has %q", got)
	}
}

// BIND accepts every algorithm of the specification.
func TestAlgorithms(t *testing.T) {
	c := bindtest.Config{}
	for _, a := range algorithms() {
		c.Keys = append(c.Keys, bindtest.Key{Name: a + ".key", Algorithm: a, Secret: keySecret})
		c.Zones = append(c.Zones, bindtest.Zone{Name: a + ".test", Key: a + ".key"})
	}
	s := bind(t, c)
	for _, a := range algorithms() {
		p := open(t, settings(s, func(c *Config) { c.Zones, c.TSIGKeyName, c.TSIGAlgorithm = []string{a + ".test"}, a+".key", a }))
		zone := dns.Zone{Name: a + ".test"}
		if err := p.Apply(t.Context(), zone, []dns.Change{created(&dns.RecordSet{Name: "www." + zone.Name, Type: "A", Targets: []string{"192.0.2.1"}})}); err != nil {
			t.Errorf("%s: %v", a, err)
		}
		if list, err := p.Records(t.Context(), zone); err != nil || len(list) != 2 {
			t.Errorf("%s: %v, %v", a, list, err)
		}
	}
}
