package owner

import (
	"context"
	"maps"

	"github.com/signpostd/signpost/dns"
)

// LabelDescription is the label in which a provider for AWS Cloud Map hands over the
// description of a service, and takes it (spec/dns.md §4.4).
const LabelDescription = "aws-sd-description"

// CloudMap is the [Owner] of --registry=aws-sd: the description of a service of AWS Cloud
// Map is the ownership text, so that there are no markers. All its methods may be
// called from any goroutine.
type CloudMap struct{ id string }

var _ Owner = CloudMap{}

// NewCloudMap returns an owner with an ID, which must not be empty.
func NewCloudMap(ownerID string) (CloudMap, error) {
	if err := checkOwner(ownerID); err != nil {
		return CloudMap{}, err
	}
	return CloudMap{id: ownerID}, nil
}

// ID implements [Owner].
func (c CloudMap) ID() string { return c.id }

// Load implements [Owner]; all that there is to read is in the zones.
func (CloudMap) Load(context.Context) error { return nil }

// Mark implements [Owner]; every record set is an ordinary one.
func (CloudMap) Mark(*dns.RecordSet) (describes []string, marker bool) { return nil, false }

// Labels implements [Owner]; there are none if the description is no ownership text.
func (CloudMap) Labels(_ Lookup, r *dns.RecordSet) (labels map[string]string, heal bool) {
	labels, err := ParseText(r.Labels[LabelDescription])
	if err != nil {
		return nil, false
	}
	return labels, false
}

// Before implements [Owner]: what isn't ours is refused, and the description of the rest is
// in its label.
func (c CloudMap) Before(_ context.Context, zone Lookup, changes []dns.Change) (apply, refused []dns.Change, err error) {
	for _, change := range changes {
		if change.Old != nil {
			if labels, _ := c.Labels(zone, change.Old); labels[dns.LabelOwner] != c.id {
				refused = append(refused, change)
				continue
			}
		}
		if change.New != nil {
			change.New = change.New.Clone()
			change.New.Labels[dns.LabelOwner] = c.id
			change.New.Labels[LabelDescription] = describe(change.New.Labels)
		}
		apply = append(apply, change)
	}
	return apply, refused, nil
}

// describe returns the description that keeps labels.
func describe(labels map[string]string) string {
	kept := maps.Clone(labels)
	delete(kept, LabelDescription)
	return FormatText(kept)
}

// After implements [Owner]; there is nothing to keep.
func (CloudMap) After(context.Context, []dns.Change) error { return nil }
