package xds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	clusterpb "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointpb "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerpb "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routepb "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	managerpb "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/testkit/logtest"
	"github.com/signpostd/signpost/testkit/metrictest"
	"github.com/signpostd/signpost/xds/resource"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a catalog and a server over it that is reached by gRPC, all inside the bubble of one test.
type fixture struct {
	t        *testing.T
	catalog  *catalog.Catalog
	server   *Server
	registry *prometheus.Registry
	conn     *grpc.ClientConn
	log      logtest.Buffer
	listener *bufconn.Listener
	end      context.CancelFunc
	ended    chan struct{}
}

// start returns a fixture that knows the objects.
func start(t *testing.T, config Config, objects ...catalog.Object) *fixture {
	t.Helper()
	f := startUnsynced(t, config, objects...)
	f.catalog.MarkSynced()
	f.rest()
	return f
}

func startUnsynced(t *testing.T, config Config, objects ...catalog.Object) *fixture {
	t.Helper()
	f := &fixture{t: t, registry: prometheus.NewRegistry(), ended: make(chan struct{}), listener: bufconn.Listen(1 << 10)}
	f.catalog = catalog.New(catalog.Options{})
	f.server = NewServer(f.catalog, config, f.registry, slog.New(slog.NewTextHandler(&f.log, nil)))
	for _, v := range objects {
		f.catalog.Put(v)
	}
	serving, end := context.WithCancel(t.Context())
	known, stop := context.WithCancel(t.Context())
	f.end = end
	go func() {
		defer close(f.ended)
		if err := f.server.Run(serving); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	var wg sync.WaitGroup
	wg.Go(func() { _ = f.catalog.Run(known) })
	server := grpc.NewServer(f.server.ServerOptions()...)
	f.server.Register(server)
	wg.Go(func() { _ = server.Serve(f.server.Listener(fromPod{f.listener})) })
	f.conn = f.connect()
	t.Cleanup(func() {
		f.end()
		_ = f.conn.Close()
		server.Stop()
		<-f.ended
		stop()
		wg.Wait()
		f.expectNothingLeft()
	})
	return f
}

// connect returns another connection to the server.
func (f *fixture) connect() *grpc.ClientConn {
	f.t.Helper()
	conn, err := grpc.NewClient("passthrough:///signpost", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return f.listener.DialContext(ctx) }),
		grpc.WithStaticStreamWindowSize(64<<10), grpc.WithStaticConnWindowSize(1<<20))
	if err != nil {
		f.t.Fatal(err)
	}
	return conn
}

// podIP is the address that all clients have.
const podIP = "10.1.0.7"

// fromPod makes connections come from podIP.
type fromPod struct{ net.Listener }

// Accept implements net.Listener.
func (l fromPod) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return podConn{c}, nil
}

type podConn struct{ net.Conn }

// RemoteAddr implements net.Conn.
func (podConn) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(podIP), 40000))
}

// rest waits until everything that follows from the changes has happened.
func (f *fixture) rest() {
	time.Sleep(time.Second) // virtual time
	synctest.Wait()
}

// change puts objects and deletes others in one step of the catalog, and waits for the outcome:
// right after a step, a catalog waits for more changes.
func (f *fixture) change(put []catalog.Object, remove ...catalog.ID) {
	f.catalog.Put(&catalog.Node{Cluster: catalog.LocalCluster, Name: "unused"})
	synctest.Wait()
	for _, id := range remove {
		f.catalog.Delete(id)
	}
	for _, v := range put {
		f.catalog.Put(v)
	}
	f.rest()
}

func put(objects ...catalog.Object) []catalog.Object { return objects }

// expectNothingLeft checks that nothing is left of streams that have ended.
func (f *fixture) expectNothingLeft() {
	f.t.Helper()
	if n := f.server.topics.Len(); n > 0 {
		f.t.Errorf("%d topics are left without streams", n)
	}
	if !f.server.clients.Idle() || len(f.server.streams.All()) > 0 {
		f.t.Errorf("clients are left that hold something, or %d streams", len(f.server.streams.All()))
	}
	for id, b := range f.server.budgets.m {
		if n := b.subscriptions.Load(); n != 0 {
			f.t.Errorf("%d subscriptions of %v are left", n, id)
		}
	}
}

// metric returns the value of a series such as xds_streams{client="go",variant="sotw"}.
func (f *fixture) metric(series string) float64 {
	f.t.Helper()
	return metrictest.Series(f.t, f.registry)[series]
}

