package owner

import (
	"context"

	"github.com/signpostd/signpost/dns"
)

// None is the [Owner] of --registry=noop. There are no ownership records, and every record set of
// the managed types may be changed (spec/dns.md §4.1).
type None struct{ inZone }

var _ Owner = None{}

// ID implements [Owner]. It returns "".
func (None) ID() string { return "" }

// OwnershipRecord implements [Owner]. No record set is an ownership record.
func (None) OwnershipRecord(*dns.RecordSet) (describes []string, ownership bool) { return nil, false }

// Labels implements [Owner]. There are none.
func (None) Labels(Lookup, *dns.RecordSet) (labels map[string]string, rewrite bool) {
	return nil, false
}

// Before implements [Owner]. It returns all changes unchanged.
func (None) Before(_ context.Context, _ Lookup, changes []dns.Change) (apply, refused []dns.Change, err error) {
	return changes, nil, nil
}
