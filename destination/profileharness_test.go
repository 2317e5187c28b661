package destination

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// profileServer is a server with real streams in a synctest bubble, where the absence of further messages is
// certain.
type profileServer struct {
	catalog  *catalog.Catalog
	server   *Server
	client   pb.DestinationClient
	registry *prometheus.Registry
	// stop ends the server. Its streams last until it has ended them.
	stop context.CancelFunc

	mu       sync.Mutex
	problems []objectmeta.Problem
}

var profileHTTP2 = &pb.Http2ClientParams{KeepAlive: &pb.Http2ClientParams_KeepAlive{WhileIdle: true}}

// withProfileServer runs a test with a server that has the objects.
func withProfileServer(t *testing.T, objects []catalog.Object, test func(*testing.T, *profileServer)) {
	t.Helper()
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	synctest.Test(t, func(t *testing.T) {
		s := &profileServer{registry: prometheus.NewRegistry()}
		s.catalog = catalog.New(catalog.Options{DefaultOpaquePorts: catalog.PortSet{{Low: 3306, High: 3306}}})
		s.server = NewServer(s.catalog, Config{
			ControllerNamespace: "linkerd", TrustDomain: "trust.domain", ClusterDomain: "cluster.local", EnableH2Upgrade: true,
			HTTP2: profileHTTP2, Report: s.report,
		}, s.registry, slog.New(slog.DiscardHandler))
		grpcServer := grpc.NewServer(s.server.ServerOptions()...)
		s.server.Register(grpcServer)
		listener := bufconn.Listen(1 << 16)
		conn, err := grpc.NewClient("passthrough:///bubble", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
		s.client = pb.NewDestinationClient(conn)
		ctx, cancel := context.WithCancel(context.Background())
		serving, stop := context.WithCancel(ctx)
		s.stop = stop
		var running sync.WaitGroup
		running.Go(func() { _ = s.catalog.Run(ctx) })
		running.Go(func() { _ = s.server.Run(serving) })
		running.Go(func() { _ = grpcServer.Serve(listener) })
		defer func() {
			cancel()
			conn.Close()
			grpcServer.Stop()
			running.Wait()
			s.wantIdle(t)
		}()
		s.put(objects...)
		s.catalog.MarkSynced()
		profileSettle()
		test(t, s)
	})
}

// wantIdle checks that ended streams leave no state.
func (s *profileServer) wantIdle(t *testing.T) {
	t.Helper()
	if n := s.server.profiles.m.Len(); n != 0 {
		t.Errorf("%d views are left without a stream", n)
	}
	if n := s.server.profiles.descriptions.Len(); n != 0 {
		t.Errorf("%d descriptions are left without a view", n)
	}
	if n := len(s.server.profileStreams.All()); n != 0 {
		t.Errorf("%d streams are left that have ended", n)
	}
	expectNoUsage(t, s.server)
	expectNoOverflows(t, s.registry)
}

// profileSettle waits until all effects of the changes have happened. Time is virtual, and the wait is longer
// than any delay of the catalog.
func profileSettle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

func (s *profileServer) report(p objectmeta.Problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, p)
}

func (s *profileServer) reported() []objectmeta.Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problems
}

func (s *profileServer) put(objects ...catalog.Object) {
	for _, v := range objects {
		s.catalog.Put(v)
	}
	profileSettle()
}

func (s *profileServer) remove(objects ...catalog.Object) {
	for _, v := range objects {
		s.catalog.Delete(v.ID())
	}
	profileSettle()
}

// profileClient is one stream with the received messages.
type profileClient struct {
	cancel context.CancelFunc

	mu       sync.Mutex
	messages []*pb.DestinationProfile
	taken    int
	over     bool
	err      error // nil for status OK
}

// open opens a stream and waits for its first message.
func (s *profileServer) open(path, token string) *profileClient {
	ctx, cancel := context.WithCancel(context.Background())
	c := &profileClient{cancel: cancel}
	go func() {
		stream, err := s.client.GetProfile(ctx, &pb.GetDestination{Path: path, ContextToken: token})
		for err == nil {
			var p *pb.DestinationProfile
			if p, err = stream.Recv(); err == nil {
				c.received(p)
			}
		}
		c.end(err)
	}()
	profileSettle()
	return c
}

func (c *profileClient) received(p *pb.DestinationProfile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages = append(c.messages, p)
}

func (c *profileClient) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over, c.err = true, err
}

