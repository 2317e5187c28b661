package inmemory

import (
	"errors"
	"fmt"

	"github.com/signpostd/signpost/dns"
)

// Errors of a change (spec/dns.md §8.1).
var (
	// ErrInvalidBatch: two changes have the same key.
	ErrInvalidBatch = errors.New("invalid batch request")
	// ErrConflict: a CNAME would stand beside another record set (RFC 1034 3.6.2).
	ErrConflict = errors.New("a CNAME can't stand beside other records")
	// ErrOutside: the name isn't in the zone, or is in a zone below it.
	ErrOutside = errors.New("the name is not in the zone")
)

// batch applies the changes of one call to copies of the record sets.
type batch struct {
	zone    *zone
	closest func(name string) *zone
	names   map[string][]*dns.RecordSet
	seen    map[dns.Key]bool
}

// add makes one change.
func (b *batch) add(c dns.Change) error {
	key := c.RecordSet().Key()
	if closest := b.closest(key.Name); closest == nil || closest.Name != b.zone.Name {
		return fmt.Errorf("%s: %w", key.Name, ErrOutside)
	}
	if b.seen[key] {
		return fmt.Errorf("%s %s: %w", key.Name, key.Type, ErrInvalidBatch)
	}
	b.seen[key] = true
	sets, changed := b.names[key.Name]
	if !changed {
		sets = b.zone.byName[key.Name]
	}
	after, err := replace(sets, c, key)
	if err != nil {
		return fmt.Errorf("%s %s: %w", key.Name, key.Type, err)
	}
	b.names[key.Name] = after
	return nil
}

// replace returns a copy of the record sets of a name after a change.
func replace(sets []*dns.RecordSet, c dns.Change, key dns.Key) ([]*dns.RecordSet, error) {
	after := without(sets, key)
	if c.New == nil {
		return after, nil
	}
	for _, other := range after {
		if (other.Type == dns.TypeCNAME) != (c.New.Type == dns.TypeCNAME) {
			return nil, fmt.Errorf("%w, and there is a %s", ErrConflict, other.Type)
		}
	}
	return append(after, stored(c.New)), nil
}

func find(sets []*dns.RecordSet, key dns.Key) *dns.RecordSet {
	for _, r := range sets {
		if r.Type == key.Type && r.SetIdentifier == key.SetIdentifier {
			return r
		}
	}
	return nil
}

// without returns a copy of the record sets of a name, except that with a key.
func without(sets []*dns.RecordSet, key dns.Key) []*dns.RecordSet {
	after := make([]*dns.RecordSet, 0, len(sets)+1)
	for _, r := range sets {
		if r.Type != key.Type || r.SetIdentifier != key.SetIdentifier {
			after = append(after, r)
		}
	}
	return after
}
