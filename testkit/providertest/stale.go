package providertest

import (
	"errors"
	"slices"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// stale is a case in which another writer changed the zone after the listing. The record sets have the name
// www; nil means none.
type stale struct {
	name string
	// listed is the record set in Records, there the other writer's, and wanted that of the change.
	listed, there, wanted *record
}

func staleCases() []stale {
	one, two, hers := address("www", "192.0.2.1"), address("www", "192.0.2.2"), address("www", "203.0.113.66")
	more := address("www", "192.0.2.1", "203.0.113.66")
	return []stale{
		{name: "created by a person", there: &hers, wanted: &one},
		{name: "created with the same targets and others", there: &more, wanted: &one},
		{name: "updated after a change", listed: &one, there: &hers, wanted: &two},
		{name: "updated after an addition", listed: &one, there: &more, wanted: &two},
		{name: "updated after a deletion", listed: &one, wanted: &two},
		{name: "deleted after a change", listed: &one, there: &hers},
		{name: "deleted after an addition", listed: &one, there: &more},
	}
}

// changedSinceListed has another writer change the zone between Records and Apply. The other writer's record
// must stay, and neither the change nor its ownership record may be applied. (D4: with PowerDNS and etcd the
// record was overwritten, or deleted with ours.)
func changedSinceListed(t *testing.T, o Options) {
	for _, c := range staleCases() {
		t.Run(c.name, func(t *testing.T) { c.run(open(t, o, forward), slices.Contains(o.Types, dns.TypeTXT)) })
	}
}

// run runs a case. Without TXT records the change has no ownership record.
func (c stale) run(z *zone, texts bool) {
	z.t.Helper()
	note := text("a-www", `"heritage=external-dns,external-dns/owner=kit"`).of("www")
	other := address("other", "192.0.2.9")
	z.become(z.sets(c.listed))
	listed := z.current()
	old := func(r *record) *dns.RecordSet {
		if r == nil {
			return nil
		}
		return listed[r.recordSet(z.name).Key()]
	}
	z.otherWriter().become(z.sets(c.there))
	// The record set comes first, if there is one.
	changes := []dns.Change{{Old: old(c.listed)}}
	if c.wanted != nil {
		changes[0].New = z.adjust(z.sets(c.wanted))[0]
	}
	if texts {
		changes = append(changes, dns.Change{New: z.adjust(z.sets(&note))[0]})
	}
	changes = append(changes, dns.Change{New: z.adjust(z.sets(&other))[0]})
	last := len(changes) - 1
	err := z.p.Apply(z.t.Context(), z.zone, changes)
	made, known := outcome(err, len(changes))
	if !known || !errors.Is(err, provider.ErrStale) {
		z.t.Fatalf("Apply %s: %v, which isn't ErrStale", showChanges(changes), err)
	}
	if apply := (*provider.ApplyError)(nil); errors.As(err, &apply) && !errors.Is(apply.Errs[0], provider.ErrStale) {
		z.t.Fatalf("the error of %s => %s is %v, which isn't ErrStale", show(changes[0].Old), show(changes[0].New), apply.Errs[0])
	}
	if made[0] || texts && made[1] {
		z.t.Fatalf("Apply %s: %v: says that it made a change, or its ownership record, that is out of date", showChanges(changes), err)
	}
	expected := z.sets(c.there)
	if made[last] {
		expected = append(expected, other.recordSet(z.name))
	}
	z.expect(z.adjust(expected))
	if c.there != nil {
		c.there.lookup(z)
	}
}

// changedSinceStart has a new process apply changes before it has listed the zone. Old is what the process
// before it has listed.
func changedSinceStart(t *testing.T, o Options) {
	for _, c := range staleCases() {
		t.Run(c.name, func(t *testing.T) {
			z := open(t, o, forward)
			if z.fixture.Reopen == nil {
				return
			}
			z.become(z.sets(c.listed))
			var change dns.Change
			for _, listed := range z.current() {
				change.Old = listed
			}
			if c.wanted != nil {
				change.New = z.adjust(z.sets(c.wanted))[0]
			}
			z.otherWriter().become(z.sets(c.there))
			started := z.otherWriter()
			err := started.p.Apply(t.Context(), started.zone, []dns.Change{change})
			if made, known := outcome(err, 1); !known || made[0] || !errors.Is(err, provider.ErrStale) {
				t.Fatalf("Apply %s: %v, which isn't ErrStale", showChanges([]dns.Change{change}), err)
			}
			started.expect(started.adjust(z.sets(c.there)))
		})
	}
}

// otherWriter returns the zone as another writer uses it: through a provider of its own if the zone outlives
// the provider.
func (z *zone) otherWriter() *zone {
	z.t.Helper()
	other := *z
	if z.fixture.Reopen != nil {
		other.p = z.fixture.Reopen(z.t)
		other.zone = other.find()
	}
	return &other
}

// sets returns the record sets of records, skipping nil ones.
func (z *zone) sets(records ...*record) []*dns.RecordSet {
	var sets []*dns.RecordSet
	for _, r := range records {
		if r != nil {
			sets = append(sets, r.recordSet(z.name))
		}
	}
	return sets
}
