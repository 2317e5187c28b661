package providertest

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// zone is the zone of a check.
type zone struct {
	t       *testing.T
	fixture Fixture
	// p is the provider; name is the suffix of the names in the records.
	p    provider.Provider
	zone dns.Zone
	name string
	// background is the content of the zone before the check. It must not change.
	background map[dns.Key]*dns.RecordSet
}

// open opens a provider and finds the zone whose name the function returns.
func open(t *testing.T, o Options, name func(Fixture) string) *zone {
	t.Helper()
	f := o.Open(t, Input())
	z := &zone{t: t, fixture: f, p: f.Provider, name: name(f)}
	z.zone = z.find()
	z.background = z.records(z.p)
	return z
}

func forward(f Fixture) string { return f.Zone }
func reverse(f Fixture) string { return f.Reverse }

// find returns the provider's zone of the name.
func (z *zone) find() dns.Zone {
	z.t.Helper()
	zones, err := z.p.Zones(z.t.Context())
	if err != nil {
		z.t.Fatalf("Zones: %v", err)
	}
	for _, found := range zones {
		if found.Name == "" || dns.Canonical(found.Name) == dns.Canonical(z.name) {
			return found
		}
	}
	z.t.Fatalf("Zones returned %v, none of them is %s", zones, z.name)
	return dns.Zone{}
}

// Counting returns a transport that counts the requests that it sends.
func Counting(next http.RoundTripper, sent *int) http.RoundTripper { return counter{next, sent} }

type counter struct {
	http.RoundTripper
	sent *int
}

// RoundTrip implements [http.RoundTripper].
func (c counter) RoundTrip(r *http.Request) (*http.Response, error) {
	*c.sent++
	return c.RoundTripper.RoundTrip(r)
}

// Input returns an input of providers that leaves requests as they are.
func Input() provider.Input {
	return provider.Input{
		OwnerID: "kit",
		Domains: dns.NewDomainFilter(nil, nil),
		Wrap:    func(rt http.RoundTripper) http.RoundTripper { return rt },
		Log:     slog.New(slog.DiscardHandler),
	}
}

// records lists the zone and fails the test if a key occurs twice.
func (z *zone) records(p provider.Provider) map[dns.Key]*dns.RecordSet {
	z.t.Helper()
	list, err := p.Records(z.t.Context(), z.zone)
	if err != nil {
		z.t.Fatalf("Records: %v", err)
	}
	byKey := make(map[dns.Key]*dns.RecordSet, len(list))
	for _, r := range list {
		if _, twice := byKey[r.Key()]; twice {
			z.t.Fatalf("Records returned %v twice", r.Key())
		}
		byKey[r.Key()] = r
	}
	return byKey
}

// current returns the content of the zone without the background.
func (z *zone) current() map[dns.Key]*dns.RecordSet {
	z.t.Helper()
	current := z.records(z.p)
	maps.DeleteFunc(current, func(k dns.Key, _ *dns.RecordSet) bool { return z.background[k] != nil })
	return current
}

// adjust returns the expected record sets of the zone once the wanted ones are applied.
func (z *zone) adjust(wanted []*dns.RecordSet) []*dns.RecordSet {
	z.t.Helper()
	a, ok := z.p.(provider.Adjuster)
	if !ok {
		return wanted
	}
	before := make([]*dns.RecordSet, len(wanted))
	for i, r := range wanted {
		before[i] = r.Clone()
	}
	answers, err := a.Adjust(z.t.Context(), z.zone, wanted)
	if err != nil {
		z.t.Fatalf("Adjust: %v", err)
	}
	if len(answers) != len(wanted) {
		z.t.Fatalf("Adjust: %d answers about %d record sets", len(answers), len(wanted))
	}
	var adjusted []*dns.RecordSet
	for i, answer := range answers {
		if answer.Err != nil {
			z.t.Fatalf("Adjust %s: %v", show(wanted[i]), answer.Err)
		}
		adjusted = append(adjusted, answer.Sets...)
	}
	for i, r := range wanted {
		if difference(before[i], r) != "" {
			z.t.Fatalf("Adjust changed the %s that it was given", show(before[i]))
		}
	}
	return adjusted
}

