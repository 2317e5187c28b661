package plan

import (
	"cmp"
	"slices"

	"github.com/signpostd/signpost/dns"
)

// The rules for which object gets a record set (docs/dns/tenancy.md, "Who gets a name"):
//
//  1. The holder keeps it: the object in the label resource of the zone's record set, as long as it
//     asks for the record set. A record set without the label belongs to the object that asks for
//     the targets that the zone has.
//  2. If the holder doesn't ask for it any more, objects that ask only for targets that the zone
//     has come first, then objects that hold another record set of the name.
//  3. Among objects without a record set of the name: A and AAAA before CNAME, then the least
//     targets, the order of the sources, namespace and name.
//
// A CNAME and record sets of other types exclude each other. The side that a holder asks for stays.
// An object that asks for both sides gets the other types.

// Candidate is a wanted record set of a name.
type Candidate struct {
	Set *dns.RecordSet
	// Source is the position of its source.
	Source int
	// Err is why the provider refuses the candidate; nil if it doesn't. A refused candidate loses to
	// all others, except that a refused holder keeps the zone's record set.
	Err error
}

// Sets returns the record sets of candidates; nil if there are none.
func Sets(candidates []Candidate) []*dns.RecordSet {
	if candidates == nil {
		return nil
	}
	sets := make([]*dns.RecordSet, len(candidates))
	for i, c := range candidates {
		sets[i] = c.Set
	}
	return sets
}

// Loss is a candidate that isn't published because another one is.
type Loss struct {
	Candidate
	// Winner is the candidate that is published instead: under the same key, or of a type that
	// excludes that of the loser.
	Winner *dns.RecordSet
	// Holder is true if the object of the winner had a record set of the name before.
	Holder bool
}

// Choose returns which candidates of a name win, at most one per key, and which lose. The arguments
// are those of [Name].
func Choose(current []Current, wanted []Candidate, rules *Rules) (chosen []Candidate, lost []Loss) {
	n := name{current: current, wanted: wanted, rules: rules}
	n.rankCandidates()
	for i := range wanted {
		if n.firstOfKey(i) {
			chosen = append(chosen, wanted[n.choose(wanted[i].Set)])
		}
	}
	slices.SortFunc(chosen, func(a, b Candidate) int { return compareKeys(a.Set, b.Set) })
	return chosen, n.losses()
}

// Rank returns a function that ranks the objects of a name: 0 for the holder, more for others.
// Package desired merges record sets in this order. The function is for one goroutine.
func Rank(current []Current, rules *Rules) func(*dns.RecordSet) int {
	n := name{current: current, rules: rules}
	return func(r *dns.RecordSet) int {
		c := n.currentOf(r)
		switch {
		case c != nil && resource(c) != "" && resource(c) == resource(r):
			return 0
		case c != nil && n.commonTargets(r, c) == len(r.Targets) && (r.TTL <= 0 || r.TTL == c.TTL):
			return 1
		case c != nil && n.commonTargets(r, c) == len(r.Targets):
			return 2
		case n.holdsAny(r):
			return 3
		default:
			return 4
		}
	}
}

func resource(r *dns.RecordSet) string { return r.Labels[dns.LabelResource] }

// fewTargets is the maximum number of targets that are compared pairwise. More are looked up in an
// index.
const fewTargets = 16

// commonTargets counts the targets of r that c, a record set of the zone, has.
func (n *name) commonTargets(r, c *dns.RecordSet) (count int) {
	if len(c.Targets) > fewTargets {
		return n.targetsOf(c).Count(r.Targets)
	}
	for _, target := range r.Targets {
		for _, other := range c.Targets {
			if dns.SameTarget(target, other) {
				count++
				break
			}
		}
	}
	return count
}

// targetsOf returns the index of the targets of a record set of the zone. All candidates use the same
// one: thousands of objects may share a record set with as many targets.
func (n *name) targetsOf(c *dns.RecordSet) dns.TargetSet {
	if n.targets[c] == nil {
		if n.targets == nil {
			n.targets = map[*dns.RecordSet]dns.TargetSet{}
		}
		n.targets[c] = dns.NewTargetSet(c.Targets)
	}
	return n.targets[c]
}

// currentOf returns the zone's record set with the key of r if we may change it, or nil.
func (n *name) currentOf(r *dns.RecordSet) *dns.RecordSet {
	for i, c := range n.current {
		if sameKey(c.Set, r) && n.considered(i) && n.rules.MayOwn(c.Set) {
			return c.Set
		}
	}
	return nil
}

// holdsAny reports whether the object that asks for r holds a record set of the name.
func (n *name) holdsAny(r *dns.RecordSet) bool {
	object := resource(r)
	if object == "" {
		return false
	}
	for i, c := range n.current {
		if resource(c.Set) == object && n.considered(i) && n.rules.MayOwn(c.Set) {
			return true
		}
	}
	return false
}

// blocked reports whether a record set of another owner prevents the creation of r. A candidate
// that can be published must not lose to one that can't.
func (n *name) blocked(r *dns.RecordSet) bool {
	for i, c := range n.current {
		if n.rules.Owns(c.Set) || !excludes(c.Set, r) && c.Set.SetIdentifier != r.SetIdentifier || !n.considered(i) {
			continue
		}
		if excludes(c.Set, r) || !(n.rules.adopts(c.Set) && n.asked(c.Set)) {
			return true
		}
	}
	return false
}

// asked reports whether an object asks for a key, in a form that the provider doesn't refuse.
func (n *name) asked(key *dns.RecordSet) bool {
	return slices.ContainsFunc(n.wanted, func(w Candidate) bool { return w.Err == nil && sameKey(w.Set, key) })
}

