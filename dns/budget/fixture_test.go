package budget

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var begun = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// memoryStore is a store that fails with err, or with writeErr for writes only.
type memoryStore struct {
	text          []byte
	err, writeErr error
	writes        int
}

func (s *memoryStore) Load(context.Context) ([]byte, error) { return s.text, s.err }

func (s *memoryStore) Update(_ context.Context, change func([]byte) []byte) error {
	if err := cmp.Or(s.err, s.writeErr); err != nil {
		return err
	}
	s.text = change(s.text)
	s.writes++
	return nil
}

// fixture is a publisher of one zone, reduced to its budget. A record set is a name, a type, an
// identifier and targets: "www A 192.0.2.1" or "www A/id 192.0.2.1,192.0.2.2".
type fixture struct {
	t      *testing.T
	store  *memoryStore
	now    time.Time
	limits Limits
	// zone has the record sets of the provider, want those that objects ask for.
	zone, want map[dns.Key]*dns.RecordSet

	book   *Book
	keeper *Keeper
	plans  []Plan
	// dies ends the process after the state was stored, before a change is made.
	dies bool
}

func newFixture(t *testing.T, limits Limits) *fixture {
	w := &fixture{t: t, store: &memoryStore{}, now: begun, limits: limits, zone: map[dns.Key]*dns.RecordSet{}, want: map[dns.Key]*dns.RecordSet{}}
	w.start("settings")
	return w
}

// newFilledFixture returns a fixture with the default limits, whose zone has the wanted names n0,
// n1 and so on.
func newFilledFixture(t *testing.T, names int) *fixture {
	w := newFixture(t, DefaultLimits())
	w.number(0, names, "n%d A 192.0.2.1")
	w.fill()
	return w
}

// newHeldFixture returns a filled fixture with 100 names in which the deletions of the first ones are held,
// and the hash of their plan.
func newHeldFixture(t *testing.T, deletions int) (w *fixture, hash string) {
	t.Helper()
	w = newFilledFixture(t, 100)
	w.dropRange(0, deletions)
	w.sync()
	return w, w.announced(deletions).Hash
}

var shop = dns.Zone{ID: "Z1", Name: "shop.test"}

func parse(t *testing.T, text string) *dns.RecordSet {
	t.Helper()
	fields := strings.Fields(text)
	if len(fields) != 3 {
		t.Fatalf("record set %q: want a name, a type and targets", text)
	}
	kind, id, _ := strings.Cut(fields[1], "/")
	return &dns.RecordSet{Name: fields[0] + ".shop.test", Type: kind, SetIdentifier: id, Targets: strings.Split(fields[2], ",")}
}

// start starts a process with settings.
func (w *fixture) start(settings string) { w.startApproving(settings, "") }

func (w *fixture) startApproving(settings, hash string) {
	w.t.Helper()
	var store Store
	if w.store != nil {
		store = w.store
	}
	w.book, w.plans = NewBook(w.now, w.limits, Publisher{}, settings, hash), nil
	w.keeper = NewKeeper(store, w.limits.Window, slog.New(slog.DiscardHandler))
	w.lead()
}

// lead begins a term.
func (w *fixture) lead() {
	w.t.Helper()
	w.book.Start(w.now)
	w.load()
}

// load restores the stored state, or continues without a store.
func (w *fixture) load() {
	w.t.Helper()
	loaded, err := w.keeper.Load(w.t.Context())
	if err != nil && !errors.Is(err, ErrNoStore) {
		w.t.Fatal(err)
	}
	if err := w.book.Restore(w.now, loaded); err != nil {
		w.t.Log(err)
	}
	if err != nil {
		w.book.Distrust()
	}
}

// keep stores the state, and reports whether the charged changes may be made.
func (w *fixture) keep() bool {
	w.t.Helper()
	err := w.keeper.Keep(w.t.Context(), w.book.Snapshot(w.now))
	if err != nil && !errors.Is(err, ErrNoStore) {
		w.t.Fatal(err)
	}
	refused := w.book.distrusted
	if err != nil {
		w.book.Distrust()
	}
	return err == nil || refused
}

