package dns

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// TypeOfTarget returns the record type of a target: A for an IPv4 address, AAAA for an IPv6
// address, including an IPv4-mapped one, and CNAME for anything else.
func TypeOfTarget(target string) string {
	addr, err := netip.ParseAddr(target)
	switch {
	case err != nil:
		return TypeCNAME
	case addr.Is4():
		return TypeA
	default:
		return TypeAAAA
	}
}

// SameTargets reports whether two lists have the same targets in any order. Names are compared
// case-insensitively, and addresses by value.
func SameTargets(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	if slices.EqualFunc(a, b, SameTarget) {
		return true
	}
	return slices.Equal(setKeys(a), setKeys(b))
}

// SameTargets reports whether two record sets of one type have the same targets in any order. Texts
// are compared exactly, and others as the function SameTargets does.
func (r *RecordSet) SameTargets(o *RecordSet) bool {
	if r.Type == TypeTXT {
		return slices.Equal(UniqueSorted(r.Targets), UniqueSorted(o.Targets))
	}
	return SameTargets(r.Targets, o.Targets)
}

func setKeys(targets []string) []string {
	keys := make([]string, len(targets))
	for i, t := range targets {
		keys[i] = setKey(t)
	}
	slices.Sort(keys)
	return keys
}

// SameTarget compares two targets as [SameTargets] does.
func SameTarget(a, b string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	if !strings.Contains(a, ":") || !strings.Contains(b, ":") {
		// Only IPv6 addresses have more than one spelling.
		return false
	}
	x, err := netip.ParseAddr(a)
	if err != nil {
		return false
	}
	y, err := netip.ParseAddr(b)
	return err == nil && x == y
}

// TargetKey returns the text by which a target is sorted, and which equal targets share: an address in
// canonical spelling, or a name in lower case.
func TargetKey(target string) string {
	if !strings.Contains(target, ":") {
		return strings.ToLower(target)
	}
	if addr, err := netip.ParseAddr(target); err == nil {
		return addr.String()
	}
	return strings.ToLower(target)
}

// TargetSet is an index of targets, which are equal as in [SameTarget]. A list that is compared with
// many others is indexed once.
type TargetSet map[string]struct{}

// NewTargetSet returns the index of a list.
func NewTargetSet(targets []string) TargetSet {
	s := make(TargetSet, len(targets))
	for _, t := range targets {
		s[setKey(t)] = struct{}{}
	}
	return s
}

// Count returns how many targets of a list are in the set.
func (s TargetSet) Count(targets []string) (count int) {
	for _, t := range targets {
		if _, has := s[setKey(t)]; has {
			count++
		}
	}
	return count
}

// setKey returns the text that equal targets share. The zone of an address may have upper-case letters.
func setKey(target string) string { return strings.ToLower(TargetKey(target)) }

// Less orders lists of targets. A shorter list is less. Lists of the same length are sorted, and
// the first difference decides: addresses come before names, addresses are ordered by value, and
// names alphabetically (spec/dns.md §1.4).
func Less(a, b []string) bool {
	if len(a) != len(b) {
		return len(a) < len(b)
	}
	a, b = sortedTargets(a), sortedTargets(b)
	for i := range a {
		if a[i] != b[i] && !SameTarget(a[i], b[i]) {
			return compareTargets(a[i], b[i]) < 0
		}
	}
	return false
}

// sortedTargets returns targets sorted, without a copy if they are sorted already.
func sortedTargets(targets []string) []string {
	byKey := func(a, b string) int { return cmp.Compare(TargetKey(a), TargetKey(b)) }
	if slices.IsSortedFunc(targets, byKey) {
		return targets
	}
	return slices.SortedFunc(slices.Values(targets), byKey)
}

func compareTargets(a, b string) int {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	switch {
	case errX == nil && errY == nil:
		return x.Compare(y)
	case errX == nil:
		return -1
	case errY == nil:
		return 1
	default:
		return cmp.Compare(strings.ToLower(a), strings.ToLower(b))
	}
}

// UniqueSorted returns targets sorted alphabetically and without duplicates. It doesn't change its
// argument, and returns it if it is in that form already.
func UniqueSorted(targets []string) []string {
	for i := 1; i < len(targets); i++ {
		if targets[i-1] >= targets[i] {
			return slices.Compact(slices.Sorted(slices.Values(targets)))
		}
	}
	return targets
}
