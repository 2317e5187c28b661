package whyserved

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	netpb "github.com/linkerd/linkerd2-proxy-api/go/net"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/destination"
	"github.com/signpostd/signpost/testkit/longtest"
)

var (
	agreeWorlds = flag.Int("agree.worlds", 200, "random worlds of which TestExplainAgreesWithCalls has all explained")
	agreeSeed   = flag.Uint64("agree.seed", 1, "seed of the first world of TestExplainAgreesWithCalls")
)

// TestExplainAgreesWithCalls explains all Services and addresses of random clusters, and compares
// the verdicts with the responses of real calls of Get and GetProfile (mesh, findings 3 and 8 to
// 10).
func TestExplainAgreesWithCalls(t *testing.T) {
	for i := range uint64(longtest.Rounds(*agreeWorlds)) {
		seed := *agreeSeed + i
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("replay with: go test ./app/inspect/whyserved -run TestExplainAgreesWithCalls -agree.worlds=1 -agree.seed=%d", seed)
				}
			}()
			compareAll(t, seed)
		})
		if t.Failed() {
			return
		}
		if (i+1)%1000 == 0 {
			t.Logf("%d worlds agree", i+1)
		}
	}
}

// random is a random fixture.
type random struct {
	*rand.Rand
	fixture
	services map[catalog.ServiceKey]*catalog.Service
	broken   map[string]bool // Services whose ServiceProfile can't be used
	slices   []*catalog.EndpointSlice
}

// The pools are small, so that names and addresses meet.
var (
	someServices = []string{"web", "api", "bridge"}
	somePods     = []string{"a", "b", "c"}
	someNodes    = []string{"", "n0", "n1", "n2"} // the first is that of a client that says nothing
	someIPs      = []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1", "fd00::2"}
	hostIP       = netip.MustParseAddr("192.168.0.1")
)

func one[T any](r *random, from ...T) T { return from[r.IntN(len(from))] }

func (r *random) chance(percent int) bool { return r.IntN(100) < percent }

// draw returns a random fixture.
func draw(seed uint64) *random {
	r := &random{Rand: rand.New(rand.NewPCG(seed, 0)), services: map[catalog.ServiceKey]*catalog.Service{}, broken: map[string]bool{}}
	r.ipv6 = r.chance(30)
	for i, zone := range []string{"", "east", "west"} {
		r.has(&catalog.Node{Cluster: catalog.LocalCluster, Name: someNodes[i+1], Zone: zone})
	}
	if r.chance(70) {
		r.has(&catalog.Cluster{Name: "east", Synced: r.chance(70), TrustDomain: "east.local"})
	}
	for _, cluster := range []string{catalog.LocalCluster, "east"} {
		for _, name := range someServices {
			if r.chance(75) {
				r.drawService(cluster, name)
			}
		}
		for _, name := range somePods {
			if r.chance(75) {
				r.drawPod(cluster, name)
			}
		}
		for i := range r.IntN(5) {
			r.drawSlice(cluster, fmt.Sprint("s", i))
		}
	}
	for _, name := range someServices {
		if r.chance(25) {
			r.drawProfile(name)
		}
	}
	return r
}

func (r *random) drawService(cluster, name string) {
	s := &catalog.Service{Key: catalog.ServiceKey{Cluster: cluster, Namespace: "shop", Name: name}, LocalTraffic: r.chance(20), ExternalName: r.chance(15)}
	for _, p := range []catalog.ServicePort{{Name: "http", Port: 80, Protocol: catalog.TCP}, {Name: "admin", Port: 81, Protocol: catalog.TCP}} {
		if r.chance(80) {
			s.Ports = append(s.Ports, p)
		}
	}
	east, remote := "east", one(r, someServices...)
	switch n := r.IntN(100); {
	case s.ExternalName || cluster != catalog.LocalCluster:
	case n < 15:
		s.RemoteCluster, s.RemoteService = &east, &remote
		if r.chance(10) {
			s.RemoteService = nil
		}
	case n < 35:
		s.Federation = &catalog.Federation{Local: one(r, "", name, remote), Remote: []catalog.RemoteMember{{Service: remote, Cluster: one(r, "east", "west")}}}
	}
	if cluster == catalog.LocalCluster && r.chance(60) {
		s.ClusterIPs = []netip.Addr{netip.MustParseAddr(one(r, "10.96.0.1", "10.96.0.2", "10.96.0.3"))}
	}
	if r.chance(20) {
		s.OpaquePorts = &catalog.PortSet{{Low: 80, High: 80}}
	}
	r.services[s.Key] = s
	r.has(s)
	if cluster != catalog.LocalCluster {
		return
	}
	live := &corev1.Service{ObjectMeta: meta(name), Spec: corev1.ServiceSpec{Selector: one(r, nil, map[string]string{"app": "web"}, map[string]string{"app": "x"})}}
	if s.ExternalName {
		externalName(live)
	}
	r.objects = append(r.objects, live)
}

