package batch

import (
	"context"

	"github.com/signpostd/signpost/dns"
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

// Units groups changes by subject. The function swap returns the record sets of a change at the server, or
// why the change is impossible.
func Units[R any](changes []dns.Change, swap func(dns.Change) (Swap[R], error)) []*Unit[R] {
	var list []*Unit[R]
	for _, g := range BySubject(changes) {
		u := &Unit[R]{Group: g}
		for _, c := range g.Changes {
			s, err := swap(c)
			if err != nil {
				u.Fail(err)
				continue
			}
			u.Swaps = append(u.Swaps, s)
		}
		list = append(list, u)
	}
	return list
}

// Verify reads record sets of a batch, whose answer was lost, until one of them shows whether the batch was
// made. All changes of a batch are made or none, so one record set is enough.
func Verify[R any](ctx context.Context, batch []*Unit[R], read func(context.Context, dns.Key) (*R, error), same func(a, b *R) bool) (State, error) {
	for _, u := range batch {
		for _, s := range u.Swaps {
			if same(s.Gone, s.New) {
				continue
			}
			now, err := read(ctx, s.Key)
			switch {
			case err != nil:
				return Unclear, err
			case same(now, s.New):
				return Done, nil
			case same(now, s.Gone):
				return Undone, nil
			}
			return Unclear, nil
		}
	}
	return Unclear, nil
}

// Size is the size of a batch, in all that the server limits.
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
