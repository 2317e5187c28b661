package page_test

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/testkit/kubetest"
)

var scale = flag.Float64("scale", 0, "part of 10,000 Services, 20,000 streams and 100,000 records to measure the page with; 0 for no measurement")

const (
	// scaleServices have namesPerService names each.
	scaleServices, namesPerService, scaleStreams = 10_000, 10, 20_000
	// scaleConnections are the connections of all streams.
	scaleConnections = 100
	// scaleRounds are measured without and with the page in turns, each with scaleUpdates changes.
	scaleRounds, scaleUpdates = 3, 10
	// scalePatience is how long the load may take to come up.
	scalePatience = 10 * time.Minute
)

// TestScale measures the page of a process with much to show, in a real browser (-scale=1): from a click to the first rows
// of each list, and the fan-out of changes with and without the page. It needs ../../bin/signpost (make bin/signpost).
func TestScale(t *testing.T) {
	if *scale <= 0 {
		t.Skip("-scale isn't set")
	}
	services, streams := int(scaleServices**scale), int(scaleStreams**scale)
	cluster := kubetest.StartOwn(t, kubetest.Options{})
	loadServices(t, cluster.Client, services)
	grpcAddr, adminURL := startScaled(t, cluster.Kubeconfig)
	load := openStreams(t, grpcAddr, streams)
	b := newTab(t)
	b.run(chromedp.Navigate(adminURL + "/#tab=records"))
	b.awaitFor(scalePatience, fmt.Sprintf(`(() => { const m = /published ([0-9,]+)/.exec(document.querySelector("#tiles").innerText.replace(/\s+/g, " ")); return m !== null && Number(m[1].replace(/,/g, "")) === %d; })()`, services*namesPerService))
	t.Logf("%d Services, %d streams, %d records", services, streams, services*namesPerService)
	for _, tab := range []string{"now", "services", "streams", "records"} {
		rows, answer := b.firstRows(adminURL, tab)
		t.Logf("first rows of %s: %v ms after the page was asked for, of which their answer took %v ms", tab, rows, answer)
	}
	var without, with []time.Duration
	for range scaleRounds {
		b.run(chromedp.Navigate("about:blank"))
		without = append(without, load.fanOut(t, cluster.Client)...)
		b.run(chromedp.Navigate(adminURL + "/#tab=streams"))
		b.await(`document.querySelectorAll("#panel tbody tr").length > 0`)
		with = append(with, load.fanOut(t, cluster.Client)...)
	}
	t.Logf("fan-out of a change to %d streams, p50 and p99: %v and %v without the page, %v and %v with it",
		streams, quantileOf(without, .5), quantileOf(without, .99), quantileOf(with, .5), quantileOf(with, .99))
	b.complaints() // the connection that ended when the page was left
}

// quantileOf returns a quantile of durations.
func quantileOf(all []time.Duration, q float64) time.Duration {
	slices.Sort(all)
	return all[int(q*float64(len(all)-1))].Round(time.Millisecond)
}

// firstRows returns, in ms and sorted, how long after the page was asked for its rows had come, and how long the answer with
// them took. The rest is what the browser does.
func (b *tab) firstRows(url, tab string) (rows, answer []int) {
	for range 5 {
		b.run(chromedp.Navigate("about:blank"))
		b.run(chromedp.Navigate(url + "/#tab=" + tab))
		b.await(`document.querySelector("#panel tbody tr, #panel .finding, #panel .now.is-well") !== null`)
		const entries = `performance.getEntriesByType("resource").filter((e) => /\/v1alpha1\/%s(\?|$)/.test(e.name)).slice(0, 1).map((e) => Math.round(%s))[0] ?? -1`
		rows = append(rows, eval[int](b, fmt.Sprintf(entries, tab, "e.responseEnd")))
		answer = append(answer, eval[int](b, fmt.Sprintf(entries, tab, "e.responseEnd - e.requestStart")))
	}
	slices.Sort(rows)
	slices.Sort(answer)
	return rows, answer
}

