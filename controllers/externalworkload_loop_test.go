package controllers_test

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	netpb "github.com/linkerd/linkerd2-proxy-api/go/net"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/encoding/protojson"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/api/workload"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/destination"
	"github.com/signpostd/signpost/kube/kinds"
	"github.com/signpostd/signpost/testkit/kubetest"
)

var machineLoops = flag.Int("externalworkload.loops", 30, "lives of ExternalWorkloads in TestExternalWorkloadLoops")

const (
	machineLanes   = 8
	machinesOfLane = 3
)

// TestExternalWorkloadLoops creates ExternalWorkloads, changes every field, makes them unready and ready and
// deletes them, concurrently and partly faster than the controllers can follow. Controllers and a Destination
// API share their watches, as in a process with both roles. When a lane is idle, its slices must equal the
// written state, and its streams must have the addresses of that state, with what a new stream receives.
func TestExternalWorkloadLoops(t *testing.T) {
	t.Parallel()
	known := catalog.New(catalog.Options{})
	w := environment{
		cluster: kubetest.StartOwn(t, kubetest.Options{CRDs: "../deploy/crds"}).Cluster,
		beside:  kinds.CatalogTables(known, kinds.FromEndpointSlices),
	}
	if err := w.assemble(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.stop)
	w.begin()
	s := w.fixture(t)
	proxy := pb.NewDestinationClient(s.serveDestination(known))
	var compared atomic.Int64
	t.Run("lanes", func(t *testing.T) {
		for i := range machineLanes {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				l := s.in(t).newMachineLane(i, proxy)
				l.compared = &compared
				l.run((*machineLoops + i) / machineLanes)
			})
		}
	})
	t.Logf("%d lives, compared %d times", *machineLoops, compared.Load())
	w.stop()
	if text := w.log.containing("level=ERROR"); text != "" {
		t.Errorf("logged:\n%s", text)
	}
}

// serveDestination serves the Destination API from a catalog until the test ends, and returns a connection to
// it.
func (s *fixture) serveDestination(known *catalog.Catalog) *grpc.ClientConn {
	s.Helper()
	server := destination.NewServer(known, destination.Config{
		TrustDomain: "cluster.local", ClusterDomain: "cluster.local", EnableH2Upgrade: true, EnableIPv6: true, ZoneWeights: true,
	}, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(s.log, nil)))
	served := grpc.NewServer(server.ServerOptions()...)
	server.Register(served)
	listener := bufconn.Listen(1 << 16)
	conn, err := grpc.NewClient("passthrough:///signpost", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	s.must(err)
	endCatalog := inBackground(func(ctx context.Context) { _ = known.Run(ctx) })
	endServer := inBackground(func(ctx context.Context) { _ = server.Run(ctx) })
	endGRPC := inBackground(func(context.Context) { _ = served.Serve(listener) })
	s.Cleanup(func() {
		_ = conn.Close()
		served.Stop()
		endGRPC()
		endServer()
		endCatalog()
	})
	known.MarkSynced() // its tables are filled since the environment was assembled
	return conn
}

// machineLane is a Service with a few workloads, which one goroutine writes.
type machineLane struct {
	*fixture
	service  machineService
	proxy    pb.DestinationClient
	random   *rand.Rand
	machines []*machine
	streams  []*machineStream
	compared *atomic.Int64 // how often the written state was shown
}

// machine is the name of a workload. Its object is nil while it doesn't exist.
type machine struct {
	name   string
	object *workload.ExternalWorkload
	steps  []func() // to come, in the current life
}

