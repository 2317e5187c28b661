package aws

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// Limits of Route 53 for a batch (Developer Guide, DNSLimitations). The configured ones may be stricter.
const (
	maxBatchValues = 1000
	maxBatchBytes  = 32000
)

// size is the size of a batch: changed record sets, values, and bytes of values.
type size struct{ changes, values, bytes int }

// Plus implements [batch.Size].
func (s size) Plus(o size) size {
	return size{s.changes + o.changes, s.values + o.values, s.bytes + o.bytes}
}

// Within implements [batch.Size].
func (s size) Within(limit size) bool {
	return s.changes <= limit.changes && s.values <= limit.values && s.bytes <= limit.bytes
}

// rawSet is a record set of Route 53.
type (
	rawSet = types.ResourceRecordSet
	swap   = batch.Swap[rawSet]
	unit   = batch.Unit[rawSet]
)

// sizeOfUnit returns the size of a unit in a batch.
func sizeOfUnit(u *unit) size {
	sum := size{changes: len(u.Swaps)}
	for _, s := range u.Swaps {
		sum = sum.Plus(sizeOf(s.Gone)).Plus(sizeOf(s.New))
	}
	return sum
}

func sizeOf(raw *types.ResourceRecordSet) size {
	var s size
	if raw != nil {
		s.values = len(raw.ResourceRecords)
		for _, v := range raw.ResourceRecords {
			s.bytes += len(aws.ToString(v.Value))
		}
	}
	return s
}

// changesOf returns the request for a unit. A record set is replaced with a DELETE and a CREATE, so that
// Route 53 compares it with the listed one.
func changesOf(u *unit) []types.Change {
	var list []types.Change
	for _, s := range u.Swaps {
		if s.Gone != nil {
			list = append(list, types.Change{Action: types.ChangeActionDelete, ResourceRecordSet: s.Gone})
		}
		if s.New != nil {
			list = append(list, types.Change{Action: types.ChangeActionCreate, ResourceRecordSet: s.New})
		}
	}
	return list
}

// applyOrder orders units for several batches: an alias is created after its target in the zone, and deleted
// before it.
func applyOrder(u *unit, zoneID string) int {
	inside := func(raw *types.ResourceRecordSet) bool {
		return raw != nil && raw.AliasTarget != nil && aws.ToString(raw.AliasTarget.HostedZoneId) == bareID(zoneID)
	}
	const first, usual, later, last = 0, 1, 2, 3
	comes := slices.ContainsFunc(u.Swaps, func(s swap) bool { return s.New != nil })
	switch {
	case slices.ContainsFunc(u.Swaps, func(s swap) bool { return inside(s.New) }):
		return later
	case slices.ContainsFunc(u.Swaps, func(s swap) bool { return inside(s.Gone) }):
		return first
	case !comes:
		return last
	}
	return usual
}

// batches divides units into batches within a limit. A unit that exceeds the limit alone fails.
func batches(all []*unit, zoneID string, limit size) [][]*unit {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b *unit) int { return applyOrder(a, zoneID) - applyOrder(b, zoneID) })
	return batch.Divide(sorted, limit, sizeOfUnit, func(u *unit, own size) error {
		return fmt.Errorf("%w: the changes of %s are too many for one batch, with %d record sets, %d values and %d bytes: "+
			"a batch has %d, %d and %d (--aws-batch-change-size…)", provider.ErrRejected, u.Subject, own.changes, own.values, own.bytes,
			limit.changes, limit.values, limit.bytes)
	})
}

// namesOf returns the names of a unit as they appear in messages of Route 53.
func namesOf(u *unit) []string {
	var names []string
	for _, s := range u.Swaps {
		names = append(names, strings.TrimSuffix(wireName(s.Key.Name), "."))
	}
	return names
}
