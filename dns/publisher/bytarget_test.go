package publisher

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// inParts returns a provider whose first call of Apply makes what begun returns for each change,
// and whose next ones fail without an effect, failures times. The outcome of each of them is
// unknown.
func (w *fixture) inParts(byTarget bool, begun func(dns.Change) dns.Change, failures int) *altered {
	calls := 0
	return &altered{
		Provider:     w.zones,
		capabilities: func(c *provider.Capabilities) { c.ByTarget = byTarget },
		apply: func(ctx context.Context, zone dns.Zone, changes []dns.Change) error {
			switch calls++; {
			case calls == 1:
				made := make([]dns.Change, len(changes))
				for i, c := range changes {
					made[i] = begun(c)
				}
				if err := w.zones.Apply(ctx, zone, made); err != nil {
					w.t.Error(err)
				}
				return errReset
			case calls <= 1+failures:
				return errServer
			}
			return w.zones.Apply(ctx, zone, changes)
		},
	}
}

// withTargets returns changes whose address records have other targets.
func withTargets(targets ...string) func(dns.Change) dns.Change {
	return func(c dns.Change) dns.Change {
		if c.RecordSet().Type != dns.TypeA {
			return c
		}
		r := *c.New
		r.Targets = targets
		return dns.Change{Old: c.Old, New: &r}
	}
}

// ownershipRecords returns how many ownership records the zone has.
func (w *fixture) ownershipRecords() int {
	n := 0
	for _, r := range w.listing() {
		if isOwnershipRecord(r) {
			n++
		}
	}
	return n
}

// A record set of which only some targets were created stays ours, while further requests fail and after a
// restart. The publisher completes the record set, or deletes it with its object.
func TestRecordSetMadeInPart(t *testing.T) {
	all := []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}
	for name, test := range map[string]struct {
		then func(w *fixture)
		want []string
	}{
		"the same process": {func(*fixture) {}, []string{"www.shop.test A " + strings.Join(all, ",")}},
		"a restart":        {func(w *fixture) { w.stop(); w.start() }, []string{"www.shop.test A " + strings.Join(all, ",")}},
		"other targets":    {func(w *fixture) { w.objects.set("web", record(t, "web", "www.shop.test", "A", "192.0.2.9")) }, []string{"www.shop.test A 192.0.2.9"}},
		"no object":        {func(w *fixture) { w.objects.set("web") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				w.provider = w.inParts(true, withTargets(all[1]), 3)
				w.objects.set("web", record(t, "web", "www.shop.test", "A", all...))
				w.start()
				waitIdle()
				w.expectZone("www.shop.test A 192.0.2.2")
				if n := w.ownershipRecords(); n != 1 {
					t.Errorf("%d ownership records after the failure, want 1", n)
				}
				test.then(w)
				time.Sleep(10 * DefaultInterval)
				w.expectZone(test.want...)
				if n := w.ownershipRecords(); n != len(test.want) {
					t.Errorf("%d ownership records, want %d", n, len(test.want))
				}
			})
		})
	}
}

// A record set that has a target of another writer isn't ours, nor one with some of our targets if
// the provider writes record sets whole. Its ownership record is deleted, and the record set stays
// unchanged.
func TestRecordSetOfAnotherWriterInPlaceOfOurs(t *testing.T) {
	for name, test := range map[string]struct {
		byTarget bool
		there    []string
	}{
		"another target":           {true, []string{"203.0.113.1"}},
		"one of ours, and another": {true, []string{"192.0.2.1", "203.0.113.1"}},
		"more than ours":           {true, []string{"192.0.2.1", "192.0.2.2", "203.0.113.1"}},
		"whole record sets":        {false, []string{"192.0.2.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				w.provider = w.inParts(test.byTarget, withTargets(test.there...), 0)
				w.objects.set("web", record(t, "web", "www.shop.test", "A", "192.0.2.1", "192.0.2.2"))
				w.start()
				waitIdle()
				time.Sleep(10 * DefaultInterval)
				w.expectZone("www.shop.test A " + strings.Join(test.there, ","))
				if n := w.ownershipRecords(); n != 0 {
					t.Errorf("%d ownership records, want none", n)
				}
			})
		})
	}
}

// Targets of several attempts are accepted only for a provider that writes them one by one.
func TestMayBeOursAfterSeveralAttempts(t *testing.T) {
	set := func(recordType string, targets ...string) *dns.RecordSet {
		return &dns.RecordSet{Name: "www.shop.test", Type: recordType, Targets: targets}
	}
	n := &nameState{
		attempts: []*dns.RecordSet{set("A", "192.0.2.1", "192.0.2.2"), set("AAAA", "2001:DB8::1", "2001:db8::2")},
		unseen:   []*dns.RecordSet{set("A", "192.0.2.3")},
	}
	for _, test := range []struct {
		set             *dns.RecordSet
		whole, byTarget bool
	}{
		{set("A", "192.0.2.2", "192.0.2.1"), true, true},
		{set("A", "192.0.2.3"), true, true},
		{set("A", "192.0.2.1"), false, true},
		{set("A", "192.0.2.1", "192.0.2.3"), false, true},
		{set("A", "192.0.2.1", "192.0.2.4"), false, false},
		{set("AAAA", "2001:db8:0::1"), false, true},
		{set("TXT", "192.0.2.1"), false, false},
	} {
		if whole, byTarget := n.mayBeOurs(test.set, false), n.mayBeOurs(test.set, true); whole != test.whole || byTarget != test.byTarget {
			t.Errorf("%s: %t, and %t by target; want %t and %t", line(test.set), whole, byTarget, test.whole, test.byTarget)
		}
	}
	if slices.ContainsFunc([]bool{true, false}, func(byTarget bool) bool { return (&nameState{}).mayBeOurs(set("A", "192.0.2.1"), byTarget) }) {
		t.Error("a record set is ours without an attempt")
	}
}
