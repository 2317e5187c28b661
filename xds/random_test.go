package xds

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointpb "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/testkit/longtest"
	"github.com/signpostd/signpost/xds/resource"
)

// randomCluster is a cluster with random objects: the Services a and b in the namespace shop with
// their slices, pods and nodes.
type randomCluster struct {
	r       *rand.Rand
	objects map[catalog.ID]catalog.Object
}

func newRandomCluster(seed uint64) *randomCluster {
	c := &randomCluster{r: rand.New(rand.NewPCG(seed, 1)), objects: map[catalog.ID]catalog.Object{}}
	for _, node := range []string{"n1", "n2"} {
		c.put(&catalog.Node{Cluster: catalog.LocalCluster, Name: node, Zone: c.oneOf("", "east", "west"), Region: c.oneOf("", "r")})
	}
	for i := range 4 {
		if !c.chance(5) {
			c.put(c.pod(fmt.Sprintf("p%d", i)))
		}
	}
	for _, name := range []string{"a", "b"} {
		s := c.service(name)
		if !c.chance(6) {
			c.put(s)
		}
		for i := range c.r.IntN(4) {
			c.put(c.slice(s, fmt.Sprintf("%s-%d", name, i)))
		}
		if c.chance(3) {
			c.put(c.profile(name))
		}
	}
	return c
}

func (c *randomCluster) put(o catalog.Object) { c.objects[o.ID()] = o }

// chance is true in one of n cases.
func (c *randomCluster) chance(n int) bool { return c.r.IntN(n) == 0 }

func (c *randomCluster) oneOf(texts ...string) string { return texts[c.r.IntN(len(texts))] }

func (c *randomCluster) service(name string) *catalog.Service {
	s := service("shop", name, "http:80", "grpc:50051")
	s.LocalTraffic, s.IPv6First, s.ExternalName = c.chance(5), c.chance(3), c.chance(12)
	if c.chance(3) {
		s.Policy = &catalog.TrafficPolicy{Balancer: catalog.Balancer{Kind: catalog.RingHash, Header: "x-user", Stable: true}, MaxRequests: 7}
	}
	return s
}

func (c *randomCluster) pod(name string) *catalog.Workload {
	return &catalog.Workload{
		Key:  catalog.WorkloadKey{Kind: catalog.Pod, Cluster: catalog.LocalCluster, Namespace: "shop", Name: name},
		Node: c.oneOf("n1", "n2"), Created: time.Unix(int64(c.r.IntN(3)), 0), Running: true, Ready: true, Terminating: c.chance(6),
	}
}

// slice draws from so few addresses that slices have some of them in common.
func (c *randomCluster) slice(of *catalog.Service, name string) *catalog.EndpointSlice {
	s := slice(of, name, c.oneOf("http", "grpc"), 8080)
	format := "10.0.0.%d"
	if c.chance(3) {
		s.AddressType, format = catalog.IPv6, "fd00::%d"
	}
	hinted := c.chance(2)
	for range c.r.IntN(5) {
		n := c.r.IntN(4)
		e := catalog.SliceEndpoint{
			Addresses: []netip.Addr{netip.MustParseAddr(fmt.Sprintf(format, n+1))}, Zone: c.oneOf("", "east", "west"), Hostname: c.oneOf("", "h1"),
		}
		e.NotReady = c.chance(3)
		e.Draining = e.NotReady && c.chance(2)
		if !c.chance(4) {
			e.Target = c.podKey(n)
		}
		if hinted {
			e.HintZones, e.HintNodes = []string{c.oneOf("east", "west")}, []string{c.oneOf("n1", "n2")}
		}
		s.Subsets[0].Endpoints = append(s.Subsets[0].Endpoints, e)
	}
	return s
}

// podKey returns the key of one of two pods that have had an address.
func (c *randomCluster) podKey(address int) catalog.WorkloadKey {
	return catalog.WorkloadKey{Kind: catalog.Pod, Cluster: catalog.LocalCluster, Namespace: "shop", Name: fmt.Sprintf("p%d", address/2*2+c.r.IntN(2))}
}

func (c *randomCluster) profile(name string) *catalog.ServiceProfile {
	return &catalog.ServiceProfile{
		Cluster: catalog.LocalCluster, Namespace: "shop", Name: name + ".shop.svc.cluster.local",
		Routes:       []catalog.Route{{Condition: &catalog.RequestMatch{PathRegex: "/a/.*"}, Retryable: c.chance(2), Timeout: time.Second}},
		DstOverrides: []catalog.WeightedDst{{Authority: "b.shop.svc.cluster.local:80", MilliWeight: 1 + int64(c.r.IntN(3))}, {Authority: "none.shop.svc.cluster.local:80", MilliWeight: 1}},
	}
}