// changes plans the changes from the current to the wanted record sets.
func (z *zone) changes(adjusted []*dns.RecordSet) []dns.Change {
	z.t.Helper()
	current := z.current()
	var removed, replaced, added []dns.Change
	for _, r := range adjusted {
		old := current[r.Key()]
		delete(current, r.Key())
		switch {
		case old == nil:
			added = append(added, dns.Change{New: r})
		case difference(old, r) != "":
			replaced = append(replaced, dns.Change{Old: old, New: r})
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(current), compareKeys) {
		removed = append(removed, dns.Change{Old: current[k]})
	}
	return inOrder(slices.Concat(removed, replaced, added))
}

// inOrder puts the changes of a name next to each other, deletions first.
func inOrder(changes []dns.Change) []dns.Change {
	slices.SortStableFunc(changes, func(a, b dns.Change) int {
		return strings.Compare(dns.Canonical(a.RecordSet().Name), dns.Canonical(b.RecordSet().Name))
	})
	return changes
}

func compareKeys(a, b dns.Key) int {
	return strings.Compare(a.Name+" "+a.Type+" "+a.SetIdentifier, b.Name+" "+b.Type+" "+b.SetIdentifier)
}

// become brings the zone into a state in one call of Apply, and checks it.
func (z *zone) become(wanted []*dns.RecordSet) {
	z.t.Helper()
	adjusted := z.adjust(wanted)
	changes := z.changes(adjusted)
	if err := z.p.Apply(z.t.Context(), z.zone, changes); err != nil {
		z.t.Fatalf("Apply %s: %v", showChanges(changes), err)
	}
	z.expect(adjusted)
}

// expect checks that the zone has exactly the adjusted record sets, and that a plan would be empty: now,
// later, and in another process.
func (z *zone) expect(adjusted []*dns.RecordSet) {
	z.t.Helper()
	for range 2 {
		z.compare("Records", z.records(z.p), adjusted)
	}
	if z.fixture.Reopen != nil {
		z.compare("Records of another provider", z.records(z.fixture.Reopen(z.t)), adjusted)
	}
}

func (z *zone) compare(what string, listed map[dns.Key]*dns.RecordSet, adjusted []*dns.RecordSet) {
	z.t.Helper()
	for k, r := range z.background {
		if now := listed[k]; now == nil || difference(r, now) != "" {
			z.t.Errorf("%s: %s is %s now, although nobody asked for it", what, show(r), show(now))
		}
		delete(listed, k)
	}
	for _, want := range adjusted {
		got := listed[want.Key()]
		delete(listed, want.Key())
		if got == nil {
			z.t.Errorf("%s: no %s", what, show(want))
		} else if d := cmp.Or(difference(got, want), otherTTL(got, want)); d != "" {
			z.t.Errorf("%s: got %s, want %s: %s", what, show(got), show(want), d)
		}
	}
	for _, r := range listed {
		z.t.Errorf("%s: got %s, which should not be there", what, show(r))
	}
	if z.t.Failed() {
		z.t.FailNow()
	}
}

// seen checks what clients see of a record set, if there is a Lookup.
func (z *zone) seen(name, recordType string, want Answer) {
	z.t.Helper()
	if z.fixture.Lookup == nil {
		return
	}
	ctx, cancel := context.WithTimeout(z.t.Context(), lookupTimeout)
	defer cancel()
	got, err := z.fixture.Lookup(ctx, name, recordType)
	if err != nil {
		z.t.Fatalf("look up %s %s: %v", name, recordType, err)
	}
	fold := func(values []string) []string {
		folded := slices.Clone(values)
		for i := range folded {
			if recordType != dns.TypeTXT {
				folded[i] = strings.ToLower(folded[i])
			}
		}
		slices.Sort(folded)
		return folded
	}
	if !slices.Equal(fold(got.Values), fold(want.Values)) {
		z.t.Fatalf("look up %s %s: got %q, want %q", name, recordType, got.Values, want.Values)
	}
	if want.TTL > 0 && len(want.Values) > 0 && got.TTL != want.TTL {
		z.t.Fatalf("look up %s %s: got the TTL %d, want %d", name, recordType, got.TTL, want.TTL)
	}
}