// claim is the relation of an object to the name. The greatest claim wins.
type claim int

const (
	// refused is for newcomers that the provider refuses, or that a record set of another owner
	// excludes.
	refused claim = iota
	newcomer
	// related is for an object that holds another record set of the name.
	related
	// content is for an object that asks only for targets of the zone's record set.
	content
	// holder is for the object in the label of the zone's record set.
	holder
)

// precedence decides between candidates.
type precedence struct {
	claim claim
	// kept counts the targets of the zone's record set that the candidate asks for.
	kept int
}

func (n *name) precedenceOf(w Candidate) (m precedence) {
	c := n.currentOf(w.Set)
	if c != nil {
		m.kept = n.commonTargets(w.Set, c)
	}
	switch {
	case c != nil && resource(c) == resource(w.Set):
		m.claim = holder
	case w.Err != nil || c == nil && n.blocked(w.Set):
		m.claim = refused
	case c != nil && m.kept == len(w.Set.Targets):
		m.claim = content
	case n.holdsAny(w.Set):
		m.claim = related
	default:
		m.claim = newcomer
	}
	return m
}

// rankCandidates computes the precedences of the candidates and which side wins, unless all can be
// published.
func (n *name) rankCandidates() {
	if !n.rivals() {
		return
	}
	n.precedences = make([]precedence, len(n.wanted))
	for i, w := range n.wanted {
		n.precedences[i] = n.precedenceOf(w)
	}
	n.chooseSide()
}

// rivals reports whether two candidates can't both be published.
func (n *name) rivals() bool {
	for i, w := range n.wanted {
		for _, o := range n.wanted[:i] {
			if (sameKey(w.Set, o.Set) || excludes(w.Set, o.Set)) && n.rules.Manages(w.Set.Type) && n.rules.Manages(o.Set.Type) {
				return true
			}
		}
	}
	return false
}

// chooseSide decides between CNAMEs and record sets of other types if both are wanted. Set
// identifiers don't matter, because a CNAME excludes all other types at its name.
func (n *name) chooseSide() {
	cname, other, mixed := -1, -1, [2]bool{}
	for i := range n.wanted {
		if !n.firstOfKey(i) {
			continue
		}
		i = n.choose(n.wanted[i].Set)
		switch isOther := n.wanted[i].Set.Type != dns.TypeCNAME; {
		case isOther:
			mixed[0], other = true, n.better(i, other)
		case n.asksForBoth(n.wanted[i].Set):
			// This CNAME doesn't count, so that it doesn't hide one with another set identifier.
			mixed[1] = true
		default:
			mixed[1], cname = true, n.better(i, cname)
		}
	}
	if !mixed[0] || !mixed[1] {
		return
	}
	n.mixed, n.winner = true, other
	if n.cname = cname >= 0 && n.precedences[cname].claim > n.precedences[other].claim; n.cname {
		n.winner = cname
	}
}

// better returns which of two candidates of different keys has the better claim; best is -1 for
// none.
func (n *name) better(i, best int) int {
	if best < 0 || cmp.Or(cmp.Compare(n.precedences[best].claim, n.precedences[i].claim), compareKeys(n.wanted[i].Set, n.wanted[best].Set)) < 0 {
		return i
	}
	return best
}

// asksForBoth reports whether the object that asks for a CNAME also asks for another type, which
// the provider doesn't refuse.
func (n *name) asksForBoth(cname *dns.RecordSet) bool {
	return slices.ContainsFunc(n.wanted, func(w Candidate) bool {
		return w.Err == nil && w.Set.Type != dns.TypeCNAME && n.rules.Manages(w.Set.Type) && resource(w.Set) == resource(cname)
	})
}

// choose returns the index of the candidate that gets the record set of a key, or -1.
func (n *name) choose(key *dns.RecordSet) int {
	best := -1
	for i, w := range n.wanted {
		if sameKey(w.Set, key) && n.eligible(w.Set) && (best < 0 || n.before(i, best)) {
			best = i
		}
	}
	return best
}

// before reports whether candidate i of a key takes precedence over j.
func (n *name) before(i, j int) bool {
	a, b := n.precedences[i], n.precedences[j]
	order := cmp.Or(cmp.Compare(b.claim, a.claim), cmp.Compare(b.kept, a.kept))
	return cmp.Or(order, prefer(n.wanted[i], n.wanted[j])) < 0
}

// losses returns the candidates that lose, ordered by key.
func (n *name) losses() (lost []Loss) {
	if n.precedences == nil {
		return nil
	}
	winners := map[dns.Key]int{}
	for i, w := range n.wanted {
		if n.firstOfKey(i) {
			winners[keyAt(w.Set)] = n.choose(w.Set)
		}
	}
	side := -1
	if n.mixed {
		side = winners[keyAt(n.wanted[n.winner].Set)]
	}
	for i, w := range n.wanted {
		winner := side
		switch {
		case !n.rules.Manages(w.Set.Type):
			continue
		case n.eligible(w.Set):
			if winner = winners[keyAt(w.Set)]; winner == i {
				continue
			}
		}
		lost = append(lost, Loss{Candidate: w, Winner: n.wanted[winner].Set, Holder: n.precedences[winner].claim >= related})
	}
	slices.SortFunc(lost, func(a, b Loss) int {
		return cmp.Or(compareKeys(a.Set, b.Set), prefer(a.Candidate, b.Candidate))
	})
	return lost
}

// keyAt returns the key of a record set within its name.
func keyAt(r *dns.RecordSet) dns.Key {
	return dns.Key{Type: r.Type, SetIdentifier: r.SetIdentifier}
}
