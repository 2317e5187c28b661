package ownertest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/inmemorytest"
)

const zoneName = "shop.test"

// sharedZone is a zone that processes and another writer share.
type sharedZone struct {
	t       *testing.T
	fixture Fixture
	zone    *inmemorytest.Provider
}

func newSharedZone(t *testing.T, f Fixture) *sharedZone {
	return &sharedZone{t: t, fixture: f, zone: inmemorytest.New(zoneName)}
}

// start returns a new process, which has listed the zone once.
func (s *sharedZone) start(id string) *process { return s.migrate(id, "") }

func (s *sharedZone) migrate(id, oldID string) *process {
	p := &process{sharedZone: s, owner: s.fixture.Process(id, oldID), id: id, orphans: map[dns.Key]int{}}
	p.list()
	return p
}

// put stores a record set as another writer would.
func (s *sharedZone) put(r *dns.RecordSet) {
	s.t.Helper()
	if err := s.zone.Put(r); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sharedZone) remove(r *dns.RecordSet) { s.zone.Delete(r.Key()) }

// there checks that the zone has a record set unchanged.
func (s *sharedZone) there(r *dns.RecordSet) {
	s.t.Helper()
	if got := s.zone.Get(r.Key()); got == nil || !dns.SameTargets(got.Targets, r.Targets) {
		s.t.Errorf("the zone has %v, want %v", got, r)
	}
}

// process is a process with a registry. It does what the publisher does.
type process struct {
	*sharedZone
	owner   owner.Owner
	id      string
	records []*dns.RecordSet
	// orphans are the ownership records without a record set, with the number of listings that showed them.
	orphans map[dns.Key]int
}

func (p *process) list() {
	p.t.Helper()
	records, err := p.zone.All(zoneName)
	if err != nil {
		p.t.Fatal(err)
	}
	p.listed(records)
}

