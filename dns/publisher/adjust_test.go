package publisher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/inmemorytest"
)

// judging is a provider that adjusts slowly and refuses some names.
type judging struct {
	provider.Provider
	takes time.Duration
	// refuses is the prefix of names that are refused alone. fails is the prefix of names that make a
	// whole call fail.
	refuses, fails string
	// drops makes it store nothing, without an error.
	drops atomic.Bool
	// confused makes it respond with another target, which is to be rechecked.
	confused atomic.Bool
	// ttl is that of records that ask for none.
	ttl    int64
	panics atomic.Bool
	calls  atomic.Int32
}

// adjusts is the operation Adjust, which the provider in memory doesn't have.
const adjusts inmemorytest.Operation = "adjust"

func (j *judging) Adjust(ctx context.Context, _ dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	j.calls.Add(1)
	wait(ctx, j.takes)
	if j.panics.Load() {
		panic("on purpose")
	}
	if j.fails != "" && slices.ContainsFunc(wanted, func(r *dns.RecordSet) bool { return strings.HasPrefix(r.Name, j.fails) }) {
		return nil, errors.New("500 Internal Server Error")
	}
	if j.drops.Load() {
		return make([]provider.Adjusted, len(wanted)), nil
	}
	adjusted := provider.AdjustEach(wanted, func(r *dns.RecordSet) (*dns.RecordSet, error) {
		if j.refuses != "" && strings.HasPrefix(r.Name, j.refuses) {
			return nil, fmt.Errorf("%w: no such luck", provider.ErrRejected)
		}
		stored := r.Clone()
		if stored.TTL == 0 {
			stored.TTL = j.ttl
		}
		if j.confused.Load() && !r.IsOwnershipRecord() {
			stored.Targets = []string{"203.0.113.1"}
		}
		return stored, nil
	})
	for i := range adjusted {
		adjusted[i].Recheck = j.confused.Load()
	}
	return adjusted, nil
}

// A name that Adjust refuses is reported and waits. Other names are published at once (D1).
func TestAdjustRefusesOne(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.provider = &judging{Provider: w.zones, refuses: "bad"}
		w.ask(0, 50, "192.0.2.1")
		w.objects.set("bad", record(t, "bad", "bad."+zoneName, "A", "192.0.2.1"))
		w.start()
		waitIdle()
		w.expectSets(50)
		w.expectNotices(map[string]int{"RecordError FailedSync bad.shop.test A": some, "no such luck": some, "ProviderFailed": 0})
		for i := range 100 {
			w.objects.set("later", record(t, "later", "later."+zoneName, "A", fmt.Sprintf("192.0.2.%d", i)))
			waitIdle()
			if zone := w.zone(); len(zone) != 51 || zone[0] != fmt.Sprintf("later.shop.test A 192.0.2.%d", i) {
				t.Fatalf("change %d: %d records are published, want 51; the first one is %s", i, len(zone), zone[0])
			}
			time.Sleep(time.Second)
		}
		w.objects.set("bad", record(t, "bad", "good."+zoneName, "A", "192.0.2.1"))
		waitIdle()
		w.expectSets(52)
	})
}

// A record set for which the provider stores nothing is shown as failing. The provider is asked again
// after each listing, because its next response may be another one.
func TestAdjustStoresNothing(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		j := &judging{Provider: w.zones}
		w.provider = j
		j.drops.Store(true)
		w.start()
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.1"))
		w.objects.set("gone", record(t, "gone", "gone."+zoneName, "A", "192.0.2.1"))
		waitIdle()
		const reason = "the provider stores no record set like this one: ask for another one"
		expectLines(t, w.rowLines(RowFilter{}), "gone.shop.test A failing "+reason, "www.shop.test A failing "+reason)
		calls := j.calls.Load()
		w.objects.set("gone")
		time.Sleep(3 * DefaultInterval)
		expectLines(t, w.rowLines(RowFilter{}), "www.shop.test A failing "+reason)
		if n := j.calls.Load() - calls; n < 2 || n > 4 {
			t.Errorf("the provider was asked %d times in three intervals", n)
		}
		j.drops.Store(false)
		time.Sleep(DefaultInterval + time.Second)
		w.expectZone("www.shop.test A 192.0.2.1")
		expectLines(t, w.rowLines(RowFilter{}), "www.shop.test A published")
	})
}

// A provider that says that its response may change is asked again after the next listing.
func TestAdjustIsRechecked(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		j := &judging{Provider: w.zones}
		w.provider = j
		j.confused.Store(true)
		w.start()
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.1"))
		waitIdle()
		w.expectZone("www.shop.test A 203.0.113.1")
		calls := j.calls.Load()
		time.Sleep(3 * DefaultInterval)
		if n := j.calls.Load() - calls; n < 2 || n > 4 {
			t.Errorf("the provider was asked %d times in three intervals", n)
		}
		j.confused.Store(false)
		time.Sleep(DefaultInterval + time.Second)
		w.expectZone("www.shop.test A 192.0.2.1")
		calls = j.calls.Load()
		time.Sleep(3 * DefaultInterval)
		if n := j.calls.Load() - calls; n > 0 {
			t.Errorf("the provider was asked %d times about a settled name", n)
		}
	})
}

// If a call of Adjust fails, only the names of that call wait (D1).
func TestAdjustFailsAsAWhole(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		j := &judging{Provider: w.zones, fails: "broken"}
		w.provider = j
		w.objects.set("broken", record(t, "broken", "broken."+zoneName, "A", "192.0.2.1"))
		w.start()
		waitIdle()
		w.expectNotices(map[string]int{"ProviderFailed": some})
		for i := range 20 {
			// The failing name is retried now and then. A name in the same call waits.
			w.objects.set("later", record(t, "later", "later."+zoneName, "A", fmt.Sprintf("192.0.2.%d", i)))
			time.Sleep(2 * time.Second)
			w.expectZone(fmt.Sprintf("later.shop.test A 192.0.2.%d", i))
		}
		if calls := j.calls.Load(); calls > 60 {
			t.Errorf("%d calls", calls)
		}
	})
}

