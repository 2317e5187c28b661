package publisher

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/tenancy"
	"github.com/signpostd/signpost/testkit/longtest"
	"github.com/signpostd/signpost/testkit/racetest"
)

// The clusters of this file have tenants against each other: objects of three namespaces, read by
// several sources, ask for the same few names, of one provider and with one registry. A fixture takes
// random steps; after each one it publishes until nothing changes, through the functions that the
// loop calls: want, Adjust, adjusted, plan.Name, the ownership records, the mirror. Then a rule checks
// the zone. To add a dimension, add a field to drawn, draw it in drawTenancy, use it in publish, and
// write a rule for it beside keepsHolders and keepsOutside.

// drawn is what stays the same in a fixture, except for the order of the sources.
type drawn struct {
	// adjuster is what the provider makes of record sets; nil if it adjusts nothing.
	adjuster *tenantAdjuster
	// registry is false without ownership records. Then nothing says who has a record.
	registry bool
	policy   plan.Policy
	// names is the name policy. Namespaced needs a registry.
	names tenancy.Policy
	// bare is the source whose objects get no label resource, as those of pods have none; "" for none.
	bare string
}

func drawTenancy(r *rand.Rand) drawn {
	t := drawn{registry: r.IntN(5) > 0, policy: plan.Sync, names: tenancy.Shared}
	if r.IntN(3) > 0 {
		t.adjuster = &tenantAdjuster{refuses: r.IntN(2) == 0, doubles: r.IntN(3) == 0, reverses: r.IntN(2) == 0}
	}
	if t.registry && r.IntN(2) == 0 {
		t.names = tenancy.Namespaced
		t.bare = []string{"", "crd", "service"}[r.IntN(3)]
	}
	return t
}

// tenantAdjuster is an adjusting provider. It refuses targets that begin with bad, returns two
// record sets for one, and changes the spelling.
type tenantAdjuster struct{ refuses, doubles, reverses bool }

func (a *tenantAdjuster) Adjust(_ context.Context, _ dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	responses := make([]provider.Adjusted, len(wanted))
	for i, r := range wanted {
		if a.refuses && slices.ContainsFunc(r.Targets, isBad) {
			responses[i].Err = errors.New("no such luck")
			continue
		}
		stored := r.Clone()
		if a.reverses {
			slices.Reverse(stored.Targets)
		}
		responses[i].Sets = []*dns.RecordSet{stored}
		if a.doubles {
			twin := stored.Clone()
			twin.Labels = map[string]string{dns.LabelResource: "service/zzz/nobody"}
			responses[i].Sets = append(responses[i].Sets, twin)
		}
	}
	return responses, nil
}

func isBad(target string) bool { return strings.HasPrefix(target, "bad") }

// rival is an object, and what it asks for; nothing if it doesn't exist.
type rival struct {
	desired.Origin
	asks []*dns.RecordSet
}

func (t *rival) resource() string { return t.Source + "/" + t.Namespace + "/" + t.Name }

// tenants is a fixture.
type tenants struct {
	drawn
	t       testing.TB
	random  *rand.Rand
	objects []*rival
	sources []string
	p       *Publisher
	z       *zone
	// has is the object that has each record set, as far as the rule knows. before are the record sets
	// before the last step.
	has    map[dns.Key]string
	before map[dns.Key]*dns.RecordSet
	// holders is which namespace has each name under the policy namespace, and actor that of the object of
	// the last step; "" for a restart.
	holders map[string]string
	actor   string
	log     []string
}

var (
	tenantNames   = []string{"www." + zoneName, "api." + zoneName}
	tenantTargets = map[string][]string{
		dns.TypeA:     {"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.9"},
		dns.TypeAAAA:  {"2001:db8::1", "2001:db8::2"},
		dns.TypeCNAME: {"a.example.net", "b.example.net", "c.example.net", "bad.example.net"},
	}
)

func newTenants(t testing.TB, seed uint64) *tenants {
	w := &tenants{t: t, random: rand.New(rand.NewPCG(seed, 35)), sources: []string{"crd", "ingress", "service"}, has: map[dns.Key]string{}, holders: map[string]string{}}
	w.drawn = drawTenancy(w.random)
	for _, namespace := range []string{"aaa", "bank", "zzz"} {
		for _, source := range w.sources {
			w.objects = append(w.objects, &rival{Origin: desired.Origin{Source: source, Kind: source, Namespace: namespace, Name: "x"}})
		}
	}
	w.z = &zone{Zone: dns.Zone{ID: zoneName, Name: zoneName}, mirror: newMirror(), names: newNames(func(string, []dns.Change) {})}
	w.restart()
	return w
}

