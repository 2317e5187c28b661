package batch

import (
	"cmp"
	"context"
	"fmt"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// Swap is a change of one record set at the server: Gone is replaced by New. Either may be nil. R is the type
// of the server's record sets.
type Swap[R any] struct {
	Key       dns.Key
	Gone, New *R
}

// Unit is a group with its record sets at the server.
type Unit[R any] struct {
	*Group
	Swaps []Swap[R]
}

// Format converts record sets between the provider and its server. R is the type of the server's record sets.
type Format[R any] interface {
	// Key returns the key of a record set, and whether Records returns its type.
	Key(raw *R) (key dns.Key, handled bool)
	// Same reports whether two record sets are equal; nil means none.
	Same(a, b *R) bool
	// Listed returns the listed form of a record set. plain is true if Wire restores raw from it.
	Listed(raw *R) (r *dns.RecordSet, plain bool)
	// Wire returns the record set that the server stores for an adjusted one.
	Wire(r *dns.RecordSet) (*R, error)
	// Unsupported names the part of a record set that changes would lose, and what to do, or returns "".
	Unsupported(raw *R) string
}

// Units groups changes by subject. outside returns why a name can't be in the zone, or nil. A record set that
// changes would damage ([Format.Unsupported]), or that refusal says why not to change, stays, and the other record sets
// of its name are changed ([Group.Split]).
func (m *ZoneCache[R]) Units(f Format[R], changes []dns.Change, refusal func(c dns.Change) error, outside func(name string) error) []*Unit[R] {
	var list []*Unit[R]
	for _, g := range BySubject(changes) {
		for _, part := range g.Split(func(c dns.Change) error { return cmp.Or(refusal(c), m.unsupported(f, c.Old)) }) {
			u := &Unit[R]{Group: part}
			for _, c := range part.Changes {
				s, err := m.swap(f, c)
				if outsideErr := outside(c.RecordSet().Name); outsideErr != nil {
					u.Fail(outsideErr)
				} else if err != nil {
					u.Fail(err)
				} else {
					u.Swaps = append(u.Swaps, s)
				}
			}
			list = append(list, u)
		}
	}
	return list
}

// unsupported returns why a listed record set, or one announced by Adjust, can't be changed, or nil.
func (m *ZoneCache[R]) unsupported(f Format[R], old *dns.RecordSet) error {
	if old == nil {
		return nil
	}
	exact := m.exactListed(old.Key())
	if exact == nil {
		return nil
	}
	if what := f.Unsupported(exact); what != "" {
		return fmt.Errorf("%w: %s %s has %s", provider.ErrRejected, old.Name, old.Type, what)
	}
	return nil
}

// swap returns the record sets of a change at the server, or why the change is impossible.
func (m *ZoneCache[R]) swap(f Format[R], c dns.Change) (s Swap[R], err error) {
	if s.Gone, err = m.stored(f, c.Old); err != nil {
		return s, err
	}
	if c.New != nil {
		if s.New, err = f.Wire(c.New); err != nil {
			return s, fmt.Errorf("%w: %s %s: %w", provider.ErrRejected, c.New.Name, c.New.Type, err)
		}
	}
	s.Key, _ = f.Key(cmp.Or(s.New, s.Gone))
	return s, nil
}

// stored returns the record set at the server for one that was listed, or announced by Adjust. It returns nil
// for nil.
func (m *ZoneCache[R]) stored(f Format[R], old *dns.RecordSet) (*R, error) {
	if old == nil {
		return nil, nil
	}
	if exact := m.exactListed(old.Key()); exact != nil {
		now, _ := f.Listed(exact)
		if now.TTL == old.TTL && provider.Unchanged([]dns.Change{{Old: old}}, []*dns.RecordSet{now}) == nil {
			return exact, nil
		}
	}
	raw, err := f.Wire(old)
	if err != nil {
		return nil, fmt.Errorf("%w: %s %s differs from the listed record set: %w", provider.ErrStale, old.Name, old.Type, err)
	}
	return raw, nil
}

// Verify reads record sets of a batch whose response was lost, until one shows the outcome. All changes of a
// batch are made or none, so one record set is enough.
func Verify[R any](ctx context.Context, f Format[R], batch []*Unit[R], read func(context.Context, dns.Key) (*R, error)) (State, error) {
	for _, u := range batch {
		for _, s := range u.Swaps {
			if f.Same(s.Gone, s.New) {
				continue
			}
			now, err := read(ctx, s.Key)
			switch {
			case err != nil:
				return Unclear, err
			case f.Same(now, s.New):
				return Done, nil
			case f.Same(now, s.Gone):
				return Undone, nil
			}
			return Unclear, nil
		}
	}
	return Unclear, nil
}

// Size is the size of a batch, in everything that the server limits.
type Size[S any] interface {
	Plus(S) S
	Within(limit S) bool
}

// Divide divides units without an error into batches within a limit. A unit that exceeds the limit alone
// fails with the error of tooLarge.
func Divide[R any, S Size[S]](all []*Unit[R], limit S, size func(*Unit[R]) S, tooLarge func(*Unit[R], S) error) [][]*Unit[R] {
	var list [][]*Unit[R]
	var sum S
	for _, u := range Pending(all) {
		own := size(u)
		if !own.Within(limit) {
			u.Fail(tooLarge(u, own))
			continue
		}
		if len(list) == 0 || !sum.Plus(own).Within(limit) {
			var none S
			list, sum = append(list, nil), none
		}
		list[len(list)-1] = append(list[len(list)-1], u)
		sum = sum.Plus(own)
	}
	return list
}