func (r *random) drawPod(cluster, name string) {
	v := &catalog.Workload{
		Key: catalog.WorkloadKey{Kind: catalog.Pod, Cluster: cluster, Namespace: "shop", Name: name}, Running: r.chance(85), Finished: r.chance(10), Terminating: r.chance(10),
		Node: one(r, someNodes...), IPs: []netip.Addr{netip.MustParseAddr(one(r, someIPs...))}, Created: time.Unix(int64(r.IntN(9)), 0), UID: one[catalog.UID](r, 0, 1),
		Ports: []catalog.WorkloadPort{{Name: "http", Port: 8080}},
	}
	if r.chance(30) {
		v.Ports[0].HostPort, v.HostIPs = 7777, []netip.Addr{hostIP}
	}
	switch n := r.IntN(100); {
	case n < 40:
		meshed(v)
	case n < 55:
		meshed(v)
		v.Proxy = nil
	case n < 65:
		meshed(v)
		v.Proxy.Inbound = catalog.Listener{}
	}
	if r.chance(20) {
		v.Owner = catalog.OwnerRef{Kind: "Job", Name: "not \xff UTF-8"}
	}
	r.has(v)
	if cluster == catalog.LocalCluster {
		r.objects = append(r.objects, &corev1.Pod{ObjectMeta: meta(name, "app", "web"), Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}})
	}
}

func (r *random) drawSlice(cluster, name string) {
	s := &catalog.EndpointSlice{
		Cluster: cluster, Namespace: "shop", Name: name, AddressType: one(r, catalog.IPv4, catalog.IPv6, ""),
		Service: catalog.ServiceKey{Cluster: cluster, Namespace: "shop", Name: one(r, someServices...)},
	}
	subset := catalog.Subset{}
	for _, port := range []string{"http", "admin"} {
		if r.chance(70) {
			subset.Ports = append(subset.Ports, catalog.SubsetPort{Name: port, Port: one[uint16](r, 8080, 9090)})
		}
	}
	hinted := r.chance(40)
	for range r.IntN(4) {
		e := catalog.SliceEndpoint{Addresses: []netip.Addr{netip.MustParseAddr(one(r, someIPs...))}, NotReady: r.chance(15), Hostname: one(r, "", "a", "b")}
		if hinted {
			e.HintZones = []string{one(r, "east", "west")}
		}
		if r.chance(80) {
			e.Target = catalog.WorkloadKey{Kind: catalog.Pod, Cluster: cluster, Namespace: "shop", Name: one(r, somePods...)}
			e.TargetUID = one[catalog.UID](r, 0, 0, 1)
		}
		subset.Endpoints = append(subset.Endpoints, e)
	}
	s.Subsets = []catalog.Subset{subset}
	r.slices = append(r.slices, s)
	r.has(s)
}

func (r *random) drawProfile(service string) {
	r.has(profile(service, func(sp *catalog.ServiceProfile) {
		switch n := r.IntN(100); {
		case n < 20:
			sp.Invalid = true
		case n < 35:
			sp.Routes = []catalog.Route{{Name: "r"}}
		case n < 50:
			sp.Routes = []catalog.Route{{Name: "r", Condition: &catalog.RequestMatch{PathRegex: "["}}}
		default:
			for range 1 + r.IntN(2) {
				overridesTo(one(r, "web.shop.svc.cluster.local", "api.shop.svc.cluster.local:81", "bridge.shop.svc.cluster.local", "gone.shop.svc.cluster.local", "10.0.0.1:80", "example.org"))(sp)
			}
			sp.DstOverrides[0].MilliWeight = one[int64](r, 0, 500)
			return
		}
		r.broken[service] = true
	}))
}