// Names are published although an object changes more often than Adjust responds (D2).
func TestAdjustIsSlow(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.provider = &judging{Provider: w.zones, takes: 300 * time.Millisecond}
		w.start()
		waitIdle()
		for i := range 200 {
			w.objects.set("hot", record(t, "hot", "hot."+zoneName, "A", fmt.Sprintf("192.0.2.%d", i)))
			name := fmt.Sprint("o", i)
			w.objects.set(name, record(t, name, name+"."+zoneName, "A", "192.0.2.1"))
			time.Sleep(100 * time.Millisecond)
			// Names of 2 seconds ago are published, and so is the name that changes all the time.
			if zone := w.zone(); i >= 20 && (len(zone) < i-18 || !strings.HasPrefix(zone[0], "hot.")) {
				t.Fatalf("after %d changes %d records are published: %v", i+1, len(zone), zone[0])
			}
		}
		time.Sleep(2 * time.Second)
		if zone := w.zone(); len(zone) != 201 || zone[0] != "hot.shop.test A 192.0.2.199" {
			t.Errorf("in the end %d records are published, and %s", len(zone), zone[0])
		}
	})
}

// A response for an object that was deleted meanwhile creates nothing.
func TestAdjustOfDeletedObject(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.provider = &judging{Provider: w.zones, takes: time.Second}
		w.start()
		waitIdle()
		w.objects.set("web", record(t, "web", "www."+zoneName, "A", "192.0.2.1"))
		waitIdle()
		w.objects.set("web")
		time.Sleep(5 * time.Second)
		w.expectQuiet()
	})
}

// A record set that a provider stores in another form isn't updated again and again.
func TestAdjustedOnce(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.provider = &judging{Provider: w.zones, ttl: 300}
		var c called
		w.zones.SetHooks(c.hooks(0))
		w.objects.set("a", record(t, "a", "a.shop.test", "A", "192.0.2.1"))
		w.start()
		time.Sleep(5 * DefaultInterval)
		if n := len(c.batches()); n != 1 {
			t.Errorf("%d batches, want 1", n)
		}
	})
}

// Old of each change, also of ownership records, is what Records returns, before and after a
// listing (D19).
func TestOldIsAsListed(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.provider = &judging{Provider: w.zones, ttl: 300}
		olds := 0
		w.zones.SetHooks(inmemorytest.Hooks{Before: func(_ context.Context, c inmemorytest.Call) error {
			for _, change := range c.Changes {
				if change.Old == nil {
					continue
				}
				olds++
				if there := w.zones.Get(change.Old.Key()); there == nil || !sameSet(&dns.RecordSet{
					Name: change.Old.Name, TTL: change.Old.TTL, Targets: change.Old.Targets, Properties: change.Old.Properties,
				}, there) {
					t.Errorf("Old is %v, and the zone has %v", change.Old, there)
				}
			}
			return nil
		}})
		first, second := record(t, "web", "www."+zoneName, "A", "192.0.2.1"), record(t, "web", "www."+zoneName, "A", "192.0.2.2")
		other := record(t, "other", "www."+zoneName, "A", "192.0.2.3")
		w.objects.set("web", first)
		w.start()
		waitIdle()
		for range 2 {
			w.objects.set("web", second)
			waitIdle()
			w.objects.set("web")
			w.objects.setKey(source.Key{Namespace: "default", Name: "other"}, other)
			waitIdle()
			w.objects.set("web", first)
			w.objects.setKey(source.Key{Namespace: "default", Name: "other"})
			waitIdle()
			time.Sleep(2 * DefaultInterval)
		}
		w.objects.set("web")
		waitIdle()
		if olds < 8 {
			t.Errorf("only %d changes had an Old", olds)
		}
	})
}

func identified(t *testing.T, object, id, target string) *dns.RecordSet {
	r := record(t, object, "www."+zoneName, "A", target)
	r.SetIdentifier = id
	return r
}

// A provider without set identifiers isn't written at each interval, and a second record set of a
// name is reported (D8).
func TestWithoutSetIdentifiers(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		w.provider = &altered{Provider: w.zones, capabilities: func(c *provider.Capabilities) {
			c.SetIdentifiers, c.Types = false, []string{dns.TypeA, dns.TypeTXT}
		}}
		w.objects.set("blue", identified(t, "blue", "blue", "192.0.2.1"))
		w.objects.set("green", identified(t, "green", "green", "192.0.2.2"))
		w.objects.set("alias", record(t, "alias", "alias."+zoneName, "CNAME", "lb.example.net"))
		w.start()
		waitIdle()
		w.expectZone("www.shop.test A 192.0.2.1")
		if there := w.zones.Get(dns.Key{Name: "www." + zoneName, Type: "A"}); there == nil {
			t.Errorf("it has an identifier: %v", w.listing())
		}
		w.expectNotices(map[string]int{
			"RecordConflict FailedSync www.shop.test A service/default/blue asks for the A record www.shop.test, too, and comes first": some,
			"the provider doesn't support set identifiers, so it can have only one of these records":                                   some,
			"RecordConflict FailedSync alias.shop.test CNAME the provider has no records of the type CNAME":                            some,
		})
		time.Sleep(5 * DefaultInterval)
		w.expectQuiet()
		w.objects.set("blue")
		waitIdle()
		w.expectZone("www.shop.test A 192.0.2.2")
	})
}
