package publisher

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/crdtest"
	"github.com/signpostd/signpost/testkit/dynamodbtest"
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
	w := newFixture(t)
	var table *dynamodbtest.Table
	var server *crdtest.Server
	if kind == "crd" {
		server = crdtest.New(t)
	} else {
		table = dynamodbtest.New(t)
	}
	w.change = func(c *Config) {
		open := inTable(table)
		if server != nil {
			open = inCluster(server)
		}
		o, err := open("me", nil)
		if err != nil {
			t.Fatal(err)
		}
		c.Owner = o
	}
	w.objects.set("web", record(t, "web", "web.shop.test", "A", "192.0.2.1"))
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer running.Wait()
	defer cancel()
	run := func(p *Publisher) { running.Go(func() { _ = p.Run(ctx) }) }
	lead := func(p *Publisher) (end func()) {
		term, stop := context.WithCancel(ctx)
		running.Go(func() { _ = p.Lead(term) })
		waitIdle()
		return func() { stop(); waitIdle() }
	}
	first := w.make()
	run(first)
	end := lead(first)
	end()
	second := w.make()
	run(second)
	end = lead(second)
	w.objects.set("api", record(t, "api", "api.shop.test", "A", "192.0.2.1"))
	w.objects.set("web")
	waitIdle()
	w.expectZone("api.shop.test A 192.0.2.1")
	end()
	// Both processes watch the objects.
	w.objects.listen(Changed(func() *Publisher { return first }, 0))
	w.objects.changedKey(source.Key{Namespace: "default", Name: "web"})
	waitIdle()
	end = lead(first)
	defer end()
	w.objects.set("api", record(t, "api", "api.shop.test", "A", "192.0.2.2"))
	waitIdle()
	w.expectZone("api.shop.test A 192.0.2.2")
}
