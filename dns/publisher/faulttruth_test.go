package publisher

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/inmemory"
)

// person makes records by hand.
const person = "a person"

// truth is the zones of a schedule. It knows who has made which record set.
type truth struct {
	t     testing.TB
	zones *inmemory.Provider

	mu sync.Mutex
	// by has who has made a record set. edited are those that the person has changed since.
	by     map[dns.Key]string
	edited map[dns.Key]bool
	// disputed has the former maker of a record set that was given up. The maker may claim it again,
	// because it may learn late that it has made it.
	disputed map[dns.Key]string
}

func newTruth(t testing.TB, zones ...string) *truth {
	return &truth{t: t, zones: inmemory.New(zones...), by: map[dns.Key]string{}, edited: map[dns.Key]bool{}, disputed: map[dns.Key]string{}}
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
	if c.New == nil {
		delete(w.by, key)
	}
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
func (w *truth) giveUp(key dns.Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.edited[key] {
		return false
	}
	w.disputed[key], w.by[key] = w.by[key], person
	return true
}

// mayClaim reports whether somebody may say that a record set is theirs.
func (w *truth) mayClaim(id string, key dns.Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.by[key] == id || w.disputed[key] == id
}