// listed handles a listing, which may be outdated.
func (p *process) listed(records []*dns.RecordSet) {
	p.t.Helper()
	if err := p.owner.Load(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	p.records = records
	if o, ok := p.owner.(owner.Outside); ok {
		zoneOf := func(string) string { return zoneName }
		o.Listed(p.t.Context(), owner.Listing{Zone: zoneName, ZoneOf: zoneOf, Records: records})
	}
	p.collect()
}

// collect deletes ownership records without a record set, as the publisher does.
func (p *process) collect() {
	p.t.Helper()
	txt, ok := p.owner.(*owner.TXT)
	if !ok {
		return
	}
	for _, r := range p.records {
		if !txt.Orphan(p.lookup, r) {
			delete(p.orphans, r.Key())
		} else if p.orphans[r.Key()]++; p.orphans[r.Key()] > 2 {
			p.remove(r)
		}
	}
}

func (p *process) lookup(name string) []*dns.RecordSet {
	var sets []*dns.RecordSet
	for _, r := range p.records {
		if dns.Canonical(r.Name) == name {
			sets = append(sets, r)
		}
	}
	return sets
}

// outcome is the result of changes at the provider. The zero value applies all of them.
type outcome struct {
	// made is how many of the changes are applied; all unless only is set.
	made int
	only bool
	// answer is the provider's error.
	answer error
	// crash ends the process before it knows the result.
	crash bool
}

var errLost = errors.New("the connection was lost")

// change applies changes that are expected to succeed.
func (p *process) change(changes ...dns.Change) {
	p.t.Helper()
	if refused, err := p.try(outcome{}, changes...); err != nil || len(refused) > 0 {
		p.t.Fatalf("refused: %v, error %v", refused, err)
	}
	p.list()
}

// try applies changes with a given outcome at the provider. It returns the changes that the registry refused,
// and the provider's error.
func (p *process) try(o outcome, changes ...dns.Change) (refused []dns.Change, err error) {
	p.t.Helper()
	send, refused, err := p.owner.Before(p.t.Context(), p.lookup, changes)
	if err != nil {
		p.t.Fatal(err)
	}
	send = ownershipFirst(send)
	p.zone.SetHooks(inmemorytest.Hooks{
		Before: func(_ context.Context, c inmemorytest.Call) error {
			if c.Operation == inmemorytest.Apply && o.only {
				return &inmemorytest.Interrupted{Made: o.made, Err: o.answer}
			}
			return nil
		},
		After: func(_ context.Context, c inmemorytest.Call, err error) error {
			if c.Operation == inmemorytest.Apply && err == nil {
				return o.answer
			}
			return err
		},
	})
	defer p.zone.SetHooks(inmemorytest.Hooks{})
	err = p.zone.Apply(p.t.Context(), dns.Zone{ID: zoneName, Name: zoneName}, send)
	if !o.crash {
		p.conclude(send, err)
	}
	return refused, err
}

// conclude reports the result of changes to the registry.
func (p *process) conclude(changes []dns.Change, err error) {
	p.t.Helper()
	made := changes
	if err != nil {
		made = nil
		if o, ok := p.owner.(owner.Outside); ok {
			o.Failed(p.t.Context(), changes, err)
		}
		if each, ok := errors.AsType[*provider.ApplyError](err); ok {
			for i, c := range changes {
				if each.Errs[i] == nil {
					made = append(made, c)
				}
			}
		}
	}
	if len(made) == 0 {
		return
	}
	if err := p.owner.After(p.t.Context(), made); err != nil {
		p.t.Fatal(err)
	}
}

// ownershipFirst moves creations of ownership records before those of the record sets that they describe.
func ownershipFirst(changes []dns.Change) []dns.Change {
	first := func(c dns.Change) bool { return c.RecordSet().IsOwnershipRecord() && c.Old == nil }
	var ordered []dns.Change
	for _, c := range changes {
		if first(c) {
			ordered = append(ordered, c)
		}
	}
	return append(ordered, slices.DeleteFunc(slices.Clone(changes), first)...)
}

// current returns a record set as the process has listed it.
func (p *process) current(r *dns.RecordSet) *dns.RecordSet {
	p.t.Helper()
	for _, listed := range p.lookup(r.Key().Name) {
		if listed.Key() == r.Key() {
			return listed
		}
	}
	p.t.Fatalf("%s %s isn't listed", r.Name, r.Type)
	return nil
}

// ours checks that a record set is listed, and that it is ours.
func (p *process) ours(r *dns.RecordSet) {
	p.t.Helper()
	p.there(r)
	labels, _ := p.owner.Labels(p.lookup, p.current(r))
	if p.owner.ID() != "" && labels[dns.LabelOwner] != p.id {
		p.t.Errorf("%s %s %v has the labels %v, want it to be of %q", r.Name, r.Type, r.Targets, labels, p.id)
	}
}

// notOurs checks that a record set exists and isn't ours, and that the registry refuses to delete and to
// update it.
func (p *process) notOurs(r *dns.RecordSet) {
	p.t.Helper()
	p.there(r)
	listed := p.current(r)
	if labels, _ := p.owner.Labels(p.lookup, listed); labels[dns.LabelOwner] == p.id {
		p.t.Errorf("%s %s %v is ours, want it not to be", r.Name, r.Type, r.Targets)
	}
	update := listed.Clone()
	update.Targets = address("www", "192.0.2.77").Targets
	for _, c := range []dns.Change{{Old: listed}, {Old: listed, New: update}} {
		if send, refused, err := p.owner.Before(p.t.Context(), p.lookup, []dns.Change{c}); err != nil || len(send) > 0 || len(refused) != 1 {
			p.t.Errorf("change of a record that is not ours: to be applied %v, refused %v, error %v", send, refused, err)
		}
	}
	p.there(r)
}

// stays checks that another writer's record set isn't ours, now and in the next two processes.
func (p *process) stays(r *dns.RecordSet) {
	p.t.Helper()
	p.list()
	p.notOurs(r)
	for range 2 {
		next := p.start(p.id)
		next.notOurs(r)
		next.list()
		next.notOurs(r)
	}
}

func address(host, target string) *dns.RecordSet {
	return &dns.RecordSet{
		Name: host + "." + zoneName, Type: dns.TypeA, Targets: []string{target}, TTL: 300,
		Labels: map[string]string{dns.LabelResource: "service/default/" + host},
	}
}

// othersRecord is a record set of another writer.
func othersRecord(host string) *dns.RecordSet {
	return &dns.RecordSet{Name: host + "." + zoneName, Type: dns.TypeA, Targets: []string{"203.0.113.1"}, TTL: 300}
}
