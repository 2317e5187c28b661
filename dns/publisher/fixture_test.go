package publisher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/budget"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/inmemorytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const zoneName = "shop.test"

// objects are what a source of the tests has: record sets by object.
type objects struct {
	mu      sync.Mutex
	records map[source.Key][]*dns.RecordSet
	errs    map[source.Key]error
	changed func(source.Key)
	name    string
}

func newObjects(name string) *objects {
	return &objects{name: name, records: map[source.Key][]*dns.RecordSet{}, errs: map[source.Key]error{}}
}

// set sets the records that an object asks for; none deletes the object.
func (o *objects) set(name string, records ...*dns.RecordSet) {
	o.setKey(source.Key{Namespace: "default", Name: name}, records...)
}

// setKey is set for an object of any namespace.
func (o *objects) setKey(key source.Key, records ...*dns.RecordSet) {
	o.mu.Lock()
	delete(o.errs, key)
	if len(records) == 0 {
		delete(o.records, key)
	} else {
		o.records[key] = records
	}
	o.mu.Unlock()
	o.changedKey(key)
}

// ask has the objects o0, o1 and so on ask for an address of the names n0, n1 and so on.
func (w *fixture) ask(from, to int, target string) {
	for i := from; i < to; i++ {
		object := fmt.Sprint("o", i)
		w.objects.set(object, record(w.t, object, fmt.Sprintf("n%d.%s", i, zoneName), "A", target))
	}
}

func (o *objects) fail(name string, err error) {
	key := source.Key{Namespace: "default", Name: name}
	o.mu.Lock()
	o.errs[key] = err
	o.mu.Unlock()
	o.changedKey(key)
}

func (o *objects) changedKey(key source.Key) {
	o.mu.Lock()
	changed := o.changed
	o.mu.Unlock()
	if changed != nil {
		changed(key)
	}
}

// listen calls changed for all objects, and for each change.
func (o *objects) listen(changed func(source.Key)) {
	o.mu.Lock()
	o.changed = changed
	keys := slices.Collect(maps.Keys(o.records))
	keys = append(keys, slices.Collect(maps.Keys(o.errs))...)
	o.mu.Unlock()
	for _, key := range keys {
		changed(key)
	}
}

func (o *objects) evaluate(key source.Key) source.Result {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.errs[key]; err != nil {
		return source.Result{Err: err}
	}
	return source.Result{Records: o.records[key]}
}

// record returns a record set as the object of a name asks for it.
func record(t testing.TB, object, name, recordType string, targets ...string) *dns.RecordSet {
	t.Helper()
	r := &dns.RecordSet{
		Name: name, Type: recordType, Targets: targets,
		Labels:  map[string]string{dns.LabelResource: "service/default/" + object},
		Objects: []dns.Object{{APIVersion: "v1", Kind: "Service", Namespace: "default", Name: object, Source: "service"}},
	}
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	return r
}

// fixture is a publisher in a test, over a zone in memory.
type fixture struct {
	t        testing.TB
	provider provider.Provider
	zones    *inmemorytest.Provider
	objects  *objects
	change   func(*Config)
	// store has the budgets, of a publisher that has published before; nil until the first start.
	store *textStore
	// queue is the approval queue of the last publisher, and settings identifies its settings.
	queue    *budget.ApprovalQueue
	settings string
	// instance is that of the publishers that are made.
	instance string

	publisher *Publisher
	stop      func()
	// standby keeps a publisher that starts from leading until lead is called.
	standby bool
	lead    func()
	// endTerm ends what lead has begun.
	endTerm func()

	// panics is true when the source or the provider may panic.
	panics bool

	mu      sync.Mutex
	notices []Notice
}

func newFixture(t testing.TB) *fixture {
	zones := inmemorytest.New(zoneName)
	return &fixture{t: t, zones: zones, provider: zones, objects: newObjects("service")}
}

// withFixture runs a test with a fixture in a bubble, and stops its publisher at the end.
func withFixture(t *testing.T, test func(t *testing.T, w *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t)
		w.stop = func() {}
		defer func() { w.stop() }()
		test(t, w)
	})
}

// start starts a publisher; change may change its config.
func (w *fixture) start() {
	w.t.Helper()
	p := w.make()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := p.Run(ctx); err != nil {
			w.t.Error(err)
		}
	})
	w.lead = func() {
		var term context.Context
		term, w.endTerm = context.WithCancel(ctx)
		running.Go(func() {
			if err := p.Lead(term); err != nil {
				w.t.Error(err)
			}
		})
	}
	if !w.standby {
		w.lead()
	}
	w.stop = func() {
		cancel()
		running.Wait()
		units := []string{atProvider}
		for _, s := range p.Sources {
			units = append(units, s.Name)
		}
		for _, unit := range units {
			if testutil.ToFloat64(p.Metrics.panics.WithLabelValues(unit)) > 0 && !w.panics {
				w.t.Errorf("%s panicked: see the log", unit)
			}
		}
	}
}

