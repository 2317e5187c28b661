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
	// uncertain is true if the outcome of some change is unknown.
	uncertain bool
}

// units groups changes by subject. A record set in whose place there is an empty one is not created; the other types of
// its name are changed.
func units(z *azureZone, changes []dns.Change, outside func(name string) error) []*unit {
	var list []*unit
	for _, g := range batch.BySubject(changes) {
		for _, part := range g.Split(z.emptyInPlace) {
			u := &unit{Group: part, zone: z}
			for _, c := range part.Changes {
				s, err := newStep(z, c)
				if err == nil {
					err = outside(dns.Canonical(c.RecordSet().Name))
				}
				u.steps = append(u.steps, s)
				u.Err = cmp.Or(u.Err, err)
			}
			list = append(list, u)
		}
	}
	return list
}

// emptyInPlace returns why a record set can't be created, if Azure has one without records in its place, or nil. The
// plan ignores an empty TXT record set.
func (z *azureZone) emptyInPlace(c dns.Change) error {
	if c.Old != nil {
		return nil
	}
	if there := z.last(z.keyOf(c.New)); there == nil || len(z.listed(there).Targets) > 0 {
		return nil
	}
	return rejected(c.New, errors.New("the zone has a record set without records here, which isn't ours to change: remove it"))
}

// fail sets the error of all changes that weren't made.
func (u *unit) fail(err error) {
	u.Err = cmp.Or(u.Err, err)
	for _, s := range u.steps {
		if !s.made {
			s.err = u.Err
		}
	}
}

// run makes the changes. After a failure it undoes the changes that were made, so that no record set lacks
// its ownership record or the reverse.
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
			if u.alreadyMade(ctx, s, done, err) {
				continue // An earlier process made it, so undo must not remove it.
			}
			u.uncertain = errors.Is(err, errUnknownOutcome) || ctx.Err() != nil
			u.Err = err
			u.noteRefusal(s)
			if !u.typeChangeDone() {
				u.undo(ctx, done)
			}
			u.fail(err)
			return
		}
		done = append(done, s)
	}
	if s := u.typeChange(); s != nil {
		u.zone.swaps.Made(s.key.name)
	}
}

// alreadyMade reports whether a change was refused because Azure has its result already: an earlier process
// made it, and the listing is older. The change then counts as made. If the unit has just created the
// ownership record, the record set is another writer's.
func (u *unit) alreadyMade(ctx context.Context, s *step, done []*step, err error) bool {
	claims := func(d *step) bool { return d.ownership && d.before == nil }
	if s.after == nil || !errors.Is(err, provider.ErrStale) || !s.ownership && s.before == nil && slices.ContainsFunc(done, claims) {
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

// typeChangeDone reports whether a type change has created its new record set. Undoing it would cause another
// outage of the name. Changes that failed are retried later, and an orphaned ownership record is collected.
func (u *unit) typeChangeDone() bool {
	swap := u.typeChange()
	return swap != nil && slices.ContainsFunc(u.steps, func(s *step) bool {
		return s.made && s.before == nil && s.key.name == swap.key.name && provider.Resolves(s.key.recordType)
	})
}

// noteRefusal notes a refused type change, if the step was to create the new record set and the old ones are
// restored.
func (u *unit) noteRefusal(s *step) {
	refused := !u.uncertain && !u.typeChangeDone() && !errors.Is(u.Err, provider.ErrThrottled)
	if swap := u.typeChange(); refused && swap != nil && s.before == nil && s.key.name == swap.key.name && u.deletesAddress(s.key.name) {
		u.zone.swaps.Refused(s.key.name, u.Err, time.Now())
	}
}

// prepare reads the record sets that the changes replace. A type change that Azure would refuse, or has just
// refused, fails before anything is deleted.
func (u *unit) prepare(ctx context.Context) error {
	for _, s := range u.steps {
		if err := s.prepare(ctx); err != nil {
			return err
		}
	}
	if err := u.conflict(); err != nil {
		return err
	}
	if s := u.typeChange(); s != nil && u.deletesAddress(s.key.name) {
		return u.zone.swaps.Paused(s.key.name, time.Now())
	}
	return nil
}

// undo undoes the changes that were made, in reverse order. If the outcome is unknown or Azure throttles
// requests, it does nothing; an ownership record without its record set is used later.
func (u *unit) undo(ctx context.Context, done []*step) {
	if u.uncertain || errors.Is(u.Err, provider.ErrThrottled) {
		return
	}
	for _, s := range slices.Backward(done) {
		switch err := s.undo(ctx); {
		case errors.Is(err, errUnknownOutcome):
			u.uncertain = true
			return
		case err != nil:
			// The next listing shows the rest, which blocks nothing.
			return
		}
	}
}

// The order of changes (spec/clouds.md §0.2, §4.6):
//
//   - Ownership records are created before their record sets, and deleted after them.
//   - Creations come before deletions, so that the name always resolves.
//   - A CNAME excludes all others. Before it is created, record sets that aren't addresses are
//     deleted first, and addresses last, so that the outage is short and nothing foreseeable can
//     fail in it.
const (
	first = iota
	inTheWay
	records
	gone
	last
)

// inOrder returns the changes in the order in which they are made.
func (u *unit) inOrder() []*step {
	swap := u.typeChange()
	exclusive := swap != nil
	rank := func(s *step) int {
		obstructs := exclusive && s.after == nil && s.key.name == swap.key.name
		switch {
		case obstructs && !provider.Resolves(s.key.recordType):
			return inTheWay
		case s.ownership && s.after != nil:
			return first
		case s.ownership:
			return last
		case s.after == nil && !exclusive:
			return gone
		case s.after == nil:
			// Deletions of a type change come before its creation.
			return records
		case exclusive:
			return gone
		}
		return records
	}
	return slices.SortedStableFunc(slices.Values(u.steps), func(a, b *step) int { return rank(a) - rank(b) })
}
