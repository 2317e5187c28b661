package publisher

import (
	"testing"
	"time"

	"github.com/signpostd/signpost/dns/source"
)

// Two objects of different kinds and one name are distinct: when one is deleted, the records of the
// other stay.
func TestTwoKinds(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		route := source.Key{Kind: "IngressRoute.traefik.io", Namespace: "default", Name: "web"}
		tcp := source.Key{Kind: "IngressRouteTCP.traefik.io", Namespace: "default", Name: "web"}
		w.objects.setKey(route, record(t, "web", "a.shop.test", "A", "192.0.2.1"))
		w.objects.setKey(tcp, record(t, "web", "b.shop.test", "A", "192.0.2.2"))
		w.start()
		waitIdle()
		w.expectZone("a.shop.test A 192.0.2.1", "b.shop.test A 192.0.2.2")
		w.objects.setKey(tcp)
		time.Sleep(2 * DefaultInterval)
		w.expectZone("a.shop.test A 192.0.2.1")
	})
}