func (w *fixture) make() *Publisher {
	w.t.Helper()
	if w.store == nil {
		w.store = establishedIn(zoneName)
	}
	w.queue = budget.NewApprovalQueue()
	c := Config{
		Sources: []NamedSource{{Name: "service", Source: source.Source{Evaluate: w.objects.evaluate}}},
		Desired: desiredOf(w.t, desired.Options{Sources: []string{"service"}}), Provider: w.provider,
		Rules:  plan.Rules{Policy: plan.Sync, Managed: plan.DefaultManaged()},
		Budget: budget.DefaultLimits(), Store: w.store, Approvals: w.queue, Settings: w.settings,
		Notify: w.notice,
		Log:    slog.New(slog.NewTextHandler(w.t.Output(), nil)),
	}
	ownedBy(w.t, owner.TXTOptions{OwnerID: "me", Prefix: "own-"})(&c)
	if w.change != nil {
		w.change(&c)
	}
	p, err := New(c)
	if err != nil {
		w.t.Fatal(err)
	}
	w.publisher = p
	if w.instance != "" {
		p.SetInstance(w.instance)
	}
	w.objects.listen(Changed(func() *Publisher { return p }, 0))
	return p
}

func desiredOf(t testing.TB, o desired.Options) *desired.Set {
	t.Helper()
	set, err := desired.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// ownedBy gives a publisher a TXT registry.
func ownedBy(t testing.TB, o owner.TXTOptions) func(*Config) {
	return func(c *Config) {
		txt, err := owner.NewTXT(o)
		if err != nil {
			t.Fatal(err)
		}
		c.Owner, c.Rules.Owner, c.Rules.OldOwner = txt, o.OwnerID, o.OldOwnerID
	}
}

// failing makes some operations of the provider fail until working is called.
func (w *fixture) failing(err error, operations ...inmemorytest.Operation) {
	w.zones.SetHooks(inmemorytest.Hooks{Before: func(_ context.Context, c inmemorytest.Call) error {
		if slices.Contains(operations, c.Operation) {
			return err
		}
		return nil
	}})
}

// altered is the provider of a fixture with other methods, where a test gives one.
type altered struct {
	*inmemorytest.Provider
	capabilities func(*provider.Capabilities)
	zones        func([]dns.Zone) []dns.Zone
	unlisted     func() error
	filter       func() dns.Filter
	records      func(dns.Zone, []*dns.RecordSet) []*dns.RecordSet
	apply        func(context.Context, dns.Zone, []dns.Change) error
}

func (a *altered) Capabilities() provider.Capabilities {
	c := a.Provider.Capabilities()
	if a.capabilities != nil {
		a.capabilities(&c)
	}
	return c
}

func (a *altered) Zones(ctx context.Context) ([]dns.Zone, error) {
	zones, err := a.Provider.Zones(ctx)
	if a.zones != nil {
		zones = a.zones(zones)
	}
	return zones, err
}

func (a *altered) Unlisted() error {
	if a.unlisted != nil {
		return a.unlisted()
	}
	return nil
}

func (a *altered) DomainFilter(context.Context) dns.Filter {
	if a.filter != nil {
		return a.filter()
	}
	return nil
}

func (a *altered) Records(ctx context.Context, zone dns.Zone) ([]*dns.RecordSet, error) {
	records, err := a.Provider.Records(ctx, zone)
	if a.records != nil {
		records = a.records(zone, records)
	}
	return records, err
}

func (a *altered) Apply(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	if a.apply != nil {
		return a.apply(ctx, zone, changes)
	}
	return a.Provider.Apply(ctx, zone, changes)
}

// applyUnchanged makes changes, or fails as a whole if the zone has something else than they say.
func (w *fixture) applyUnchanged(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
	now, err := w.zones.Records(ctx, zone)
	if err != nil {
		return err
	}
	if provider.Unchanged(changes, now) != nil {
		return provider.ErrStale
	}
	return w.zones.Apply(ctx, zone, changes)
}

// vanishing is a provider whose zones come and go: it lacks the zone with a name, unless that is nil. While
// incomplete is true, one of its accounts can't be listed.
type vanishing struct {
	altered
	lacks      atomic.Pointer[string]
	incomplete atomic.Bool
}

func (w *fixture) vanishing() *vanishing {
	v := &vanishing{}
	v.Provider = w.zones
	v.altered.zones = func(zones []dns.Zone) []dns.Zone {
		lacks := v.lacks.Load()
		return slices.DeleteFunc(zones, func(z dns.Zone) bool { return lacks != nil && *lacks == z.Name })
	}
	v.unlisted = func() error {
		if v.incomplete.Load() {
			return errors.New("list the zones of the profile b: AccessDenied")
		}
		return nil
	}
	return v
}

func (w *fixture) working() { w.zones.SetHooks(inmemorytest.Hooks{}) }

// establishedIn returns a store that knows zones without recent deletions.
func establishedIn(zones ...string) *textStore {
	var known []string
	for _, z := range zones {
		known = append(known, fmt.Sprintf(`{"id":%q,"name":%[1]q,"settings":["none"]}`, z))
	}
	return &textStore{text: []byte(`{"version":1,"zones":[` + strings.Join(known, ",") + `]}`)}
}

func (w *fixture) notice(n Notice) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notices = append(w.notices, n)
}