// close ends the stream as the client.
func (c *profileClient) close() {
	c.cancel()
	profileSettle()
}

// want checks that the client got exactly these messages since the last call, and that the stream is open.
func (c *profileClient) want(t *testing.T, what string, profiles ...*pb.DestinationProfile) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if diff := cmp.Diff(profiles, append([]*pb.DestinationProfile(nil), c.messages[c.taken:]...), protocmp.Transform()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
	c.taken = len(c.messages)
	if c.over {
		t.Errorf("%s: the stream ended: %v", what, c.err)
	}
}

// wantRefused checks that the stream was refused without a message.
func (c *profileClient) wantRefused(t *testing.T, code codes.Code) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over || len(c.messages) > 0 || status.Code(c.err) != code {
		t.Errorf("%d messages, ended %v, status %v; want none and %s", len(c.messages), c.over, c.err, code)
	}
}

// The objects of these tests are in the namespace ns of the local cluster.

func profileService(name string, edits ...func(*catalog.Service)) *catalog.Service {
	return profileEdited(&catalog.Service{
		Key: catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "ns", Name: name}, Ports: []catalog.ServicePort{{Name: "http", Port: 80, Protocol: catalog.TCP}},
	}, edits)
}

func profileEdited[T any](v *T, edits []func(*T)) *T {
	for _, edit := range edits {
		edit(v)
	}
	return v
}

func withClusterIPs(ips ...string) func(*catalog.Service) {
	return func(s *catalog.Service) { s.ClusterIPs = profileIPs(ips...) }
}

func withOpaquePorts(list string) func(*catalog.Service) {
	return func(s *catalog.Service) { s.OpaquePorts = portsOf(list) }
}

func withPorts(numbers ...uint16) func(*catalog.Service) {
	return func(s *catalog.Service) {
		s.Ports = nil
		for _, n := range numbers {
			s.Ports = append(s.Ports, catalog.ServicePort{Port: n, Protocol: catalog.TCP})
		}
	}
}

func profileIPs(ips ...string) []netip.Addr {
	var list []netip.Addr
	for _, ip := range ips {
		list = append(list, netip.MustParseAddr(ip))
	}
	return list
}

// profilePod returns a running pod without a proxy.
func profilePod(name, ip string, edits ...func(*catalog.Workload)) *catalog.Workload {
	return profileEdited(&catalog.Workload{
		Key: catalog.WorkloadKey{Kind: catalog.Pod, Cluster: catalog.LocalCluster, Namespace: "ns", Name: name}, IPs: profileIPs(ip), Running: true,
	}, edits)
}

// meshed gives a pod a proxy.
func meshed(w *catalog.Workload) {
	w.Labels = objectmeta.NewLabels(map[string]string{catalog.ControlPlaneLabel: "linkerd"})
	w.Proxy = &proxyListeners
	w.Ports = append(w.Ports, catalog.WorkloadPort{Name: "linkerd-admin", Port: 4191})
}

func profilePending(w *catalog.Workload) { w.Running = false }

func profileAnnotated(list string) func(*catalog.Workload) {
	return func(w *catalog.Workload) { w.OpaquePorts = portsOf(list, w.Ports...) }
}

func profileVM(name, ip string, edits ...func(*catalog.Workload)) *catalog.Workload {
	w := &catalog.Workload{
		Key: catalog.WorkloadKey{Kind: catalog.ExternalWorkload, Cluster: catalog.LocalCluster, Namespace: "ns", Name: name}, IPs: profileIPs(ip),
		Ports: []catalog.WorkloadPort{{Name: "http", Port: 80}}, MeshTLS: catalog.MeshTLS{Identity: catalog.Identity{Name: "spiffe://vm", Form: catalog.URIIdentity}, ServerName: "vm.server"},
	}
	return profileEdited(w, edits)
}

// profileOpaqueServer returns a Server for a port of all workloads of both kinds.
func profileOpaqueServer(port uint16) *catalog.Server {
	return &catalog.Server{
		Cluster: catalog.LocalCluster, Namespace: "ns", Name: "srv", Pods: &catalog.Selector{}, ExternalWorkloads: &catalog.Selector{}, PortNumber: port, Opaque: true,
	}
}

// profileOn returns a ServiceProfile of ns/web with one route.
func profileOn(namespace, route string) *catalog.ServiceProfile {
	sp := webProfile(catalog.Route{Name: route, Condition: &catalog.RequestMatch{Method: "GET"}, Retryable: true})
	sp.Namespace = namespace
	return sp
}
