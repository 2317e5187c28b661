package providertest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// check is a check that isn't a list of states.
type check struct {
	name string
	run  func(t *testing.T, o Options)
}

var checks = []check{
	{name: "nothing to do", run: nothingToDo},
	{name: "rejected record sets", run: rejected},
	{name: "outside of the zone", run: outside},
	{name: "unknown zone", run: unknownZone},
	{name: "cancelled context", run: cancelled},
	{name: "dry run", run: dryRun},
	{name: "changed since listed", run: changedSinceListed},
	{name: "changed since start", run: changedSinceStart},
	{name: "two writers", run: conditional},
	{name: "set identifiers", run: setIdentifiers},
	{name: "properties", run: properties},
	{name: "adjusted one by one", run: adjustEach},
	{name: "child zone", run: childZone},
	{name: "twins", run: twins},
	{name: "throttling", run: throttling},
	{name: "random changes", run: random},
	{name: "type changes", run: typeChanges},
}

// Run checks a provider. Each check is a subtest.
func Run(t *testing.T, o Options) {
	t.Helper()
	o.complete()
	names := map[string]bool{}
	for _, s := range scenarios {
		names[s.name] = true
		if o.Without[s.name] == "" && !slices.ContainsFunc(s.needs, func(n string) bool { return !slices.Contains(o.Types, n) }) {
			t.Run(s.name, func(t *testing.T) {
				name := forward
				if s.reverse {
					name = reverse
				}
				s.run(open(t, o, name))
			})
		}
	}
	for _, c := range checks {
		names[c.name] = true
		if o.Without[c.name] == "" {
			t.Run(c.name, func(t *testing.T) { c.run(t, o) })
		}
	}
	for name := range o.Without {
		if !names[name] {
			t.Errorf("Without has %q, which is no check of the kit", name)
		}
	}
}

func nothingToDo(t *testing.T, o Options) {
	z := open(t, o, forward)
	if err := z.p.Apply(t.Context(), z.zone, nil); err != nil {
		t.Errorf("Apply without changes: %v", err)
	}
	z.expect(nil)
}

// rejected passes each record set that must be refused to Apply, together with two valid ones.
func rejected(t *testing.T, o Options) {
	for i := range o.Rejects(open(t, o, forward).name) {
		z := open(t, o, forward)
		z.refused([]dns.Change{
			{New: address("before", "192.0.2.1").recordSet(z.name)},
			{New: o.Rejects(z.name)[i]},
			{New: address("zz", "192.0.2.2").recordSet(z.name)},
		}, 1)
	}
}

// outside has names that are in no zone of the provider.
func outside(t *testing.T, o Options) {
	for _, prefix := range []string{"", "www.", "not", "www.not"} {
		z := open(t, o, forward)
		if z.zone.Name == "" {
			return // Without zones, every name is in the zone.
		}
		name := prefix + z.name
		if prefix == "" || prefix == "www." {
			name = prefix + "elsewhere.invalid"
		}
		z.refused([]dns.Change{
			{New: address("ok", "192.0.2.1").recordSet(z.name)},
			{New: &dns.RecordSet{Name: name, Type: dns.TypeA, Targets: []string{"192.0.2.1"}}},
		}, 1)
	}
}

// refused checks that Apply fails because of the change with index bad, that its error says which changes
// were applied, and that this is true.
func (z *zone) refused(changes []dns.Change, bad int) {
	z.t.Helper()
	err := z.p.Apply(z.t.Context(), z.zone, changes)
	if err == nil {
		z.t.Fatalf("Apply made %s", showChanges(changes))
	}
	made, known := outcome(err, len(changes))
	if !known {
		z.t.Fatalf("Apply %s: nobody knows what was made: %v", showChanges(changes), err)
	}
	if made[bad] {
		z.t.Fatalf("Apply %s: %v: says that it made what can't be", showChanges(changes), err)
	}
	if apply := (*provider.ApplyError)(nil); errors.As(err, &apply) && !errors.Is(apply.Errs[bad], provider.ErrRejected) {
		z.t.Fatalf("the error of %s is %v, which isn't ErrRejected", show(changes[bad].New), apply.Errs[bad])
	}
	var there []*dns.RecordSet
	for i, c := range changes {
		if made[i] {
			there = append(there, c.New)
		}
	}
	z.expect(z.adjust(there))
}

// outcome returns which of n changes were applied according to an error of Apply.
func outcome(err error, n int) (made []bool, known bool) {
	made = make([]bool, n)
	var apply *provider.ApplyError
	switch {
	case err == nil:
		for i := range made {
			made[i] = true
		}
	case errors.As(err, &apply):
		if len(apply.Errs) != n {
			return nil, false
		}
		for i, e := range apply.Errs {
			made[i] = e == nil
		}
	case !provider.NothingMade(err):
		return nil, false
	}
	return made, true
}

func unknownZone(t *testing.T, o Options) {
	z := open(t, o, forward)
	if z.zone.Name == "" {
		return // The provider has no zones, so none can be missing.
	}
	nowhere := dns.Zone{ID: "nowhere.invalid", Name: "nowhere.invalid"}
	if list, err := z.p.Records(t.Context(), nowhere); err == nil {
		t.Errorf("Records of a zone that doesn't exist returned %v and no error", list)
	}
	change := dns.Change{New: &dns.RecordSet{Name: "www.nowhere.invalid", Type: dns.TypeA, Targets: []string{"192.0.2.1"}}}
	err := z.p.Apply(t.Context(), nowhere, []dns.Change{change})
	if made, known := outcome(err, 1); !known || made[0] {
		t.Errorf("Apply in a zone that doesn't exist returned %v", err)
	}
	z.expect(nil)
}

func cancelled(t *testing.T, o Options) {
	z := open(t, o, forward)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := z.p.Records(ctx, z.zone); !errors.Is(err, context.Canceled) {
		t.Errorf("Records with a cancelled context: %v", err)
	}
	err := z.p.Apply(ctx, z.zone, []dns.Change{{New: address("www", "192.0.2.1").recordSet(z.name)}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Apply with a cancelled context: %v", err)
	}
	z.expect(nil)
	z.become([]*dns.RecordSet{address("www", "192.0.2.1").recordSet(z.name)})
}

func dryRun(t *testing.T, o Options) {
	in := Input()
	in.DryRun = true
	f := o.Open(t, in)
	z := &zone{t: t, fixture: f, p: f.Provider, name: f.Zone}
	z.zone = z.find()
	z.background = z.records(z.p)
	www := address("www", "192.0.2.1")
	err := z.p.Apply(t.Context(), z.zone, []dns.Change{{New: www.recordSet(z.name)}})
	if !errors.Is(err, provider.ErrDryRun) {
		t.Errorf("Apply in a dry run: %v", err)
	}
	if made, known := outcome(err, 1); !known || made[0] {
		t.Errorf("Apply in a dry run: %v: the error says that a change was made", err)
	}
	z.expect(nil)
	www.lookupGone(z)
}
