package publisher

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/testkit/crdtest"
	"github.com/signpostd/signpost/testkit/dynamodbtest"
)

// In these tests the registry is outside of the zones, so it has one claim for a name, and the provider lists the
// public zone only after a while. Before that, the private zone of the same name holds all names.
var publicZone, privateZone = dns.Zone{ID: zoneName, Name: zoneName}, dns.Zone{ID: "private/" + zoneName, Name: zoneName, Private: true}

// withLatePublicZone runs a test with each registry. The names that are given are published in the private zone.
// show makes the provider list the public zone, or not list it any more, and waits until the budget for its records
// isn't limited by the new zone.
func withLatePublicZone(t *testing.T, test func(w *fixture, show func(bool)), names ...string) {
	for _, kind := range []string{"crd", "dynamodb"} {
		t.Run(kind, func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				if err := w.zones.CreatePrivateZone(zoneName); err != nil {
					t.Fatal(err)
				}
				open := inTable(dynamodbtest.New(t))
				if kind == "crd" {
					open = inCluster(crdtest.New(t))
				}
				me, err := open("me", nil)
				if err != nil {
					t.Fatal(err)
				}
				w.change = func(c *Config) { c.Owner = me }
				show := w.hide(publicZone)
				for _, name := range names {
					w.objects.set(name, record(t, name, name+"."+zoneName, "A", "192.0.2.1"))
				}
				w.start()
				time.Sleep(2 * DefaultInterval)
				test(w, func(shown bool) {
					show(shown)
					time.Sleep(30 * DefaultInterval)
				})
			})
		})
	}
}

// hide has the provider not list a zone, until the returned function is called with true.
func (w *fixture) hide(zone dns.Zone) (show func(bool)) {
	var shown atomic.Bool
	w.provider = &altered{Provider: w.zones, zones: func(zones []dns.Zone) []dns.Zone {
		return slices.DeleteFunc(zones, func(z dns.Zone) bool { return !shown.Load() && z.Key() == zone.Key() })
	}}
	return shown.Store
}

// planted creates a record in a zone, as a person does.
func (w *fixture) planted(zone dns.Zone, name, target string) {
	w.t.Helper()
	r := &dns.RecordSet{Name: name + "." + zoneName, Type: "A", TTL: 300, Targets: []string{target}}
	if err := w.zones.Apply(w.t.Context(), zone, []dns.Change{{New: r}}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *fixture) expectIn(zone dns.Zone, want ...string) {
	w.t.Helper()
	if got := describeAll(w.in(zone)); !slices.Equal(got, want) {
		w.t.Errorf("zone %s has %q, want %q", zone.ID, got, want)
	}
}

// A public zone appears. What somebody else has put into it isn't ours only because we have published its name in
// the private zone.
func TestClaimsOfAnotherZone(t *testing.T) {
	withLatePublicZone(t, func(w *fixture, show func(bool)) {
		w.planted(publicZone, "gone", "203.0.113.1")
		w.planted(publicZone, "www", "203.0.113.1")
		show(true)
		w.objects.set("gone")
		w.objects.set("www", record(w.t, "www", "www."+zoneName, "A", "192.0.2.2"))
		w.objects.set("new", record(w.t, "new", "new."+zoneName, "A", "192.0.2.2"))
		time.Sleep(3 * DefaultInterval)
		w.expectIn(publicZone, "gone.shop.test A 203.0.113.1", "new.shop.test A 192.0.2.2", "www.shop.test A 203.0.113.1")
	}, "gone", "new", "www")
}

// A public zone appears, with copies of our records. They are ours.
func TestClaimsOfACopiedZone(t *testing.T) {
	withLatePublicZone(t, func(w *fixture, show func(bool)) {
		w.planted(publicZone, "gone", "192.0.2.1")
		w.planted(publicZone, "www", "192.0.2.1")
		show(true)
		w.objects.set("gone")
		w.objects.set("www", record(w.t, "www", "www."+zoneName, "A", "192.0.2.2"))
		time.Sleep(3 * DefaultInterval)
		w.expectIn(publicZone, "www.shop.test A 192.0.2.2")
	}, "gone", "www")
}

// The public zone is listed for a while, and our names get other targets there. The records in the private zone are
// still ours when only that is listed again.
func TestClaimsOfAFormerZone(t *testing.T) {
	withLatePublicZone(t, func(w *fixture, show func(bool)) {
		for i := range 3 {
			show(true)
			for j := range 6 {
				target := fmt.Sprintf("192.0.2.%d", 10*i+j+2)
				w.objects.set("www", record(w.t, "www", "www."+zoneName, "A", target))
				time.Sleep(3 * DefaultInterval)
				w.expectIn(publicZone, "www.shop.test A "+target)
			}
			show(false)
			w.expectIn(privateZone, fmt.Sprintf("www.shop.test A 192.0.2.%d", 10*i+7))
		}
		w.objects.set("www")
		time.Sleep(30 * DefaultInterval)
		w.expectIn(privateZone)
	}, "www")
}

// A child zone isn't listed for a while, and the parent can't have its names. The record in the child zone is still
// ours when it is listed again.
func TestClaimsOfAChildZone(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		child := dns.Zone{ID: "eu." + zoneName, Name: "eu." + zoneName}
		w.createZone(child.Name)
		show := w.hide(child)
		show(true)
		me, err := inTable(dynamodbtest.New(t))("me", nil)
		if err != nil {
			t.Fatal(err)
		}
		w.change = func(c *Config) { c.Owner = me }
		ask := func(target string) {
			w.objects.set("a", record(t, "a", "a."+child.Name, "A", target))
			time.Sleep(30 * DefaultInterval)
		}
		w.start()
		ask("192.0.2.1")
		show(false)
		for i := range 6 {
			ask(fmt.Sprint("192.0.2.", i+2))
		}
		show(true)
		time.Sleep(30 * DefaultInterval)
		w.expectIn(child, "a.eu.shop.test A 192.0.2.7")
		w.objects.set("a")
		time.Sleep(30 * DefaultInterval)
		w.expectIn(child)
	})
}
