package libdns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	lib "github.com/libdns/libdns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/batch"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
	"github.com/signpostd/signpost/internal/pause"
)

// steps are the records that a phase writes: sets, then what is deleted before something is
// appended, what is appended, and what is deleted after that.
type steps struct {
	set, deleteFirst, appended, deleteLast []lib.Record
}

// try makes the changes of some units, phase by phase, up to the first error.
func (w *work) try(ctx context.Context, units []*unit) error {
	deleted := false
	for p := range phases {
		if p == ownershipRecordsGo && deleted {
			if err := w.confirm(ctx, units); err != nil {
				return err
			}
		}
		var s steps
		for _, u := range units {
			for _, c := range u.Changes {
				if u.phaseOf(c) != p {
					continue
				}
				if err := w.plan(&s, u, c); err != nil {
					return err
				}
			}
		}
		if err := w.send(ctx, s); err != nil {
			return err
		}
		deleted = deleted || p == recordsGo && len(s.deleteFirst) > 0
	}
	return nil
}

// confirm reads the zone until it shows no record any more that was deleted: a module ignores what
// it doesn't find, and a record that is still there needs its ownership record.
func (w *work) confirm(ctx context.Context, units []*unit) error {
	delay := firstPause
	for n := 1; ; n++ {
		now, err := w.read(ctx, w.zone)
		if err != nil {
			return err
		}
		var left []dns.Key
		for _, u := range units {
			for _, c := range u.Changes {
				if key := c.RecordSet().Key(); u.phaseOf(c) == recordsGo && now.by[key] != nil {
					left = append(left, key)
				}
			}
		}
		if len(left) == 0 {
			w.now = now
			return nil
		}
		if n == looks {
			return fmt.Errorf("the libdns module %s says that it deleted %s %s, but the zone shows it", w.module.Name, left[0].Name, left[0].Type)
		}
		if pause.For(ctx, delay) != nil {
			return ctx.Err()
		}
		delay *= 2
	}
}

// plan adds to the steps what leads from what the zone has to what a change asks for.
func (w *work) plan(s *steps, u *unit, c dns.Change) error {
	key := c.RecordSet().Key()
	there := w.now.by[key]
	if c.New == nil {
		if there == nil {
			return nil
		}
		u.wrote[key] = true
		gone, err := w.stored(key, there.Targets)
		s.deleteFirst = append(s.deleteFirst, gone...)
		return err
	}
	wanted := normal(c.New)
	if there != nil && sameValues(there, wanted) && there.TTL == w.ttlListed(wanted.TTL) {
		return nil
	}
	u.wrote[key] = true
	all, err := w.records(w.zone, wanted, wanted.Targets)
	switch {
	case err != nil:
		return err
	case there == nil:
		s.appended = append(s.appended, all...)
		return nil
	case w.module.Setting == module.SetsAtOnce || w.module.Setting == module.SetsWithGap && rewritten(there, wanted):
		s.set = append(s.set, all...)
		return nil
	case rewritten(there, wanted):
		gone, err := w.stored(key, there.Targets)
		s.deleteFirst, s.appended = append(s.deleteFirst, gone...), append(s.appended, all...)
		return err
	default:
		return w.difference(s, key, there, wanted)
	}
}

// ttlListed returns the TTL that is listed for one that is asked for.
func (w *work) ttlListed(asked int64) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.learned.ttl(w.zone.ID, asked)
}

// rewritten reports whether all records of a set have to be written anew: a CNAME can't have two
// values even for a moment, and the TTL is that of all.
func rewritten(there, wanted *dns.RecordSet) bool {
	return wanted.Type == dns.TypeCNAME || there.TTL != wanted.TTL
}

// difference adds the values that are new, and then deletes those that are not wanted, so that the
// name is never without records.
func (w *work) difference(s *steps, key dns.Key, there, wanted *dns.RecordSet) error {
	come := slices.DeleteFunc(slices.Clone(wanted.Targets), func(t string) bool { return hasTarget(there, t) })
	go_ := slices.DeleteFunc(slices.Clone(there.Targets), func(t string) bool { return hasTarget(wanted, t) })
	added, err := w.records(w.zone, wanted, come)
	if err != nil {
		return err
	}
	gone, err := w.stored(key, go_)
	s.appended, s.deleteLast = append(s.appended, added...), append(s.deleteLast, gone...)
	return err
}

