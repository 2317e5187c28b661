package plan

import (
	"slices"

	"github.com/signpostd/signpost/dns"
)

// Policy says which kinds of changes are allowed. The zero value is invalid.
type Policy string

// Policies (spec/dns.md §3.6).
const (
	// Sync allows all changes.
	Sync Policy = "sync"
	// UpsertOnly allows no deletions.
	UpsertOnly Policy = "upsert-only"
	// CreateOnly allows only creations.
	CreateOnly Policy = "create-only"
)

// Policies returns all policies.
func Policies() []Policy { return []Policy{Sync, UpsertOnly, CreateOnly} }

// Rules are the settings for all names. They must not be changed while in use.
type Rules struct {
	Policy Policy
	// Owner is the owner of new record sets. If it is empty, every record set may be changed.
	Owner string
	// OldOwner is an owner, possibly empty, whose record sets become ours if they are wanted
	// (spec/dns.md §3.9).
	OldOwner string
	// Instance is the instance of this process ([dns.LabelInstance]); empty if unknown. Record sets of
	// Owner with another instance aren't ours.
	Instance string
	// Managed are the managed record types, without those in Excluded. Others are ignored.
	Managed, Excluded []string
	// OneLabel is true if the registry keeps one label resource for all types of a name. It is that of
	// the first type, and stays as long as its object asks for any of them.
	OneLabel bool
}

// DefaultManaged returns the record types that are managed by default.
func DefaultManaged() []string { return []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME} }

// Manages reports whether a record type is managed.
func (r *Rules) Manages(recordType string) bool {
	return slices.Contains(r.Managed, recordType) && !slices.Contains(r.Excluded, recordType)
}

// Owns reports whether a record set may be changed and deleted.
func (r *Rules) Owns(set *dns.RecordSet) bool {
	return r.Owner == "" || set.Labels[dns.LabelOwner] == r.Owner && dns.OtherInstance(set.Labels, r.Instance) == ""
}

// MayOwn reports whether a record set is ours, or becomes ours if it is wanted.
func (r *Rules) MayOwn(set *dns.RecordSet) bool { return r.Owns(set) || r.adopts(set) }

// adopts reports whether a record set of the old owner becomes ours if it is wanted.
func (r *Rules) adopts(set *dns.RecordSet) bool {
	return r.Owner != "" && r.OldOwner != "" && r.OldOwner != r.Owner &&
		r.Policy != CreateOnly && set.Labels[dns.LabelOwner] == r.OldOwner
}
