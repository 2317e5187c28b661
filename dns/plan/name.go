package plan

import (
	"slices"

	"github.com/signpostd/signpost/dns"
)

// Current is a record set that a zone has.
type Current struct {
	// Set is the record set as the provider lists it, with the labels of its owner.
	Set *dns.RecordSet
	// RewriteOwnership is true if the ownership records of the record set have to be rewritten, even
	// if the record set is as wanted. If it is ours and wanted, the outcome has a change whose Old and
	// New differ in labels only.
	RewriteOwnership bool
}

// Name plans one name. It needs all of the zone's record sets and all wanted ones of the name, in
// any order. All names must have the same canonical form. If there is nothing to do and only one
// object asks for each record set, Name doesn't allocate.
func Name(current []Current, wanted []Candidate, rules *Rules) Outcome {
	n := name{current: current, wanted: wanted, rules: rules}
	n.rankCandidates()
	n.refusals()
	n.deletes()
	n.updates()
	n.creates()
	n.keepLabel()
	sortConflicts(n.out.Conflicts)
	n.out.Lost = n.losses()
	return n.out
}

type name struct {
	current []Current
	wanted  []Candidate
	rules   *Rules
	// precedences are those of the candidates; nil if all can be published.
	precedences []precedence
	// mixed is true if CNAMEs are wanted beside other types. In that case cname is true if the CNAMEs
	// win, and winner is the deciding candidate.
	mixed, cname bool
	winner       int
	// targets has an index for each record set of the zone with many targets that was compared.
	targets map[*dns.RecordSet]dns.TargetSet
	out     Outcome
}

// refusals records the winning candidates that the provider refuses.
func (n *name) refusals() {
	for i, w := range n.wanted {
		if n.firstOfKey(i) {
			if w = n.wanted[n.choose(w.Set)]; w.Err != nil {
				n.out.Refused = append(n.out.Refused, w)
			}
		}
	}
}

func (n *name) deletes() {
	if n.rules.Policy != Sync {
		return
	}
	for i, c := range n.current {
		if n.considered(i) && n.rules.Owns(c.Set) && !n.isWanted(c.Set) && !n.keptForRefused(c.Set) {
			n.out.Changes = append(n.out.Changes, dns.Change{Old: c.Set})
		}
	}
	sortChanges(n.out.Changes)
}

// keptForRefused reports whether a record set stays because its object asks for something that the
// provider refuses. If the record set has no label, any refused candidate that would replace it
// counts.
func (n *name) keptForRefused(c *dns.RecordSet) bool {
	return slices.ContainsFunc(n.out.Refused, func(w Candidate) bool {
		if resource(c) == "" {
			return excludes(c, w.Set) || sameKey(c, w.Set)
		}
		return resource(c) == resource(w.Set)
	})
}

// excludes reports whether two record sets can't coexist because one of them is a CNAME.
func excludes(a, b *dns.RecordSet) bool {
	return (a.Type == dns.TypeCNAME) != (b.Type == dns.TypeCNAME)
}

func (n *name) updates() {
	if n.rules.Policy == CreateOnly {
		return
	}
	before := len(n.out.Changes)
	for i, c := range n.current {
		if !n.considered(i) {
			continue
		}
		if chosen := n.choose(c.Set); chosen >= 0 && n.wanted[chosen].Err == nil {
			n.update(c, n.wanted[chosen].Set)
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
	case adopt || c.RewriteOwnership || n.relabels(c.Set, w):
		n.out.Changes = append(n.out.Changes, dns.Change{Old: c.Set, New: n.replacement(c.Set, w, c.Set)})
	}
}

// relabels reports whether the label of one of our record sets has to be rewritten, because it has
// a new holder. A record set without a label gets one only if several objects ask for it.
func (n *name) relabels(current, w *dns.RecordSet) bool {
	was, now := resource(current), resource(w)
	if n.rules.Owner == "" || now == "" || now == was || !n.rules.Owns(current) {
		return false
	}
	if was == "" && len(w.Objects) < 2 && !n.contested(w) {
		return false
	}
	if !n.rules.OneLabel {
		return true
	}
	// The label applies to all types of the name, and the first type writes it.
	for i, c := range n.current {
		if c.Set.Type < current.Type && n.considered(i) && n.isWanted(c.Set) {
			return false
		}
	}
	return !n.asks(was)
}

// contested reports whether several objects ask for a record set.
func (n *name) contested(w *dns.RecordSet) bool {
	return slices.ContainsFunc(n.wanted, func(o Candidate) bool { return sameKey(o.Set, w) && resource(o.Set) != resource(w) })
}

func (n *name) asks(object string) bool {
	return slices.ContainsFunc(n.wanted, func(w Candidate) bool { return n.eligible(w.Set) && resource(w.Set) == object })
}

// keepLabel keeps the common label of all types of the name, if the registry has one, as long as
// its object asks for any type.
func (n *name) keepLabel() {
	if !n.rules.OneLabel {
		return
	}
	for i, c := range n.current {
		object := resource(c.Set)
		if object == "" || !n.considered(i) || !n.rules.Owns(c.Set) || !n.asks(object) {
			continue
		}
		for _, change := range n.out.Changes {
			if change.New != nil {
				change.New.Labels[dns.LabelResource] = object
			}
		}
		return
	}
}

// replacement returns the record set that replaces old: with the name and owner of old, the objects
// and other labels of w, and everything else from content.
func (n *name) replacement(old, w, content *dns.RecordSet) *dns.RecordSet {
	labelled := *content
	labelled.Labels, labelled.Objects = w.Labels, w.Objects
	// The provider knows the name only in its current spelling.
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
		if !n.firstOfKey(i) || n.exists(w.Set) {
			continue
		}
		if w = n.wanted[n.choose(w.Set)]; w.Err != nil || n.obstructed(w.Set) {
			continue
		}
		created := w.Set.Clone()
		if n.rules.Owner != "" {
			created.Labels[dns.LabelOwner] = n.rules.Owner
		}
		n.out.Changes = append(n.out.Changes, dns.Change{New: created})
	}
	sortChanges(n.out.Changes[before:])
}