// local reports whether responses about a Service depend on the node of the client.
func (r *random) local(s *catalog.Service) bool {
	return slices.ContainsFunc(s.MemberKeys(), func(key catalog.ServiceKey) bool {
		return key.Cluster == catalog.LocalCluster && r.services[key] != nil && r.services[key].LocalTraffic
	})
}

// calls are real calls to a server of the fixture, and its explainer.
type calls struct {
	*random
	t         *testing.T
	client    pb.DestinationClient
	explainer *Explainer
}

// compareAll compares all explanations of a fixture with calls.
func compareAll(t *testing.T, seed uint64) {
	r := draw(seed)
	ctx, stop := context.WithCancel(t.Context())
	known := catalog.New(catalog.Options{DefaultOpaquePorts: catalog.PortSet{{Low: 9090, High: 9090}}})
	for _, v := range r.known {
		known.Put(v)
	}
	known.MarkSynced()
	server := destination.NewServer(known, r.config(), prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	done := make(chan error, 3)
	go func() { done <- known.Run(ctx) }()
	go func() { done <- server.Run(ctx) }()
	<-known.Synced()
	listener := bufconn.Listen(1 << 12)
	serving := grpc.NewServer(server.ServerOptions()...)
	server.Register(serving)
	go func() { done <- serving.Serve(server.Listener(listener)) }()
	conn, err := grpc.NewClient("passthrough:///test", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	// The other constructor reads all schemas, for each fixture.
	clientset := fake.NewSimpleClientset(r.objects...)
	c := &calls{random: r, t: t, client: pb.NewDestinationClient(conn), explainer: &Explainer{Catalog: known, Server: server, Client: clientset, IPv6: r.ipv6}}
	clientset.PrependReactor("list", "*", r.react)
	defer func() {
		_ = conn.Close()
		stop()
		serving.Stop()
		for range cap(done) {
			<-done
		}
	}()
	c.compareServices()
	c.compareAddresses()
}

// firstUpdates returns the addresses of the first response of Get to a client on a node, and the
// error of the call.
func (c *calls) firstUpdates(path, node string) (addresses []string, refused error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Second)
	defer cancel()
	stream, err := c.client.Get(ctx, &pb.GetDestination{Path: path, ContextToken: fmt.Sprintf(`{"nodeName":%q}`, node)})
	if err != nil {
		c.t.Fatal(err)
	}
	// The first answer may have several messages. Whoever says nothing for a second says nothing more.
	for {
		update, err := stream.Recv()
		switch {
		case status.Code(err) == codes.DeadlineExceeded:
			return addresses, nil
		case err != nil:
			return nil, err
		}
		for _, a := range update.GetAdd().GetAddrs() {
			addresses = append(addresses, addressText(a.GetAddr()))
		}
	}
}

func addressText(a *netpb.TcpAddress) string {
	if v6 := a.GetIp().GetIpv6(); v6 != nil {
		return fmt.Sprintf("%x %x %d", v6.GetFirst(), v6.GetLast(), a.GetPort())
	}
	return fmt.Sprintf("%x %d", a.GetIp().GetIpv4(), a.GetPort())
}

// firstProfile returns the first response of GetProfile.
func (c *calls) firstProfile(path string) (*pb.DestinationProfile, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Second)
	defer cancel()
	stream, err := c.client.GetProfile(ctx, &pb.GetDestination{Path: path})
	if err != nil {
		c.t.Fatal(err)
	}
	return stream.Recv()
}

// got has the responses of Get to the clients of all nodes.
type got struct {
	refused error
	// union are the addresses that some client is told of; some and all say who is told of one.
	union     map[string]bool
	some, all bool
}

