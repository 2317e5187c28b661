package plan

import (
	"fmt"
	"testing"

	"github.com/signpostd/signpost/dns"
)

// fixture is what a publisher holds of 100,000 names: two record sets under each.
type fixture struct {
	current [][]Current
	wanted  [][]Candidate
	rules   *Rules
}

const manyNames = 100_000

func newFixture(dirty int) fixture {
	w := fixture{rules: &Rules{Policy: Sync, Owner: "me", Managed: DefaultManaged()}}
	for i := range manyNames {
		name := fmt.Sprintf("host-%06d.example.com", i)
		address := fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255)
		resource := fmt.Sprintf("service/default/host-%06d", i)
		a := &dns.RecordSet{
			Name: name, Type: dns.TypeA, Targets: []string{address}, TTL: 300,
			Properties: []dns.Property{{Name: "alias", Value: "false"}}, Labels: map[string]string{dns.LabelResource: resource},
		}
		aaaa := &dns.RecordSet{Name: name, Type: dns.TypeAAAA, Targets: []string{"2001:db8::1", "2001:db8::2"}, Labels: a.Labels}
		wanted := []*dns.RecordSet{a, aaaa}
		var current []Current
		for _, r := range wanted {
			listed := r.Clone()
			listed.Labels[dns.LabelOwner] = "me"
			if i < dirty {
				listed.Targets[0] = "10.255.255.255"
			}
			current = append(current, Current{Set: listed})
		}
		w.current, w.wanted = append(w.current, current), append(w.wanted, candidates(wanted...))
	}
	return w
}

// Nothing is allocated for a name at which there is nothing to do and nobody loses, if its targets are in the
// same order.
func TestUnchangedNameAllocatesNothing(t *testing.T) {
	rules := &Rules{Policy: Sync, Owner: "me", Managed: DefaultManaged(), Excluded: []string{dns.TypeTXT}}
	for name, c := range map[string]struct{ current, wanted string }{
		"two types":       {"foo A 1.1.1.1 own=me p=1\nfoo AAAA ::1 own=me", "foo A 1.1.1.1 p=1\nfoo AAAA ::1"},
		"two targets":     {"foo A 1.1.1.1,2.2.2.2 own=me", "foo A 1.1.1.1,2.2.2.2"},
		"set identifiers": {"foo A 1.1.1.1 own=me set=a\nfoo A 2.2.2.2 own=me set=b", "foo A 1.1.1.1 set=a\nfoo A 2.2.2.2 set=b"},
		"somebody else's": {"foo A 1.1.1.1 own=them", "foo A 1.1.1.1"},
		"not managed":     {"foo TXT x", ""},
	} {
		have, wanted := current(c.current), candidates(sets(c.wanted)...)
		if n := testing.AllocsPerRun(100, func() { Name(have, wanted, rules) }); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}

// BenchmarkDirty decides the dirty ones of 100,000 names.
func BenchmarkDirty(b *testing.B) {
	for _, dirty := range []int{0, 10, 1000} {
		w := newFixture(dirty)
		b.Run(fmt.Sprint(dirty), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				changes := 0
				for i := range dirty {
					changes += len(Name(w.current[i], w.wanted[i], w.rules).Changes)
				}
				if changes != 2*dirty {
					b.Fatalf("%d changes, want %d", changes, 2*dirty)
				}
			}
		})
	}
}

// BenchmarkAll decides all of 100,000 names that are grouped already.
func BenchmarkAll(b *testing.B) {
	for _, dirty := range []int{0, 1000} {
		w := newFixture(dirty)
		b.Run(fmt.Sprint(dirty), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				changes := 0
				for i := range w.current {
					changes += len(Name(w.current[i], w.wanted[i], w.rules).Changes)
				}
				if changes != 2*dirty {
					b.Fatalf("%d changes, want %d", changes, 2*dirty)
				}
			}
		})
	}
}
