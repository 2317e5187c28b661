package owner

import (
	"context"

	"github.com/signpostd/signpost/dns"
)

// Lookup returns the record sets that a zone has under a canonical name: all types, as the
// provider lists them, or nil if there are none.
type Lookup func(name string) []*dns.RecordSet

// Owner knows which record sets belong to whom.
type Owner interface {
	// ID returns the owner ID that records created by this process get. It is empty when there
	// is no ownership, so that everything may be changed.
	ID() string
	// Load reads what is kept outside of the zones, if there is any. It is called before zones
	// are read, at each verification, and after a failure.
	Load(ctx context.Context) error
	// Mark reports whether a record set is a marker of this kind of ownership, and returns the
	// canonical names whose record sets it describes. The plan doesn't see markers. When a
	// marker changes, the names that it describes are planned again.
	Mark(r *dns.RecordSet) (describes []string, marker bool)
	// Labels returns the labels of a record set that isn't a marker, or nil. Heal is true when
	// the markers of a record set of ours have to be written again, although the record set
	// itself is as it should be.
	Labels(zone Lookup, r *dns.RecordSet) (labels map[string]string, heal bool)
	// Before is called with the changes that are about to be applied to a zone, with their
	// labels. It returns the changes for the provider: each change is followed by those of its
	// markers. Changes of record sets that belong to somebody else are returned as refused.
	// When only markers have to be healed, Old and New of a change differ at most in labels;
	// Before then returns only the changes of the markers.
	Before(ctx context.Context, zone Lookup, changes []dns.Change) (apply, refused []dns.Change, err error)
	// After is called with the changes that were applied, as Before returned them.
	After(ctx context.Context, applied []dns.Change) error
}

// Outside is an [Owner] that keeps ownership outside of the zones.
type Outside interface {
	// Changed returns the canonical names whose ownership has changed since the last call.
	Changed() []string
}

// FailureObserver is an [Owner] that is also told about failures.
type FailureObserver interface {
	// Failed is called with changes that Before returned and the error of the provider.
	Failed(ctx context.Context, changes []dns.Change, err error)
}

// Observer is an [Owner] that has to know what zones have. It isn't told in a dry run, because it
// may write.
type Observer interface {
	// Listed is called with each complete listing of a zone, while nothing is changed in it.
	Listed(ctx context.Context, l Listing)
}

// Listing is what a zone has.
type Listing struct {
	// Zone identifies the zone, and ZoneOf returns the zone that a canonical name is in, or "".
	Zone   string
	ZoneOf func(name string) string
	// Records are all record sets of the zone.
	Records []*dns.RecordSet
}

// LabelsOnly reports whether a change concerns labels only, so that the provider has nothing
// to do.
func LabelsOnly(c dns.Change) bool {
	return c.Old != nil && c.New != nil &&
		(c.New.TTL <= 0 || c.New.TTL == c.Old.TTL) &&
		dns.SameTargets(c.Old.Targets, c.New.Targets) && dns.SameProperties(c.Old.Properties, c.New.Properties)
}

// KeepReplaced adds a reason for each deletion under a name where something can't be created or
// updated, so that nothing is deleted without its replacement. Reasons has, for each change,
// why it is refused, or "".
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

// Claim returns a change in which New, if there is one, has the label of an owner.
func Claim(c dns.Change, ownerID string) dns.Change {
	if c.New != nil && c.New.Labels[dns.LabelOwner] != ownerID {
		c.New = c.New.Clone()
		c.New.Labels[dns.LabelOwner] = ownerID
	}
	return c
}
