package catalog

import (
	"fmt"
	"net/netip"
	"runtime"
	"testing"
)

// many returns the objects of a Service in a namespace: workloads and opaque Servers with the selector that
// selects all of them.
func many(namespace string, workloads, servers int) []Object {
	objects := []Object{service("web", func(s *Service) { s.Key.Namespace = namespace })}
	s := slice("web", "web", IPv4)
	s.Namespace, s.Service.Namespace = namespace, namespace
	for i := range workloads {
		w := pod(fmt.Sprint("p", i), func(w *Workload) {
			w.Key.Namespace, w.IPs = namespace, []netip.Addr{netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})}
		})
		s.Subsets[0].Endpoints = append(s.Subsets[0].Endpoints, SliceEndpoint{Addresses: w.IPs, Target: w.Key})
		objects = append(objects, w)
	}
	for i := range servers {
		objects = append(objects, serverOfAll(namespace, i, uint16(i+1)))
	}
	return append(objects, s)
}

func serverOfAll(namespace string, i int, port uint16) *Server {
	s := opaqueServer(fmt.Sprint("s", i), port, &Selector{})
	s.Namespace = namespace
	return s
}

// synced returns a catalog with these objects, after MarkSynced.
func synced(objects ...Object) *Catalog {
	c := New(Options{})
	c.MarkSynced()
	apply(c, objects...)
	return c
}

// computed returns for how many workloads the selected Servers are known.
func computed(c *Catalog) int {
	n := 0
	for _, ns := range c.state.namespaces {
		for _, w := range ns.workloads {
			if w.selected.Load() != nil {
				n++
			}
		}
	}
	return n
}

// A step passes a reader that matches many workloads with many Servers. A tenant with 1,000 workloads and 400
// Servers delayed the updates of all others by 20 seconds.
func TestStepPassesReader(t *testing.T) {
	const workloads, servers = 50, 10
	c := synced(many("ns", workloads, servers)...)
	c.checksAtOnce = 10 * servers
	c.snapshotsMu.Lock() // the reader waits here, with the read lock
	read, stepped := make(chan *Snapshot), make(chan int)
	go func() { read <- c.Service(serviceKey("web")) }()
	for c.mu.TryLock() {
		c.mu.Unlock()
		runtime.Gosched()
	}
	go func() {
		c.mu.Lock() // as a step does
		defer c.mu.Unlock()
		stepped <- computed(c)
	}()
	for c.mu.TryRLock() { // until the step waits
		c.mu.RUnlock()
		runtime.Gosched()
	}
	c.snapshotsMu.Unlock()
	if n := <-stepped; n == 0 || n == workloads {
		t.Errorf("the step waited until %d of %d workloads were matched", n, workloads)
	}
	s := <-read
	defer s.Release()
	if set := Resolve(s, Query{Port: 80}); len(set.Endpoints) != workloads || !set.Endpoints[0].Target.Opaque(servers) {
		t.Errorf("the snapshot has %d endpoints, the first with the opaque ports %v", len(set.Endpoints), set.Endpoints[0].Target.opaque)
	}
}

// A changed Server is matched with the workloads once, and a changed workload with the Servers, but not the
// others with each other.
func TestChangeIsMatchedOnce(t *testing.T) {
	const workloads, servers = 30, 20
	c := synced(many("ns", workloads, servers)...)
	c.Service(serviceKey("web")).Release()

	apply(c, serverOfAll("ns", 3, 1003))
	if c.state.checks != workloads {
		t.Errorf("the step of a changed Server checked %d selectors, want %d", c.state.checks, workloads)
	}
	if n := computed(c); n != workloads {
		t.Errorf("after a change of a Server, %d of %d workloads are matched", n, workloads)
	}
	apply(c, pod("p3", labelled("app", "web")))
	if n := computed(c); c.state.checks != 0 || n != workloads-1 {
		t.Errorf("the step of a changed workload checked %d selectors, and %d workloads stay matched; want 0 and %d", c.state.checks, n, workloads-1)
	}
	s := c.Service(serviceKey("web"))
	defer s.Release()
	for _, e := range Resolve(s, Query{Port: 80}).Endpoints {
		if !e.Target.Opaque(1003) || e.Target.Opaque(4) || !e.Target.Opaque(servers) {
			t.Errorf("%s has the opaque ports %v", e.Target.Key.Name, e.Target.opaque)
		}
	}
}

