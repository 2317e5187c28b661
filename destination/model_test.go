package destination

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	netpb "github.com/linkerd/linkerd2-proxy-api/go/net"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

var modelSequences = newSequences("TestModel", "model", 400)

// TestModel plays random object events to a server with several clients, some of which stop reading for a
// while, and compares the received state with a new catalog after each event.
func TestModel(t *testing.T) { modelSequences.play(t, playModel) }

// The pools of random values are small, so that names and IPs are reused.
var (
	poolClusters = []string{"east", "west"}
	poolServices = []string{"web", "other"}
	poolPods     = []string{"a", "b", "c"}
	poolWorkload = []string{"vm", "box"}
	poolSlices   = []string{"s1", "s2", "s3"}
	poolNodes    = []string{"n1", "n2"}
	poolZones    = []string{"", "east", "west"}
	poolIPs      = []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1", "fd00::2"}
	modelService = catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "ns", Name: "web"}
)

type generator struct {
	*rand.Rand
	objects map[catalog.ID]catalog.Object
	created int64
}

func pick[T any](w *generator, from []T) T { return from[w.IntN(len(from))] }

func (w *generator) chance(percent int) bool { return w.IntN(100) < percent }

// event changes one object at random and returns its name and its new value,
// which is nil for a deletion.
func (w *generator) event() (catalog.ID, catalog.Object) {
	v := w.object()
	if w.chance(35) {
		v = inCluster(v, pick(w, poolClusters))
	}
	return w.change(v)
}

// change makes v the value of its object or, at random, deletes the object.
func (w *generator) change(v catalog.Object) (catalog.ID, catalog.Object) {
	if w.chance(2) {
		w.makeHostile(v)
	}
	id := v.ID()
	if w.chance(25) {
		delete(w.objects, id)
		return id, nil
	}
	w.objects[id] = v
	return id, v
}

// applyEvent applies an event to a catalog.
func applyEvent(c *catalog.Catalog, id catalog.ID, v catalog.Object) {
	if v == nil {
		c.Delete(id)
	} else {
		c.Put(v)
	}
}

func (w *generator) object() catalog.Object {
	switch n := w.IntN(100); {
	case n < 8:
		return &catalog.Cluster{Name: pick(w, poolClusters), TrustDomain: pick(w, poolClusters), Synced: w.chance(75)}
	case n < 40:
		return w.slice()
	case n < 65:
		return w.workload()
	case n < 75:
		return w.service()
	case n < 85:
		return &catalog.Node{Cluster: catalog.LocalCluster, Name: pick(w, poolNodes), Zone: pick(w, poolZones)}
	case n < 93:
		return w.server()
	default:
		return w.owner()
	}
}

func (w *generator) service() *catalog.Service {
	s := &catalog.Service{Key: modelService, LocalTraffic: w.chance(25), ExternalName: w.chance(10)}
	if w.chance(25) {
		s.Key.Name = "other"
	}
	for _, p := range []catalog.ServicePort{{Name: "http", Port: 80, Protocol: catalog.TCP}, {Name: "dns", Port: 80, Protocol: catalog.UDP}, {Name: "admin", Port: 81}} {
		if w.chance(70) {
			s.Ports = append(s.Ports, p)
		}
	}
	switch n := w.IntN(100); {
	case n < 20:
		remote(pick(w, poolClusters), pick(w, poolServices))(s)
	case n < 55:
		federated(pick(w, append(poolServices, "")), pick(w, poolServices)+"@"+pick(w, poolClusters), "web@west")(s)
	}
	w.Shuffle(len(s.Ports), func(i, j int) { s.Ports[i], s.Ports[j] = s.Ports[j], s.Ports[i] })
	return s
}