// shuffled returns the objects in any order.
func (c *randomCluster) shuffled() []catalog.Object {
	list := slices.SortedFunc(maps.Values(c.objects), func(a, b catalog.Object) int {
		return strings.Compare(fmt.Sprint(a.ID()), fmt.Sprint(b.ID()))
	})
	c.r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// randomNames are names of all forms: of Services, one of their endpoints, a port that is missing
// and a Service that is.
func randomNames() (routeNames, clusterNames []string) {
	for _, of := range []string{"a", "b"} {
		routeNames = append(routeNames, of+".shop:80", of+".shop", of+".shop.svc.cluster.local:grpc", of+":9", "none.shop:80")
		clusterNames = append(clusterNames, of+".shop.svc.cluster.local:80", of+".shop.svc.cluster.local:50051", "h1."+of+".shop.svc.cluster.local:80", of+".shop:9")
	}
	return routeNames, append(clusterNames, "none.shop.svc.cluster.local:80")
}

// resources returns the versions and the bytes of all resources that a client on a node gets, by
// type and name.
func (f *fixture) resources(agent, on string) map[string]string {
	routeNames, clusterNames := randomNames()
	a := f.ads()
	for typ, names := range [resourceTypes][]string{clusterNames, clusterNames, routeNames, routeNames} {
		a.request(&discovery.DiscoveryRequest{
			Node: node(agent, map[string]string{"NODE_NAME": on, "NAMESPACE": "shop"}), TypeUrl: resource.Type(typ).URL(), ResourceNames: names,
		})
	}
	all := map[string]string{}
	for _, r := range a.take() {
		typ, _ := resource.TypeOf(r.GetTypeUrl())
		for i, name := range namesIn(r.GetResources()) {
			all[typ.String()+" "+name] = r.GetVersionInfo() + " " + string(r.GetResources()[i].GetValue())
		}
	}
	a.cancel()
	f.rest()
	return all
}

// Case 49: replicas that were told of the same objects in another order, one of which has seen
// others before, have equal versions of all resources.
func TestVersionsOfReplicas(t *testing.T) {
	for seed := range uint64(longtest.CostlyRounds(200)) {
		synctest.Test(t, func(t *testing.T) {
			c := newRandomCluster(seed)
			earlier := newRandomCluster(seed + 1000)
			one, other := start(t, Config{EnableIPv6: true}, earlier.shuffled()...), start(t, Config{EnableIPv6: true}, c.shuffled()...)
			lasting := one.ads()
			_, clusterNames := randomNames()
			lasting.send(endpoints, clusterNames...)
			var gone []catalog.ID
			for id := range earlier.objects {
				if _, stays := c.objects[id]; !stays {
					gone = append(gone, id)
				}
			}
			one.change(c.shuffled(), gone...)
			time.Sleep(maxDelay)
			synctest.Wait()
			for _, agent := range []string{"gRPC Go", pythonAgent, "envoy"} {
				for _, on := range []string{"", "n1", "n2"} {
					want, got := other.resources(agent, on), one.resources(agent, on)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("seed %d, client %s on %q (-the new replica +the old one):\n%s", seed, agent, on, diff)
					}
				}
			}
			unplaced := other.resources(pythonAgent, "")
			last := map[string]string{}
			for _, r := range lasting.take() {
				last["eds "+namesIn(r.GetResources())[0]] = r.GetVersionInfo() + " " + string(r.GetResources()[0].GetValue())
			}
			for name, got := range last {
				if want := unplaced[name]; got != want {
					t.Errorf("seed %d: a stream that lived through the change has another version of %s", seed, name)
				}
			}
		})
	}
}

// Case 25: whatever the slices have in common, no ClusterLoadAssignment has what clients reject,
// and none lacks an endpoint or has one too many.
func TestRandomSlices(t *testing.T) {
	config := Config{EnableIPv6: true}.withDefaults()
	clusters, checked := longtest.CostlyRounds(10_000), 0
	defer func() {
		if checked < 2*clusters {
			t.Errorf("only %d endpoints were checked", checked)
		}
	}()
	for seed := range uint64(clusters) {
		c := newRandomCluster(seed)
		known := c.known()
		for _, name := range []string{"a.shop.svc.cluster.local:80", "b.shop.svc.cluster.local:50051"} {
			a := (&Server{config: &config, catalog: known}).newTopic(endpoints, name, "")
			snapshot := known.Service(a.name.Service)
			for _, place := range []catalog.Client{{}, {Node: "n1", Zone: "east"}, {Node: "n2", Zone: "west"}} {
				v := &view{viewKey: viewKey{typ: endpoints, filter: snapshot.PriorityFilters().For(place)}}
				a.state = catalogState{snapshot: snapshot}
				f := a.render(v)
				var response discovery.DiscoveryResponse
				if err := proto.Unmarshal(f.Wire, &response); err != nil {
					t.Fatal(err)
				}
				at := fmt.Sprintf("seed %d, %s for %+v", seed, name, place)
				got := decode(t, response.GetResources()[0], &endpointpb.ClusterLoadAssignment{})
				all := checkAssignment(t, at, got)
				checked += len(all)
				c.checkHealth(t, at, all, snapshot.Service, a.name.Port)
			}
			snapshot.Release()
		}
		if t.Failed() {
			return
		}
	}
}

