package owner

import (
	"context"

	"github.com/signpostd/signpost/dns"
)

// Lookup returns what a zone has under a name, given in its canonical form: record sets
// as the provider lists them, of all types, nil for none.
type Lookup func(name string) []*dns.RecordSet

// Owner knows which record sets belong to whom.
type Owner interface {
	// ID is the owner of the records that this process makes. It is empty when there is no
	// ownership: everything may then be changed.
	ID() string
	// Load reads what is kept outside of the zones, if anything is: before zones are read,
	// at each verification, and after a failure.
	Load(ctx context.Context) error
	// Mark says what a record set is in a listing: a marker of this kind of ownership, for
	// the record sets of the names that it returns (canonical names), or an ordinary one.
	// Markers are hidden from the plan. When a marker changes, those names are planned anew.
	Mark(r *dns.RecordSet) (describes []string, marker bool)
	// Labels returns the labels of an ordinary record set of a zone, nil for none. Heal is
	// true when the markers of one of ours have to be written again, although the record
	// set is as it should be.
	Labels(zone Lookup, r *dns.RecordSet) (labels map[string]string, heal bool)
	// Before is given the changes that are about to be applied to a zone, with their labels,
	// and returns those to give to the provider: with markers added, each directly after the
	// change that it belongs to, and without those that somebody else turned out to own,
	// which it returns as refused. Both Old and New of a pair may be equal but for
	// labels when only markers are to be healed; such a pair is then dropped, its markers not.
	Before(ctx context.Context, zone Lookup, changes []dns.Change) (apply, refused []dns.Change, err error)
	// After is given the changes that were applied, as they were returned by Before.
	After(ctx context.Context, applied []dns.Change) error
}

// Outside is an [Owner] that keeps its knowledge outside of the zones.
type Outside interface {
	// Changed returns the canonical names of which it knows something else than when it was
	// last called.
	Changed() []string
}

// Told is an [Owner] that wants to know about failures, too.
type Told interface {
	// Failed is given changes that Before returned, with the error that the provider
	// returned for them.
	Failed(ctx context.Context, changes []dns.Change, err error)
}

// LabelsOnly reports whether a change is one of labels, for which the provider isn't needed.
func LabelsOnly(c dns.Change) bool {
	return c.Old != nil && c.New != nil &&
		(c.New.TTL <= 0 || c.New.TTL == c.Old.TTL) &&
		dns.SameTargets(c.Old.Targets, c.New.Targets) && dns.SameProperties(c.Old.Properties, c.New.Properties)
}

// Claim returns a change whose New, if there is one, has the label of an owner.
func Claim(c dns.Change, ownerID string) dns.Change {
	if c.New != nil && c.New.Labels[dns.LabelOwner] != ownerID {
		c.New = c.New.Clone()
		c.New.Labels[dns.LabelOwner] = ownerID
	}
	return c
}