// restart starts a process with the sources in another order, which reads the objects in any order.
func (w *tenants) restart() {
	w.random.Shuffle(len(w.sources), func(i, j int) { w.sources[i], w.sources[j] = w.sources[j], w.sources[i] })
	want, err := desired.New(desired.Options{Sources: slices.Clone(w.sources), OneTTL: []string{"service"}, Labelled: w.names == tenancy.Namespaced})
	if err != nil {
		w.t.Fatal(err)
	}
	w.relist()
	w.p = &Publisher{zones: newZoneSet(map[dns.ZoneKey]*zone{w.z.Zone.Key(): w.z}, nil, nil)}
	w.p.Desired, w.p.Owner, w.p.NamePolicy = want, owner.None{}, w.names
	w.p.Rules = plan.Rules{Policy: w.policy, Managed: plan.DefaultManaged()}
	if w.registry {
		if w.p.Owner, err = owner.NewTXT(owner.TXTOptions{OwnerID: "me", Prefix: "own-"}); err != nil {
			w.t.Fatal(err)
		}
		w.p.Rules.Owner = "me"
	}
	for _, i := range w.random.Perm(len(w.objects)) {
		want.Put(w.objects[i].Origin, w.objects[i].asks)
	}
	w.noteHolders()
	w.actor = ""
	w.note("restart with %v", w.sources)
}

// relist makes the mirror forget everything but what the zone has.
func (w *tenants) relist() {
	fresh := newMirror()
	for name, n := range w.z.mirror.names {
		fresh.setRaw(name, n.raw)
	}
	w.z.mirror = fresh
}

// noteHolders works out which namespaces have the names, as refresh does.
func (w *tenants) noteHolders() {
	for _, name := range tenantNames {
		w.z.mirror.setHoldings(name, w.p.holdings(w.z, name))
	}
}

func (w *tenants) note(format string, values ...any) {
	w.log = append(w.log, fmt.Sprintf(format, values...))
}

// step makes one change: an object asks for something else, or the process restarts.
func (w *tenants) step() {
	if w.random.IntN(6) == 0 {
		w.restart()
		return
	}
	o := w.objects[w.random.IntN(len(w.objects))]
	o.asks, w.actor = w.drawAsks(o), o.Namespace
	w.p.Desired.Put(o.Origin, o.asks)
	w.note("%s asks for %v", o.resource(), describeAll(o.asks))
}

func (w *tenants) drawAsks(o *rival) (asks []*dns.RecordSet) {
	for range []int{0, 1, 1, 1, 2}[w.random.IntN(5)] {
		recordType := []string{dns.TypeA, dns.TypeA, dns.TypeCNAME, dns.TypeAAAA}[w.random.IntN(4)]
		pool := tenantTargets[recordType]
		targets := []string{pool[w.random.IntN(len(pool))]}
		if recordType != dns.TypeCNAME && w.random.IntN(4) == 0 {
			targets = dns.UniqueSorted(append(targets, pool[w.random.IntN(len(pool))]))
		}
		r := &dns.RecordSet{
			Name: tenantNames[w.random.IntN(len(tenantNames))], Type: recordType, Targets: targets, TTL: []int64{60, 60, 300}[w.random.IntN(3)],
			Labels:  map[string]string{dns.LabelResource: o.resource()},
			Objects: []dns.Object{{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Source: o.Source}},
		}
		if o.Source == w.bare {
			r.Labels = nil
		}
		if w.random.IntN(8) == 0 {
			r.Properties = []dns.Property{{Name: "aws/evaluate-target-health", Value: "true"}}
		}
		asks = append(asks, r)
	}
	// Two entries for one key would be rivals within one object.
	slices.SortStableFunc(asks, func(a, b *dns.RecordSet) int { return strings.Compare(a.Name+a.Type, b.Name+b.Type) })
	return slices.CompactFunc(asks, func(a, b *dns.RecordSet) bool { return a.Key() == b.Key() })
}

// publish makes the zone as objects ask for it. It returns the number of rounds.
func (w *tenants) publish() int {
	for round := range 8 {
		changed := false
		for _, name := range tenantNames {
			wanted := w.candidates(name)
			current := w.p.relabelled(w.p.current(w.z, name), wanted.sets())
			changes := plan.Name(current, wanted.wanted, &w.p.Rules).Changes
			if w.registry {
				apply, refused, err := w.p.Owner.Before(w.t.Context(), w.p.zones.lookup(w.z), changes)
				if err != nil || len(refused) > 0 {
					w.fail("ownership records: %v, refused are %v", err, describeChanges(refused))
				}
				changes = apply
			}
			for _, c := range changes {
				w.z.mirror.write(c)
				w.note("  %s", describe(c))
				changed = true
			}
			w.noteHolders()
		}
		if !changed {
			return round
		}
	}
	w.fail("the zone never comes to rest")
	return 0
}

