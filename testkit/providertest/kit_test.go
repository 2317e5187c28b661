package providertest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/inmemory"
	"github.com/signpostd/signpost/testkit/providertest"
)

// mutant is a provider with a fault. Functions that are nil behave as they should.
type mutant struct {
	*inmemory.Provider
	records func([]*dns.RecordSet) []*dns.RecordSet
	apply   func(p *inmemory.Provider, ctx context.Context, zone dns.Zone, changes []dns.Change) error
	adjust  func(wanted []*dns.RecordSet) []*dns.RecordSet
	// balks is true for record sets with which Adjust fails as a whole.
	balks func(*dns.RecordSet) bool
	// found is the check that must find the fault.
	found string
}

func (m *mutant) Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error) {
	list, err := m.Provider.Records(ctx, zone)
	if m.records != nil && err == nil {
		list = m.records(list)
	}
	return list, err
}

func (m *mutant) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	if m.apply != nil {
		return m.apply(m.Provider, ctx, zone, changes)
	}
	return m.Provider.Apply(ctx, zone, changes)
}

func (m *mutant) Adjust(_ context.Context, _ dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	if m.adjust != nil {
		wanted = m.adjust(wanted)
	}
	if m.balks != nil && slices.ContainsFunc(wanted, m.balks) {
		return nil, provider.ErrRejected
	}
	return provider.AdjustEach(wanted, func(r *dns.RecordSet) (*dns.RecordSet, error) { return r, nil }), nil
}

// edited returns an Apply that makes other changes than it is given.
func edited(edit func([]dns.Change) []dns.Change) func(*inmemory.Provider, context.Context, dns.Zone, []dns.Change) error {
	return func(p *inmemory.Provider, ctx context.Context, zone dns.Zone, changes []dns.Change) error {
		return p.Apply(ctx, zone, edit(slices.Clone(changes)))
	}
}

// stored returns an Apply that stores something else than it is given.
func stored(edit func(*dns.RecordSet)) func(*inmemory.Provider, context.Context, dns.Zone, []dns.Change) error {
	return edited(func(changes []dns.Change) []dns.Change {
		for i, c := range changes {
			if c.New != nil {
				changes[i].New = c.New.Clone()
				edit(changes[i].New)
			}
		}
		return changes
	})
}

func dropped(drop func(dns.Change) bool) func(*inmemory.Provider, context.Context, dns.Zone, []dns.Change) error {
	return edited(func(changes []dns.Change) []dns.Change { return slices.DeleteFunc(changes, drop) })
}

// mutants have one fault each, which the kit must find.
var mutants = map[string]mutant{
	"ignores deletions":    {found: "A", apply: dropped(func(c dns.Change) bool { return c.New == nil })},
	"ignores updates":      {found: "A", apply: dropped(func(c dns.Change) bool { return c.Old != nil && c.New != nil })},
	"ignores wildcards":    {found: "wildcard", apply: dropped(func(c dns.Change) bool { return strings.HasPrefix(c.RecordSet().Name, "*") })},
	"ignores TTLs":         {found: "TTL", apply: stored(func(r *dns.RecordSet) { r.TTL = 77 })},
	"keeps one target":     {found: "several targets", apply: stored(func(r *dns.RecordSet) { r.Targets = r.Targets[:1] })},
	"cuts texts":           {found: "TXT that is long", apply: stored(func(r *dns.RecordSet) { r.Targets[0] = r.Targets[0][:min(len(r.Targets[0]), 255)] })},
	"takes quotes off":     {found: "TXT", apply: stored(func(r *dns.RecordSet) { r.Targets[0] = strings.Trim(r.Targets[0], `"`) })},
	"lower case in texts":  {found: "TXT of several values", apply: stored(func(r *dns.RecordSet) { r.Targets[0] = strings.ToLower(r.Targets[0]) })},
	"lists things twice":   {found: "A", records: func(list []*dns.RecordSet) []*dns.RecordSet { return append(list, list...) }},
	"lists no texts":       {found: "TXT", records: func(list []*dns.RecordSet) []*dns.RecordSet { return slices.DeleteFunc(list, isText) }},
	"adjusts what it gets": {found: "A", adjust: func(wanted []*dns.RecordSet) []*dns.RecordSet { return adjustInPlace(wanted) }},
	"creates before it deletes": {found: "type change", apply: edited(func(changes []dns.Change) []dns.Change {
		slices.Reverse(changes)
		return changes
	})},
	"sends in dry runs": {found: "dry run", apply: func(p *inmemory.Provider, ctx context.Context, zone dns.Zone, changes []dns.Change) error {
		if err := p.Apply(ctx, zone, changes); !errors.Is(err, provider.ErrDryRun) {
			return err
		}
		return nil
	}},
	"says that a rejected change was made": {found: "rejected record sets", apply: func(p *inmemory.Provider, ctx context.Context, zone dns.Zone, changes []dns.Change) error {
		if err := p.Apply(ctx, zone, changes); !errors.Is(err, inmemory.ErrConflict) {
			return err
		}
		return nil
	}},
	"doesn't say what it has made": {found: "rejected record sets", apply: func(p *inmemory.Provider, ctx context.Context, zone dns.Zone, changes []dns.Change) error {
		err := p.Apply(ctx, zone, changes)
		if errors.Is(err, inmemory.ErrConflict) {
			return errors.Join(p.Apply(ctx, zone, changes[:1]), provider.ErrRejected)
		}
		return err
	}},
	"takes any zone": {found: "unknown zone", apply: func(p *inmemory.Provider, ctx context.Context, zone dns.Zone, changes []dns.Change) error {
		if zone.Name == "nowhere.invalid" {
			return nil
		}
		return p.Apply(ctx, zone, changes)
	}},
	"takes any name": {found: "outside of the zone", apply: dropped(func(c dns.Change) bool {
		return !strings.HasSuffix(c.RecordSet().Name, ".example.test") && c.RecordSet().Name != "example.test" && !strings.HasSuffix(c.RecordSet().Name, "arpa")
	})},
	"writes over what a person has made": {found: "changed since listed", apply: overwriting(3)},
	"writes over what another writes":    {found: "two writers", apply: overwriting(1)},
	"creates the ownership record of a stale record": {found: "changed since listed", apply: func(p *inmemory.Provider, ctx context.Context, zone dns.Zone, changes []dns.Change) error {
		err := p.Apply(ctx, zone, changes)
		if each, ok := errors.AsType[*provider.ApplyError](err); ok && len(each.Errs) == 3 {
			each.Errs[1] = p.Apply(ctx, zone, changes[1:2])
		}
		return err
	}},
	"forgets identifiers": {found: "set identifiers", apply: stored(func(r *dns.RecordSet) { r.SetIdentifier = "" })},
	"drops properties":    {found: "properties", apply: stored(func(r *dns.RecordSet) { r.Properties = nil })},
	"announces another TTL": {
		found: "no TTL", adjust: func(wanted []*dns.RecordSet) []*dns.RecordSet { return wanted },
		records: func(list []*dns.RecordSet) []*dns.RecordSet {
			for _, r := range list {
				if r.TTL == 0 {
					r.TTL = 300
				}
			}
			return list
		},
	},
	"adjusts all or none": {found: "adjusted one by one", balks: func(r *dns.RecordSet) bool {
		return r.Type == dns.TypeCNAME && strings.HasPrefix(r.Name, "before.")
	}},
	"takes names of the child zone": {found: "child zone", apply: func(p *inmemory.Provider, ctx context.Context, zone dns.Zone, changes []dns.Change) error {
		return p.Apply(ctx, zone, slices.DeleteFunc(slices.Clone(changes), func(c dns.Change) bool {
			return zone.Name == "example.test" && strings.HasSuffix(c.RecordSet().Name, ".sub.example.test")
		}))
	}},
	"works on when told to stop": {found: "cancelled context", apply: func(p *inmemory.Provider, ctx context.Context, zone dns.Zone, changes []dns.Change) error {
		return p.Apply(context.WithoutCancel(ctx), zone, changes)
	}},
}

