package desired

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/signpostd/signpost/dns"
)

// unresolved is a name for which an object asks with a record set that can't be published.
type unresolved struct {
	name string
	// addressOf is the unresolved name whose address has this reverse name, or empty.
	addressOf string
}

func compareUnresolved(a, b unresolved) int {
	return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.addressOf, b.addressOf))
}

// Unresolved reports whether an object asks for a name with a record set that can't be published,
// such as with a bad target after an edit. Such a name keeps all of its records, because it is
// unknown which of them are unwanted. The names of PTR records of its addresses are unresolved too.
func (s *Set) Unresolved(name string) bool { return len(s.unresolved[dns.Canonical(name)]) > 0 }

// UnresolvedIn is Unresolved for the objects of one namespace.
func (s *Set) UnresolvedIn(name, namespace string) bool {
	return s.unresolved[dns.Canonical(name)][namespace] > 0
}

// UnresolvedFor is Unresolved for the objects of those namespaces for which concerned returns true.
func (s *Set) UnresolvedFor(name string, concerned func(namespace string) bool) bool {
	for namespace := range s.unresolved[dns.Canonical(name)] {
		if concerned(namespace) {
			return true
		}
	}
	return false
}

// countUnresolved adds n to the number of objects of a namespace for which a name is unresolved.
func (s *Set) countUnresolved(name, namespace string, n int) {
	of := s.unresolved[name]
	if of == nil {
		of = map[string]int{}
		s.unresolved[name] = of
	}
	if addTo(of, namespace, n); len(of) == 0 {
		delete(s.unresolved, name)
	}
}

// unresolve notes that a record set can't be published.
func (t *transform) unresolve(r *dns.RecordSet) {
	t.counts = addCount(t.counts, count{Kind: kindOf(r), outcome: invalid, n: 1})
	// A zone may have the name even if Signpost can't write it.
	if !dns.CanBeName(r.Name) {
		return // no zone has it
	}
	t.unresolved = append(t.unresolved, unresolved{name: r.Name})
	if !t.wantsPointers(r) {
		return
	}
	for _, target := range r.Targets {
		if addr, err := netip.ParseAddr(target); err == nil {
			t.unresolved = append(t.unresolved, unresolved{name: dns.ReverseName(addr), addressOf: r.Name})
		}
	}
}

// unresolvedNow returns the unresolved names of an origin, sorted: those that a transform has
// found, and those of the PTR records that its unresolved names had before and lack now.
func unresolvedNow(found []unresolved, now records, before *request) []unresolved {
	if len(found) == 0 {
		return nil
	}
	// An object may have thousands of names, so they are not searched for each of its former names.
	names := make(map[string]struct{}, len(found))
	for _, u := range found {
		if u.addressOf == "" {
			names[u.name] = struct{}{}
		}
	}
	keep := func(u unresolved) {
		if _, is := names[u.addressOf]; is && !now.points(u.name, u.addressOf) {
			found = append(found, u)
		}
	}
	for _, u := range before.unresolved {
		keep(u)
	}
	for _, r := range before.records {
		if r.derived {
			keep(unresolved{name: r.Name, addressOf: r.Targets[0]})
		}
	}
	slices.SortFunc(found, compareUnresolved)
	return slices.Clip(slices.Compact(found))
}

// setUnresolved replaces the unresolved names of an origin. It returns the names that became
// unresolved or resolved.
func (s *Set) setUnresolved(a *request, now []unresolved) (dirty []string) {
	if slices.Equal(a.unresolved, now) {
		return nil
	}
	before := map[string]bool{}
	for _, u := range slices.Concat(a.unresolved, now) {
		before[u.name] = s.UnresolvedIn(u.name, a.Namespace)
	}
	for _, u := range a.unresolved {
		s.countUnresolved(u.name, a.Namespace, -1)
	}
	for _, u := range now {
		s.countUnresolved(u.name, a.Namespace, 1)
	}
	a.unresolved = now
	for name, was := range before {
		if s.UnresolvedIn(name, a.Namespace) != was {
			dirty = append(dirty, name)
		}
	}
	return dirty
}
