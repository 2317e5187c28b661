package fanout_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/fanout"
	"github.com/signpostd/signpost/dns/provider/inmemory"
	"github.com/signpostd/signpost/testkit/inmemorytest"
	"github.com/signpostd/signpost/testkit/providertest"
)

const zoneName = "example.test"

var zone = dns.Zone{ID: zoneName, Name: zoneName}

func TestConformance(t *testing.T) {
	providertest.Run(t, providertest.Options{
		Open: func(t *testing.T, in provider.Input) providertest.Fixture {
			var members []provider.Provider
			for _, zones := range [][]string{{zoneName, "2.0.192.in-addr.arpa"}, {zoneName, "192.in-addr.arpa", "other.test"}} {
				p, err := (&inmemory.Config{Zones: zones}).Open(t.Context(), in)
				if err != nil {
					t.Fatal(err)
				}
				members = append(members, p)
			}
			return providertest.Fixture{Provider: fanout.New(members), Zone: zoneName, Reverse: "2.0.192.in-addr.arpa"}
		},
		Types: []string{
			dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeTXT, dns.TypeSRV, dns.TypeMX, dns.TypeNS, dns.TypePTR, dns.TypeNAPTR, dns.TypeDNAME,
		},
		Rejects: func(zone string) []*dns.RecordSet {
			return []*dns.RecordSet{record("before", "192.0.2.7"), {Name: "before." + zone, Type: "CNAME", Targets: []string{"lb.example.net"}}}
		},
	})
}

func record(name string, targets ...string) *dns.RecordSet {
	return &dns.RecordSet{Name: name + "." + zoneName, Type: "A", Targets: targets, TTL: 300}
}

// pair is a fanout over two providers.
type pair struct {
	*fanout.Provider
	t    *testing.T
	a, b *inmemorytest.Provider
}