func (c *calls) get(path string) got {
	g := got{union: map[string]bool{}, all: true}
	for _, node := range someNodes {
		addresses, err := c.firstUpdates(path, node)
		g.refused = err
		g.some, g.all = g.some || len(addresses) > 0, g.all && len(addresses) > 0
		for _, a := range addresses {
			g.union[a] = true
		}
	}
	return g
}

// serves reports whether all clients that should get endpoints get some.
func (c *calls) serves(path string) bool {
	g := c.get(path)
	name, _, _ := strings.Cut(path, ".")
	s := c.services[key(name)]
	if parts := strings.Split(path, "."); len(parts) == 6 { // HOSTNAME.SERVICE.…
		s = c.services[key(parts[1])]
	}
	return g.refused == nil && (g.all || g.some && s != nil && c.local(s))
}

// isWell returns the verdict by the responses to calls.
func (c *calls) isWell(s *catalog.Service, hostname string, port uint16) bool {
	path := fmt.Sprintf("%s.shop.svc.cluster.local:%d", s.Key.Name, port)
	if hostname != "" {
		path = hostname + "." + path
	}
	return (hostname != "" || !c.broken[s.Key.Name]) && c.isServed(s, hostname, path, port)
}

// isServed reports whether calls for a port get endpoints, regardless of problems with the routes
// of its profile.
func (c *calls) isServed(s *catalog.Service, hostname, path string, port uint16) bool {
	profile, err := c.firstProfile(path)
	if err != nil {
		return false
	}
	if hostname == "" {
		for _, ip := range s.ClusterIPs {
			if _, err := c.firstProfile(netip.AddrPortFrom(ip, port).String()); err != nil {
				return false
			}
		}
	}
	overridden := false
	for _, d := range profile.GetDstOverrides() {
		if d.GetWeight() > 0 {
			overridden = true
			if !c.serves(d.GetAuthority()) {
				return false
			}
		}
	}
	return overridden || c.serves(path)
}

func (c *calls) explain(q inspect.Query) (inspect.Explanation, string) {
	e := inspect.Conclude(q.String(), c.explainer.Explain(c.t.Context(), q))
	text := string(e.Verdict) + ": " + e.Summary
	for _, s := range e.Steps {
		text += fmt.Sprintf("\n  %s %s: %s\n    %s", s.State, s.What, s.Text, strings.Join(s.More, "\n    "))
	}
	return e, text
}

func verdictOf(well bool) inspect.Verdict {
	if well {
		return inspect.VerdictOK
	}
	return inspect.VerdictWrong
}

func (c *calls) compareServices() {
	for _, name := range append(slices.Clone(someServices), "gone") {
		for _, port := range []uint16{80, 81, 82} {
			for _, hostname := range []string{"", "a"} {
				c.compareService(name, hostname, port)
			}
		}
		if s := c.services[key(name)]; s != nil {
			c.compareState(s)
		}
	}
}

// compareState compares the state of a Service in lists with the responses to calls for its ports.
func (c *calls) compareState(s *catalog.Service) {
	served, some := 0, false
	for _, p := range s.Ports {
		path := fmt.Sprintf("%s.shop.svc.cluster.local:%d", s.Key.Name, p.Port)
		isServed := c.isServed(s, "", path, p.Port)
		if isServed {
			served++
		}
		some = some || isServed || c.get(path).some
	}
	want := inspect.ServiceUnserved
	ready := c.explainer.Catalog.CountEndpoints(s).Ready
	switch {
	case s.ExternalName:
		want = inspect.ServiceExternal
	case len(s.Ports) == 0:
		want = inspect.ServicePortless
	case served == len(s.Ports):
		want = inspect.ServiceServed
	case some:
		want = inspect.ServicePartly
	case ready == 0:
		want = inspect.ServiceEmpty
	}
	if got := c.explainer.StateOf(s, ready); got != want {
		_, text := c.explain(inspect.Query{Service: &inspect.ServiceQuery{Namespace: "shop", Name: s.Key.Name}})
		c.t.Fatalf("the state of %s is %s, want %s\n%s", s.Key.Name, got, want, text)
	}
}

