package azure

import (
	"slices"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/testkit/azuretest"
)

// The listing is behind and lacks what an earlier process has written. Azure refuses to create it again, and
// each set, read singly, is as wanted: the run succeeds and changes nothing (clouds F11).
func TestListingBehind(t *testing.T) {
	inBoth(t, func(w *fixture) {
		wanted := []*dns.RecordSet{set("a.shop.test", "A", "192.0.2.1"), set("c.shop.test", "CNAME", "lb.example.net")}
		w.server.SetLag(time.Minute)
		if _, err := w.Run(wanted...); err != nil {
			t.Fatal(err)
		}
		before := w.server.Sets(zoneName)
		requests, err := w.Run(wanted...)
		if err != nil {
			t.Errorf("the second run ends with %v", err)
		}
		if w.server.Refused() == 0 {
			t.Errorf("nothing was refused, so that the listing wasn't behind: %v", requests)
		}
		after := w.server.Sets(zoneName)
		if !slices.EqualFunc(before, after, func(a, b azuretest.RecordSet) bool { return a.Name == b.Name && a.ETag == b.ETag }) {
			t.Errorf("the zone has %v, had %v", after, before)
		}
	})
}

// What somebody else has made meanwhile isn't taken over, although it is what is wanted: it gets no ownership
// record (clouds F11).
func TestListingBehindAPerson(t *testing.T) {
	inBoth(t, func(w *fixture) {
		w.before(func(c azuretest.Call) *azuretest.Fault {
			if c.Operation == azuretest.Put && c.Name == "a-a" {
				w.server.Set(zoneName, address("a", "192.0.2.1"))
			}
			return nil
		})
		requests, err := w.Run(set("a.shop.test", "A", "192.0.2.1"))
		if w.server.Refused() == 0 {
			t.Errorf("the person wasn't in the way: %v, error %v", requests, err)
		}
		w.Expect("a A 192.0.2.1")
		if n := w.OwnershipRecords(); n > 0 {
			t.Errorf("there are %d ownership records: %v", n, w.server.Sets(zoneName))
		}
	})
}
