package libdns

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// unit is the changes of one subject: a name, its types, and their ownership records. They are made
// phase by phase, up to the first failure (spec/clouds.md §0.2).
type unit struct {
	*batch.Group
	// wrote has the keys of written record sets. finished is true if the zone has the wanted state.
	wrote    map[dns.Key]bool
	finished bool
	// altered is true if the zone shows other values than were written.
	altered bool
	// typeChangeUndone is true if the deleted record sets of a type change had to be restored.
	typeChangeUndone bool
}

// unitsOf groups changes into units, in the order of their first changes.
func unitsOf(changes []dns.Change) []*unit {
	var units []*unit
	for _, g := range batch.BySubject(changes) {
		units = append(units, &unit{Group: g, wrote: map[dns.Key]bool{}})
	}
	return units
}

// phase is a step in which a change is made.
type phase int

// An ownership record is created before its record set and deleted after it, unless it blocks a
// CNAME. Deletions come before creations, so that a name can change its type.
const (
	createOwnership phase = iota
	deleteObstacles
	deleteRecords
	createLateOwnership
	updateRecords
	createRecords
	deleteOwnership
	phases
)

func (u *unit) phaseOf(c dns.Change) phase {
	isOwnershipRecord := c.RecordSet().IsOwnershipRecord()
	switch {
	case isOwnershipRecord && c.New == nil && u.blocksCNAME(c):
		return deleteObstacles
	case isOwnershipRecord && c.New == nil:
		return deleteOwnership
	case isOwnershipRecord && u.waitsForCNAME(c):
		return createLateOwnership
	case isOwnershipRecord:
		return createOwnership
	case c.New == nil:
		return deleteRecords
	case c.Old != nil:
		return updateRecords
	default:
		return createRecords
	}
}

// blocksCNAME reports whether an ownership record has the name of a CNAME that the unit creates.
// Nothing can be beside a CNAME.
func (u *unit) blocksCNAME(ownership dns.Change) bool {
	return slices.ContainsFunc(u.Changes, func(c dns.Change) bool {
		return c.Old == nil && c.New.Type == dns.TypeCNAME && c.New.Key().Name == ownership.Old.Key().Name
	})
}

// typeChange returns the name whose record sets the unit deletes before it creates others, because
// a CNAME can't be beside them. It is "" if there is none.
func (u *unit) typeChange() string {
	var removed, added, cname bool
	for _, c := range u.Changes {
		if r := c.RecordSet(); provider.Resolves(r.Type) && (c.Old == nil || c.New == nil) {
			removed, added, cname = removed || c.New == nil, added || c.Old == nil, cname || r.Type == dns.TypeCNAME
		}
	}
	if removed && added && cname {
		return u.Subject
	}
	return ""
}

// lostRecords returns the deletions that a type change has made although the name doesn't resolve
// now.
func (u *unit) lostRecords(current *content) (deletions []dns.Change) {
	name := u.typeChange()
	if name == "" || slices.ContainsFunc(current.types[name], provider.Resolves) {
		return nil
	}
	for _, c := range u.Changes {
		if c.New == nil && provider.Resolves(c.Old.Type) && u.wrote[c.Old.Key()] && made(c, current) {
			deletions = append(deletions, c)
		}
	}
	return deletions
}

// waitsForCNAME reports whether an ownership record must wait until the unit has deleted a CNAME of
// the same name.
func (u *unit) waitsForCNAME(ownership dns.Change) bool {
	return slices.ContainsFunc(u.Changes, func(c dns.Change) bool {
		return c.New == nil && c.Old.Type == dns.TypeCNAME && c.Old.Key().Name == ownership.New.Key().Name
	})
}

