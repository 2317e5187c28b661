package azure

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
)

// unit is a group with a step for each change.
type unit struct {
	*batch.Group
	zone  *azureZone
	steps []*step
	// doubt is true if it isn't known which changes were made.
	doubt bool
}

// units groups changes by subject.
func units(z *azureZone, changes []dns.Change, outside func(name string) error) []*unit {
	var list []*unit
	for _, g := range batch.BySubject(changes) {
		u := &unit{Group: g, zone: z}
		for _, c := range g.Changes {
			s, err := newStep(z, c)
			if err == nil {
				err = outside(dns.Canonical(c.RecordSet().Name))
			}
			u.steps = append(u.steps, s)
			u.Err = cmp.Or(u.Err, err)
		}
		list = append(list, u)
	}
	return list
}

// fail gives all changes that weren't made an error.
func (u *unit) fail(err error) {
	u.Err = cmp.Or(u.Err, err)
	for _, s := range u.steps {
		if !s.made {
			s.err = u.Err
		}
	}
}

// run makes the changes. At the first failure it undoes what was made, so that no record lacks its ownership record, and
// no ownership record its record.
func (u *unit) run(ctx context.Context) {
	if u.Err == nil {
		u.Err = u.prepare(ctx)
	}
	if u.Err != nil {
		u.fail(u.Err)
		return
	}
	done := make([]*step, 0, len(u.steps))
	for _, s := range u.inOrder() {
		if err := s.run(ctx); err != nil {
			if u.asWanted(ctx, s, done, err) {
				continue // It isn't among what is undone.
			}
			u.doubt = errors.Is(err, errDoubt) || ctx.Err() != nil
			u.Err = err
			u.refusedAt(s)
			if !u.swapDone() {
				u.undo(ctx, done)
			}
			u.fail(err)
			return
		}
		done = append(done, s)
	}
	if s := u.swapped(); s != nil {
		u.zone.swaps.Made(s.key.name)
	}
}

// asWanted reports whether a change was refused because Azure has what it would make already: an earlier process wrote it, and
// the listing is behind. The change then counts as made. A record that comes with an ownership record of just now is
// somebody else's.
func (u *unit) asWanted(ctx context.Context, s *step, done []*step, err error) bool {
	claims := func(d *step) bool { return d.marker && d.before == nil }
	if s.after == nil || !errors.Is(err, provider.ErrStale) || !s.marker && s.before == nil && slices.ContainsFunc(done, claims) {
		return false
	}
	there, err := u.zone.account.get(ctx, u.zone.name, s.key)
	if err != nil || there == nil || there.registered || !u.zone.sameContent(there, s.after) {
		return false
	}
	u.zone.note(s.key, s.before, there)
	s.made, s.after = true, there
	return true
}

// swapDone reports whether a type change has given the name a new answer. Undoing it would cost the name another gap. What is
// left is tried again later, and an ownership record that describes nothing is collected.
func (u *unit) swapDone() bool {
	swap := u.swapped()
	return swap != nil && slices.ContainsFunc(u.steps, func(s *step) bool {
		return s.made && s.before == nil && s.key.name == swap.key.name && provider.Answers(s.key.recordType)
	})
}

// refusedAt notes that a step has failed, if that step was to fill the gap of a type change and the old records come back.
func (u *unit) refusedAt(s *step) {
	refused := !u.doubt && !u.swapDone() && !errors.Is(u.Err, provider.ErrThrottled)
	if swap := u.swapped(); refused && swap != nil && s.before == nil && s.key.name == swap.key.name && u.gap(s.key.name) {
		u.zone.swaps.Refused(s.key.name, u.Err, time.Now())
	}
}

// prepare reads what the changes replace. A type change that Azure would refuse, or has just refused, fails here, before
// anything is deleted for it.
func (u *unit) prepare(ctx context.Context) error {
	for _, s := range u.steps {
		if err := s.prepare(ctx); err != nil {
			return err
		}
	}
	if err := u.obstacle(); err != nil {
		return err
	}
	if s := u.swapped(); s != nil && u.gap(s.key.name) {
		return u.zone.swaps.Paused(s.key.name, time.Now())
	}
	return nil
}

// undo undoes what was made, the last first. It does nothing if the outcome is in doubt, or if Azure throttles requests:
// an ownership record without its record is used later.
func (u *unit) undo(ctx context.Context, done []*step) {
	if u.doubt || errors.Is(u.Err, provider.ErrThrottled) {
		return
	}
	for _, s := range slices.Backward(done) {
		switch err := s.undo(ctx); {
		case errors.Is(err, errDoubt):
			u.doubt = true
			return
		case err != nil:
			// What is left is in the way of nothing, and is seen by the next listing.
			return
		}
	}
}

// The order of changes (spec/clouds.md §0.2, §4.6): ownership records come before their records,
// and go after them. What comes, comes before something goes, so that the name is never gone.
// A CNAME can't be beside anything: first everything goes that is in its way and is no answer of
// the name, then the answers, and then it comes. So the gap is as short as it can be, and nothing
// in it can be refused that is known beforehand.
const (
	first = iota
	inTheWay
	records
	gone
	last
)

// inOrder returns the changes in the order in which they are made.
func (u *unit) inOrder() []*step {
	swap := u.swapped()
	exclusive := swap != nil
	rank := func(s *step) int {
		obstructs := exclusive && s.after == nil && s.key.name == swap.key.name
		switch {
		case obstructs && !provider.Answers(s.key.recordType):
			return inTheWay
		case s.marker && s.after != nil:
			return first
		case s.marker:
			return last
		case s.after == nil && !exclusive:
			return gone
		case s.after == nil:
			// Before what comes.
			return records
		case exclusive:
			return gone
		}
		return records
	}
	return slices.SortedStableFunc(slices.Values(u.steps), func(a, b *step) int { return rank(a) - rank(b) })
}
