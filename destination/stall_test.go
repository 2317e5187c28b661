package destination

import (
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/signpostd/signpost/catalog"
)

const overflowSeries = `endpoint_updates_queue_overflow{service="web.ns.svc.mycluster.local:80"}`

// stalled returns a fixture whose Service has so many endpoints that a client that doesn't read blocks the
// second message of its stream, and a function that makes changes.
func stalled(t *testing.T) (f *fixture, change func()) {
	t.Helper()
	objects, s := manyEndpoints(2000)
	f = start(t, testConfig(), objects...)
	left := 0
	return f, func() {
		left = 1 + left%2 // of the first two endpoints, one is left out, or both
		next := *s
		next.Subsets = []catalog.Subset{{Ports: s.Subsets[0].Ports, Endpoints: s.Subsets[0].Endpoints[left:]}}
		f.change(put(&next))
	}
}

// A client that doesn't read delays no other client and isn't disconnected. When it reads again, it gets the
// right endpoints. If it missed more changes than the ring has, an overflow is counted (§6).
func TestStalledClient(t *testing.T) {
	for name, tc := range map[string]struct {
		changes   int
		conflated float64
		messages  int // that the stalled client gets
	}{
		"no change":                 {0, 0, 1},
		"one change":                {1, 0, 2},
		"as many as the ring holds": {1 + ringSize, 0, 2 + ringSize},
		"one more":                  {2 + ringSize, 1, 3},
		"many more":                 {5 * ringSize, 1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, change := stalled(t)
				slow, quick := f.getStalled(getPath, ""), f.get(getPath, "")
				f.settle()
				quick.newMessages()
				for i := range tc.changes {
					change()
					if n := len(quick.newMessages()); n == 0 {
						t.Fatalf("change %d has not reached the client that reads", i)
					}
				}
				if got := slow.ended(); got != "open" || len(slow.newMessages()) != 0 {
					t.Fatalf("the stalled client: %s", got)
				}
				close(slow.reads)
				f.settle()
				updates := slow.newMessages()
				if len(updates) != tc.messages {
					t.Errorf("%d messages, want %d", len(updates), tc.messages)
				}
				fresh := f.get(getPath, "")
				f.settle()
				if got, want := receivedFrom(updates), receivedFrom(fresh.newMessages()); !maps.Equal(got, want) {
					t.Errorf("the stalled client has %d addresses, a new one %d", len(got), len(want))
				}
				if got := f.metrics()[overflowSeries]; got != tc.conflated {
					t.Errorf("%s is %v, want %v", overflowSeries, got, tc.conflated)
				}
				if got := slow.ended(); got != "open" {
					t.Errorf("at the end the stream is %s", got)
				}
			})
		})
	}
}

// A stalled client delays a stop only until gRPC disconnects it.
func TestStopWithStalledClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const grace = 5 * time.Second
		f, change := stalled(t)
		slow, quick := f.getStalled(getPath, ""), f.get(getPath, "")
		f.settle()
		change()
		change()
		begin := time.Now()
		f.end()
		cut := time.AfterFunc(grace, f.grpc.Stop)
		defer cut.Stop()
		f.grpc.GracefulStop()
		<-f.ended
		if took := time.Since(begin); took != grace {
			t.Errorf("stopping took %v, want the grace of %v", took, grace)
		}
		synctest.Wait()
		if got := quick.ended(); got != "OK" {
			t.Errorf("the reading client ended with %s", got)
		}
		close(slow.reads)
		<-slow.done
	})
}

// Without stalled clients, a stop takes no time.
func TestStopWithoutStalledClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, change := stalled(t)
		quick := f.get(getPath, "")
		f.settle()
		change()
		change()
		begin := time.Now()
		f.end()
		f.grpc.GracefulStop()
		<-f.ended
		if took := time.Since(begin); took != 0 {
			t.Errorf("stopping took %v", took)
		}
		<-quick.done
		if got := quick.ended(); got != "OK" {
			t.Errorf("ended with %s", got)
		}
	})
}

// Many goroutines change objects while clients connect, read and disconnect. In the end, the connected
// clients have the state of a new one (E20).
func TestConcurrentChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects := put(service("web"), pod("a"), pod("b"), nodeIn("n1", "east"), nodeIn("n2", "west"))
		f := start(t, testConfig(), objects...)
		var staying []*client
		var path [2]string
		for i := range path {
			path[i] = []string{getPath, "h.web.ns.svc.mycluster.local:81"}[i]
		}
		token := func(i int) string { return fmt.Sprintf(`{"nodeName":"n%d"}`, i%3) }
		for i := range 6 {
			staying = append(staying, f.get(path[i%2], token(i)))
		}
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() { churn(f.catalog, g) })
			wg.Go(func() {
				for i := range 10 {
					c := f.get(path[i%2], token(i+g))
					time.Sleep(time.Duration(i) * time.Millisecond) // virtual time
					c.cancel()
					<-c.done
				}
			})
		}
		wg.Wait()
		f.change(put(slice("s0", at("10.0.0.1", podKey("a"))), slice("s1", at("10.0.0.2", podKey("b"), inZone("east")))))
		for i, c := range staying {
			fresh := f.get(path[i%2], token(i))
			f.settle()
			if diff := cmp.Diff(receivedFrom(fresh.newMessages()), receivedFrom(c.newMessages())); diff != "" {
				t.Errorf("stream %d after all changes (-new stream +this):\n%s", i, diff)
			}
			fresh.cancel()
		}
	})
}

// churn changes objects that other goroutines change, too.
func churn(c *catalog.Catalog, seed int) {
	for i := range 200 {
		n := i*3 + seed
		name := fmt.Sprintf("s%d", n%2)
		switch n % 7 {
		case 0:
			c.Delete(slice(name).ID())
		case 1, 2:
			c.Put(slice(name, at(fmt.Sprintf("10.0.0.%d", n%5), podKey("a"), inZone("east"))))
		case 3:
			c.Put(slice(name, at("10.0.0.1", podKey("b")), at("10.0.0.2", podKey("a"))))
		case 4:
			c.Put(pod("b", opaqueOn(fmt.Sprint(8080+n%2))))
		case 5:
			c.Put(nodeIn("n1", []string{"east", "west"}[i%2]))
		default:
			c.Put(service("web", func(s *catalog.Service) { s.LocalTraffic = i%2 == 0 }))
		}
		if i%20 == 0 {
			time.Sleep(time.Millisecond) // virtual time
		}
	}
}
