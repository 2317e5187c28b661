package catalog

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// running runs a catalog in a synctest bubble until the test ends. The test starts a while after the last
// step of the catalog.
func running(t *testing.T) *Catalog {
	c := New(Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := c.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	c.MarkSynced()
	time.Sleep(time.Second)
	return c
}

// observe records the time of each state of the Service web, by the number of its ports, until stop is
// called.
func observe(c *Catalog) (stop func() map[int]time.Duration) {
	seen, begin, done := map[int]time.Duration{}, time.Now(), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for s := c.Service(serviceKey("web")); ; s = c.Service(serviceKey("web")) {
			if s.Service != nil {
				seen[len(s.Service.Ports)] = time.Since(begin)
			}
			select {
			case <-s.Stale():
			case <-done:
				return
			}
		}
	})
	return func() map[int]time.Duration {
		close(done)
		wg.Wait()
		return seen
	}
}

func version(n int) *Service {
	return service("web", func(s *Service) { s.Ports = make([]ServicePort, n) })
}

const ms = time.Millisecond

// A single change is applied at once. Changes in quick succession are applied as one step, after quietDelay
// without a change, or after 50 ms at the latest.
func TestPace(t *testing.T) {
	for name, tc := range map[string]struct {
		puts []time.Duration       // when versions 1, 2, … are put
		want map[int]time.Duration // when which version is seen
	}{
		"one":                        {puts: []time.Duration{0}, want: map[int]time.Duration{1: 0}},
		"three far apart":            {puts: []time.Duration{0, 10 * ms, 20 * ms}, want: map[int]time.Duration{1: 0, 2: 10 * ms, 3: 20 * ms}},
		"the second waits for quiet": {puts: []time.Duration{0, 1 * ms}, want: map[int]time.Duration{1: 0, 2: 4 * ms}},
		"a burst is two steps":       {puts: []time.Duration{0, 1 * ms, 2 * ms, 4 * ms, 6 * ms, 7 * ms}, want: map[int]time.Duration{1: 0, 6: 10 * ms}},
		"a burst, and one later":     {puts: []time.Duration{0, 1 * ms, 2 * ms, 20 * ms}, want: map[int]time.Duration{1: 0, 3: 5 * ms, 4: 20 * ms}},
		"just after the quiet time":  {puts: []time.Duration{0, quietDelay}, want: map[int]time.Duration{1: 0, 2: quietDelay}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := running(t)
				stop, begin := observe(c), time.Now()
				for i, when := range tc.puts {
					time.Sleep(when - time.Since(begin))
					c.Put(version(i + 1))
					synctest.Wait()
				}
				time.Sleep(time.Second)
				if diff := cmp.Diff(tc.want, stop()); diff != "" {
					t.Errorf("seen (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// In a burst of any length, no change waits for more than 50 ms.
func TestPaceOfLongBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := running(t)
		const puts = 500
		stop := observe(c)
		for i := range puts {
			c.Put(version(i + 1))
			time.Sleep(ms)
		}
		time.Sleep(time.Second)
		seen := stop()
		if len(seen) > puts/25 {
			t.Errorf("%d changes were applied in %d steps", puts, len(seen))
		}
		at := time.Duration(-1)
		for i := puts; i > 0; i-- {
			if when, ok := seen[i]; ok {
				at = when
			}
			if put := time.Duration(i-1) * ms; at < 0 || at-put > maxDelay {
				t.Errorf("version %d, put at %v, was seen at %v", i, put, at)
			}
		}
	})
}

// Run ends during a burst of changes.
func TestRunEndsInBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		c.Put(version(1))
		synctest.Wait()
		c.Put(version(2))
		synctest.Wait()
		cancel()
		synctest.Wait()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		default:
			t.Error("Run has not ended")
		}
		if n := len(c.Service(serviceKey("web")).Service.Ports); n != 1 {
			t.Errorf("version %d is applied, want 1", n)
		}
	})
}

// The catalog is synced once all objects are applied that were put before MarkSynced, by any number of
// goroutines.
func TestSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{})
		ctx, cancel := context.WithCancel(t.Context())
		var wg, putters sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		wg.Go(func() { _ = c.Run(ctx) })
		const goroutines, each = 4, 50
		for g := range goroutines {
			putters.Go(func() {
				for i := range each {
					c.Put(service(fmt.Sprintf("s-%d-%d", g, i)))
				}
			})
		}
		putters.Wait()
		time.Sleep(time.Second)
		if isClosed(c.Synced()) {
			t.Fatal("synced before MarkSynced")
		}
		c.Put(service("last"))
		c.MarkSynced()
		<-c.Synced()
		for g := range goroutines {
			for i := range each {
				if _, ok := c.FindService(serviceKey(fmt.Sprintf("s-%d-%d", g, i))); !ok {
					t.Errorf("s-%d-%d was put before but is missing", g, i)
				}
			}
		}
		if _, ok := c.FindService(serviceKey("last")); !ok {
			t.Error("the object that was put last is missing")
		}
		c.MarkSynced() // a second call has no effect
		time.Sleep(time.Second)
	})
}

// Many goroutines may put and read concurrently. In the end, readers get the last state.
func TestConcurrentUse(t *testing.T) {
	c := New(Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var wg, putters sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { _ = c.Run(ctx) })
	final := testObjects()
	for g := range 4 {
		putters.Go(func() {
			for i := range 300 {
				v := final[(i*7+g)%len(final)]
				if i%3 == 0 {
					c.Delete(v.ID())
				} else {
					c.Put(v)
				}
			}
		})
		wg.Go(func() {
			for ctx.Err() == nil {
				s, n := c.Service(serviceKey("both")), c.Node(LocalCluster, "n1")
				Resolve(s, Query{Port: 80, Filter: s.Filters().For(Client{"n1", n.Zone})})
				select {
				case <-s.Stale():
				case <-n.Stale():
				case <-ctx.Done():
				}
			}
		})
	}
	putters.Wait()
	for _, v := range final {
		c.Put(v)
	}
	c.MarkSynced()
	<-c.Synced()
	want := []string{"10.0.0.1:8080 a", "10.0.0.2:8080 b"}
	if diff := cmp.Diff(want, show(Resolve(c.Service(serviceKey("both")), Query{Port: 80}))); diff != "" {
		t.Errorf("after all changes (-want +got):\n%s", diff)
	}
}

// Readers that compute the same addresses concurrently get the same values. Otherwise the addresses of one
// pod would look like those of two.
func TestConcurrentReadersAgree(t *testing.T) {
	const services = 8
	objects := []Object{pod("a")}
	name := func(i int) string { return fmt.Sprint("web-", i) }
	for i := range services {
		objects = append(objects, service(name(i)), slice(name(i)+"-4", name(i), IPv4, at("10.0.0.1", podKey("a"))), slice(name(i)+"-6", name(i), IPv6, at("fd00::1", podKey("a"))))
	}
	c := started(objects...)
	for range 300 {
		apply(c, pod("a"))
		var wg sync.WaitGroup
		for i := range services {
			wg.Go(func() {
				s := c.Service(serviceKey(name(i)))
				defer s.Release()
				if diff := cmp.Diff([]string{"[fd00::1]:8080 a"}, show(Resolve(s, Query{Port: 80, IPv6: true}))); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name(i), diff)
				}
			})
		}
		wg.Wait()
	}
}