func (w *tenants) candidates(name string) demand {
	wanted := w.p.want(w.z, name)
	if w.adjuster == nil {
		return wanted
	}
	q := adjustQuery{candidates: wanted.wanted}
	responses, err := w.adjuster.Adjust(w.t.Context(), w.z.Zone, plan.Sets(q.candidates))
	if err != nil {
		w.fail("adjust: %v", err)
	}
	var stored []plan.Candidate
	for i, c := range wanted.wanted {
		stored = append(stored, adjusted(c, responses[i])...)
	}
	wanted.wanted = stored
	return wanted
}

func (w *tenants) fail(format string, values ...any) {
	w.t.Helper()
	w.t.Fatalf("%+v, adjuster %+v:\n%s\n%s", w.drawn, w.adjuster, strings.Join(w.log, "\n"), fmt.Sprintf(format, values...))
}

// records returns what the zone has, without ownership records.
func (w *tenants) records() map[dns.Key]*dns.RecordSet {
	records := map[dns.Key]*dns.RecordSet{}
	for _, name := range tenantNames {
		for _, c := range w.p.current(w.z, name) {
			records[c.Set.Key()] = c.Set
		}
	}
	return records
}

// ask returns what an object asks for under a key, if the provider takes it.
func (w *tenants) ask(resource string, key dns.Key) (asked *dns.RecordSet, refused bool) {
	for _, o := range w.objects {
		for _, r := range o.asks {
			if o.resource() == resource && r.Key() == key {
				return r, w.adjuster != nil && w.adjuster.refuses && slices.ContainsFunc(r.Targets, isBad)
			}
		}
	}
	return nil, false
}

// awaits reports whether an object asks for something of a name that the provider refuses.
func (w *tenants) awaits(resource, name string) bool {
	for _, recordType := range []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME} {
		if _, refused := w.ask(resource, dns.Key{Name: name, Type: recordType}); refused {
			return true
		}
	}
	return false
}

// turns reports whether the holder of a CNAME asks for another type, too, which it prefers.
func (w *tenants) turns(resource string, key dns.Key) bool {
	for _, other := range []string{dns.TypeA, dns.TypeAAAA} {
		asked, refused := w.ask(resource, dns.Key{Name: key.Name, Type: other})
		if key.Type == dns.TypeCNAME && asked != nil && !refused {
			return true
		}
	}
	return false
}

// keepsHolders is the rule of the policy shared: as long as the object that has a record set asks for
// it, the record set stays and is as that object asks: with all of its targets, and with its TTL. What
// the provider refuses changes nothing. Others may add targets.
func (w *tenants) keepsHolders() {
	records := w.records()
	for key, resource := range w.has {
		asked, refused := w.ask(resource, key)
		there := records[key]
		switch {
		case asked == nil || w.turns(resource, key):
			continue
		case there == nil:
			w.fail("%s has the %s record %s and lost it: the zone has %v", resource, key.Type, key.Name, describeAll(slices.Collect(maps.Values(records))))
		case refused:
			if before := w.before[key]; before == nil || !dns.SameTargets(before.Targets, there.Targets) && !holdsAll(there.Targets, before.Targets) {
				w.fail("%s has the %s record %s, and what the provider refuses changed it: %v", resource, key.Type, key.Name, there.Targets)
			}
		case !holdsAll(there.Targets, asked.Targets) || there.TTL != asked.TTL:
			w.fail("%s has the %s record %s and asks for %v, TTL %d: the zone has %v, TTL %d", resource, key.Type, key.Name, asked.Targets, asked.TTL, there.Targets, there.TTL)
		case w.registry && there.Labels[dns.LabelResource] != resource:
			w.fail("%s has the %s record %s, and the label names %s", resource, key.Type, key.Name, there.Labels[dns.LabelResource])
		}
	}
	w.findHolders(records)
}

