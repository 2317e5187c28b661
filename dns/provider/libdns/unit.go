package libdns

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// unit is the changes of one subject: a name, its types, and their ownership records. They are
// made in the order of the phases, and no further after one of them failed (spec/clouds.md §0.2).
type unit struct {
	*batch.Group
	// wrote has the keys whose record sets were written, and finished is true when the zone has
	// what the unit asks for.
	wrote    map[dns.Key]bool
	finished bool
	// altered is true when the zone shows other values than were written.
	altered bool
	// swapUndone is true when answers were deleted for others that didn't come.
	swapUndone bool
}

// unitsOf divides changes into units, in the order of their first changes.
func unitsOf(changes []dns.Change) []*unit {
	var units []*unit
	for _, g := range batch.BySubject(changes) {
		units = append(units, &unit{Group: g, wrote: map[dns.Key]bool{}})
	}
	return units
}

// phase is a step in which a change is made.
type phase int

// An ownership record is there before its record set, and goes after it, unless it is in the way of
// a CNAME. What is deleted goes before what is created, so that a name can change its type.
const (
	ownershipRecordsCome phase = iota
	obstaclesGo
	recordsGo
	lateOwnershipRecordsCome
	recordsChange
	recordsCome
	ownershipRecordsGo
	phases
)

// phaseOf returns when a change of the unit is made.
func (u *unit) phaseOf(c dns.Change) phase {
	isOwnershipRecord := c.RecordSet().IsOwnershipRecord()
	switch {
	case isOwnershipRecord && c.New == nil && u.obstructs(c):
		return obstaclesGo
	case isOwnershipRecord && c.New == nil:
		return ownershipRecordsGo
	case isOwnershipRecord && u.blocked(c):
		return lateOwnershipRecordsCome
	case isOwnershipRecord:
		return ownershipRecordsCome
	case c.New == nil:
		return recordsGo
	case c.Old != nil:
		return recordsChange
	default:
		return recordsCome
	}
}

// obstructs reports whether an ownership record has the name of a CNAME that the unit creates, which can't
// have anything beside it.
func (u *unit) obstructs(marker dns.Change) bool {
	return slices.ContainsFunc(u.Changes, func(c dns.Change) bool {
		return c.Old == nil && c.New.Type == dns.TypeCNAME && c.New.Key().Name == marker.Old.Key().Name
	})
}

// swap returns the name whose answers the unit deletes before it creates others, because a CNAME can't be
// beside them; "" if there is none.
func (u *unit) swap() string {
	var gone, come, cname bool
	for _, c := range u.Changes {
		if r := c.RecordSet(); provider.Answers(r.Type) && (c.Old == nil || c.New == nil) {
			gone, come, cname = gone || c.New == nil, come || c.Old == nil, cname || r.Type == dns.TypeCNAME
		}
	}
	if gone && come && cname {
		return u.Subject
	}
	return ""
}

// lost returns the deletions of answers that a type change has made although the name has no other answer
// now.
func (u *unit) lost(now *reading) (deletions []dns.Change) {
	name := u.swap()
	if name == "" || slices.ContainsFunc(now.types[name], provider.Answers) {
		return nil
	}
	for _, c := range u.Changes {
		if c.New == nil && provider.Answers(c.Old.Type) && u.wrote[c.Old.Key()] && made(c, now) {
			deletions = append(deletions, c)
		}
	}
	return deletions
}

// blocked reports whether an ownership record has to wait until the unit has deleted a CNAME of
// the same name, which can't have anything beside it.
func (u *unit) blocked(marker dns.Change) bool {
	return slices.ContainsFunc(u.Changes, func(c dns.Change) bool {
		return c.New == nil && c.Old.Type == dns.TypeCNAME && c.Old.Key().Name == marker.New.Key().Name
	})
}

// check returns why a unit can't be made, given what the zone has: a CNAME can't be beside other
// records. SetRecords of libdns leaves open what happens then (LD6 of spec/clouds.md).
func (u *unit) check(now *reading) error {
	for _, c := range u.Changes {
		if c.New == nil {
			continue
		}
		name := c.New.Key().Name
		for _, other := range u.typesAfter(name, now) {
			if other != c.New.Type && (other == dns.TypeCNAME || c.New.Type == dns.TypeCNAME) && !dnssec(other) {
				return fmt.Errorf("%w: %s %s: there is a record of the type %s, and a CNAME can't be beside others", provider.ErrRejected, name, c.New.Type, other)
			}
		}
	}
	return nil
}

// typesAfter returns which types a name has once the unit is made.
func (u *unit) typesAfter(name string, now *reading) []string {
	types := slices.Clone(now.types[name])
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

// dnssec reports whether a type is one that a CNAME may be beside (RFC 4035, 2.5).
func dnssec(recordType string) bool {
	return slices.Contains([]string{"RRSIG", "NSEC", "NSEC3", "KEY"}, recordType)
}

// done reports whether the zone has what all changes of the unit are to bring about.
func (u *unit) done(now *reading) bool {
	return !slices.ContainsFunc(u.Changes, func(c dns.Change) bool { return !made(c, now) })
}

func made(c dns.Change, now *reading) bool {
	key := c.RecordSet().Key()
	there := now.by[key]
	if !now.has(key, c.New) {
		return false
	}
	// What changes nothing but the TTL is made when it has another TTL than before.
	return there == nil || c.Old == nil || !now.has(key, c.Old) || there.TTL == c.New.TTL || there.TTL != c.Old.TTL
}

// doneButTTL is done without a look at TTLs, for record sets that were written.
func (u *unit) doneButTTL(now *reading) bool {
	return !slices.ContainsFunc(u.Changes, func(c dns.Change) bool {
		key := c.RecordSet().Key()
		return !made(c, now) && !(u.wrote[key] && now.has(key, c.New))
	})
}

// untouched reports whether the zone has what it had before a change.
func untouched(c dns.Change, now *reading) bool {
	return now.has(c.RecordSet().Key(), c.Old) && !made(c, now)
}

// foreignValue returns a value that a record set of the unit has, and that it had neither before,
// nor was to get.
func (u *unit) foreignValue(now *reading) (key dns.Key, value string, found bool) {
	for _, c := range u.Changes {
		key := c.RecordSet().Key()
		r := now.by[key]
		if r == nil {
			continue
		}
		for _, t := range r.Targets {
			if !hasTarget(c.Old, t) && !hasTarget(c.New, t) {
				return key, t, true
			}
		}
	}
	return dns.Key{}, "", false
}

// hasTarget reports whether a record set has a target in normal form.
func hasTarget(r *dns.RecordSet, target string) bool {
	return r != nil && slices.ContainsFunc(normal(r).Targets, func(t string) bool {
		return t == target || r.Type != dns.TypeTXT && strings.EqualFold(t, target)
	})
}

// fingerprint identifies what a unit is to bring about.
func (u *unit) fingerprint() string {
	var b strings.Builder
	for _, c := range u.Changes {
		r := c.RecordSet()
		fmt.Fprintf(&b, "%s %s %t %q %d\n", r.Name, r.Type, c.New == nil, r.Targets, r.TTL)
	}
	return b.String()
}