// A step applies as many Servers as the limit allows, all other changes, and the Servers of all namespaces in
// turn. The next steps apply the rest.
func TestServersWaitInTurn(t *testing.T) {
	const workloads, servers = 10, 20
	objects := append(many("greedy", workloads, servers), many("ns", 1, 1)...)
	c := synced(objects...)
	greedy := ServiceKey{LocalCluster, "greedy", "web"}
	for _, key := range []ServiceKey{greedy, serviceKey("web")} {
		defer c.Service(key).Release()
	}
	c.checksAtOnce = 4 * workloads
	for i := range servers {
		c.Put(serverOfAll("greedy", i, uint16(1000+i)))
	}
	c.step()
	if c.state.checks != c.checksAtOnce || len(c.inbox.poke) == 0 {
		t.Errorf("a step checked %d selectors, want %d, and leaves %d tokens for the next", c.state.checks, c.checksAtOnce, len(c.inbox.poke))
	}
	apply(c, serverOfAll("ns", 0, 1000), service("new"))
	s := c.Service(serviceKey("web"))
	defer s.Release()
	if e := Resolve(s, Query{Port: 80}).Endpoints; len(e) != 1 || !e[0].Target.Opaque(1000) {
		t.Errorf("the Server of another namespace waits: %v", e)
	}
	if _, ok := c.FindService(serviceKey("new")); !ok {
		t.Error("a Service waits for Servers")
	}
	applyAll(c)
	all := c.Service(greedy)
	defer all.Release()
	if e := Resolve(all, Query{Port: 80}).Endpoints; !e[0].Target.Opaque(1000) || !e[0].Target.Opaque(1000+servers-1) || e[0].Target.Opaque(1) {
		t.Errorf("after all steps the opaque ports are %v", e[0].Target.opaque)
	}
}

// Before the catalog is synced, and when a cluster is replaced, no Server waits: readers would get ports that
// are not opaque yet.
func TestServersDontWait(t *testing.T) {
	c := New(Options{})
	c.checksAtOnce = 1
	objects := many("ns", 3, 5)
	apply(c, objects...)
	c.Service(serviceKey("web")).Release()
	for i := range 5 {
		c.Put(serverOfAll("ns", i, uint16(1000+i)))
	}
	c.MarkSynced()
	c.step()
	if !c.isSynced() {
		t.Fatal("not synced")
	}
	check := func(port uint16) {
		t.Helper()
		s := c.Service(serviceKey("web"))
		defer s.Release()
		for _, e := range Resolve(s, Query{Port: 80}).Endpoints {
			if !e.Target.Opaque(port) || !e.Target.Opaque(port+4) {
				t.Errorf("%s has the opaque ports %v", e.Target.Key.Name, e.Target.opaque)
			}
		}
	}
	check(1000)
	c.Put(serverOfAll("ns", 0, 5000))
	c.Put(serverOfAll("ns", 1, 5001))
	c.step() // one of them waits, and is outdated by what follows
	c.Replace(LocalCluster, objects)
	c.step()
	check(1)
	if c.state.checks != 0 || len(c.state.waiting.namespaces) != 0 {
		t.Errorf("the step checked %d selectors, and the Servers of %d namespaces wait", c.state.checks, len(c.state.waiting.namespaces))
	}
}

// Workloads that no Server selects share one empty selection, also after a Server that has selected them is gone.
// It stays empty while others are selected.
func TestWorkloadsShareEmptySelection(t *testing.T) {
	c := synced(many("ns", 3, 0)...)
	server := serverOfAll("ns", 0, 80)
	for _, selected := range []bool{false, true, false, true, false} {
		if selected {
			apply(c, server)
		} else {
			c.Delete(server.ID())
			applyAll(c)
		}
		c.Service(serviceKey("web")).Release()
		for key, w := range c.state.namespaces[namespaceKey{LocalCluster, "ns"}].workloads {
			if got := w.selected.Load(); got == nil || (got == notSelected) == selected {
				t.Errorf("%v has %v, at %p, although it is selected: %v", key, got, got, selected)
			}
		}
	}
	if len(*notSelected) != 0 {
		t.Errorf("the empty selection has %v", *notSelected)
	}
}
