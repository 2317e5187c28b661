package batch

import (
	"errors"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// Swap is one record set of a server that goes, comes, or is replaced by another one with the same key. R is
// the record set as the server has it. One of the two may be nil.
type Swap[R any] struct {
	Key       dns.Key
	Gone, New *R
}

// Unit is the changes of one name, with those of its ownership records. They are made together or not at
// all.
type Unit[R any] struct {
	// Subject is the name.
	Subject string
	// Places has the index of each change among all changes.
	Places []int
	Swaps  []Swap[R]
	// Err says why the changes weren't made.
	Err error
}

// Fail gives a unit an error, unless it has one.
func (u *Unit[R]) Fail(err error) {
	if u.Err == nil {
		u.Err = err
	}
}

// FailAll gives units an error.
func FailAll[R any](units []*Unit[R], err error) {
	for _, u := range units {
		u.Fail(err)
	}
}

// Units groups changes by what they are about. The function swap returns what a change is at the server, or
// why it is impossible.
func Units[R any](changes []dns.Change, swap func(dns.Change) (Swap[R], error)) []*Unit[R] {
	bySubject := map[string]*Unit[R]{}
	var list []*Unit[R]
	for i, c := range changes {
		subject := c.Subject()
		u := bySubject[subject]
		if u == nil {
			u = &Unit[R]{Subject: subject}
			bySubject[subject], list = u, append(list, u)
		}
		u.Places = append(u.Places, i)
		s, err := swap(c)
		if err != nil {
			u.Fail(err)
			continue
		}
		u.Swaps = append(u.Swaps, s)
	}
	return list
}

// Size is what the limits of a batch are about.
type Size[S any] interface {
	Plus(S) S
	Within(limit S) bool
}

// Divide divides units without an error into batches within a limit. A unit that is larger by itself has the
// error that tooLarge returns.
func Divide[R any, S Size[S]](all []*Unit[R], limit S, size func(*Unit[R]) S, tooLarge func(*Unit[R], S) error) [][]*Unit[R] {
	var list [][]*Unit[R]
	var sum S
	for _, u := range all {
		if u.Err != nil {
			continue
		}
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

// outcome returns the error of Apply for units that are done. There were n changes.
func outcome[R any](all []*Unit[R], n int) error {
	errs := make([]error, n)
	var failed []error
	for _, u := range all {
		for _, i := range u.Places {
			errs[i] = u.Err
		}
		if u.Err != nil {
			failed = append(failed, u.Err)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	first := failed[0]
	wide := errors.Is(first, provider.ErrThrottled) || errors.Is(first, provider.ErrCredentials) || errors.Is(first, provider.ErrDryRun)
	if wide && len(failed) == len(all) && !slices.ContainsFunc(failed, func(err error) bool { return err != first }) {
		// It is about all of them.
		return first
	}
	return &provider.ApplyError{Errs: errs}
}
