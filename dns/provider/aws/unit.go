package aws

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// The limits of Route 53 for a batch (Developer Guide, DNSLimitations). Ours may be stricter.
const (
	mostValues = 1000
	mostBytes  = 32000
)

// size is what the limits of a batch are about: record sets that change, values, and bytes in
// values.
type size struct{ changes, values, bytes int }

func (s size) plus(o size) size {
	return size{s.changes + o.changes, s.values + o.values, s.bytes + o.bytes}
}

func (s size) within(limit size) bool {
	return s.changes <= limit.changes && s.values <= limit.values && s.bytes <= limit.bytes
}

// swap is one record set of Route 53 that goes, comes, or is replaced by another one with the
// same key. One of the two may be nil.
type swap struct {
	key       dns.Key
	gone, new *types.ResourceRecordSet
}

// unit is the changes of one name, with those of its ownership records. They are made together
// or not at all.
type unit struct {
	subject string
	// places has the index of each change among all changes.
	places []int
	swaps  []swap
	size   size
	// err says why the changes weren't made.
	err error
}

// add adds a change. It notes why the change is impossible.
func (u *unit) add(z *hostedZone, c dns.Change, place int) {
	u.places = append(u.places, place)
	u.size.changes++
	gone, err := z.stored(c.Old)
	if err != nil {
		u.fail(err)
		return
	}
	var come *types.ResourceRecordSet
	if c.New != nil {
		stored, err := z.wire(c.New)
		switch {
		case err != nil:
			u.fail(fmt.Errorf("%w: %s %s: %w", provider.ErrRejected, c.New.Name, c.New.Type, err))
			return
		case len(stored) != 1 || keyOf(&stored[0]) != c.New.Key():
			u.fail(fmt.Errorf("%w: %s %s becomes an alias, but wasn't adjusted", provider.ErrRejected, c.New.Name, c.New.Type))
			return
		}
		come = &stored[0]
	}
	u.swaps = append(u.swaps, swap{key: c.RecordSet().Key(), gone: gone, new: come})
	u.size = u.size.plus(sizeOf(gone)).plus(sizeOf(come))
}

func (u *unit) fail(err error) {
	if u.err == nil {
		u.err = err
	}
}

// sizeOf returns the values of a record set.
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

// changes returns what is sent for the unit. A record set is replaced by a DELETE and a CREATE,
// so that Route 53 compares what it has with what was listed.
func (u *unit) changes() []types.Change {
	var list []types.Change
	for _, s := range u.swaps {
		if s.gone != nil {
			list = append(list, types.Change{Action: types.ChangeActionDelete, ResourceRecordSet: s.gone})
		}
		if s.new != nil {
			list = append(list, types.Change{Action: types.ChangeActionCreate, ResourceRecordSet: s.new})
		}
	}
	return list
}

// turn says when a unit is sent if not all fit into one batch: an alias comes after what it may
// point to in its own zone, and goes before it.
func (u *unit) turn(zoneID string) int {
	inside := func(raw *types.ResourceRecordSet) bool {
		return raw != nil && raw.AliasTarget != nil && aws.ToString(raw.AliasTarget.HostedZoneId) == bareID(zoneID)
	}
	const first, usual, later, last = 0, 1, 2, 3
	comes := slices.ContainsFunc(u.swaps, func(s swap) bool { return s.new != nil })
	switch {
	case slices.ContainsFunc(u.swaps, func(s swap) bool { return inside(s.new) }):
		return later
	case slices.ContainsFunc(u.swaps, func(s swap) bool { return inside(s.gone) }):
		return first
	case !comes:
		return last
	}
	return usual
}

// units groups changes by what they are about.
func units(z *hostedZone, changes []dns.Change, outside func(name string) error) []*unit {
	bySubject := map[string]*unit{}
	var list []*unit
	for i, c := range changes {
		subject := c.Subject()
		u := bySubject[subject]
		if u == nil {
			u = &unit{subject: subject}
			bySubject[subject], list = u, append(list, u)
		}
		if err := outside(c.RecordSet().Name); err != nil {
			u.fail(err)
		}
		u.add(z, c, i)
	}
	return list
}

// batches divides units into batches within a limit. A unit that is larger by itself fails.
func batches(all []*unit, zoneID string, limit size) [][]*unit {
	ready := slices.DeleteFunc(slices.Clone(all), func(u *unit) bool { return u.err != nil })
	slices.SortStableFunc(ready, func(a, b *unit) int { return a.turn(zoneID) - b.turn(zoneID) })
	var list [][]*unit
	var sum size
	for _, u := range ready {
		if !u.size.within(limit) {
			u.fail(fmt.Errorf("%w: the changes of %s are too many for one batch, with %d record sets, %d values and %d bytes: "+
				"a batch has %d, %d and %d (--aws-batch-change-size…)", provider.ErrRejected, u.subject, u.size.changes, u.size.values, u.size.bytes,
				limit.changes, limit.values, limit.bytes))
			continue
		}
		if len(list) == 0 || !sum.plus(u.size).within(limit) {
			list, sum = append(list, nil), size{}
		}
		list[len(list)-1] = append(list[len(list)-1], u)
		sum = sum.plus(u.size)
	}
	return list
}

// outcome returns the error of Apply for units that are done.
func outcome(all []*unit, n int) error {
	errs := make([]error, n)
	var first error
	failed, same := 0, true
	for _, u := range all {
		for _, i := range u.places {
			errs[i] = u.err
		}
		if u.err != nil {
			same = same && (failed == 0 || u.err == first)
			first = u.err
			failed++
		}
	}
	switch {
	case failed == 0:
		return nil
	case failed == len(all) && same && (errors.Is(first, provider.ErrThrottled) || errors.Is(first, provider.ErrCredentials) || errors.Is(first, provider.ErrDryRun)):
		// It is about all of them.
		return first
	}
	return &provider.ApplyError{Errs: errs}
}

// names returns the names of a unit as messages of Route 53 have them.
func (u *unit) names() []string {
	var names []string
	for _, s := range u.swaps {
		names = append(names, strings.TrimSuffix(wireName(s.key.Name), "."))
	}
	return names
}