// ads is a SotW stream and what it received.
type ads struct {
	f      *fixture
	stream grpc.BidiStreamingClient[discovery.DiscoveryRequest, discovery.DiscoveryResponse]
	cancel context.CancelFunc
	reads  chan struct{} // closed when the client begins to read

	mu        sync.Mutex
	responses []*discovery.DiscoveryResponse
	nonces    map[string]string // of the last response, by type URL
	err       error
}

// node is that of a client with this user agent.
func node(agent string, metadata map[string]string) *corepb.Node {
	fields := map[string]*structpb.Value{}
	for k, v := range metadata {
		fields[k] = structpb.NewStringValue(v)
	}
	return &corepb.Node{Id: "test", UserAgentName: agent, Metadata: &structpb.Struct{Fields: fields}}
}

const pythonAgent = "gRPC C-core linux Python"

// ads opens a stream that reads all responses. It sends no request.
func (f *fixture) ads() *ads {
	f.t.Helper()
	a := f.stalled()
	close(a.reads)
	return a
}

// stalled opens a stream that doesn't read until its reads are closed.
func (f *fixture) stalled() *ads {
	f.t.Helper()
	return f.open(f.t.Context())
}

// open opens a stream with the headers of a context. It doesn't read until its reads are closed.
func (f *fixture) open(ctx context.Context) *ads {
	f.t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	f.t.Cleanup(cancel)
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(f.conn).StreamAggregatedResources(ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	a := &ads{f: f, stream: stream, cancel: cancel, reads: make(chan struct{}), nonces: map[string]string{}}
	go func() {
		<-a.reads
		for a.read() {
		}
	}()
	return a
}

func (a *ads) read() bool {
	r, err := a.stream.Recv()
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.err = err
		return false
	}
	a.responses = append(a.responses, r)
	a.nonces[r.GetTypeUrl()] = r.GetNonce()
	return true
}

// send sends a request of a gRPC client, without a nonce.
func (a *ads) send(typ resourceType, names ...string) {
	a.request(&discovery.DiscoveryRequest{Node: node(pythonAgent, nil), TypeUrl: typ.URL(), ResourceNames: names})
}

// ack sends a request with the nonce of the last response of the type.
func (a *ads) ack(typ resourceType, names ...string) {
	a.request(&discovery.DiscoveryRequest{TypeUrl: typ.URL(), ResourceNames: names, ResponseNonce: a.nonce(typ)})
}

func (a *ads) nack(typ resourceType, why string, names ...string) {
	a.request(&discovery.DiscoveryRequest{
		TypeUrl: typ.URL(), ResourceNames: names, ResponseNonce: a.nonce(typ), ErrorDetail: &rpcstatus.Status{Code: 3, Message: why},
	})
}

func (a *ads) nonce(typ resourceType) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.nonces[typ.URL()]
}

func (a *ads) request(r *discovery.DiscoveryRequest) {
	a.f.t.Helper()
	if err := a.stream.Send(r); err != nil && !errors.Is(err, io.EOF) {
		a.f.t.Fatal(err)
	}
	a.f.rest()
}

// take returns the responses that came since it was last called.
func (a *ads) take() []*discovery.DiscoveryResponse {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := a.responses
	a.responses = nil
	return taken
}

// one returns the only response that came, of this type.
func (a *ads) one(typ resourceType) *discovery.DiscoveryResponse {
	a.f.t.Helper()
	got := a.take()
	if len(got) != 1 || got[0].GetTypeUrl() != typ.URL() {
		a.f.t.Fatalf("%s, want one response of %s", transcript(got), typ)
	}
	return got[0]
}

// none checks that no response came.
func (a *ads) none(why string) {
	a.f.t.Helper()
	if got := a.take(); len(got) > 0 {
		a.f.t.Errorf("%s: %s, want no response", why, transcript(got))
	}
}

// ended says how the stream ended: "open" when it hasn't.
func (a *ads) ended() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.err == nil:
		return "open"
	case errors.Is(a.err, io.EOF):
		return "OK"
	default:
		return status.Code(a.err).String()
	}
}

// transcript gives responses as words: the type and the names of the resources.
func transcript(responses []*discovery.DiscoveryResponse) []string {
	var lines []string
	for _, r := range responses {
		typ, _ := resource.TypeOf(r.GetTypeUrl())
		lines = append(lines, typ.String()+" "+strings.Join(namesIn(r.GetResources()), " "))
	}
	return lines
}