// newMachineLane creates the Service of a lane, and opens its streams.
func (s *fixture) newMachineLane(i int, proxy pb.DestinationClient) *machineLane {
	s.Helper()
	services := machineServices()
	l := &machineLane{fixture: s, service: services[i%len(services)], proxy: proxy, random: rand.New(rand.NewPCG(uint64(i), 4))}
	wanted := l.service.Service.DeepCopy()
	wanted.Name = fmt.Sprint("web-", i)
	wanted.Spec.Selector = map[string]string{"app": wanted.Name}
	l.service.Service = *must[*corev1.Service](s)(s.client.CoreV1().Services(s.ns).Create(s.Context(), wanted, metav1.CreateOptions{}))
	for j := range machinesOfLane {
		name := fmt.Sprintf("%s-vm-%d", wanted.Name, j)
		if j == 2 {
			name = wanted.Name + ".vm" // no hostname
		}
		l.machines = append(l.machines, &machine{name: name})
	}
	for _, q := range l.service.queries {
		if q.hostname != "" {
			q.hostname = wanted.Name + "-" + q.hostname
		}
		l.eventually(func() error { _, err := l.fresh(q); return err }) // the catalog knows the Service
		l.streams = append(l.streams, l.open(q))
	}
	return l
}

// run takes workloads through their lives.
func (l *machineLane) run(lives int) {
	for {
		var busy []*machine
		for _, m := range l.machines {
			if len(m.steps) == 0 && lives > 0 {
				m.steps = l.life(m)
				lives--
			}
			if len(m.steps) > 0 {
				busy = append(busy, m)
			}
		}
		if len(busy) == 0 {
			l.eventually(l.differs)
			return
		}
		m := busy[l.random.IntN(len(busy))]
		m.steps[0]()
		m.steps = m.steps[1:]
		if l.random.IntN(2) == 0 {
			l.eventually(l.differs)
		}
	}
}

// life returns the steps of a workload from its creation to its deletion.
func (l *machineLane) life(m *machine) []func() {
	r, app := l.random, l.service.Spec.Selector["app"]
	client := l.external()
	// send keeps the object as the API server returns it.
	send := func(write func(context.Context, *unstructured.Unstructured) (*unstructured.Unstructured, error)) {
		l.Helper()
		got := must[*unstructured.Unstructured](l.fixture)(write(l.Context(), l.untyped(m.object)))
		m.object = &workload.ExternalWorkload{}
		l.must(runtime.DefaultUnstructuredConverter.FromUnstructured(got.Object, m.object))
	}
	update := func(changes ...func(*workload.ExternalWorkload, *rand.Rand)) func() {
		return func() {
			for _, change := range changes {
				change(m.object, r)
			}
			send(func(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
				return client.Update(ctx, o, metav1.UpdateOptions{})
			})
		}
	}
	become := func(ready bool) func() {
		return func() {
			m.object.Status.Conditions = conditions(ready, r)
			send(func(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
				return client.UpdateStatus(ctx, o, metav1.UpdateOptions{})
			})
		}
	}
	steps := []func(){func() {
		m.object = newMachine(m.name, app, r)
		send(func(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			return client.Create(ctx, o, metav1.CreateOptions{})
		})
	}, become(true)}
	fields := append(slices.Clone(machineFields), unselect)
	r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	for len(fields) > 0 {
		n := min(len(fields), []int{1, 1, 2, 3, 5, 8, 13}[r.IntN(7)])
		steps = append(steps, update(fields[:n]...))
		fields = fields[n:]
	}
	fix := func(w *workload.ExternalWorkload, r *rand.Rand) { fixMachine(w, app, r) }
	return append(steps, update(fix), become(false), update(machineFields[r.IntN(len(machineFields))]), become(true), func() { l.remove(m) })
}

// remove deletes a workload. With a finalizer, the workload stays unchanged until the finalizer is removed.
func (l *machineLane) remove(m *machine) {
	l.must(l.external().Delete(l.Context(), m.name, metav1.DeleteOptions{}))
	if len(m.object.Finalizers) > 0 {
		l.eventually(l.differs)
		must[*unstructured.Unstructured](l.fixture)(l.external().Patch(
			l.Context(), m.name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{},
		))
	}
	m.object = nil
}

