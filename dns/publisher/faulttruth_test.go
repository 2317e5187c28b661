package publisher

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/inmemorytest"
)

// person makes records by hand.
const person = "a person"

// truth is the zones of a schedule. It knows who has made which record set.
type truth struct {
	t     testing.TB
	zones *inmemorytest.Provider

	mu sync.Mutex
	// by has who has made a record set. edited are those that the person has changed since. persons
	// has the record sets of the person.
	by      map[dns.Key]string
	edited  map[dns.Key]bool
	persons map[dns.Key]*dns.RecordSet
	// disputed has the former maker of a record set that was given up. The maker may claim it again,
	// because it may learn late that it has made it.
	disputed map[dns.Key]string
}

func newTruth(t testing.TB, zones ...string) *truth {
	return &truth{
		t: t, zones: inmemorytest.New(zones...), by: map[dns.Key]string{}, edited: map[dns.Key]bool{}, persons: map[dns.Key]*dns.RecordSet{}, disputed: map[dns.Key]string{},
	}
}

// apply makes changes for somebody, and checks that none is of a record set of somebody else.
func (w *truth) apply(id string, zone dns.Zone, changes []dns.Change) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.zones.Apply(context.Background(), zone, changes)
	each, known := errors.AsType[*provider.ApplyError](err)
	for i, c := range changes {
		if err == nil || known && each.Errs[i] == nil {
			w.account(id, c)
		}
	}
	return err
}

func (w *truth) account(id string, c dns.Change) {
	key := c.RecordSet().Key()
	if c.Old == nil {
		w.by[key] = id
		w.keep(key, c.New)
		return
	}
	if w.disputed[key] == id {
		w.by[key] = id
	}
	if id != person || c.New == nil {
		delete(w.disputed, key)
	}
	if owner := w.by[key]; owner != id && id != person {
		w.t.Errorf("%s touches %s, which %s has made", id, line(c.Old), owner)
	}
	w.edited[key] = c.New != nil && id == person
	w.keep(key, c.New)
	if c.New == nil {
		delete(w.by, key)
	}
}

// keep notes what a record set of the person is like now; nil means that it is gone.
func (w *truth) keep(key dns.Key, r *dns.RecordSet) {
	if w.by[key] == person && r != nil {
		w.persons[key] = r
	} else {
		delete(w.persons, key)
	}
}

// ofPerson returns the record sets of the person.
func (w *truth) ofPerson() map[dns.Key]*dns.RecordSet {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.persons)
}

// personsTargets are the targets of the record sets that the person makes.
var personsTargets = map[string]string{
	dns.TypeA: "203.0.113.1", dns.TypeAAAA: "2001:db8:ffff::1", dns.TypeCNAME: "person.example", dns.TypeTXT: `"of the person"`,
	dns.TypeMX: "9 person.example", dns.TypeSRV: "9 9 9 person.example.", dns.TypeNS: "person.example",
}

// overtake makes the changes of an owner before its first creation. Then the person makes that record
// set.
func (w *truth) overtake(id string, zone dns.Zone, changes []dns.Change) {
	i := slices.IndexFunc(changes, func(c dns.Change) bool { return c.Old == nil && !isOwnershipRecord(c.New) })
	if i < 0 {
		return
	}
	_ = w.apply(id, zone, changes[:i])
	r := changes[i].New
	persons := &dns.RecordSet{Name: r.Name, Type: r.Type, Targets: []string{personsTargets[r.Type]}, TTL: 300}
	err := w.apply(person, zone, []dns.Change{{New: persons}})
	w.t.Logf("by hand: create %s: %v", line(persons), err)
}

// records returns the record sets of all zones, by name.
func (w *truth) records() map[string][]*dns.RecordSet {
	zones, err := w.zones.Zones(context.Background())
	if err != nil {
		w.t.Error(err)
	}
	byName := map[string][]*dns.RecordSet{}
	for _, z := range zones {
		list, err := w.zones.Records(context.Background(), z)
		if err != nil {
			w.t.Error(err)
		}
		for _, r := range list {
			byName[r.Name] = append(byName[r.Name], r)
		}
	}
	return byName
}

// maker returns who has made a record set.
func (w *truth) maker(key dns.Key) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.by[key]
}

// others returns the record sets that anybody but an owner has made.
func (w *truth) others(id string) map[dns.Key]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	others := maps.Clone(w.by)
	maps.DeleteFunc(others, func(_ dns.Key, by string) bool { return by == id })
	return others
}

// isEdited reports whether the person has changed a record set since its owner did.
func (w *truth) isEdited(key dns.Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.edited[key]
}

// giveUp makes an edited record set the person's, because nobody claims it any more. It reports
// false if the record set wasn't edited.
func (w *truth) giveUp(r *dns.RecordSet) bool {
	key := r.Key()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.edited[key] {
		return false
	}
	w.disputed[key], w.by[key] = w.by[key], person
	w.keep(key, r)
	return true
}

// mayClaim reports whether somebody may say that a record set is theirs.
func (w *truth) mayClaim(id string, key dns.Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.by[key] == id || w.disputed[key] == id
}
