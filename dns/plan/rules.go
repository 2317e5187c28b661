package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// Policy says what kinds of changes may be made. The zero value isn't one.
type Policy string

// The policies (spec/dns.md §3.6).
const (
	// Sync allows all changes.
	Sync Policy = "sync"
	// UpsertOnly allows nothing to be deleted.
	UpsertOnly Policy = "upsert-only"
	// CreateOnly allows only record sets that weren't there.
	CreateOnly Policy = "create-only"
)

// Policies returns the policies there are.
func Policies() []Policy { return []Policy{Sync, UpsertOnly, CreateOnly} }

// ParsePolicy returns the policy of a name, as --policy has it.
func ParsePolicy(name string) (Policy, error) {
	if p := Policy(name); slices.Contains(Policies(), p) {
		return p, nil
	}
	names := make([]string, 0, len(Policies()))
	for _, p := range Policies() {
		names = append(names, string(p))
	}
	return "", fmt.Errorf("policy %q: use one of %s", name, strings.Join(names, ", "))
}

// Rules are what the user says about all names. They must not be changed while in use.
type Rules struct {
	Policy Policy
	// Owner is who owns the record sets that are made. If it is empty everything may be
	// changed, whoever it belongs to.
	Owner string
	// OldOwner is whose record sets become those of Owner where they are asked for
	// (spec/dns.md §3.9). Empty is nobody.
	OldOwner string
	// Managed are the types of record sets that are looked at, Excluded those of them that
	// are not. Other types are as if they weren't there.
	Managed, Excluded []string
}

// DefaultManaged returns the types that are managed when nobody says otherwise.
func DefaultManaged() []string { return []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME} }

// Manages reports whether record sets of a type are looked at.
func (r *Rules) Manages(recordType string) bool {
	return slices.Contains(r.Managed, recordType) && !slices.Contains(r.Excluded, recordType)
}

// owns reports whether a record set may be changed and deleted.
func (r *Rules) owns(set *dns.RecordSet) bool {
	return r.Owner == "" || set.Labels[dns.LabelOwner] == r.Owner
}

// adopts reports whether a record set changes hands if it is asked for.
func (r *Rules) adopts(set *dns.RecordSet) bool {
	return r.Owner != "" && r.OldOwner != "" && r.OldOwner != r.Owner &&
		r.Policy != CreateOnly && set.Labels[dns.LabelOwner] == r.OldOwner
}