// check returns an error if the unit would leave a CNAME beside other records. libdns doesn't
// define what SetRecords does then (LD6 of spec/clouds.md).
func (u *unit) check(current *content) error {
	for _, c := range u.Changes {
		if c.New == nil {
			continue
		}
		name := c.New.Key().Name
		for _, other := range u.typesAfter(name, current) {
			if other != c.New.Type && (other == dns.TypeCNAME || c.New.Type == dns.TypeCNAME) && !dnssec(other) {
				return fmt.Errorf("%w: %s %s: there is a record of the type %s, and a CNAME can't be beside others", provider.ErrRejected, name, c.New.Type, other)
			}
		}
	}
	return nil
}

func (u *unit) typesAfter(name string, current *content) []string {
	types := slices.Clone(current.types[name])
	for _, c := range u.Changes {
		r := c.RecordSet()
		if r.Key().Name != name {
			continue
		}
		types = slices.DeleteFunc(types, func(t string) bool { return t == r.Type })
		if c.New != nil {
			types = append(types, r.Type)
		}
	}
	return types
}

// dnssec reports whether a type can be beside a CNAME (RFC 4035, 2.5).
func dnssec(recordType string) bool {
	return slices.Contains([]string{"RRSIG", "NSEC", "NSEC3", "KEY"}, recordType)
}

// done reports whether the zone has the wanted state of all changes.
func (u *unit) done(current *content) bool {
	return !slices.ContainsFunc(u.Changes, func(c dns.Change) bool { return !made(c, current) })
}

func made(c dns.Change, current *content) bool {
	key := c.RecordSet().Key()
	existing := current.by[key]
	if !current.has(key, c.New) {
		return false
	}
	// A change of the TTL alone is made if the TTL is no longer the old one.
	return existing == nil || c.Old == nil || !current.has(key, c.Old) || existing.TTL == c.New.TTL || existing.TTL != c.Old.TTL
}

// doneExceptTTL is done regardless of the TTLs of written record sets.
func (u *unit) doneExceptTTL(current *content) bool {
	return !slices.ContainsFunc(u.Changes, func(c dns.Change) bool {
		key := c.RecordSet().Key()
		return !made(c, current) && !(u.wrote[key] && current.has(key, c.New))
	})
}

// unchanged reports whether the zone still has the old state of a change.
func unchanged(c dns.Change, current *content) bool {
	return current.has(c.RecordSet().Key(), c.Old) && !made(c, current)
}

// unexpectedValue returns a value of the unit's record sets that is neither old nor wanted.
func (u *unit) unexpectedValue(current *content) (key dns.Key, value string, found bool) {
	for _, c := range u.Changes {
		key := c.RecordSet().Key()
		r := current.by[key]
		if r == nil {
			continue
		}
		old, wanted := targetsOf(c.Old), targetsOf(c.New)
		for _, t := range r.Targets {
			if !old.has(t) && !wanted.has(t) {
				return key, t, true
			}
		}
	}
	return dns.Key{}, "", false
}

// targetSet has the targets of a record set in normal form. Only texts are case-sensitive.
type targetSet struct {
	text  bool
	known map[string]struct{}
}

// targetsOf returns the targets of a record set, which may be nil.
func targetsOf(r *dns.RecordSet) targetSet {
	s := targetSet{known: map[string]struct{}{}}
	if r == nil {
		return s
	}
	s.text = r.Type == dns.TypeTXT
	for _, t := range normal(r).Targets {
		s.known[s.key(t)] = struct{}{}
	}
	return s
}

func (s targetSet) key(target string) string {
	if s.text {
		return target
	}
	return strings.ToLower(target)
}

func (s targetSet) has(target string) bool {
	_, has := s.known[s.key(target)]
	return has
}

// fingerprint identifies the wanted state of a unit.
func (u *unit) fingerprint() string {
	var b strings.Builder
	for _, c := range u.Changes {
		r := c.RecordSet()
		fmt.Fprintf(&b, "%s %s %t %q %d\n", r.Name, r.Type, c.New == nil, r.Targets, r.TTL)
	}
	return b.String()
}