func (w *generator) slice() *catalog.EndpointSlice {
	s := &catalog.EndpointSlice{
		Cluster: catalog.LocalCluster, Namespace: "ns", Name: pick(w, poolSlices), Service: modelService,
		AddressType: pick(w, []catalog.AddressType{catalog.IPv4, catalog.IPv6, ""}),
	}
	if w.chance(20) {
		s.Service.Name = "other"
	}
	if w.chance(15) {
		s.GatewayIdentity, s.RemoteName, s.Mirror = "gateway", "web.ns.svc.cluster.local", catalog.Mirror{Cluster: "west", Namespace: "ns", Name: "web"}
	}
	for range w.IntN(3) {
		subset := catalog.Subset{}
		for _, name := range []string{"http", "dns", "admin"} {
			if w.chance(60) {
				subset.Ports = append(subset.Ports, catalog.SubsetPort{Name: name, Port: pick(w, []uint16{8080, 4191, 9090})})
			}
		}
		hinted := w.chance(60)
		for range w.IntN(4) {
			subset.Endpoints = append(subset.Endpoints, w.endpoint(hinted))
		}
		s.Subsets = append(s.Subsets, subset)
	}
	return s
}

func (w *generator) endpoint(hinted bool) catalog.SliceEndpoint {
	e := catalog.SliceEndpoint{Addresses: []netip.Addr{netip.MustParseAddr(pick(w, poolIPs))}, Zone: pick(w, poolZones)}
	if hinted {
		e.HintZones = []string{pick(w, poolZones[1:])}
	}
	if w.chance(50) {
		e.Hostname = pick(w, poolPods)
	}
	if w.chance(80) {
		e.Target = w.workloadKey()
		e.TargetUID = pick(w, []catalog.UID{0, 0, 1, 2})
	}
	return e
}

func (w *generator) workloadKey() catalog.WorkloadKey {
	if w.chance(80) {
		return catalog.WorkloadKey{Kind: catalog.Pod, Cluster: catalog.LocalCluster, Namespace: "ns", Name: pick(w, poolPods)}
	}
	return catalog.WorkloadKey{Kind: catalog.ExternalWorkload, Cluster: catalog.LocalCluster, Namespace: "ns", Name: pick(w, poolWorkload)}
}

func (w *generator) workload() *catalog.Workload {
	w.created++
	v := &catalog.Workload{
		Key: w.workloadKey(), UID: pick(w, []catalog.UID{0, 1, 2}), Created: time.Unix(w.created, 0), Node: pick(w, poolNodes),
		Labels:           objectmeta.NewLabels(map[string]string{"app": pick(w, []string{"web", "db"}), catalog.ControlPlaneLabel: pick(w, []string{"linkerd", "other", ""})}),
		Ports:            []catalog.WorkloadPort{{Name: "http", Port: 8080}},
		SkipInboundPorts: pick(w, []*catalog.PortSet{nil, nil, portsOf("8080"), portsOf("9000-9100")}),
		Owner:            pick(w, []catalog.OwnerRef{{}, {Kind: "ReplicaSet", Name: "rs"}, {Kind: "Job", Name: "job"}, {Kind: "Job", Name: notUTF8}}),
	}
	if w.chance(80) {
		v.Proxy = &catalog.ProxyListeners{Inbound: listener(pick(w, []string{"0.0.0.0:4143", "", "[::]:0"})), Admin: proxyListeners.Admin, Control: proxyListeners.Control}
	}
	if w.chance(30) {
		v.OpaquePorts = portsOf(pick(w, []string{"", "http", "8080-9090"}), v.Ports...)
	}
	return v
}

func (w *generator) server() *catalog.Server {
	s := &catalog.Server{Cluster: catalog.LocalCluster, Namespace: "ns", Name: pick(w, []string{"srv1", "srv2"}), Opaque: w.chance(70), PortNumber: 8080}
	if w.chance(40) {
		s.PortNumber, s.PortName = 0, "http"
	}
	selector := pick(w, []*catalog.Selector{
		nil,
		{},
		{Requirements: []catalog.Requirement{{Key: "app", Operator: catalog.In, Values: []string{"web"}}}},
		{Requirements: []catalog.Requirement{{Key: "app", Operator: catalog.NotIn, Values: []string{"web"}}}},
	})
	if w.chance(80) {
		s.Pods = selector
	} else {
		s.ExternalWorkloads = selector
	}
	return s
}

