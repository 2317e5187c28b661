package plan

import (
	"slices"

	"github.com/signpostd/signpost/dns"
)

// Current is a record set that a zone has.
type Current struct {
	// Set is the record set as the provider lists it, with the labels of its owner.
	Set *dns.RecordSet
	// Heal is true when the markers of the record set have to be written again, even if the
	// record set is as it should be. If it is ours and asked for, the outcome has a change in
	// which Old and New differ in labels only.
	Heal bool
}

// Name decides what to do at one name. It needs everything that the zone has under the name,
// and everything that is asked for, of all types and set identifiers and in any order. All
// names must have the same canonical form. Name doesn't allocate if there is nothing to do.
func Name(current []Current, wanted []*dns.RecordSet, rules *Rules) Outcome {
	n := name{current: current, wanted: wanted, rules: rules}
	n.dropCNAMEs()
	n.deletes()
	n.updates()
	n.creates()
	sortConflicts(n.out.Conflicts)
	return n.out
}

// name is the state of one call of Name.
type name struct {
	current []Current
	wanted  []*dns.RecordSet
	rules   *Rules
	// mixed is true when CNAMEs are asked for beside other types. The CNAMEs are dropped.
	mixed bool
	out   Outcome
}

// dropCNAMEs drops CNAMEs that are asked for beside other types. Set identifiers don't matter:
// a CNAME excludes everything else at its name.
func (n *name) dropCNAMEs() {
	var cnames, others bool
	for _, w := range n.wanted {
		if n.rules.Manages(w.Type) {
			cnames = cnames || w.Type == dns.TypeCNAME
			others = others || w.Type != dns.TypeCNAME
		}
	}
	if n.mixed = cnames && others; !n.mixed {
		return
	}
	for _, w := range n.wanted {
		if w.Type == dns.TypeCNAME {
			n.out.Dropped = append(n.out.Dropped, w)
		}
	}
	slices.SortFunc(n.out.Dropped, func(a, b *dns.RecordSet) int {
		if order := compareKeys(a, b); order != 0 {
			return order
		}
		return prefer(a, b)
	})
}

func (n *name) deletes() {
	if n.rules.Policy != Sync {
		return
	}
	for i, c := range n.current {
		if n.counts(i) && n.rules.Owns(c.Set) && !n.wants(c.Set) {
			n.out.Changes = append(n.out.Changes, dns.Change{Old: c.Set})
		}
	}
	sortChanges(n.out.Changes)
}

func (n *name) updates() {
	if n.rules.Policy == CreateOnly {
		return
	}
	before := len(n.out.Changes)
	for i, c := range n.current {
		if !n.counts(i) {
			continue
		}
		if w := n.choose(c.Set, c.Set); w != nil {
			n.update(c, w)
		}
	}
	sortChanges(n.out.Changes[before:])
}

func (n *name) update(c Current, w *dns.RecordSet) {
	satisfied := Satisfies(c.Set, w)
	adopt := n.rules.adopts(c.Set)
	switch {
	case !adopt && !n.rules.Owns(c.Set):
		if !satisfied {
			n.out.Conflicts = append(n.out.Conflicts, Conflict{Wanted: w, Current: c.Set, Obstacle: NotOwned})
		}
	case !satisfied:
		n.out.Changes = append(n.out.Changes, dns.Change{Old: c.Set, New: n.replacement(c.Set, w, w)})
	case adopt || c.Heal || n.relabels(c.Set, w):
		n.out.Changes = append(n.out.Changes, dns.Change{Old: c.Set, New: n.replacement(c.Set, w, c.Set)})
	}
}

// relabels reports whether another object than before asks for a current record set, and that has
// to be noted: it is ours, and the one of the first type that is asked for.
func (n *name) relabels(current, w *dns.RecordSet) bool {
	object := w.Labels[dns.LabelResource]
	if !n.rules.Relabel || object == "" || object == current.Labels[dns.LabelResource] || !n.rules.Owns(current) {
		return false
	}
	for i, c := range n.current {
		if c.Set.Type < current.Type && n.counts(i) && n.wants(c.Set) {
			return false
		}
	}
	return true
}

