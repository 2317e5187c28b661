package source

import "slices"

// ReferenceSet is a set of references of one object, which has at most [ReferenceLimit]: bit i is for the
// reference i.
type ReferenceSet uint64

// Unions has the targets of sets of references. Many names of an object have the same references, so each set
// is merged once.
type Unions struct {
	findings *Findings
	lists    [][]string
	merged   map[ReferenceSet][]string
}

// NewUnions returns the unions of lists of targets, one for each reference. A union that is too long is a
// problem.
func NewUnions(f *Findings, lists [][]string) *Unions {
	return &Unions{findings: f, lists: lists, merged: map[ReferenceSet][]string{}}
}

// Of returns the targets of the references in a set, sorted. They are shared.
func (u *Unions) Of(set ReferenceSet) []string {
	union, known := u.merged[set]
	if known {
		return union
	}
	for i, targets := range u.lists {
		if set&(1<<i) != 0 {
			union = append(union, targets...)
		}
	}
	slices.Sort(union)
	union = Cut(u.findings, slices.Compact(union), AddressLimit, "targets")
	u.merged[set] = union
	return union
}
