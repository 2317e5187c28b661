package azure

import (
	"testing"

	"github.com/signpostd/signpost/testkit/azuretest"
)

// If a type change fails after an alias was deleted, the alias is created again with its resource, and not as an
// empty record set.
func TestUndoneDeletionOfAnAlias(t *testing.T) {
	withFixture(t, func(w *fixture) {
		w.Settle(2, set("a.shop.test", "A", "192.0.2.1"))
		alias := address("a", "")
		alias.A, alias.TargetResource = nil, &azuretest.Resource{ID: "/subscriptions/x/ip"}
		w.server.Set(zoneName, alias)
		w.before(func(c azuretest.Call) *azuretest.Fault {
			if c.Operation == azuretest.Put && c.Type == "CNAME" {
				return azuretest.Refused
			}
			return nil
		})
		requests, err := w.Run(set("a.shop.test", "CNAME", "lb.example.net"))
		if err == nil {
			t.Error("the refusal isn't reported")
		}
		if requests[azuretest.Delete] == 0 {
			t.Errorf("the alias wasn't deleted: %v", requests)
		}
		if r := w.server.Get(zoneName, "a", "A"); r == nil || r.TargetResource == nil || r.TargetResource.ID != alias.TargetResource.ID {
			t.Errorf("after the refusal the name has %+v, want the alias", r)
		}
	})
}
