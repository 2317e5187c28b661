package publisher

import (
	"testing"
	"testing/synctest"
)

// A process that leads again knows the claims that another leader has written meanwhile.
func TestClaimsOfTheOtherLeader(t *testing.T) {
	for _, kind := range []string{"crd", "dynamodb"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playLeaderChange(t, kind) })
		})
	}
}

func playLeaderChange(t *testing.T, kind string) {
	open := newOwnership(t, kind).open
	first := newFixture(t)
	first.standby = true
	first.change = func(c *Config) {
		o, err := open("me", nil)
		if err != nil {
			t.Fatal(err)
		}
		c.Owner = o
	}
	second := inZone(first)
	second.standby, second.change = true, first.change
	for _, w := range []*fixture{first, second} {
		w.start()
		defer w.stop()
	}
	// Both processes watch the objects.
	ask := func(name string, targets ...string) {
		for _, w := range []*fixture{first, second} {
			w.asks("default", name, name+".shop.test", "A", targets...)
		}
		waitIdle()
	}
	ask("web", "192.0.2.1")
	first.lead()
	waitIdle()
	first.endTerm()
	second.lead()
	ask("api", "192.0.2.1")
	ask("web")
	first.expectZone("api.shop.test A 192.0.2.1")
	second.endTerm()
	waitIdle()
	first.lead()
	ask("api", "192.0.2.2")
	first.expectZone("api.shop.test A 192.0.2.2")
}
