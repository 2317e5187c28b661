package azure

import (
	"fmt"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// A type change from or to CNAME is a deletion and then a creation, because Azure has no transactions.
// Between the two, the name doesn't resolve.

// typeChange returns the step that creates a CNAME, or that creates another record set in place of a CNAME.
// It is nil if there is none.
func (u *unit) typeChange() *step {
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

// deletesAddress reports whether the unit deletes a record set of a name that clients query.
func (u *unit) deletesAddress(name string) bool {
	for _, s := range u.steps {
		if s.key.name == name && s.after == nil && provider.Resolves(s.key.recordType) {
			return true
		}
	}
	return false
}

// conflict returns an error if the zone has a record set with which Azure refuses a new one, because no other
// record set can be beside a CNAME. It uses what was listed or written last, including unsupported types.
func (u *unit) conflict() error {
	for _, s := range u.steps {
		if s.before != nil || s.after == nil {
			continue
		}
		for _, recordType := range u.zone.typesOf(s.key.name) {
			excludes := recordType != s.key.recordType && (recordType == dns.TypeCNAME || s.key.recordType == dns.TypeCNAME)
			if excludes && !u.deletes(key{name: s.key.name, recordType: recordType}) {
				r := s.change.RecordSet()
				return rejected(r, fmt.Errorf("the zone has a %s record of this name, which isn't ours to delete, and Azure has no CNAME beside another record: "+
					"remove it, or ask for another type or name", recordType))
			}
		}
	}
	return nil
}

// deletes reports whether the unit deletes a record set.
func (u *unit) deletes(k key) bool {
	for _, s := range u.steps {
		if s.key == k && s.after == nil {
			return true
		}
	}
	return false
}