// findHolders notes which objects have record sets that nobody had before. It must be one that asks
// for what is there.
func (w *tenants) findHolders(records map[dns.Key]*dns.RecordSet) {
	has := map[dns.Key]string{}
	for key, there := range records {
		if asked, _ := w.ask(w.has[key], key); asked != nil {
			has[key] = w.has[key]
			continue
		}
		resource := there.Labels[dns.LabelResource]
		if w.awaits(resource, key.Name) {
			// It asks for another type, which the provider refuses.
			has[key] = resource
			continue
		}
		if asked, refused := w.ask(resource, key); asked == nil || !refused && !holdsAll(there.Targets, asked.Targets) {
			w.fail("the %s record %s has %v and is said to be of %s", key.Type, key.Name, there.Targets, resource)
		}
		has[key] = resource
	}
	w.has, w.before = has, records
}

// keepsOutside is the rule of the policy namespace: while objects of the namespace that has a name ask for
// it, objects of other namespaces and a restart change nothing of the name. Everything that is published
// under a name is of one namespace.
func (w *tenants) keepsOutside() {
	records := w.records()
	for _, name := range tenantNames {
		holder, held := w.holders[name]
		held = held && w.asking(holder, name)
		if before, after := contentOf(w.before, name), contentOf(records, name); held && w.actor != holder && before != after {
			w.fail("the namespace %s has the name %s, and %q changed it from:\n%s\nto:\n%s", holder, name, w.actor, before, after)
		}
		// What remains of a namespace that withdraws its last record may be refused by the provider.
		held = held && (w.actor != holder || w.publishes(holder, name))
		delete(w.holders, name)
		for key, r := range records {
			if key.Name != name {
				continue
			}
			namespace, known := tenancy.HolderOf(r.Labels[dns.LabelResource])
			if other, found := w.holders[name]; !known || !w.asking(namespace, name) || found && other != namespace || held && holder != namespace {
				w.fail("the %s record %s is of the namespace %q; of the name, %q, and before, %q (%t)", key.Type, name, namespace, other, holder, held)
			}
			w.holders[name] = namespace
		}
	}
}

// asking reports whether objects of a namespace ask for a name.
func (w *tenants) asking(namespace, name string) bool {
	return slices.ContainsFunc(w.objects, func(o *rival) bool {
		return o.Namespace == namespace && slices.ContainsFunc(o.asks, func(r *dns.RecordSet) bool { return r.Name == name })
	})
}

// publishes reports whether objects of a namespace ask for something of a name that the provider takes.
func (w *tenants) publishes(namespace, name string) bool {
	return slices.ContainsFunc(w.objects, func(o *rival) bool {
		return o.Namespace == namespace && slices.ContainsFunc(o.asks, func(r *dns.RecordSet) bool {
			return r.Name == name && !(w.adjuster != nil && w.adjuster.refuses && slices.ContainsFunc(r.Targets, isBad))
		})
	})
}

// contentOf returns what record sets of a name have, without their labels.
func contentOf(records map[dns.Key]*dns.RecordSet, name string) string {
	var lines []string
	for key, r := range records {
		if key.Name == name {
			lines = append(lines, fmt.Sprint(key.Type, r.Targets, r.TTL, r.Properties))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// keepsPresent is the rule without a registry: nothing says who has a record set. As long as an object
// asks for exactly the targets that it has, these stay, or an object gets it that asks for some of them
// and for no others.
func (w *tenants) keepsPresent() {
	records := w.records()
	for key, before := range w.before {
		asks, turns := "", false
		for _, o := range w.objects {
			if asked, refused := w.ask(o.resource(), key); asked != nil && !refused && dns.SameTargets(asked.Targets, before.Targets) {
				asks, turns = o.resource(), turns || w.turns(o.resource(), key)
			}
		}
		if there := records[key]; asks != "" && !turns && (there == nil || !holdsAll(there.Targets, before.Targets) && !holdsAll(before.Targets, there.Targets)) {
			w.fail("%s asks for the %s record %s as it was, %v, and the zone has %v", asks, key.Type, key.Name, before.Targets, describeAll(slices.Collect(maps.Values(records))))
		}
	}
	w.before = records
}

// In 10,000 random clusters, no object takes a record of another namespace's object, and under the
// policy namespace no name (tenants S1 and S2).
func TestNobodyTakesAHeldRecord(t *testing.T) {
	clusters := 10_000
	if racetest.Enabled {
		clusters = 1000
	}
	for seed := range uint64(longtest.Rounds(clusters)) {
		w := newTenants(t, seed)
		for range 12 {
			w.step()
			w.publish()
			if w.names == tenancy.Namespaced {
				w.keepsOutside()
			}
			if w.registry {
				w.keepsHolders()
			} else {
				w.keepsPresent()
			}
		}
	}
}