// known returns a catalog that knows the objects, which change no more.
func (c *randomCluster) known() *catalog.Catalog {
	known := catalog.New(catalog.Options{})
	for _, o := range c.shuffled() {
		known.Put(o)
	}
	known.MarkSynced()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = known.Run(ctx)
	}()
	<-known.Synced()
	stop()
	<-ended
	return known
}

// checkAssignment checks what clients check (gRFC A27, A61), and returns the endpoints.
func checkAssignment(t *testing.T, at string, of *endpointpb.ClusterLoadAssignment) []*endpointpb.LbEndpoint {
	t.Helper()
	localities, addresses, last := map[string]bool{}, map[string]bool{}, map[uint32]bool{}
	var all []*endpointpb.LbEndpoint
	once := func(address string) {
		if addresses[address] {
			t.Errorf("%s: %s occurs twice", at, address)
		}
		addresses[address] = true
	}
	for _, l := range of.GetEndpoints() {
		key := fmt.Sprint(l.GetPriority(), l.GetLocality().GetRegion(), "/", l.GetLocality().GetZone())
		if l.GetLocality() == nil || localities[key] || l.GetLoadBalancingWeight().GetValue() == 0 || len(l.GetLbEndpoints()) == 0 {
			t.Errorf("%s: the locality %s is nameless, repeated, without weight or empty", at, key)
		}
		localities[key], last[l.GetPriority()] = true, true
		for _, e := range l.GetLbEndpoints() {
			for _, address := range endpointAddresses(e) {
				once(address)
			}
			all = append(all, e)
		}
	}
	for p := range len(last) {
		if !last[uint32(p)] {
			t.Errorf("%s: there is no priority %d", at, p)
		}
	}
	return all
}

// endpointAddresses returns the address of an endpoint, and the additional one if it has one.
func endpointAddresses(e *endpointpb.LbEndpoint) []string {
	list := []string{e.GetEndpoint().GetAddress().GetSocketAddress().GetAddress()}
	for _, more := range e.GetEndpoint().GetAdditionalAddresses() {
		list = append(list, more.GetAddress().GetSocketAddress().GetAddress())
	}
	return list
}

// checkHealth compares endpoints with those that the slices have. Which of them a client on a node
// gets with internalTrafficPolicy Local is tested elsewhere.
func (c *randomCluster) checkHealth(t *testing.T, at string, got []*endpointpb.LbEndpoint, s *catalog.Service, port string) {
	t.Helper()
	if s != nil && s.LocalTraffic {
		return
	}
	ready := c.addresses(s, port) // by the address: whether it is ready
	someReady := slices.Contains(slices.Collect(maps.Values(ready)), true)
	for _, e := range got {
		usable := !someReady
		for _, address := range endpointAddresses(e) {
			isReady, known := ready[address]
			if !known {
				t.Errorf("%s: %s is no endpoint, or is one twice", at, address)
			}
			usable = usable || isReady
			delete(ready, address)
		}
		if drains := e.GetHealthStatus() == corepb.HealthStatus_DRAINING; drains == usable {
			t.Errorf("%s: %v: usable: %v", at, e, usable)
		}
	}
	for address := range ready {
		t.Errorf("%s: %s is missing", at, address)
	}
}

// addresses returns the addresses of ready and draining endpoints, and whether they are ready in
// one of the slices.
func (c *randomCluster) addresses(s *catalog.Service, port string) map[string]bool {
	ready := map[string]bool{}
	if s == nil || s.ExternalName {
		return ready
	}
	portName := map[string]string{"80": "http", "50051": "grpc"}[port]
	for _, o := range c.objects {
		of, ok := o.(*catalog.EndpointSlice)
		if !ok || of.Service != s.Key || of.Subsets[0].Ports[0].Name != portName {
			continue
		}
		for _, e := range of.Subsets[0].Endpoints {
			_, runs := c.objects[(&catalog.Workload{Key: e.Target}).ID()]
			if (e.Target.Kind == "" || runs) && (!e.NotReady || e.Draining) {
				address := e.Addresses[0].String()
				ready[address] = ready[address] || !e.NotReady
			}
		}
	}
	return ready
}