func (c *calls) compareService(name, hostname string, port uint16) {
	e, text := c.explain(inspect.Query{Service: &inspect.ServiceQuery{Namespace: "shop", Name: name, Hostname: hostname, Port: port}})
	s := c.services[key(name)]
	switch {
	case s != nil && s.ExternalName:
		// Nothing is wrong with such a Service, and calls for it are refused.
		if g := c.get(fmt.Sprintf("%s.shop.svc.cluster.local:%d", name, port)); g.refused == nil || e.Verdict != inspect.VerdictOK || !strings.Contains(text, "are refused") {
			c.t.Fatalf("Get of the ExternalName %s: %v\n%s", name, g.refused, text)
		}
		return
	case s == nil || !slices.ContainsFunc(s.Ports, func(p catalog.ServicePort) bool { return p.Port == port }):
		if e.Verdict != inspect.VerdictWrong {
			c.t.Fatalf("there is no port %d of %s\n%s", port, name, text)
		}
		return
	}
	if want := verdictOf(c.isWell(s, hostname, port)); e.Verdict != want {
		c.t.Fatalf("calls for %s %s:%d: %s\n%s", hostname, name, port, want, text)
	}
	path := fmt.Sprintf("%s.shop.svc.cluster.local:%d", name, port)
	if hostname != "" {
		path = hostname + "." + path
	}
	if g := c.get(path); g.all || g.some && c.local(s) {
		of := ""
		if hostname != "" {
			of = " of the hostname " + hostname
		}
		if want := fmt.Sprintf("port %d%s is served by %s", port, of, inspect.Plural(len(g.union), "endpoint")); !strings.Contains(text, want+"\n") {
			c.t.Fatalf("Get tells of %v\n%s", g.union, text)
		}
	}
}

func (c *calls) compareAddresses() {
	for _, ip := range append(slices.Clone(someIPs), hostIP.String(), "10.96.0.1", "10.96.0.2", "10.96.0.3") {
		for _, port := range []uint16{80, 8080, 9090, 7777} {
			c.compareAddress(netip.AddrPortFrom(netip.MustParseAddr(ip), port))
		}
	}
}

func (c *calls) compareAddress(a netip.AddrPort) {
	e, text := c.explain(inspect.Query{Address: a})
	p, err := c.firstProfile(a.String())
	labels := p.GetEndpoint().GetMetricLabels()
	switch {
	case err != nil:
		if e.Verdict != inspect.VerdictWrong && !strings.Contains(text, "ExternalName") {
			c.t.Fatalf("GetProfile of %s: %v\n%s", a, err, text)
		}
	case p.GetEndpoint() == nil: // a Service
		_, byName := c.explain(inspect.Query{Service: c.holder(a)})
		if verdict, _, _ := strings.Cut(byName, ":"); verdict != string(e.Verdict) {
			c.t.Fatalf("by its cluster IP %s:\n%s\nby its name:\n%s", a, text, byName)
		}
	case labels["pod"] != "":
		if !strings.Contains(text, "Pod shop/"+labels["pod"]) {
			c.t.Fatalf("GetProfile of %s finds the pod %s\n%s", a, labels["pod"], text)
		}
		if e.Verdict != inspect.VerdictOK && !strings.Contains(text, "and is not served") {
			c.t.Fatalf("GetProfile of %s is right\n%s", a, text)
		}
	case e.Verdict == inspect.VerdictOK && !c.inSlices(a.Addr()):
		c.t.Fatalf("GetProfile of %s finds nobody\n%s", a, text)
	}
}

func (c *calls) holder(a netip.AddrPort) *inspect.ServiceQuery {
	for key, s := range c.services {
		if slices.Contains(s.ClusterIPs, a.Addr()) {
			return &inspect.ServiceQuery{Namespace: key.Namespace, Name: key.Name, Port: a.Port()}
		}
	}
	c.t.Fatalf("no Service has the cluster IP %s", a)
	return nil
}

func (c *calls) inSlices(ip netip.Addr) bool {
	return slices.ContainsFunc(c.slices, func(s *catalog.EndpointSlice) bool {
		return slices.ContainsFunc(s.Subsets[0].Endpoints, func(e catalog.SliceEndpoint) bool { return slices.Contains(e.Addresses, ip) })
	})
}
