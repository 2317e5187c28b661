package publisher

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/testkit/inmemorytest"
)

// A record set that can't stand beside one whose deletion is delayed waits for that deletion, because
// servers refuse a batch with it as a whole. Each case has the weighted record sets A/a and A/b, of
// which the second one is no longer wanted.
func TestReplacementOfDelayedDeletions(t *testing.T) {
	const www = "www." + zoneName
	tests := map[string]struct {
		recordType, id, target string
		// waits is true if the new record set can't be created at once.
		waits bool
	}{
		"a CNAME of the same set identifier":   {"CNAME", "a", "elsewhere.example", true},
		"a CNAME of another set identifier":    {"CNAME", "c", "elsewhere.example", true},
		"a CNAME without a set identifier":     {"CNAME", "", "elsewhere.example", true},
		"an address without a set identifier":  {"A", "", "192.0.2.3", true},
		"an address of another set identifier": {"A", "c", "192.0.2.3", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFixture(t)
				w.change = func(c *Config) { c.DeletionDelay = 5 * time.Second }
				var rejected atomic.Int32
				w.zones.SetHooks(inmemorytest.Hooks{After: func(_ context.Context, _ inmemorytest.Call, err error) error {
					if err != nil {
						rejected.Add(1)
					}
					return err
				}})
				weighted := func(object, recordType, id, target string) *dns.RecordSet {
					r := record(t, object, www, recordType, target)
					r.SetIdentifier = id
					return r
				}
				w.objects.set("a", weighted("a", "A", "a", "192.0.2.1"))
				w.objects.set("b", weighted("b", "A", "b", "192.0.2.2"))
				w.start()
				defer w.stop()
				waitIdle()
				w.inOnePass(func() {
					w.objects.set("a", weighted("a", test.recordType, test.id, test.target))
					w.objects.set("b")
					w.objects.set("other", record(t, "other", "other."+zoneName, "A", "192.0.2.9"))
				})
				waitIdle()
				created := www + " " + test.recordType + " " + test.target
				if test.waits {
					w.expectZone("other."+zoneName+" A 192.0.2.9", www+" A 192.0.2.1", www+" A 192.0.2.2")
				} else if n := len(w.zone()); n != 4 {
					t.Errorf("zone: %v, want the new record set at once", w.zone())
				}
				time.Sleep(5 * time.Second)
				w.expectZone("other."+zoneName+" A 192.0.2.9", created)
				if n := rejected.Load(); n > 0 {
					t.Errorf("%d batches were rejected", n)
				}
			})
		})
	}
}