func (w *generator) owner() *catalog.Owner {
	return &catalog.Owner{
		Cluster: catalog.LocalCluster, Namespace: "ns", OwnerRef: pick(w, []catalog.OwnerRef{{Kind: "ReplicaSet", Name: "rs"}, {Kind: "Job", Name: "job"}, {Kind: "Job", Name: notUTF8}}),
		Parent: pick(w, []catalog.OwnerRef{{}, {Kind: "Deployment", Name: "web"}, {Kind: "CronJob", Name: "cron"}}),
	}
}

// addressSet has encoded addresses by address.
type addressSet map[netip.AddrPort]string

// modelClient is one stream, with the state that it has received.
type modelClient struct {
	query query
	node  string
	pausable

	mu       sync.Mutex
	received addressSet
	history  []addressSet // the expected state after each event
	floor    int          // the earliest state in history that explains the last message
	first    bool
	errs     []string
}

func (c *modelClient) failf(format string, args ...any) {
	c.errs = append(c.errs, fmt.Sprintf(format, args...))
}

// SendMsg applies one message as the proxy does, and checks that each part of it was correct in some state of
// the cluster.
func (c *modelClient) SendMsg(m any) error {
	f := m.(*mem.BufferSlice)
	c.wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	var u pb.Update
	if err := proto.Unmarshal(f.Materialize(), &u); err != nil {
		return err
	}
	switch {
	case u.GetAdd() != nil:
		for _, a := range u.GetAdd().GetAddrs() {
			c.added(a, u.GetAdd().GetMetricLabels())
		}
	case u.GetRemove() != nil:
		if c.first {
			c.failf("the first message is a remove, which proxies ignore")
		}
		for _, a := range u.GetRemove().GetAddrs() {
			c.removed(addrPortOf(a))
		}
	case !c.first:
		c.failf("no_endpoints came after other messages")
	}
	c.first = false
	return nil
}

// explain finds the first state, not before the one that explained the last message, in which the address had
// this form; the empty form means absence. The messages to a client must follow the order of the states.
func (c *modelClient) explain(at netip.AddrPort, form string) bool {
	for i := c.floor; i < len(c.history); i++ {
		if c.history[i][at] == form {
			c.floor = i
			return true
		}
	}
	return false
}

func (c *modelClient) added(a *pb.WeightedAddr, labels map[string]string) {
	at := addrPortOf(a.GetAddr())
	wire := wireOf(a, labels)
	if !c.explain(at, wire) {
		c.failf("was sent %s as %v %v, a form that it did not have since the last message", at, a, labels)
	}
	c.received[at] = wire
}

func (c *modelClient) removed(at netip.AddrPort) {
	if _, ok := c.received[at]; !ok {
		c.failf("%s was removed and had not been added", at)
	}
	if !c.explain(at, "") {
		c.failf("%s was removed, but existed since the last message", at)
	}
	delete(c.received, at)
}

func wireOf(a *pb.WeightedAddr, labels map[string]string) string {
	return string(encoded(a)) + "|" + string(encodeLabels(labels).wire)
}

// expectedFor returns the expected addresses, from a new catalog.
func expectedFor(objects map[catalog.ID]catalog.Object, config *Config, c *modelClient) addressSet {
	fresh := newCatalog(catalog.Options{DefaultOpaquePorts: modelOpaque}, objects)
	snapshot := fresh.Service(c.query.service)
	filter := snapshot.Filters().For(catalog.Client{Node: c.node, Zone: fresh.Node(catalog.LocalCluster, c.node).Zone})
	set := catalog.Resolve(snapshot, catalog.Query{Port: c.query.port, Hostname: c.query.hostname, Filter: filter, IPv6: config.EnableIPv6})
	out := addressSet{}
	for _, e := range set.Endpoints {
		w, err := newAddrBuilder(config).weightedAddr(e, addressQuery{c.query.port, filter.Zone})
		if err == nil {
			_, err = marshal(w)
		}
		labels := setLabels(e.Source.Service, e.Source.Mirror)
		if err == nil && encodeLabels(labels).err == nil {
			out[e.Addr] = wireOf(w, labels)
		}
	}
	return out
}