func (w *fixture) ask(records ...string) {
	for _, text := range records {
		r := parse(w.t, text)
		w.want[r.Key()] = r
	}
}

// drop deletes the objects that ask for some names.
func (w *fixture) drop(names ...string) {
	for key := range w.want {
		if slices.Contains(names, strings.TrimSuffix(key.Name, ".shop.test")) {
			delete(w.want, key)
		}
	}
}

// dropRange deletes the objects that ask for the names from n0 on with these numbers.
func (w *fixture) dropRange(from, to int) {
	for i := from; i < to; i++ {
		w.drop(fmt.Sprint("n", i))
	}
}

// number asks for n names, each with its own number in place of %d.
func (w *fixture) number(from, to int, format string) {
	for i := from; i < to; i++ {
		w.ask(fmt.Sprintf(format, i))
	}
}

// changes returns the changes of each name.
func (w *fixture) changes() map[string][]dns.Change {
	all := map[string][]dns.Change{}
	for key, old := range w.zone {
		if new := w.want[key]; new == nil {
			all[key.Name] = append(all[key.Name], dns.Change{Old: old})
		} else if !dns.SameTargets(old.Targets, new.Targets) || old.TTL != new.TTL {
			all[key.Name] = append(all[key.Name], dns.Change{Old: old, New: new})
		}
	}
	for key, new := range w.want {
		if w.zone[key] == nil {
			all[key.Name] = append(all[key.Name], dns.Change{New: new})
		}
	}
	return all
}

// plan passes the needed changes to the ledger and lets it decide.
func (w *fixture) plan() (*Ledger, map[string][]dns.Change) {
	l, all := w.book.Ledger(shop), w.changes()
	for name := range l.Counted() {
		if all[name] == nil {
			l.Needs(name, nil)
			l.Note(name, nil)
		}
	}
	for name, changes := range all {
		l.Needs(name, changes)
		l.Note(name, changes)
	}
	l.Decide(w.now, len(w.zone))
	if p, ok := l.Announce(); ok {
		w.plans = append(w.plans, p)
	}
	return l, all
}

// sync plans, makes all permitted changes, and returns how many were made.
func (w *fixture) sync() int {
	w.t.Helper()
	l, all := w.plan()
	var made []dns.Change
	for name, changes := range all {
		permitted := l.Permitted(name, changes)
		l.Spend(w.now, name, permitted)
		made = append(made, permitted...)
	}
	if !w.keep() {
		return w.sync()
	}
	if w.dies {
		return 0
	}
	for _, c := range made {
		if key := c.RecordSet().Key(); c.New == nil {
			delete(w.zone, key)
		} else {
			w.zone[key] = c.New
		}
	}
	w.plan()
	l.Complete()
	w.keep()
	return len(made)
}

// wantMade makes the changes that are needed and permitted, and checks their number.
func (w *fixture) wantMade(changes int) {
	w.t.Helper()
	if made := w.sync(); made != changes {
		w.t.Errorf("%d changes were made, want %d", made, changes)
	}
}

// fill gives the zone the wanted record sets, and lets the window pass.
func (w *fixture) fill() {
	w.zone = maps.Clone(w.want)
	w.sync()
	w.now = w.now.Add(w.limits.Window)
}

func (w *fixture) wantZone(names int) {
	w.t.Helper()
	if len(w.zone) != names {
		w.t.Errorf("the zone has %d record sets, want %d", len(w.zone), names)
	}
}

func (w *fixture) approve(hash string, except ...string) Approval {
	w.t.Helper()
	a, err := w.book.Approve(w.now, hash, except)
	if err != nil {
		w.t.Fatalf("approve %s: %v", hash, err)
	}
	return a
}

// announced returns the last plan, which must have the given number of changes.
func (w *fixture) announced(changes int) Plan {
	w.t.Helper()
	if len(w.plans) == 0 {
		w.t.Fatal("no plan was announced")
	}
	p := w.plans[len(w.plans)-1]
	if len(p.Changes) != changes {
		w.t.Errorf("the plan has %d changes, want %d", len(p.Changes), changes)
	}
	return p
}