// stored returns the records of a set that have one of some targets, as the module has listed
// them. In DeleteRecords an empty field stands for any, so a record with one can't be deleted (LD3
// of spec/clouds.md).
func (w *work) stored(key dns.Key, targets []string) ([]lib.Record, error) {
	var list []lib.Record
	for _, record := range w.now.raw[key] {
		rr := record.RR()
		value := normal(&dns.RecordSet{Name: key.Name, Type: key.Type, Targets: []string{w.target(rr)}}).Targets[0]
		if !slices.Contains(targets, value) {
			continue
		}
		if rr.Name == "" || rr.Type == "" || rr.Data == "" || rr.TTL < time.Second {
			return nil, fmt.Errorf("%w: %s %s: the libdns module %s lists a record without name, TTL or data, and would delete others with it",
				provider.ErrRejected, key.Name, key.Type, w.module.Name)
		}
		list = append(list, record)
	}
	return list, nil
}

// send has the module make steps.
func (w *work) send(ctx context.Context, s steps) error {
	client := w.caller.client
	for _, step := range []struct {
		what    string
		records []lib.Record
		call    func(context.Context, string, []lib.Record) ([]lib.Record, error)
	}{
		{"set", s.set, client.SetRecords},
		{"delete", s.deleteFirst, client.DeleteRecords},
		{"append", s.appended, client.AppendRecords},
		{"delete", s.deleteLast, client.DeleteRecords},
	} {
		if len(step.records) == 0 {
			continue
		}
		what := fmt.Sprintf("%s %d records in zone %s with the libdns module %s", step.what, len(step.records), w.zone.Name, w.module.Name)
		err := w.caller.call(ctx, what, func(ctx context.Context) error {
			_, err := step.call(ctx, w.zone.Name+".", step.records)
			return err
		})
		// Of a single record that is refused, nothing was written.
		w.uncertain = w.uncertain || err == nil || len(step.records) > 1 || !w.theirs(err) && !batch.StopsAll(err)
		if err != nil {
			return err
		}
	}
	return nil
}

// undo takes back the creations of a unit of which the zone shows something else than was written.
// It deletes only what was not there before, and equals what was written but for the case of
// letters. What doesn't, stays without an ownership record, and so is nobody's.
func (w *work) undo(ctx context.Context, u *unit, key dns.Key, value string) error {
	u.altered = true
	class := provider.ErrRejected
	if slices.ContainsFunc(u.Changes, func(c dns.Change) bool { return c.RecordSet().Key() == key && c.Old != nil }) {
		class = provider.ErrStale
	}
	why := fmt.Errorf("%w: %s %s: the libdns module %s was to write other values, and the zone shows %q", class, key.Name, key.Type, w.module.Name, value)
	for _, ownership := range []bool{false, true} {
		var s steps
		for _, c := range u.Changes {
			k := c.RecordSet().Key()
			if there := w.now.by[k]; c.Old != nil || c.RecordSet().IsOwnershipRecord() != ownership || there == nil || !equalFold(there, normal(c.New)) {
				continue
			}
			gone, err := w.stored(k, w.now.by[k].Targets)
			if err != nil {
				return errors.Join(why, err)
			}
			s.deleteFirst = append(s.deleteFirst, gone...)
		}
		if err := w.send(ctx, s); err != nil {
			w.unknown = true
			return errors.Join(why, err)
		}
	}
	if now, err := w.read(ctx, w.zone); err == nil {
		w.now = now
	}
	return why
}

// equalFold compares the values of record sets without regard to case.
func equalFold(a, b *dns.RecordSet) bool {
	return slices.EqualFunc(a.Targets, b.Targets, strings.EqualFold)
}

// repeats counts, by fingerprint of a unit, how often it has failed in the same way.
type repeats map[string]*repeated

type repeated struct {
	said string
	n    int
}

const (
	// maxRepeats is how often a unit may fail in the same way until it is taken to be the cause.
	maxRepeats = 5
	// keptRepeats is how many units are kept.
	keptRepeats = 10_000
)

// note counts a failure, and reports whether there were too many in a row.
func (r repeats) note(u *unit, err error) bool {
	print := u.fingerprint()
	seen := r[print]
	if seen == nil || seen.said != err.Error() {
		if len(r) >= keptRepeats {
			clear(r)
		}
		seen = &repeated{said: err.Error()}
		r[print] = seen
	}
	seen.n++
	return seen.n >= maxRepeats
}
