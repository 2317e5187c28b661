package desired_test

import (
	"slices"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
)

// After an edit that can't be published, the name is unresolved until the object asks for a valid
// record set or for none, so that the good record isn't deleted. So are the names of the PTR
// records of its present and former addresses. Other record sets of the object are published (D12).
func TestUnresolved(t *testing.T) {
	const reverse1, reverse2, reverse3 = "1.2.0.192.in-addr.arpa", "2.2.0.192.in-addr.arpa", "3.2.0.192.in-addr.arpa"
	s := newSet(t, desired.Options{ManagedTypes: []string{"A", "PTR"}, CreatePTR: true})
	steps := []struct {
		name  string
		by    string
		lines []string
		dirty []string
		// unresolved are the expected unresolved names, of all names in the test.
		unresolved []string
	}{
		{name: "good", by: "crd/d/a", lines: []string{"a.org A 0 192.0.2.1,192.0.2.2", "b.org A 0 192.0.2.3"}, dirty: []string{reverse1, reverse2, reverse3, "a.org", "b.org"}},
		{
			name: "one of two targets is bad", by: "crd/d/a", lines: []string{"a.org A 0 192.0.2.1,x", "b.org A 0 192.0.2.3"},
			dirty: []string{reverse1, reverse2, "a.org"}, unresolved: []string{reverse1, reverse2, "a.org"},
		},
		{
			name: "it stays bad", by: "crd/d/a", lines: []string{"A.org A 0 x", "b.org A 0 192.0.2.3"},
			unresolved: []string{reverse1, reverse2, "a.org"},
		},
		{
			name: "of another object, too", by: "crd/d/b", lines: []string{"a.org CNAME 0 -", "no..label A 0 192.0.2.1"},
			unresolved: []string{reverse1, reverse2, "a.org"},
		},
		{name: "good again", by: "crd/d/a", lines: []string{"a.org A 0 192.0.2.1", "b.org A 0 192.0.2.3"}, dirty: []string{reverse1, reverse2, "a.org"}, unresolved: []string{"a.org"}},
		{name: "nothing", by: "crd/d/b", dirty: []string{"a.org"}},
		{name: "another type", by: "crd/d/a", lines: []string{"a.org MX 0 x"}, dirty: []string{reverse1, reverse3, "a.org", "b.org"}, unresolved: []string{reverse1, "a.org"}},
		{name: "the end", by: "crd/d/a", dirty: []string{reverse1, "a.org"}},
	}
	for _, step := range steps {
		dirty, _ := put(s, step.by, step.lines...)
		if !slices.Equal(dirty, step.dirty) {
			t.Errorf("%s: dirty are %q, want %q", step.name, dirty, step.dirty)
		}
		var unresolved []string
		for _, name := range []string{reverse1, reverse2, reverse3, "a.org", "b.org", "no..label"} {
			if s.Unresolved(name) {
				unresolved = append(unresolved, name)
			}
		}
		if !slices.Equal(unresolved, step.unresolved) {
			t.Errorf("%s: unresolved are %q, want %q", step.name, unresolved, step.unresolved)
		}
	}
	if s.Len() != 0 || len(slices.Collect(s.Origins())) != 0 {
		t.Errorf("there are %d names and %d origins left", s.Len(), len(slices.Collect(s.Origins())))
	}
}

// A record set that its source has marked as invalid makes its name unresolved, without a second
// problem. Default targets don't change that (D12).
func TestUnresolvedBySource(t *testing.T) {
	s := newSet(t, desired.Options{DefaultTargets: []string{"192.0.2.9"}, ForceDefaultTargets: true})
	requested := parse(origin("crd/d/a"), "a.org A 0 192.0.2.1")
	requested.Invalid = true
	dirty, problems := s.Put(origin("crd/d/a"), []*dns.RecordSet{requested})
	if !slices.Equal(dirty, []string{"a.org"}) || len(problems) != 0 || !s.Unresolved("A.org.") || s.Want("a.org") != nil || !s.Has(origin("crd/d/a")) {
		t.Errorf("dirty are %q, problems %v, unresolved %v, wanted %v", dirty, problems, s.Unresolved("a.org"), s.Want("a.org"))
	}
	if got := s.Stats().Invalid[desired.Kind{Type: "A", Source: "crd"}]; got != 1 {
		t.Errorf("%d invalid record sets are counted, want 1", got)
	}
}

// A record set that the registry can't own isn't published, and the object gets a problem. Default
// targets are applied before the check (D13, W8).
func TestRefuse(t *testing.T) {
	s := newSet(t, desired.Options{DefaultTargets: []string{"192.0.2.9"}, Refuse: func(r *dns.RecordSet) error {
		if r.Name == "long.org" && slices.Equal(r.Targets, []string{"192.0.2.9"}) {
			return &dns.InvalidError{Subject: "name", Value: r.Name, Reason: "too long"}
		}
		return nil
	}})
	_, problems := put(s, "crd/d/a", "long.org A 0 -", "a.org A 0 192.0.2.1")
	if len(problems) != 1 || problems[0].Subject != "name of the A record set long.org" || problems[0].Reason != "too long" || problems[0].Object.Name != "a" {
		t.Errorf("problems: %+v", problems)
	}
	if !s.Unresolved("long.org") || s.Unresolved("a.org") {
		t.Errorf("unresolved are long.org %v, a.org %v; want only the first", s.Unresolved("long.org"), s.Unresolved("a.org"))
	}
	wantLines(t, everything(s), []string{"a.org A 0 192.0.2.1 by crd/d/a"})
}