func newPair(t *testing.T) pair {
	t.Helper()
	p := pair{t: t, a: inmemorytest.New(zoneName), b: inmemorytest.New(zoneName)}
	p.Provider = fanout.New([]provider.Provider{p.a, p.b})
	if _, err := p.Zones(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p pair) listed() string {
	p.t.Helper()
	list, err := p.Records(p.t.Context(), zone)
	if err != nil {
		p.t.Fatal(err)
	}
	return lines(list)
}

func lines(list []*dns.RecordSet) string {
	var all []string
	for _, r := range list {
		line := fmt.Sprint(strings.TrimSuffix(r.Name, "."+zoneName), " ", r.TTL, " ", strings.Join(r.Targets, ","))
		for _, property := range r.Properties {
			line += " " + property.Name
		}
		all = append(all, line)
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// get returns the record set with the name www as the fanout lists it.
func (p pair) get() *dns.RecordSet {
	p.t.Helper()
	list, err := p.Records(p.t.Context(), zone)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, r := range list {
		if r.Name == "www."+zoneName {
			return r
		}
	}
	return nil
}

// expect checks what is listed, and what each provider has.
func (p pair) expect(listed, a, b string) {
	p.t.Helper()
	got := []string{p.listed()}
	for _, member := range []*inmemorytest.Provider{p.a, p.b} {
		list, err := member.All(zoneName)
		if err != nil {
			p.t.Fatal(err)
		}
		got = append(got, lines(list))
	}
	if want := []string{listed, a, b}; !slices.Equal(got, want) {
		p.t.Fatalf("got %q, want %q", got, want)
	}
}

func (p pair) put(member *inmemorytest.Provider, r *dns.RecordSet) {
	p.t.Helper()
	if err := member.Put(r); err != nil {
		p.t.Fatal(err)
	}
}

func (p pair) apply(changes ...dns.Change) error {
	return p.Apply(p.t.Context(), zone, changes)
}

func fail(member *inmemorytest.Provider, err error) {
	member.SetHooks(inmemorytest.Hooks{Before: func(_ context.Context, call inmemorytest.Call) error {
		if call.Operation == inmemorytest.Apply {
			return err
		}
		return nil
	}})
}

// Only what all providers have is present. Creating a record set completes it.
func TestPresentInAll(t *testing.T) {
	p := newPair(t)
	for _, member := range []*inmemorytest.Provider{p.a, p.b} {
		p.put(member, record("both", "192.0.2.1", "192.0.2.2"))
	}
	p.put(p.a, record("www", "192.0.2.1"))
	p.expect("both 300 192.0.2.1,192.0.2.2", "both 300 192.0.2.1,192.0.2.2; www 300 192.0.2.1", "both 300 192.0.2.1,192.0.2.2")
	if err := p.apply(dns.Change{New: record("www", "192.0.2.1")}); err != nil {
		t.Fatal(err)
	}
	all := "both 300 192.0.2.1,192.0.2.2; www 300 192.0.2.1"
	p.expect(all, all, all)
}

// Providers may spell an address differently, as the plan allows.
func TestSpellings(t *testing.T) {
	p := newPair(t)
	for member, target := range map[*inmemorytest.Provider]string{p.a: "2001:db8::1", p.b: "2001:DB8:0::1"} {
		r := record("www", target)
		r.Type = dns.TypeAAAA
		p.put(member, r)
	}
	if p.get() == nil {
		t.Errorf("listed %q, want the record set that both have", p.listed())
	}
}

// If the TTLs differ, the listed one is different from any other.
func TestTTL(t *testing.T) {
	p := newPair(t)
	low := record("www", "192.0.2.1")
	low.TTL = 60
	p.put(p.a, record("www", "192.0.2.1"))
	p.put(p.b, low)
	p.expect("www 0 192.0.2.1", "www 300 192.0.2.1", "www 60 192.0.2.1")
	if err := p.apply(dns.Change{Old: p.get(), New: record("www", "192.0.2.1")}); err != nil {
		t.Fatal(err)
	}
	p.expect("www 300 192.0.2.1", "www 300 192.0.2.1", "www 300 192.0.2.1")
}

// A record set that was not listed belongs to somebody else.
func TestNothingIsOverwritten(t *testing.T) {
	p := newPair(t)
	p.put(p.b, record("www", "192.0.2.66"))
	p.expect("", "", "www 300 192.0.2.66")
	err := p.apply(dns.Change{New: record("www", "192.0.2.1")}, dns.Change{New: record("api", "192.0.2.1")})
	var applyError *provider.ApplyError
	if !errors.As(err, &applyError) || !errors.Is(applyError.Errs[0], provider.ErrRejected) || applyError.Errs[1] != nil {
		t.Fatalf("got %v", err)
	}
	p.expect("api 300 192.0.2.1", "api 300 192.0.2.1", "api 300 192.0.2.1; www 300 192.0.2.66")
}

// A change that only one provider has made is listed until both have the same again: after a
// rejection and after an unknown outcome, and whether it is still wanted or not.
func TestUnfinished(t *testing.T) {
	old, updated := record("www", "192.0.2.1"), record("www", "192.0.2.2")
	down := errors.New("down")
	for _, test := range []struct {
		name   string
		there  *dns.RecordSet
		change dns.Change
		err    error
		listed string
		then   *dns.RecordSet
		want   string
	}{
		{name: "created", change: dns.Change{New: old}, err: down, listed: "www 300 192.0.2.1 fanout/unfinished", then: old, want: "www 300 192.0.2.1"},
		{name: "created, not wanted any more", change: dns.Change{New: old}, err: provider.ErrRejected, listed: "www 300 192.0.2.1 fanout/unfinished"},
		{
			name: "replaced", there: old, change: dns.Change{Old: old, New: updated}, err: provider.ErrRejected,
			listed: "www 300 192.0.2.2 fanout/unfinished", then: updated, want: "www 300 192.0.2.2",
		},
		{
			name: "replaced, wanted otherwise by now", there: old, change: dns.Change{Old: old, New: updated}, err: down,
			listed: "www 300 192.0.2.2 fanout/unfinished", then: record("www", "192.0.2.3"), want: "www 300 192.0.2.3",
		},
		{name: "deleted", there: old, change: dns.Change{Old: old}, err: provider.ErrCredentials, listed: "www 300 192.0.2.1 fanout/unfinished"},
		{
			name: "deleted, wanted again", there: old, change: dns.Change{Old: old}, err: down,
			listed: "www 300 192.0.2.1 fanout/unfinished", then: old, want: "www 300 192.0.2.1",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPair(t)
			if test.there != nil {
				p.put(p.a, test.there)
				p.put(p.b, test.there)
			}
			p.get()
			fail(p.b, test.err)
			err := p.apply(test.change)
			var applyError *provider.ApplyError
			if known := errors.As(err, &applyError); !errors.Is(err, test.err) || known == (test.err == down) {
				t.Fatalf("got %v", err)
			}
			fail(p.b, nil)
			if got := p.listed(); got != test.listed {
				t.Fatalf("listed %q, want %q", got, test.listed)
			}
			if err := p.apply(dns.Change{Old: p.get(), New: test.then}); err != nil {
				t.Fatal(err)
			}
			p.expect(test.want, test.want, test.want)
		})
	}
}

// A change that one provider didn't make is finished once no provider has the record set any more. The name
// is then free again, also for somebody else.
func TestUnfinishedIsGone(t *testing.T) {
	for _, test := range []struct {
		name string
		then func(pair) error
		want string
	}{
		{"created again before a listing", func(p pair) error { return p.apply(dns.Change{New: record("www", "192.0.2.2")}) }, "www 300 192.0.2.2"},
		{"created by somebody else after a listing", func(p pair) error { p.get(); return p.a.Put(record("www", "192.0.2.66")) }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPair(t)
			p.get()
			fail(p.b, provider.ErrRejected)
			if err := p.apply(dns.Change{New: record("www", "192.0.2.1")}); err == nil {
				t.Fatal("a provider has refused it")
			}
			fail(p.b, nil)
			if err := p.apply(dns.Change{Old: p.get()}); err != nil {
				t.Fatal(err)
			}
			if err := test.then(p); err != nil {
				t.Fatal(err)
			}
			if got := p.listed(); got != test.want {
				t.Errorf("listed %q, want %q", got, test.want)
			}
		})
	}
}

// versioned has a zone whose version is the number of its records, as at Route 53 and Azure.
type versioned struct{ *inmemorytest.Provider }

func (v versioned) Zones(ctx context.Context) ([]dns.Zone, error) {
	zones, err := v.Provider.Zones(ctx)
	for i := range zones {
		list, err := v.All(zones[i].Name)
		if err != nil {
			return nil, err
		}
		zones[i].Version = fmt.Sprint(len(list))
	}
	return zones, err
}

// What is known of a zone stays while its version changes, which it does with each record. Otherwise
// a change that only one provider has made would be forgotten at the next listing of zones, and its
// record could never be changed again.
func TestUnfinishedWithVersions(t *testing.T) {
	a, b := inmemorytest.New(zoneName), inmemorytest.New(zoneName)
	p := pair{t: t, a: a, b: b, Provider: fanout.New([]provider.Provider{versioned{a}, versioned{b}})}
	versions := map[string]bool{}
	zones := func() {
		t.Helper()
		list, err := p.Zones(t.Context())
		if err != nil || len(list) != 1 || list[0].Version == "" {
			t.Fatal(list, err)
		}
		versions[list[0].Version] = true
	}
	zones()
	p.get()
	fail(b, provider.ErrRejected)
	if err := p.apply(dns.Change{New: record("www", "192.0.2.1")}); err == nil {
		t.Fatal("a provider has refused it")
	}
	fail(b, nil)
	zones()
	p.expect("www 300 192.0.2.1 fanout/unfinished", "www 300 192.0.2.1", "")
	if err := p.apply(dns.Change{Old: p.get(), New: record("www", "192.0.2.2")}); err != nil {
		t.Fatal(err)
	}
	p.expect("www 300 192.0.2.2", "www 300 192.0.2.2", "www 300 192.0.2.2")
	zones()
	if len(versions) != 3 {
		t.Errorf("versions %v: each change must give another one", versions)
	}
}

// confirming counts what it is asked to confirm.
type confirming struct {
	*inmemorytest.Provider
	asked *[]dns.Zone
	err   error
}

func (c confirming) Confirm(_ context.Context, z dns.Zone) error {
	*c.asked = append(*c.asked, z)
	return c.err
}

// A record is published when the servers of all providers return it.
func TestConfirm(t *testing.T) {
	late, asked := errors.New("late"), []dns.Zone{}
	p := fanout.New([]provider.Provider{inmemorytest.New(zoneName), confirming{inmemorytest.New(zoneName), &asked, late}})
	if _, err := p.Zones(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := any(p).(provider.Confirmer)
	if err := c.Confirm(t.Context(), zone); !errors.Is(err, late) || len(asked) != 1 || asked[0].Name != zoneName {
		t.Errorf("asked %v: %v", asked, err)
	}
}

// After a lost answer, the records are read before the next change.
func TestAnswerLost(t *testing.T) {
	p := newPair(t)
	p.get()
	lost := errors.New("lost")
	p.b.SetHooks(inmemorytest.Hooks{After: func(_ context.Context, call inmemorytest.Call, err error) error {
		if call.Operation == inmemorytest.Apply {
			return lost
		}
		return err
	}})
	if err := p.apply(dns.Change{New: record("www", "192.0.2.1")}); !errors.Is(err, lost) {
		t.Fatalf("got %v", err)
	}
	p.b.SetHooks(inmemorytest.Hooks{})
	if err := p.apply(dns.Change{Old: record("www", "192.0.2.1"), New: record("www", "192.0.2.2")}); err != nil {
		t.Fatal(err)
	}
	p.expect("www 300 192.0.2.2", "www 300 192.0.2.2", "www 300 192.0.2.2")
}

func TestErrors(t *testing.T) {
	p := newPair(t)
	fail(p.a, provider.ErrCredentials)
	fail(p.b, provider.ErrCredentials)
	err := p.apply(dns.Change{New: record("www", "192.0.2.1")})
	var applyError *provider.ApplyError
	if !errors.Is(err, provider.ErrCredentials) || errors.As(err, &applyError) {
		t.Errorf("nobody is let in: %v", err)
	}
	p.b.SetHooks(inmemorytest.Hooks{Before: func(context.Context, inmemorytest.Call) error { return errors.New("down") }})
	if list, err := p.Records(t.Context(), zone); err == nil || list != nil {
		t.Errorf("Records: %v, %v", list, err)
	}
	if list, err := p.Zones(t.Context()); err == nil || list != nil {
		t.Errorf("Zones: %v, %v", list, err)
	}
}

// zoned has zones, and otherwise does nothing.
type zoned struct {
	provider.Provider
	zones []dns.Zone
}

func (z zoned) Zones(context.Context) ([]dns.Zone, error) { return z.zones, nil }

func TestZones(t *testing.T) {
	for _, test := range []struct {
		name  string
		lists [][]string
		want  string
	}{
		{"the same", [][]string{{"a.test", "b.test"}, {"b.test", "a.test"}}, `["a.test" "b.test"]`},
		{"one lacks one", [][]string{{"a.test", "b.test"}, {"a.test"}}, `["a.test"]`},
		{"one has none", [][]string{{"a.test"}, {""}}, `["a.test"]`},
		{"both have none", [][]string{{""}, {""}}, `[""]`},
		{"one has a smaller one", [][]string{{"a.test"}, {"sub.a.test", "b.test"}}, `["sub.a.test"]`},
		{"names that only end alike", [][]string{{"a.test"}, {"aa.test"}}, "[]"},
	} {
		var members []provider.Provider
		for _, list := range test.lists {
			var zones []dns.Zone
			for _, name := range list {
				zones = append(zones, dns.Zone{ID: "id of " + name, Name: name})
			}
			members = append(members, zoned{zones: zones})
		}
		var got []string
		zones, err := fanout.New(members).Zones(t.Context())
		for _, z := range zones {
			got = append(got, z.Name)
		}
		if fmt.Sprintf("%q", got) != test.want || err != nil {
			t.Errorf("%s: got %q, %v", test.name, got, err)
		}
	}
	twins := zoned{zones: []dns.Zone{{ID: "1", Name: "a.test"}, {ID: "2", Name: "a.test", Private: true}}}
	if zones, err := fanout.New([]provider.Provider{twins, twins}).Zones(t.Context()); err == nil {
		t.Errorf("two zones of one name: %v", zones)
	}
}

// adjusting has limits of its own.
type adjusting struct {
	provider.Provider
	minTTL int64
	// refuses begins the names that are refused.
	refuses string
}

func (a adjusting) Adjust(_ context.Context, _ dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	return provider.AdjustEach(wanted, func(r *dns.RecordSet) (*dns.RecordSet, error) {
		if strings.HasPrefix(r.Name, a.refuses) && a.refuses != "" {
			return nil, provider.ErrRejected
		}
		c := r.Clone()
		c.TTL = max(c.TTL, a.minTTL)
		return c, nil
	}), nil
}

// able is a provider with some capabilities.
type able struct {
	*inmemorytest.Provider
	can provider.Capabilities
}

func (a able) Capabilities() provider.Capabilities { return a.can }

// The providers have together what all of them can, within the strictest limits.
func TestCapabilities(t *testing.T) {
	one := provider.Capabilities{
		SetIdentifiers: true, Conditional: true, Types: []string{"A", "TXT", "MX"}, NameCharacters: "*/", Properties: []string{"aws/"}, OneName: []string{"x"},
		BatchSize: 50, BatchInterval: time.Second, BatchTime: 3 * time.Minute, ListingTime: time.Minute, Calls: 2, CallsPerSecond: 5,
	}
	other := provider.Capabilities{
		Stepwise: true, ByTarget: true, Blind: true, Types: []string{"A", "TXT"}, NameCharacters: "/-", Properties: []string{"azure/"}, OneName: []string{"y"},
		BatchSize: 20, BatchInterval: 2 * time.Second, BatchTime: 4 * time.Minute, ListingTime: time.Hour, CallsPerSecond: 3,
	}
	want := provider.Capabilities{
		Stepwise: true, ByTarget: true, Blind: true, Types: []string{"A", "TXT"}, NameCharacters: "/", OneName: []string{"x", "y"},
		BatchSize: 20, BatchInterval: 2 * time.Second, BatchTime: 4 * time.Minute, ListingTime: time.Minute, Calls: 2, CallsPerSecond: 3,
	}
	// The properties of all of them are read (D20).
	want.Properties = []string{"aws/", "azure/"}
	in := inmemorytest.New(zoneName)
	if d := cmp.Diff(want, fanout.New([]provider.Provider{able{in, one}, able{in, other}}).Capabilities()); d != "" {
		t.Errorf("capabilities (-want +got):\n%s", d)
	}
	// Without a limit, the other one's counts.
	want = other
	want.Properties, want.OneName, want.NameCharacters, want.ListingTime = []string{"azure/"}, []string{"y"}, "", 0
	if d := cmp.Diff(want, fanout.New([]provider.Provider{able{in, provider.Capabilities{}}, able{in, other}}).Capabilities()); d != "" {
		t.Errorf("capabilities with a provider without limits (-want +got):\n%s", d)
	}
}

func TestLimitsOfAll(t *testing.T) {
	in := inmemorytest.New(zoneName)
	p := fanout.New([]provider.Provider{
		adjusting{Provider: in, minTTL: 600}, in, adjusting{Provider: in, minTTL: 900, refuses: "bad."}, adjusting{Provider: in},
	})
	if _, err := p.Zones(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := p.Adjust(t.Context(), zone, []*dns.RecordSet{record("bad", "192.0.2.1"), record("www", "192.0.2.1")})
	if err != nil || len(list) != 2 || !errors.Is(list[0].Err, provider.ErrRejected) || list[1].Sets[0].TTL != 900 {
		t.Errorf("Adjust: %v, %v", list, err)
	}
	if !p.DomainFilter(t.Context()).Match("www.example.test") {
		t.Error("nobody has a filter, and a name doesn't pass")
	}
}

// probing is a provider that knows its name servers, and says what Probe returns.
type probing struct {
	*inmemorytest.Provider
	lists bool
	err   error
}

func (p probing) Probe(context.Context, dns.Zone) (bool, error) { return p.lists, p.err }

func (probing) NameServers() []string { return []string{"192.0.2.53:53"} }

// TestProbe shows that a zone is listed if all providers list it, and that a provider without Probe is
// contacted.
func TestProbe(t *testing.T) {
	refused, unreachable := errors.New("refused"), errors.New("unreachable")
	down := inmemorytest.New(zoneName)
	down.SetHooks(inmemorytest.Hooks{Before: func(_ context.Context, c inmemorytest.Call) error {
		if c.Operation == inmemorytest.Records {
			return unreachable
		}
		return nil
	}})
	for name, test := range map[string]struct {
		members []provider.Provider
		lists   bool
		err     error
	}{
		"none probes":    {[]provider.Provider{inmemorytest.New(zoneName), inmemorytest.New(zoneName)}, true, nil},
		"all list":       {[]provider.Provider{probing{inmemorytest.New(zoneName), true, nil}, inmemorytest.New(zoneName)}, true, nil},
		"one can't list": {[]provider.Provider{inmemorytest.New(zoneName), probing{inmemorytest.New(zoneName), false, nil}}, false, nil},
		"one fails":      {[]provider.Provider{inmemorytest.New(zoneName), probing{inmemorytest.New(zoneName), false, refused}}, false, refused},
		"one can't list, another can't be reached": {[]provider.Provider{down, probing{inmemorytest.New(zoneName), false, nil}}, false, unreachable},
	} {
		p := fanout.New(test.members)
		if _, err := p.Zones(t.Context()); err != nil {
			t.Fatal(err)
		}
		if lists, err := any(p).(provider.Prober).Probe(t.Context(), zone); lists != test.lists || !errors.Is(err, test.err) {
			t.Errorf("%s: %t, %v; want %t, %v", name, lists, err, test.lists, test.err)
		}
	}
}

// TestNameServers shows that the name servers are known if those of all providers are.
func TestNameServers(t *testing.T) {
	known, unknown := probing{Provider: inmemorytest.New(zoneName)}, inmemorytest.New(zoneName)
	for _, test := range []struct {
		members []provider.Provider
		want    int
	}{{[]provider.Provider{known, known}, 1}, {[]provider.Provider{known, unknown}, 0}} {
		if got := any(fanout.New(test.members)).(provider.NameServerLister).NameServers(); len(got) != test.want {
			t.Errorf("the servers are %q, want %d", got, test.want)
		}
	}
}