// takeNotices returns the reasons of the notices since the last call, with their messages.
func (w *fixture) takeNotices() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var notices []string
	for _, n := range w.notices {
		name := ""
		if n.Record != nil {
			name = n.Record.Name + " " + n.Record.Type
		}
		notices = append(notices, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", n.Reason, n.Action, name, n.Message)))
	}
	w.notices = nil
	return notices
}

// some is any number of notices but none.
const some = -1

// expectNotices checks how often the notices since the last call say the texts.
func (w *fixture) expectNotices(want map[string]int) {
	w.t.Helper()
	notices := strings.Join(w.takeNotices(), "\n")
	for text, n := range want {
		if got := strings.Count(notices, text); got != n && (n != some || got == 0) {
			w.t.Errorf("the notices say %q %d times, want %d:\n%s", text, got, n, notices)
		}
	}
}

// expectQuiet checks that there were no notices since the last call.
func (w *fixture) expectQuiet() {
	w.t.Helper()
	if notices := w.takeNotices(); len(notices) > 0 {
		w.t.Errorf("notices %q", notices)
	}
}

func (w *fixture) createZone(name string) {
	w.t.Helper()
	if err := w.zones.CreateZone(name); err != nil {
		w.t.Fatal(err)
	}
}

// zone returns what is in the zone, without ownership records: "name TYPE targets".
func (w *fixture) zone() []string {
	w.t.Helper()
	var lines []string
	for _, r := range w.listing() {
		if r.Type != dns.TypeTXT {
			lines = append(lines, line(r))
		}
	}
	slices.Sort(lines)
	return lines
}

func (w *fixture) listing() []*dns.RecordSet {
	w.t.Helper()
	zones, err := w.zones.Zones(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	var all []*dns.RecordSet
	for _, z := range zones {
		all = append(all, w.in(z)...)
	}
	return all
}

// in returns what is in one zone.
func (w *fixture) in(zone dns.Zone) []*dns.RecordSet {
	w.t.Helper()
	records, err := w.zones.Records(w.t.Context(), zone)
	if err != nil {
		w.t.Fatal(err)
	}
	return records
}

func line(r *dns.RecordSet) string {
	return fmt.Sprintf("%s %s %s", r.Name, r.Type, strings.Join(slices.Sorted(slices.Values(r.Targets)), ","))
}

// byHand makes an external change in the zone.
func (w *fixture) byHand(changes ...dns.Change) {
	w.t.Helper()
	zones, err := w.zones.Zones(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.zones.Apply(w.t.Context(), zones[0], changes); err != nil {
		w.t.Fatal(err)
	}
}

// waitIdle waits until nothing happens for a moment, which is much less than an interval.
func waitIdle() {
	time.Sleep(2 * quiet)
	synctest.Wait()
}

// inOnePass makes changes of objects that the publisher evaluates together: passes are quiet apart, and one
// has just ended.
func (w *fixture) inOnePass(change func()) {
	w.t.Helper()
	w.objects.set("an object that asks for nothing")
	synctest.Wait()
	change()
}

func (w *fixture) expectZone(want ...string) {
	w.t.Helper()
	slices.Sort(want)
	if got := w.zone(); !slices.Equal(got, want) {
		w.t.Errorf("zone:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// expectPublished checks that the zone has an address of a name, given without the zone.
func (w *fixture) expectPublished(name string) {
	w.t.Helper()
	if w.zones.Get(dns.Key{Name: name + "." + zoneName, Type: dns.TypeA}) == nil {
		w.t.Errorf("%s isn't published", name)
	}
}

// expectSets checks how many record sets the zone has, without ownership records.
func (w *fixture) expectSets(want int) {
	w.t.Helper()
	if got := w.zone(); len(got) != want {
		w.t.Errorf("the zone has %d record sets, want %d: %q", len(got), want, got)
	}
}

// candidates returns record sets as candidates of one source.
func candidates(sets ...*dns.RecordSet) []plan.Candidate {
	list := make([]plan.Candidate, len(sets))
	for i, r := range sets {
		list[i].Set = r
	}
	return list
}
