package google

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/signpostd/signpost/testkit/clouddnstest"
)

// A record set of ours got a routing policy by hand. It stays, with its ownership record, and the other types of its
// name are updated, created and deleted as ever.
func TestRoutingPolicyBesideOtherTypes(t *testing.T) {
	withFixture(t, func(w *fixture) {
		a, six := set("a.shop.test", "A", "192.0.2.1"), set("a.shop.test", "AAAA", "2001:db8::1")
		w.Settle(1, a, six)
		const policy = `{"geo":{"items":[{"location":"us-east1","rrdatas":["192.0.2.9"]}]}}`
		w.server.Put(shop, clouddnstest.RecordSet{Name: "a.shop.test", Type: "A", TTL: 300, Policy: json.RawMessage(policy)})
		if _, err := w.Run(set("a.shop.test", "A", "192.0.2.2"), set("a.shop.test", "AAAA", "2001:db8::2")); err == nil || !strings.Contains(err.Error(), "has a routing policy") {
			t.Errorf("updated: %v", err)
		}
		w.Expect("a A "+policy, "a AAAA 2001:db8::2")
		if _, err := w.Run(); err == nil || !strings.Contains(err.Error(), "has a routing policy") {
			t.Errorf("deleted: %v", err)
		}
		w.Expect("a A " + policy)
		if n := w.OwnershipRecords(); n != 1 {
			t.Errorf("%d ownership records are left, want that of the record set with the policy", n)
		}
		if _, err := w.Run(a, six); err == nil || !strings.Contains(err.Error(), "has a routing policy") {
			t.Errorf("created: %v", err)
		}
		w.Expect("a A "+policy, "a AAAA 2001:db8::1")
		// A CNAME isn't possible beside it, and nothing is deleted for one.
		if _, err := w.Run(set("a.shop.test", "CNAME", "lb.example.net")); err == nil {
			t.Error("a CNAME was published beside the record set with the policy")
		}
		w.Expect("a A "+policy, "a AAAA 2001:db8::1")
	})
}