// replacement returns the record set that replaces old: it has the name and the owner of old,
// the objects and other labels of w, and everything else from content.
func (n *name) replacement(old, w, content *dns.RecordSet) *dns.RecordSet {
	labelled := *content
	labelled.Labels, labelled.Objects = w.Labels, w.Objects
	// The provider knows the name only in its present spelling.
	labelled.Name = old.Name
	replacement := labelled.Clone()
	if n.rules.Owner != "" {
		replacement.Labels[dns.LabelOwner] = n.rules.Owner
	} else if owner, ok := old.Labels[dns.LabelOwner]; ok {
		replacement.Labels[dns.LabelOwner] = owner
	}
	return replacement
}

func (n *name) creates() {
	before := len(n.out.Changes)
	for i, w := range n.wanted {
		if !n.candidate(w) || n.has(w) || n.earlier(i) {
			continue
		}
		if w = n.choose(w, nil); n.obstructed(w) {
			continue
		}
		created := w.Clone()
		if n.rules.Owner != "" {
			created.Labels[dns.LabelOwner] = n.rules.Owner
		}
		n.out.Changes = append(n.out.Changes, dns.Change{New: created})
	}
	sortChanges(n.out.Changes[before:])
}

// obstructed reports whether a record set can't be created because of others at the name, and
// adds conflicts for these.
func (n *name) obstructed(w *dns.RecordSet) bool {
	before := len(n.out.Conflicts)
	for i, c := range n.current {
		if !n.counts(i) {
			continue
		}
		excluded := (c.Set.Type == dns.TypeCNAME) != (w.Type == dns.TypeCNAME)
		ours := n.rules.Owns(c.Set) || n.rules.adopts(c.Set) && n.wants(c.Set)
		switch {
		// A name with record sets of another owner gets no others from us, unless set
		// identifiers show that the owners share it on purpose.
		case !ours && (excluded || c.Set.SetIdentifier == w.SetIdentifier):
			n.out.Conflicts = append(n.out.Conflicts, Conflict{Wanted: w, Current: c.Set, Obstacle: NotOwned})
		case ours && excluded && n.rules.Policy != Sync:
			n.out.Conflicts = append(n.out.Conflicts, Conflict{Wanted: w, Current: c.Set, Obstacle: NotDeletable})
		}
	}
	return len(n.out.Conflicts) > before
}

// counts reports whether the current record set i is considered. If several have the same key,
// which the provider can't tell apart, only one is: a foreign one if there is any.
func (n *name) counts(i int) bool {
	c := n.current[i].Set
	if !n.rules.Manages(c.Type) {
		return false
	}
	for j, other := range n.current {
		if i != j && sameKey(c, other.Set) && n.outranks(j, i) {
			return false
		}
	}
	return true
}

// outranks reports whether the current record set i comes before j, which has the same key.
func (n *name) outranks(i, j int) bool {
	a, b := n.current[i].Set, n.current[j].Set
	if owned := n.rules.Owns(a); owned != n.rules.Owns(b) {
		return !owned
	}
	order := prefer(a, b)
	return order < 0 || order == 0 && i < j
}

// has reports whether the zone has a record set with the key of a wanted one.
func (n *name) has(w *dns.RecordSet) bool {
	for _, c := range n.current {
		if sameKey(c.Set, w) {
			return true
		}
	}
	return false
}

// candidate reports whether a wanted record set is considered.
func (n *name) candidate(w *dns.RecordSet) bool {
	return n.rules.Manages(w.Type) && !(n.mixed && w.Type == dns.TypeCNAME)
}

// earlier reports whether a wanted record set before index i has the same key.
func (n *name) earlier(i int) bool {
	for _, w := range n.wanted[:i] {
		if sameKey(w, n.wanted[i]) {
			return true
		}
	}
	return false
}

// wants reports whether a record set with the key of c is wanted.
func (n *name) wants(c *dns.RecordSet) bool {
	for _, w := range n.wanted {
		if sameKey(w, c) && n.candidate(w) {
			return true
		}
	}
	return false
}

// choose returns the wanted record set for a key, or nil if there is none. If the object that
// has the key now asks for it, it keeps it. Among equal ones, prefer decides.
func (n *name) choose(key, current *dns.RecordSet) *dns.RecordSet {
	var best *dns.RecordSet
	loyal := false
	for _, w := range n.wanted {
		if !sameKey(w, key) || !n.candidate(w) {
			continue
		}
		same := current != nil && w.Labels[dns.LabelResource] == current.Labels[dns.LabelResource]
		if best == nil || same && !loyal || same == loyal && prefer(w, best) < 0 {
			best, loyal = w, same
		}
	}
	return best
}