// differs returns an error while slices and streams don't show the written state.
func (l *machineLane) differs() error {
	var current []*workload.ExternalWorkload
	for _, m := range l.machines {
		if m.object != nil {
			current = append(current, m.object)
		}
	}
	selector := discoveryv1.LabelManagedBy + "=" + ofWorkloads + "," + discoveryv1.LabelServiceName + "=" + l.service.Name
	list, err := l.client.DiscoveryV1().EndpointSlices(l.ns).List(l.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return err
	}
	got := []string{}
	for i := range list.Items {
		lines, err := l.service.sliceLines(&list.Items[i])
		if err != nil {
			return err
		}
		got = append(got, lines...)
	}
	slices.Sort(got)
	if diff := gocmp.Diff(l.service.wantSlices(current), got); diff != "" {
		return fmt.Errorf("slices (-want +got):\n%s", diff)
	}
	for _, s := range l.streams {
		if err := l.differsFrom(s, l.service.wantAddresses(current, s.machineQuery)); err != nil {
			return fmt.Errorf("stream %+v: %w", s.machineQuery, err)
		}
	}
	l.compared.Add(1)
	return nil
}

// fresh returns what a new stream receives first.
func (l *machineLane) fresh(q machineQuery) (state streamState, err error) {
	ctx, cancel := context.WithCancel(l.Context())
	defer cancel()
	stream, err := l.proxy.Get(ctx, l.request(q))
	if err != nil {
		return nil, err
	}
	u, err := stream.Recv()
	state = streamState{}
	state.apply(u)
	return state, err
}

// differsFrom returns an error if a stream has other addresses, or what a new stream doesn't receive.
func (l *machineLane) differsFrom(s *machineStream, addresses []string) error {
	fresh, err := l.fresh(s.machineQuery)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := gocmp.Diff(addresses, slices.Sorted(maps.Keys(s.state))); diff != "" {
		return fmt.Errorf("addresses (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(fresh, s.state); diff != "" {
		return fmt.Errorf("new stream and this one (-new +this):\n%s", diff)
	}
	return nil
}

// machineStream is an open stream.
type machineStream struct {
	machineQuery
	mu    sync.Mutex
	state streamState
}

// request returns the request of a stream for a query.
func (l *machineLane) request(q machineQuery) *pb.GetDestination {
	authority := fmt.Sprintf("%s.%s.svc.cluster.local:%d", l.service.Name, l.service.Namespace, q.port)
	if q.hostname != "" {
		authority = q.hostname + "." + authority
	}
	return &pb.GetDestination{Path: authority, ContextToken: fmt.Sprintf(`{"ns":%q,"nodeName":"node-%s"}`, l.service.Namespace, q.zone)}
}

// open opens a stream, which ends with the test.
func (l *machineLane) open(q machineQuery) *machineStream {
	s := &machineStream{machineQuery: q, state: streamState{}}
	l.Cleanup(inBackground(func(ctx context.Context) {
		stream, err := l.proxy.Get(ctx, l.request(q))
		for err == nil {
			var u *pb.Update
			if u, err = stream.Recv(); err == nil {
				s.mu.Lock()
				s.state.apply(u)
				s.mu.Unlock()
			}
		}
		if ctx.Err() == nil {
			l.Errorf("stream %+v ended: %v", q, err)
		}
	}))
	return s
}

// streamState has the addresses that a stream has received, each with all of its fields and the
// labels of its set.
type streamState map[string]string

func (k streamState) apply(u *pb.Update) {
	set := u.GetAdd()
	for _, a := range set.GetAddrs() {
		k[addressText(a.GetAddr())] = protojson.Format(&pb.WeightedAddrSet{MetricLabels: set.GetMetricLabels(), Addrs: []*pb.WeightedAddr{a}})
	}
	for _, a := range u.GetRemove().GetAddrs() {
		delete(k, addressText(a))
	}
}

func addressText(a *netpb.TcpAddress) string {
	ip, _ := netip.AddrFromSlice(binary.BigEndian.AppendUint32(nil, a.GetIp().GetIpv4()))
	if v6 := a.GetIp().GetIpv6(); v6 != nil {
		ip, _ = netip.AddrFromSlice(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, v6.GetFirst()), v6.GetLast()))
	}
	return netip.AddrPortFrom(ip, uint16(a.GetPort())).String()
}