var modelOpaque = catalog.PortSet{{Low: 9090, High: 9090}}

func playModel(t *testing.T, seed uint64) {
	w := &generator{Rand: rand.New(rand.NewPCG(seed, 0)), objects: map[catalog.ID]catalog.Object{}}
	live := catalog.New(catalog.Options{DefaultOpaquePorts: modelOpaque})
	server := NewServer(live, Config{
		ControllerNamespace: "linkerd", TrustDomain: "trust.domain", ClusterDomain: "cluster.local", EnableH2Upgrade: true,
		EnableIPv6: w.chance(50), ForceOpaqueTransport: w.chance(50), ZoneWeights: w.chance(50),
	}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))

	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = live.Run(ctx) })
	live.MarkSynced()
	synctest.Wait()

	var clients []*modelClient
	for range 3 + w.IntN(3) {
		clients = append(clients, startModelClient(ctx, &wg, server, w))
	}
	for range 3 + w.IntN(40) {
		w.step(t, live, server.config, clients)
		if w.chance(5) {
			// All objects are applied by then, so that the history of a new client starts with the state of
			// its first response.
			time.Sleep(time.Second)
			synctest.Wait()
			clients = append(clients, startModelClient(ctx, &wg, server, w))
		}
	}
	for _, c := range clients {
		c.resume()
	}
	time.Sleep(time.Second) // virtual time
	synctest.Wait()
	for _, c := range clients {
		c.checkIdle(t, seed)
	}
	cancel()
	wg.Wait()
	server.topics.running.Wait()
}

func startModelClient(ctx context.Context, wg *sync.WaitGroup, server *Server, w *generator) *modelClient {
	c := &modelClient{
		query:    query{service: modelService, port: pick(w, []uint16{80, 80, 81, 5959}), hostname: pick(w, []string{"", "", "a"})},
		node:     pick(w, []string{"", "n1", "n2", "unheard"}),
		received: addressSet{}, first: true,
	}
	c.history = []addressSet{expectedFor(w.objects, server.config, c)}
	topic := mustAcquire(server.topics.acquire(c.query, subscriber{}))
	wg.Go(func() {
		defer server.topics.release(topic)
		s := &stream{server: server, topic: topic, node: c.node, out: c}
		_ = s.run(ctx)
	})
	return c
}

// step makes one event, after it has added the expected states to the histories, and lets some time pass.
func (w *generator) step(t *testing.T, live *catalog.Catalog, config *Config, clients []*modelClient) {
	id, v := w.event()
	defer spent().check(t, id)
	for _, c := range clients {
		now := expectedFor(w.objects, config, c)
		if w.chance(15) {
			c.pause()
		} else if w.chance(15) {
			c.resume()
		}
		c.mu.Lock()
		c.history = append(c.history, now)
		c.mu.Unlock()
	}
	applyEvent(live, id, v)
	if w.chance(60) {
		time.Sleep(time.Duration(w.IntN(8)) * time.Millisecond) // virtual time
	}
}

func (c *modelClient) checkIdle(t *testing.T, seed uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	want := c.history[len(c.history)-1]
	if !maps.Equal(c.received, want) {
		c.failf("finally has %v, want %v", slices.Collect(maps.Keys(c.received)), slices.Collect(maps.Keys(want)))
	}

	for _, e := range c.errs {
		t.Errorf("seed %d: client of %s:%d %q on node %q: %s", seed, c.query.service.Name, c.query.port, c.query.hostname, c.node, e)
	}
}

func addrPortOf(a *netpb.TcpAddress) netip.AddrPort {
	var ip netip.Addr
	if v6 := a.GetIp().GetIpv6(); v6 != nil {
		var b [16]byte
		binary.BigEndian.PutUint64(b[:8], v6.GetFirst())
		binary.BigEndian.PutUint64(b[8:], v6.GetLast())
		ip = netip.AddrFrom16(b)
	} else {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], a.GetIp().GetIpv4())
		ip = netip.AddrFrom4(b)
	}
	return netip.AddrPortFrom(ip, uint16(a.GetPort()))
}