// obstructed reports whether other record sets of the name prevent the creation of one, and adds a
// conflict for each.
func (n *name) obstructed(w *dns.RecordSet) bool {
	before := len(n.out.Conflicts)
	for i, c := range n.current {
		if !n.considered(i) {
			continue
		}
		excluded := excludes(c.Set, w)
		ours := n.rules.Owns(c.Set) || n.rules.adopts(c.Set) && n.isWanted(c.Set)
		switch {
		// No record set is created beside those of another owner, unless set identifiers show that the
		// owners share the name on purpose.
		case !ours && (excluded || c.Set.SetIdentifier == w.SetIdentifier):
			n.out.Conflicts = append(n.out.Conflicts, Conflict{Wanted: w, Current: c.Set, Obstacle: NotOwned})
		case ours && excluded && n.rules.Policy != Sync:
			n.out.Conflicts = append(n.out.Conflicts, Conflict{Wanted: w, Current: c.Set, Obstacle: NotDeletable})
		case ours && excluded && !n.isWanted(c.Set) && n.keptForRefused(c.Set):
			n.out.Conflicts = append(n.out.Conflicts, Conflict{Wanted: w, Current: c.Set, Obstacle: ReplacementRefused})
		}
	}
	return len(n.out.Conflicts) > before
}

// considered reports whether the current record set i is considered. Of several with one key, which
// the provider can't distinguish, only one is considered: one that isn't ours, if there is any.
func (n *name) considered(i int) bool {
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

// outranks reports whether the current record set i takes precedence over j with the same key.
func (n *name) outranks(i, j int) bool {
	a, b := n.current[i].Set, n.current[j].Set
	if owned := n.rules.Owns(a); owned != n.rules.Owns(b) {
		return !owned
	}
	order := compareSets(a, b)
	return order < 0 || order == 0 && i < j
}

// exists reports whether the zone has a record set with the key of a wanted one.
func (n *name) exists(w *dns.RecordSet) bool {
	return slices.ContainsFunc(n.current, func(c Current) bool { return sameKey(c.Set, w) })
}

// eligible reports whether a wanted record set may win: its type is managed, and its side (CNAME or
// other types) doesn't lose.
func (n *name) eligible(w *dns.RecordSet) bool {
	return n.rules.Manages(w.Type) && !(n.mixed && (w.Type == dns.TypeCNAME) != n.cname)
}

// firstOfKey reports whether candidate i is considered and the first one of its key.
func (n *name) firstOfKey(i int) bool {
	if !n.eligible(n.wanted[i].Set) {
		return false
	}
	for _, w := range n.wanted[:i] {
		if sameKey(w.Set, n.wanted[i].Set) {
			return false
		}
	}
	return true
}

// isWanted reports whether a record set with the key of c is wanted, and not refused.
func (n *name) isWanted(c *dns.RecordSet) bool {
	return slices.ContainsFunc(n.wanted, func(w Candidate) bool { return w.Err == nil && sameKey(w.Set, c) && n.eligible(w.Set) })
}
