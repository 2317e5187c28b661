package publisher

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/inmemorytest"
)

// If thousands of objects ask for one name and some of them change, the name is planned once for
// all of them, and the cost depends on the number of objects, not on its square. One namespace could
// stop the loop for minutes otherwise.
func TestManyObjectsOfOneName(t *testing.T) {
	const objects, changes = 1500, 80
	for _, name := range []string{"own." + zoneName, "unzoned.example.net"} {
		t.Run(name, func(t *testing.T) {
			withFixture(t, func(t *testing.T, w *fixture) {
				ask := func(i, version int) {
					w.asks("tenant", fmt.Sprint("o", i), name, "A", fmt.Sprintf("10.%d.%d.%d", version, i>>8, i&255))
				}
				for i := range objects {
					ask(i, 0)
				}
				w.start()
				waitIdle()
				before := allocated()
				w.inOnePass(func() {
					for i := range changes {
						ask(i, 1)
					}
				})
				time.Sleep(10 * time.Second)
				const perObject = 20_000
				if n := allocated() - before; n > perObject*objects {
					t.Errorf("%d bytes were allocated for %d changes, want at most %d for each of %d objects", n, changes, perObject, objects)
				}
			})
		})
	}
}

// Objects that take long to evaluate, such as headless Services with thousands of pods, delay those of
// another namespace by the time of few of them.
func TestSlowObjects(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		const takes = 50 * time.Millisecond
		w.change = func(c *Config) {
			c.Sources[0].Evaluate = func(key source.Key) source.Result {
				if key.Namespace == "tenant" {
					time.Sleep(takes)
				}
				return w.objects.evaluate(key)
			}
		}
		w.start()
		waitIdle()
		for i := range 400 {
			w.asks("tenant", fmt.Sprint("o", i), fmt.Sprintf("o%d.%s", i, zoneName), "A", "192.0.2.1")
		}
		time.Sleep(takes)
		w.asks("bank", "www", "www."+zoneName, "A", "192.0.2.1")
		time.Sleep(10 * takes)
		if w.zones.Get(dns.Key{Name: "www." + zoneName, Type: "A"}) == nil {
			t.Errorf("the name of another namespace isn't published after %v", 10*takes)
		}
		time.Sleep(time.Minute)
		w.expectSets(401)
	})
}

// Inspections of thousands of objects that ask for one name merge their record sets once, and not for
// each of them: the statuses of as many DNSEndpoints are written after each change of the name.
func TestOutcomesOfManyObjects(t *testing.T) {
	withFixture(t, func(t *testing.T, w *fixture) {
		const objects = 1500
		ask := func(i int, target string) { w.asks("tenant", fmt.Sprint("o", i), "many."+zoneName, "A", target) }
		for i := range objects {
			ask(i, fmt.Sprintf("10.0.%d.%d", i>>8, i&255))
		}
		w.start()
		waitIdle()
		o := Outcomes(func() *Publisher { return w.publisher }, "service")
		outcome := func(i int) *source.Outcome {
			got, err := o.Outcome(t.Context(), source.Key{Kind: "Service", Namespace: "tenant", Name: fmt.Sprint("o", i)})
			if err != nil || got == nil {
				t.Fatal(got, err)
			}
			return got
		}
		before := allocated()
		for i := range 200 {
			if got := outcome(i); !got.Programmed.True {
				t.Errorf("object %d: %+v", i, got.Programmed)
			}
		}
		const perObject = 20_000
		if n := allocated() - before; n > perObject*objects {
			t.Errorf("%d bytes were allocated for 200 outcomes, want at most %d for each of %d objects", n, perObject, objects)
		}
		// What is kept ends with the next change.
		w.failing(provider.ErrRejected, inmemorytest.Apply)
		ask(1, "10.1.0.1")
		waitIdle()
		if got := outcome(1); got.Programmed.True {
			t.Errorf("after a refused change: %+v", got.Programmed)
		}
	})
}

// allocated returns how many bytes the process has allocated.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// A log line about a record set has its first targets and the number of the others.
func TestLoggedTargets(t *testing.T) {
	r := &dns.RecordSet{Name: "many.shop.test", Type: "A"}
	for i := range 20_000 {
		r.Targets = append(r.Targets, fmt.Sprintf("10.0.%d.%d", i>>8, i&255))
	}
	before := &dns.RecordSet{Name: r.Name, Type: r.Type, Targets: slices.Clone(r.Targets)}
	before.Targets[0] = "10.1.0.0"
	text := describe(dns.Change{Old: before, New: r})
	if len(text) > 2000 || strings.Count(text, "and 19980 more") != 2 || !strings.Contains(text, "10.0.0.19") {
		t.Errorf("%d bytes: %.600s", len(text), text)
	}
	few := &dns.RecordSet{Name: "few.shop.test", Type: "TXT", Targets: []string{strings.Repeat("x", 100_000)}}
	if text := describe(dns.Change{New: few}); len(text) > 2000 {
		t.Errorf("%d bytes for one long target", len(text))
	}
}

// A log line about an update says what is updated, also if the targets stay.
func TestLoggedUpdates(t *testing.T) {
	old := dns.RecordSet{Name: "www.shop.test", Type: "A", Targets: []string{"192.0.2.1"}, TTL: 300}
	for want, update := range map[string]func(r *dns.RecordSet){
		"update www.shop.test A [192.0.2.2], was [192.0.2.1]":              func(r *dns.RecordSet) { r.Targets = []string{"192.0.2.2"} },
		"update www.shop.test A [192.0.2.2], was [192.0.2.1], ttl was 300": func(r *dns.RecordSet) { r.Targets, r.TTL = []string{"192.0.2.2"}, 60 },
		"update www.shop.test A [192.0.2.1], ttl was 300":                  func(r *dns.RecordSet) { r.TTL = 60 },
		"update www.shop.test A [192.0.2.1], other properties":             func(r *dns.RecordSet) { r.Properties = []dns.Property{{Name: "alias", Value: "true"}} },
		"update www.shop.test A [192.0.2.1], ownership record":             func(r *dns.RecordSet) { r.Labels = map[string]string{dns.LabelResource: "service/shop/web"} },
	} {
		updated := old
		update(&updated)
		if got := describe(dns.Change{Old: &old, New: &updated}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