// overwriting returns an Apply that makes a stale call of n changes nevertheless.
func overwriting(n int) func(*inmemory.Provider, context.Context, dns.Zone, []dns.Change) error {
	return func(p *inmemory.Provider, ctx context.Context, zone dns.Zone, changes []dns.Change) error {
		err := p.Apply(ctx, zone, changes)
		if !errors.Is(err, provider.ErrStale) || len(changes) != n {
			return err
		}
		for _, c := range changes {
			if c.New != nil {
				err = p.Put(c.New)
			} else {
				p.Delete(c.Old.Key())
			}
		}
		return err
	}
}

func isText(r *dns.RecordSet) bool { return r.Type == dns.TypeTXT }

func adjustInPlace(wanted []*dns.RecordSet) []*dns.RecordSet {
	for _, r := range wanted {
		r.TTL = 1234
	}
	return wanted
}

const mutantVariable = "SIGNPOST_TEST_MUTANT"

// TestMutant runs the kit over the mutant that the environment names, in a process of its own.
func TestMutant(t *testing.T) {
	name := os.Getenv(mutantVariable)
	if name == "" {
		name = "none"
	}
	m := mutants[name]
	providertest.Run(t, providertest.Options{
		Open: func(t *testing.T, in provider.Input) providertest.Fixture {
			config := inmemory.Config{Zones: []string{"example.test", "sub.example.test", "2.0.192.in-addr.arpa"}}
			p, err := config.Open(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			mine := m
			mine.Provider = p.(*inmemory.Provider)
			return providertest.Fixture{Provider: &mine, Zone: "example.test", Child: "sub.example.test", Reverse: "2.0.192.in-addr.arpa"}
		},
		Properties: []string{"inmemory/x"},
		Rejects: func(zone string) []*dns.RecordSet {
			return []*dns.RecordSet{{Name: "before." + zone, Type: dns.TypeCNAME, Targets: []string{"lb.example.net"}}}
		},
	})
}

// Each fault is found by the check that is about it. TestMutant shows that nothing is found
// without a fault.
func TestFaultsAreFound(t *testing.T) {
	if os.Getenv(mutantVariable) != "" {
		return
	}
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMutant$", "-test.v")
			cmd.Env = append(os.Environ(), mutantVariable+"="+name)
			out, err := cmd.CombinedOutput()
			if want := "--- FAIL: TestMutant/" + strings.ReplaceAll(m.found, " ", "_") + " "; err == nil || !strings.Contains(string(out), want) {
				t.Errorf("%v; want %q in\n%s", err, want, out)
			}
		})
	}
}
