package publisher

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/inmemorytest"
)

const childName = "eu.shop.test"

// refusedChanges are the changes that a provider refuses: of a name in a zone, or all of the zone.
type refusedChanges struct {
	zone, subject string
	// whole refuses all changes of a call.
	whole bool
}

// An apex record has its ownership record in the zone above. Whichever of the two changes fails, no
// record is left without an ownership record.
func TestOwnershipInTheZoneAbove(t *testing.T) {
	for name, test := range map[string]struct {
		refused refusedChanges
		// exists is true if the record is deleted, and not created.
		exists bool
	}{
		"creation, ownership record refused":    {refused: refusedChanges{zone: zoneName, subject: childName}},
		"creation, zone above can't be changed": {refused: refusedChanges{zone: zoneName, whole: true}},
		"creation, record refused":              {refused: refusedChanges{zone: childName, subject: childName}},
		"deletion, record refused":              {refused: refusedChanges{zone: childName, subject: childName}, exists: true},
		"deletion, ownership record refused":    {refused: refusedChanges{zone: zoneName, subject: childName}, exists: true},
		"deletion, the zone can't be changed":   {refused: refusedChanges{zone: childName, whole: true}, exists: true},
		"deletion, zone above can't be changed": {refused: refusedChanges{zone: zoneName, whole: true}, exists: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playZoneAbove(t, test.refused, test.exists) })
		})
	}
}

func playZoneAbove(t *testing.T, refused refusedChanges, exists bool) {
	w := newFixture(t)
	w.createZone(childName)
	var refuses atomic.Bool
	w.store = establishedIn(zoneName, childName)
	w.judging(func(_ int, zone dns.Zone, c dns.Change) error {
		if refuses.Load() && zone.Name == refused.zone && c.Subject() == refused.subject {
			return fmt.Errorf("%w: no", provider.ErrRejected)
		}
		return nil
	})
	w.zones.SetHooks(inmemorytest.Hooks{Before: func(_ context.Context, c inmemorytest.Call) error {
		if refuses.Load() && refused.whole && c.Operation == inmemorytest.Apply && c.Zone.Name == refused.zone {
			return fmt.Errorf("%w: no right to change %s", provider.ErrCredentials, c.Zone.Name)
		}
		return nil
	}})
	w.change = ownedBy(t, owner.TXTOptions{OwnerID: "me"})
	w.start()
	defer w.stop()
	waitIdle()
	apex := record(t, "apex", childName, "A", "192.0.2.1")
	if exists {
		w.objects.set("apex", apex)
		waitIdle()
	}
	refuses.Store(true)
	w.inOnePass(func() {
		// The change of another name comes first in the batch.
		w.objects.set("a", record(t, "a", "a."+childName, "A", "192.0.2.1"))
		if exists {
			w.objects.set("apex")
		} else {
			w.objects.set("apex", apex)
		}
	})
	for range 5 {
		time.Sleep(DefaultInterval)
		there := w.zones.Get(apex.Key())
		ownership := w.zones.Get(dns.Key{Name: "a-" + childName, Type: dns.TypeTXT})
		if there != nil && ownership == nil {
			t.Fatalf("the record has no ownership record; zone: %v", w.zone())
		}
	}
	if other := "a." + childName + " A 192.0.2.1"; !slices.Contains(w.zone(), other) && (!refused.whole || refused.zone == zoneName) {
		t.Errorf("the other name waits; zone: %v", w.zone())
	}
	refuses.Store(false)
	time.Sleep(5 * DefaultInterval)
	if there := slices.Contains(w.zone(), childName+" A 192.0.2.1"); there == exists {
		t.Errorf("the record exists: %v", there)
	}
}
