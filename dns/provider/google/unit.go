package google

import (
	"fmt"

	dnsapi "google.golang.org/api/dns/v1"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// Limits of Cloud DNS for a change (quotas). Deletions have the same limit as additions. The configured
// limits may be stricter.
const (
	maxBatchChanges = 1000
	maxBatchBytes   = 100_000
)

// size is the size of a request: changed, added and deleted record sets, and bytes of values.
type size struct{ changes, additions, deletions, bytes int }

// Plus implements [batch.Size].
func (s size) Plus(o size) size {
	return size{s.changes + o.changes, s.additions + o.additions, s.deletions + o.deletions, s.bytes + o.bytes}
}

// Within implements [batch.Size].
func (s size) Within(limit size) bool {
	return s.changes <= limit.changes && s.additions <= limit.additions && s.deletions <= limit.deletions && s.bytes <= limit.bytes
}

// rawSet is a record set of Cloud DNS.
type (
	rawSet = dnsapi.ResourceRecordSet
	unit   = batch.Unit[rawSet]
)

func sizeOfUnit(u *unit) size {
	sum := size{changes: len(u.Swaps)}
	count := func(raw *rawSet, n *int) {
		if raw != nil {
			*n++
			for _, v := range raw.Rrdatas {
				sum.bytes += len(v)
			}
		}
	}
	for _, s := range u.Swaps {
		count(s.New, &sum.additions)
		count(s.Gone, &sum.deletions)
	}
	return sum
}

// batches divides units into batches within a limit. A unit that exceeds the limit alone fails.
func batches(all []*unit, limit size) [][]*unit {
	return batch.Divide(all, limit, sizeOfUnit, func(u *unit, own size) error {
		return fmt.Errorf("%w: the changes of %s are too many for one request, with %d record sets and %d bytes: a request has %d and %d (--google-batch-change-size)",
			provider.ErrRejected, u.Subject, own.changes, own.bytes, limit.changes, limit.bytes)
	})
}

// change returns the request for units.
func change(units []*unit) *dnsapi.Change {
	c := &dnsapi.Change{}
	for _, u := range units {
		for _, s := range u.Swaps {
			if s.Gone != nil {
				c.Deletions = append(c.Deletions, sent(s.Gone))
			}
			if s.New != nil {
				c.Additions = append(c.Additions, sent(s.New))
			}
		}
	}
	return c
}

// sent returns a record set for a request. A TTL of zero must be sent explicitly.
func sent(raw *dnsapi.ResourceRecordSet) *dnsapi.ResourceRecordSet {
	return &dnsapi.ResourceRecordSet{Name: raw.Name, Type: raw.Type, Ttl: raw.Ttl, Rrdatas: raw.Rrdatas, ForceSendFields: []string{"Ttl"}}
}
