package destination

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// profileServer is a fixture for streams of GetProfile.
type profileServer struct {
	*fixture
	client pb.DestinationClient

	mu       sync.Mutex
	problems []objectmeta.Problem
}

var profileHTTP2 = &pb.Http2ClientParams{KeepAlive: &pb.Http2ClientParams_KeepAlive{WhileIdle: true}}

// withProfileServer runs a test with a server that has the objects.
func withProfileServer(t *testing.T, objects []catalog.Object, test func(*testing.T, *profileServer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &profileServer{}
		s.fixture = start(t, Config{
			ControllerNamespace: "linkerd", TrustDomain: "trust.domain", ClusterDomain: "cluster.local", EnableH2Upgrade: true,
			HTTP2: profileHTTP2, Report: s.report,
		}, objects...)
		s.client = pb.NewDestinationClient(s.conn)
		test(t, s)
	})
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
	s.change(objects)
}

func (s *profileServer) remove(objects ...catalog.Object) {
	for _, v := range objects {
		s.catalog.Delete(v.ID())
	}
	s.settle()
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
	settle()
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
	settle()
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
	return edited(&catalog.Service{
		Key: catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "ns", Name: name}, Ports: []catalog.ServicePort{{Name: "http", Port: 80, Protocol: catalog.TCP}},
	}, edits)
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
	return edited(&catalog.Workload{
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
	return edited(w, edits)
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
