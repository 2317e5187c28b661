package owner

import (
	"context"

	"github.com/signpostd/signpost/dns"
)

// Lookup returns the record sets of a zone under a canonical name, of all types and as the provider
// lists them, or nil.
type Lookup func(name string) []*dns.RecordSet

// Owner decides which record sets are ours.
type Owner interface {
	// ID returns the owner ID of new records. It is empty without ownership: everything may then be
	// changed.
	ID() string
	// Load reads ownership that is kept outside of the zones, if any. It is called before zones are
	// read, at each verification, and after a failure.
	Load(ctx context.Context) error
	// OwnershipRecord reports whether a record set is an ownership record of this registry, and
	// returns the canonical names whose record sets it describes. The plan doesn't see ownership
	// records. When one changes, the names that it describes are planned again.
	OwnershipRecord(r *dns.RecordSet) (describes []string, ownership bool)
	// Labels returns the labels of a record set that isn't an ownership record, or nil. rewrite is
	// true if the ownership records of one of our record sets must be rewritten although the record
	// set itself is as wanted.
	Labels(zone Lookup, r *dns.RecordSet) (labels map[string]string, rewrite bool)
	// Before is called with the labelled changes that are about to be applied to a zone. It returns
	// the changes for the provider: each change is followed by those of its ownership records. Changes
	// of record sets of other owners are returned as refused. To rewrite ownership records only, a
	// change has an Old and New that differ at most in labels; Before then returns only the changes of
	// the ownership records.
	Before(ctx context.Context, zone Lookup, changes []dns.Change) (apply, refused []dns.Change, err error)
	// After is called with the changes that were applied, as Before returned them.
	After(ctx context.Context, applied []dns.Change) error
}

// Outside is an [Owner] that keeps ownership outside of the zones.
type Outside interface {
	// Changed returns the canonical names whose ownership has changed since the last call.
	Changed() []string
	// Outdate makes the next Load read everything, because another process may have written. It doesn't
	// wait.
	Outdate()
	// Failed is called with changes that Before returned, and the error of the provider.
	Failed(ctx context.Context, changes []dns.Change, err error)
	// Listed is called with each complete listing of a zone, while no change of the zone is running. It
	// isn't called in a dry run, because it may write.
	Listed(ctx context.Context, l Listing)
}

// Listing is the listing of a zone.
type Listing struct {
	// Zone identifies the zone. ZoneOf returns the zone of a canonical name, or "".
	Zone   string
	ZoneOf func(name string) string
	// Change counts the changes of the zones that ZoneOf knows. Listings of several zones may end in another order
	// than that.
	Change int
	// Records are all record sets of the zone.
	Records []*dns.RecordSet
}

// inZone is embedded by registries that keep ownership in the zones.
type inZone struct{}

// Load implements [Owner]. There is nothing to read outside of the zones.
func (inZone) Load(context.Context) error { return nil }

// After implements [Owner]. Ownership was written with the changes.
func (inZone) After(context.Context, []dns.Change) error { return nil }

// LabelsOnly reports whether a change concerns labels only, so that the provider has nothing to do.
func LabelsOnly(c dns.Change) bool {
	return c.Old != nil && c.New != nil &&
		(c.New.TTL <= 0 || c.New.TTL == c.Old.TTL) &&
		dns.SameTargets(c.Old.Targets, c.New.Targets) && dns.SameProperties(c.Old.Properties, c.New.Properties)
}

// KeepReplaced adds a reason for each deletion under a name where a creation or update is refused,
// so that nothing is deleted without its replacement. reasons has, for each change, why it is
// refused, or "".
func KeepReplaced(changes []dns.Change, reasons []string) {
	stuck := map[string]bool{}
	for i, c := range changes {
		if c.New != nil && reasons[i] != "" {
			stuck[c.New.Key().Name] = true
		}
	}
	for i, c := range changes {
		if c.New == nil && reasons[i] == "" && stuck[c.Old.Key().Name] {
			reasons[i] = "its replacement can't be created"
		}
	}
}

// Refusal returns the problem of a record set that isn't changed, or isn't owned.
func Refusal(r *dns.RecordSet, reason string) dns.Problem {
	p := dns.Problem{Subject: r.Type + " record", Value: r.Name, Reason: reason}
	if len(r.Objects) > 0 {
		p.Object = r.Objects[0]
	}
	return p
}

// Claim returns a change whose New, if any, has the label of an owner.
func Claim(c dns.Change, ownerID string) dns.Change {
	if c.New != nil && c.New.Labels[dns.LabelOwner] != ownerID {
		c.New = c.New.Clone()
		c.New.Labels[dns.LabelOwner] = ownerID
	}
	return c
}
