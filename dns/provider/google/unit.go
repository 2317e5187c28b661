package google

import (
	"errors"
	"fmt"
	"slices"

	dnsapi "google.golang.org/api/dns/v1"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// The limits of Cloud DNS for a change (quotas): additions, as many deletions, and the bytes of
// all values. Ours may be stricter.
const (
	mostChanges = 1000
	mostBytes   = 100_000
)

// size is what the limits of a request are about: record sets that change, those that are added,
// those that are deleted, and the bytes of values.
type size struct{ changes, additions, deletions, bytes int }

func (s size) plus(o size) size {
	return size{s.changes + o.changes, s.additions + o.additions, s.deletions + o.deletions, s.bytes + o.bytes}
}

func (s size) within(limit size) bool {
	return s.changes <= limit.changes && s.additions <= limit.additions && s.deletions <= limit.deletions && s.bytes <= limit.bytes
}

// swap is one record set of Cloud DNS that goes, comes, or is replaced by another one with the
// same key. One of the two may be nil.
type swap struct {
	key       dns.Key
	gone, new *dnsapi.ResourceRecordSet
}

// size returns what a swap counts.
func (s swap) size() size {
	sum := size{changes: 1}
	count := func(raw *dnsapi.ResourceRecordSet, n *int) {
		if raw != nil {
			*n++
			for _, v := range raw.Rrdatas {
				sum.bytes += len(v)
			}
		}
	}
	count(s.new, &sum.additions)
	count(s.gone, &sum.deletions)
	return sum
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
func (u *unit) add(z *managedZone, c dns.Change, place int) {
	u.places = append(u.places, place)
	s := swap{key: c.RecordSet().Key()}
	// Nothing has a set identifier here, whatever the change says.
	s.key.SetIdentifier = ""
	var err error
	if s.gone, err = z.stored(c.Old); err != nil {
		u.fail(err)
		return
	}
	if c.New != nil {
		if s.new, err = wire(z.Zone, c.New); err != nil {
			u.fail(fmt.Errorf("%w: %s %s: %w", provider.ErrRejected, c.New.Name, c.New.Type, err))
			return
		}
	}
	u.swaps = append(u.swaps, s)
	u.size = u.size.plus(s.size())
}

func (u *unit) fail(err error) {
	if u.err == nil {
		u.err = err
	}
}

// units groups changes by what they are about.
func units(z *managedZone, changes []dns.Change, outside func(name string) error) []*unit {
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
func batches(all []*unit, limit size) [][]*unit {
	var list [][]*unit
	var sum size
	for _, u := range all {
		if u.err != nil {
			continue
		}
		if !u.size.within(limit) {
			u.fail(fmt.Errorf("%w: the changes of %s are too many for one request, with %d record sets and %d bytes: a request has %d and %d (--google-batch-change-size)",
				provider.ErrRejected, u.subject, u.size.changes, u.size.bytes, limit.changes, limit.bytes))
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

// change returns what is sent for units.
func change(batch []*unit) *dnsapi.Change {
	c := &dnsapi.Change{}
	for _, u := range batch {
		for _, s := range u.swaps {
			if s.gone != nil {
				c.Deletions = append(c.Deletions, sent(s.gone))
			}
			if s.new != nil {
				c.Additions = append(c.Additions, sent(s.new))
			}
		}
	}
	return c
}

// sent returns the part of a record set that a change has. A TTL of zero has to be said.
func sent(raw *dnsapi.ResourceRecordSet) *dnsapi.ResourceRecordSet {
	return &dnsapi.ResourceRecordSet{Name: raw.Name, Type: raw.Type, Ttl: raw.Ttl, Rrdatas: raw.Rrdatas, ForceSendFields: []string{"Ttl"}}
}

// outcome returns the error of Apply for units that are done.
func outcome(all []*unit, n int) error {
	errs := make([]error, n)
	var failed []error
	for _, u := range all {
		for _, i := range u.places {
			errs[i] = u.err
		}
		if u.err != nil {
			failed = append(failed, u.err)
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