func namesIn(resources []*anypb.Any) []string {
	var names []string
	for _, r := range resources {
		m, err := r.UnmarshalNew()
		if err != nil {
			names = append(names, err.Error())
			continue
		}
		switch m := m.(type) {
		case *endpointpb.ClusterLoadAssignment:
			names = append(names, m.GetClusterName())
		case interface{ GetName() string }:
			names = append(names, m.GetName())
		}
	}
	return names
}

func decode[M proto.Message](t testing.TB, of *anypb.Any, m M) M {
	t.Helper()
	if err := of.UnmarshalTo(m); err != nil {
		t.Fatal(err)
	}
	return m
}

// clusterIn returns the Cluster that the routes of a Listener lead to; "" for none.
func clusterIn(t *testing.T, of *anypb.Any) string {
	t.Helper()
	l := decode(t, of, &listenerpb.Listener{})
	manager := decode(t, l.GetApiListener().GetApiListener(), &managerpb.HttpConnectionManager{})
	hosts := manager.GetRouteConfig().GetVirtualHosts()
	if len(hosts) == 0 {
		return ""
	}
	routes := hosts[0].GetRoutes()
	action, _ := routes[len(routes)-1].GetAction().(*routepb.Route_Route)
	return action.Route.GetCluster()
}

// addressesIn returns the endpoints of a ClusterLoadAssignment, sorted.
func addressesIn(t testing.TB, of *anypb.Any) []string {
	t.Helper()
	list := []string{}
	for _, locality := range decode(t, of, &endpointpb.ClusterLoadAssignment{}).GetEndpoints() {
		for _, e := range locality.GetLbEndpoints() {
			at := e.GetEndpoint().GetAddress().GetSocketAddress()
			list = append(list, fmt.Sprintf("%s:%d", at.GetAddress(), at.GetPortValue()))
		}
	}
	slices.Sort(list)
	return list
}

func clusterOf(t *testing.T, of *anypb.Any) *clusterpb.Cluster {
	t.Helper()
	return decode(t, of, &clusterpb.Cluster{})
}

// service is a Service with ports such as "http:80".
func service(namespace, name string, ports ...string) *catalog.Service {
	s := &catalog.Service{Key: catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: namespace, Name: name}}
	for _, p := range ports {
		portName, number, _ := strings.Cut(p, ":")
		var n uint16
		_, _ = fmt.Sscan(number, &n)
		s.Ports = append(s.Ports, catalog.ServicePort{Name: portName, Port: n, Protocol: catalog.TCP})
	}
	return s
}

// slice is an EndpointSlice of a Service with a port of this name and these addresses.
func slice(of *catalog.Service, name, portName string, port uint16, addresses ...string) *catalog.EndpointSlice {
	s := &catalog.EndpointSlice{
		Cluster: catalog.LocalCluster, Namespace: of.Key.Namespace, Name: name, Service: of.Key, AddressType: catalog.IPv4,
		Subsets: []catalog.Subset{{Ports: []catalog.SubsetPort{{Name: portName, Port: port}}}},
	}
	for _, a := range addresses {
		s.Subsets[0].Endpoints = append(s.Subsets[0].Endpoints, catalog.SliceEndpoint{Addresses: []netip.Addr{netip.MustParseAddr(a)}})
	}
	return s
}

// callingPod is the pod that has podIP.
func callingPod(namespace, node string) *catalog.Workload {
	return &catalog.Workload{
		Key: catalog.WorkloadKey{Kind: catalog.Pod, Cluster: catalog.LocalCluster, Namespace: namespace, Name: "client"},
		IPs: []netip.Addr{netip.MustParseAddr(podIP)}, Node: node, Running: true, Ready: true,
	}
}

// shop is the Service web.shop with one endpoint for each of its ports.
func shop() (*catalog.Service, []catalog.Object) {
	web := service("shop", "web", "http:80", "grpc:50051")
	return web, put(web, slice(web, "web-http", "http", 8080, "10.0.0.1", "10.0.0.2"), slice(web, "web-grpc", "grpc", 50051, "10.0.0.1", "10.0.0.2"))
}

const (
	grpcCluster = "web.shop.svc.cluster.local:50051"
	httpCluster = "web.shop.svc.cluster.local:80"
)

// endpointsOf returns the name of the endpoints of a Cluster. Names of the form xdstp have the type in them.
func endpointsOf(cluster string) string {
	return strings.Replace(cluster, "/envoy.config.cluster.v3.Cluster/", "/envoy.config.endpoint.v3.ClusterLoadAssignment/", 1)
}
