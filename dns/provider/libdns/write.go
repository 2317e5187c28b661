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

// steps are the records that a phase writes, in this order.
type steps struct {
	set, deleteFirst, appended, deleteLast []lib.Record
}

// try makes the changes of some units, phase by phase, up to the first error.
func (w *work) try(ctx context.Context, units []*unit) error {
	deleted := false
	for p := range phases {
		if p == deleteOwnership && deleted {
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
		deleted = deleted || p == deleteRecords && len(s.deleteFirst) > 0
	}
	return nil
}

// confirm reads the zone until it shows no deleted record. Modules ignore records that they don't
// find, and an existing record needs its ownership record.
func (w *work) confirm(ctx context.Context, units []*unit) error {
	delay := firstPause
	for n := 1; ; n++ {
		current, err := w.read(ctx, w.zone)
		if err != nil {
			return err
		}
		var remaining []dns.Key
		for _, u := range units {
			for _, c := range u.Changes {
				if key := c.RecordSet().Key(); u.phaseOf(c) == deleteRecords && current.by[key] != nil {
					remaining = append(remaining, key)
				}
			}
		}
		if len(remaining) == 0 {
			w.current = current
			return nil
		}
		if n == maxReads {
			return fmt.Errorf("the libdns module %s says that it deleted %s %s, but the zone shows it", w.module.Name, remaining[0].Name, remaining[0].Type)
		}
		if pause.For(ctx, delay) != nil {
			return ctx.Err()
		}
		delay *= 2
	}
}

// plan adds the steps from the zone's state to the wanted state of a change.
func (w *work) plan(s *steps, u *unit, c dns.Change) error {
	key := c.RecordSet().Key()
	existing := w.current.by[key]
	if c.New == nil {
		if existing == nil {
			return nil
		}
		u.wrote[key] = true
		deletions, err := w.stored(key, existing.Targets)
		s.deleteFirst = append(s.deleteFirst, deletions...)
		return err
	}
	wanted := normal(c.New)
	if existing != nil && existing.SameTargets(wanted) && existing.TTL == w.listedTTL(wanted.TTL) {
		return nil
	}
	u.wrote[key] = true
	all, err := w.records(w.zone, wanted, wanted.Targets)
	switch {
	case err != nil:
		return err
	case existing == nil:
		s.appended = append(s.appended, all...)
		return nil
	case w.module.Replacing == module.ReplacingAtOnce || w.module.Replacing == module.ReplacingWithGap && needsRewrite(existing, wanted):
		s.set = append(s.set, all...)
		return nil
	case needsRewrite(existing, wanted):
		deletions, err := w.stored(key, existing.Targets)
		s.deleteFirst, s.appended = append(s.deleteFirst, deletions...), append(s.appended, all...)
		return err
	default:
		return w.planDifference(s, key, existing, wanted)
	}
}

// listedTTL returns the listed TTL for one to send.
func (w *work) listedTTL(sent int64) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.learned.ttl(w.zone.ID, sent)
}

// needsRewrite reports whether all records of a set must be rewritten: a CNAME can't have two
// values, and all records share the TTL. An ownership record isn't rewritten for its TTL, because it
// must never be missing.
func needsRewrite(existing, wanted *dns.RecordSet) bool {
	return wanted.Type == dns.TypeCNAME || existing.TTL != wanted.TTL && !wanted.IsOwnershipRecord()
}

// planDifference adds new values, and deletes unwanted ones after that, so that the name always
// resolves.
func (w *work) planDifference(s *steps, key dns.Key, existing, wanted *dns.RecordSet) error {
	missing := slices.DeleteFunc(slices.Clone(wanted.Targets), targetsOf(existing).has)
	surplus := slices.DeleteFunc(slices.Clone(existing.Targets), targetsOf(wanted).has)
	added, err := w.records(w.zone, wanted, missing)
	if err != nil {
		return err
	}
	deletions, err := w.stored(key, surplus)
	s.appended, s.deleteLast = append(s.appended, added...), append(s.deleteLast, deletions...)
	return err
}

// stored returns the module's records for some targets of a record set. In DeleteRecords an empty
// field matches anything, so a record with one can't be deleted (LD3 of spec/clouds.md).
func (w *work) stored(key dns.Key, targets []string) ([]lib.Record, error) {
	var list []lib.Record
	for _, record := range w.current.raw[key] {
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

// send calls the module with steps.
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
		// If a single record is refused, nothing was written.
		w.uncertain = w.uncertain || err == nil || len(step.records) > 1 || !w.isRefusal(err) && !batch.StopsAll(err)
		if err != nil {
			return err
		}
	}
	return nil
}

// undo deletes the creations of a unit after the zone shows other values than were written. It
// deletes only record sets that are new and equal to the written ones except for case. Others stay
// without an ownership record, and so unowned.
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
			if existing := w.current.by[k]; c.Old != nil || c.RecordSet().IsOwnershipRecord() != ownership || existing == nil || !equalFold(existing, normal(c.New)) {
				continue
			}
			deletions, err := w.stored(k, w.current.by[k].Targets)
			if err != nil {
				return errors.Join(why, err)
			}
			s.deleteFirst = append(s.deleteFirst, deletions...)
		}
		if err := w.send(ctx, s); err != nil {
			w.unknown = true
			return errors.Join(why, err)
		}
	}
	if current, err := w.read(ctx, w.zone); err == nil {
		w.current = current
	}
	return why
}

// equalFold compares the values of record sets regardless of case.
func equalFold(a, b *dns.RecordSet) bool {
	return slices.EqualFunc(a.Targets, b.Targets, strings.EqualFold)
}

// failureCounts counts the equal failures of a unit by its fingerprint.
type failureCounts map[string]*failureCount

type failureCount struct {
	message string
	n       int
}

const (
	// maxRepeats limits the equal failures of a unit before it counts as refused.
	maxRepeats = 5
	// maxFingerprints limits the remembered units.
	maxFingerprints = 10_000
)

// note counts a failure, and reports whether there were maxRepeats in a row.
func (r failureCounts) note(u *unit, err error) bool {
	print := u.fingerprint()
	seen := r[print]
	if seen == nil || seen.message != err.Error() {
		if len(r) >= maxFingerprints {
			clear(r)
		}
		seen = &failureCount{message: err.Error()}
		r[print] = seen
	}
	seen.n++
	return seen.n >= maxRepeats
}
