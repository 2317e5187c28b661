package azure

import (
	"fmt"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// A type change from or to CNAME is a deletion and then a creation, because Azure has no transactions. Between the two the
// name has no answer.

// swapped returns the step of a unit that creates a CNAME, or that creates another record in the place of a CNAME; nil if there
// is none.
func (u *unit) swapped() *step {
	for _, s := range u.steps {
		if s.key.recordType == dns.TypeCNAME && s.before == nil {
			return s
		}
	}
	for _, s := range u.steps {
		if s.key.recordType == dns.TypeCNAME && s.after == nil {
			for _, o := range u.steps {
				if o.before == nil && o.key.name == s.key.name {
					return o
				}
			}
		}
	}
	return nil
}

// gap reports whether a unit deletes an answer of a name before it creates another one.
func (u *unit) gap(name string) bool {
	for _, s := range u.steps {
		if s.key.name == name && s.after == nil && provider.Answers(s.key.recordType) {
			return true
		}
	}
	return false
}

// obstacle returns an error if a record set of the zone makes Azure refuse a created one: a CNAME can't be beside any other. It
// knows what was listed or written last, also of types that aren't handled.
func (u *unit) obstacle() error {
	for _, s := range u.steps {
		if s.before != nil || s.after == nil {
			continue
		}
		for _, recordType := range u.zone.typesOf(s.key.name) {
			excludes := recordType != s.key.recordType && (recordType == dns.TypeCNAME || s.key.recordType == dns.TypeCNAME)
			if excludes && !u.goes(key{name: s.key.name, recordType: recordType}) {
				r := s.change.RecordSet()
				return rejected(r, fmt.Errorf("the zone has a %s record of this name, which isn't ours to delete, and Azure has no CNAME beside another record: "+
					"remove it, or ask for another type or name", recordType))
			}
		}
	}
	return nil
}

// goes reports whether the unit deletes a record set.
func (u *unit) goes(k key) bool {
	for _, s := range u.steps {
		if s.key == k && s.after == nil {
			return true
		}
	}
	return false
}
