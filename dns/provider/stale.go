package provider

import (
	"fmt"

	"github.com/signpostd/signpost/dns"
)

// Unchanged compares Old of changes with the current record sets under their names, in the form of
// Records. It returns an error for each change: nil, or one that wraps [ErrStale] and says what
// exists instead. Record sets are equal if their targets are. errs is nil if nothing has changed.
//
// The changes of one subject ([dns.Change.Subject]) fail together, so that no ownership record is
// made for another writer's record set.
func Unchanged(changes []dns.Change, now []*dns.RecordSet) (errs []error) {
	there := make(map[dns.Key]*dns.RecordSet, len(now))
	for _, r := range now {
		there[r.Key()] = r
	}
	subjects := map[string]error{}
	for _, c := range changes {
		key := c.RecordSet().Key()
		if r := there[key]; !sameListed(c.Old, r) {
			subjects[c.Subject()] = fmt.Errorf("%s %s: %w: %s", key.Name, key.Type, ErrStale, found(r))
		}
	}
	if len(subjects) == 0 {
		return nil
	}
	errs = make([]error, len(changes))
	for i, c := range changes {
		errs[i] = subjects[c.Subject()]
	}
	return errs
}

func found(r *dns.RecordSet) string {
	if r == nil {
		return "there is none now"
	}
	return fmt.Sprintf("there is %q now", r.Targets)
}

// sameListed reports whether two record sets of one key are equal; nil means none.
func sameListed(a, b *dns.RecordSet) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.SameTargets(b)
}

// ApplyUnchanged is for providers that can't write conditionally. It calls apply with the changes
// whose Old is still current, and returns the error for [Provider.Apply]. now is as in [Unchanged],
// and must be read right before.
func ApplyUnchanged(changes []dns.Change, now []*dns.RecordSet, apply func([]dns.Change) error) error {
	errs := Unchanged(changes, now)
	if errs == nil {
		return apply(changes)
	}
	var rest []dns.Change
	var places []int
	for i, err := range errs {
		if err == nil {
			rest, places = append(rest, changes[i]), append(places, i)
		}
	}
	if len(rest) == 0 {
		return &ApplyError{Errs: errs}
	}
	each, err := Outcomes(apply(rest), len(rest))
	if err != nil {
		// If none of the rest was made, then none was made at all.
		return err
	}
	for i, outcome := range each {
		errs[places[i]] = outcome
	}
	return &ApplyError{Errs: errs}
}
