package publisher

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signpostd/signpost/dns/desired"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// contested makes a fixture with two sources that read from two tables, and whose objects ask for
// one name with different targets. That of the ingress has to win. Listen has the objects of the
// ingress table arrive; it is called once there is a publisher.
func contested(t *testing.T) (w *fixture, ingresses, services *table, listen func()) {
	w = newFixture(t)
	ingresses, services = &table{status: kube.TableStatus{Required: true}}, &table{status: kube.TableStatus{Required: true}}
	other := newObjects("ingress")
	other.set("i", record(t, "i", "www.shop.test", "A", "192.0.2.1"))
	w.objects.set("s", record(t, "s", "www.shop.test", "A", "192.0.2.2"))
	w.objects.set("alone", record(t, "alone", "alone.shop.test", "A", "192.0.2.3"))
	w.change = func(c *Config) {
		c.Sources = []NamedSource{
			{Name: "service", Source: source.Source{Tables: []kube.AnyTable{services}, Evaluate: w.objects.evaluate}},
			{Name: "ingress", Source: source.Source{Tables: []kube.AnyTable{ingresses}, Evaluate: other.evaluate}},
		}
		c.Desired = desiredOf(t, desired.Options{Sources: []string{"service", "ingress"}})
	}
	return w, ingresses, services, func() { other.listen(Changed(func() *Publisher { return w.publisher }, 1)) }
}

// The order in which tables are filled doesn't decide who gets a new name (W12), and a name that
// two objects share is planned only after both were evaluated (W11).
func TestNothingIsPlannedBeforeAllSources(t *testing.T) {
	const ours, alone = "www.shop.test A 192.0.2.1", "alone.shop.test A 192.0.2.3"
	for _, test := range []struct {
		name string
		// play lets tables be read.
		play func(ingresses, services *table)
		want []string
	}{
		{"the service first", func(i, s *table) {
			s.set(kube.Synced, "")
			time.Sleep(10 * time.Second)
			i.set(kube.Synced, "")
		}, []string{ours, alone}},
		{"the ingress first", func(i, s *table) {
			i.set(kube.Synced, "")
			time.Sleep(10 * time.Second)
			s.set(kube.Synced, "")
		}, []string{ours, alone}},
		{"nothing is planned before", func(_, s *table) {
			s.set(kube.Synced, "")
			time.Sleep(responseTimeout - time.Second)
		}, nil},
		{"what may not be read is waited for a little", func(i, s *table) {
			i.set(kube.Waiting, kube.Forbidden)
			s.set(kube.Synced, "")
			time.Sleep(failureTimeout / 2)
			i.set(kube.Synced, "")
		}, []string{ours, alone}},
		{"and then no longer", func(i, s *table) {
			i.set(kube.Waiting, kube.Forbidden)
			s.set(kube.Synced, "")
			time.Sleep(failureTimeout)
		}, []string{"www.shop.test A 192.0.2.2", alone}},
		{"a server that fails is waited for a little", func(i, s *table) {
			i.set(kube.Waiting, kube.Unreachable)
			s.set(kube.Synced, "")
			time.Sleep(failureTimeout / 2)
			i.set(kube.Synced, "")
		}, []string{ours, alone}},
		{"and no longer", func(i, s *table) {
			i.set(kube.Waiting, kube.Unreachable)
			s.set(kube.Synced, "")
			time.Sleep(failureTimeout)
		}, []string{"www.shop.test A 192.0.2.2", alone}},
		{"an outage doesn't count", func(i, s *table) {
			i.set(kube.Waiting, kube.Unreachable)
			s.set(kube.Waiting, kube.Unreachable)
			time.Sleep(10 * time.Minute)
			s.set(kube.Synced, "")
			time.Sleep(time.Second)
			i.set(kube.Synced, "")
		}, []string{ours, alone}},
		{"a list that hangs is waited for a little", func(i, s *table) {
			s.set(kube.Synced, "")
			time.Sleep(responseTimeout)
		}, []string{"www.shop.test A 192.0.2.2", alone}},
		{"a long one for longer", func(i, s *table) {
			s.set(kube.Synced, "")
			for range 20 {
				time.Sleep(5 * time.Second)
				i.contacted()
			}
			i.set(kube.Synced, "")
		}, []string{ours, alone}},
		{"and not for ever", func(i, s *table) {
			s.set(kube.Synced, "")
			for range 25 {
				time.Sleep(5 * time.Second)
				i.contacted()
			}
		}, []string{"www.shop.test A 192.0.2.2", alone}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, ingresses, services, listen := contested(t)
				w.start()
				defer w.stop()
				waitIdle()
				ingresses.fill = listen
				test.play(ingresses, services)
				time.Sleep(2 * settling)
				waitIdle()
				w.expectZone(test.want...)
			})
		})
	}
}

// contacted records that the server has sent something.
func (t *table) contacted() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.status.LastContact = time.Now()
}

// A plan shows the winner that the publisher then publishes, in whatever order tables are filled
// (W12).
func TestPlanShowsTheWinner(t *testing.T) {
	for _, serviceFirst := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w, ingresses, services, listen := contested(t)
			sources := w.change
			w.change = func(c *Config) {
				sources(c)
				c.DryRun = true
			}
			first, second := ingresses, services
			if serviceFirst {
				first, second = services, ingresses
			}
			settled := make(chan struct{})
			p := w.make()
			ingresses.fill = listen
			first.set(kube.Synced, "")
			time.AfterFunc(3*time.Second, func() {
				second.set(kube.Synced, "")
				close(settled)
			})
			plans, err := p.Once(t.Context(), settled, Within(onceLimit))
			if err != nil {
				t.Fatal(err)
			}
			if len(plans[0].Changes) != 2 || plans[0].Changes[1].New.Targets[0] != "192.0.2.1" {
				t.Errorf("the plan: %v", describeChanges(plans[0].Changes))
			}
		})
	}
}