// loadServices creates Services that ask for names, and one whose endpoints are served.
func loadServices(t *testing.T, client kubernetes.Interface, n int) {
	t.Helper()
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(16)
	for i := range n {
		g.Go(func() error {
			var names []string
			for j := range namesPerService {
				names = append(names, fmt.Sprintf("n%d.s%05d.example.org", j, i))
			}
			_, err := client.CoreV1().Services("default").Create(ctx, &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("s%05d", i), Annotations: map[string]string{
					"external-dns.kubernetes.io/hostname": strings.Join(names, ","), "external-dns.kubernetes.io/target": "192.0.2.1",
				}},
				Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 80}}},
			}, metav1.CreateOptions{})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	web := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := client.CoreV1().Services("default").Create(t.Context(), web, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.DiscoveryV1().EndpointSlices("default").Create(t.Context(), webSlice(true), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// webSlice is the slice of the Service web. whole says whether its last endpoint is there.
func webSlice(whole bool) *discoveryv1.EndpointSlice {
	port, n := int32(8080), 20
	if !whole {
		n--
	}
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: &port}},
	}
	for i := range n {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.9.0.%d", i+1)}})
	}
	return s
}

// startScaled runs the roles destination and dns, and returns their addresses.
func startScaled(t *testing.T, kubeconfig string) (grpcAddr, adminURL string) {
	t.Helper()
	grpcAddr = freeAddress(t)
	admin := freeAddress(t)
	config := filepath.Join(t.TempDir(), "signpost.yaml")
	text := fmt.Sprintf(`apiVersion: signpost.dev/v1alpha1
kind: Config
kubeconfig: %s
admin: {address: %q}
destination: {addr: %q, limits: {maxConnectionsPerHost: 20000}, externalWorkloadWriter: false}
dns:
  publishers:
    - {name: public, source: [service], provider: inmemory, inmemory-zone: [example.org], policy: sync, registry: noop, interval: 1m}
`, kubeconfig, admin, grpcAddr)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	startBinary(t, "../../bin/signpost", "run", "--config", config)
	return grpcAddr, "http://" + admin
}

// freeAddress returns a local address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// streamLoad is many streams for the Service web.
type streamLoad struct {
	n int
	// got counts the messages.
	got atomic.Int64
	mu  sync.Mutex
	// late is when the messages of the last change came.
	late []time.Time
}

// openStreams opens streams until the test ends, and waits until each has its first answer.
func openStreams(t *testing.T, addr string, n int) *streamLoad {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	l := &streamLoad{n: n}
	var running sync.WaitGroup
	var conns []*grpc.ClientConn
	t.Cleanup(func() {
		cancel()
		running.Wait()
		for _, c := range conns {
			_ = c.Close()
		}
	})
	for range scaleConnections {
		c, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	for i := range n {
		running.Go(func() { l.read(ctx, conns[i%len(conns)]) })
	}
	l.await(t, int64(n))
	return l
}

func (l *streamLoad) read(ctx context.Context, conn *grpc.ClientConn) {
	stream, err := pb.NewDestinationClient(conn).Get(ctx, &pb.GetDestination{Scheme: "k8s", Path: "web.default.svc.cluster.local:80"}, grpc.WaitForReady(true))
	for err == nil {
		if _, err = stream.Recv(); err != nil {
			return
		}
		now := time.Now()
		l.mu.Lock()
		l.late = append(l.late, now)
		l.mu.Unlock()
		l.got.Add(1)
	}
}

// await waits until so many messages have come.
func (l *streamLoad) await(t *testing.T, n int64) {
	t.Helper()
	kubetest.Eventually(t, scalePatience, func() error {
		if got := l.got.Load(); got < n {
			return fmt.Errorf("%d of %d messages", got, n)
		}
		return nil
	})
}

// fanOut changes the endpoints, and returns how long after a write each stream had the change.
func (l *streamLoad) fanOut(t *testing.T, client kubernetes.Interface) (all []time.Duration) {
	t.Helper()
	for i := range scaleUpdates {
		l.mu.Lock()
		l.late = l.late[:0]
		l.mu.Unlock()
		want := l.got.Load() + int64(l.n)
		begun := time.Now()
		if _, err := client.DiscoveryV1().EndpointSlices("default").Update(t.Context(), webSlice(i%2 == 1), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		l.await(t, want)
		l.mu.Lock()
		for _, at := range l.late {
			all = append(all, at.Sub(begun))
		}
		l.mu.Unlock()
	}
	return all
}
