package page_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
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

var (
	scale    = flag.Float64("scale", 0, "part of 10,000 Services, 20,000 streams and 100,000 records to measure the page with; 0 for no measurement")
	programs = flag.String("programs", signpost, "programs to measure in turns, separated by commas")
)

const (
	// scaleServices is the number of Services, with namesPerService names each.
	scaleServices, namesPerService, scaleStreams = 10_000, 10, 20_000
	// scaleConnections is the number of connections for all streams.
	scaleConnections = 100
	// scaleLoads is how often each list is loaded.
	scaleLoads = 7
	// scaleRounds is the number of rounds without and with the page, with scaleUpdates changes each.
	scaleRounds, scaleUpdates = 3, 10
	// scalePatience is the time limit until the load is complete.
	scalePatience = 10 * time.Minute
)

// scaleLists are the lists whose first rows are measured.
var scaleLists = []string{"now", "services", "streams", "records"}

// scaled is a program with the whole load.
type scaled struct {
	name, url string
	pid       int
	load      *streamLoad
	// loads are the stages of each load of a list.
	loads map[string][]stages
	// without and with are the fan-out times of changes without and with the page, and the CPU time of the
	// process.
	without, with fanOuts
}

// fanOuts are the durations of changes, and the CPU time of the process meanwhile.
type fanOuts struct {
	took []time.Duration
	cpu  time.Duration
}

// TestScale measures the page of a process with a large load in a real browser (-scale=1): the time until the
// first rows of each list are painted, without a cache, and the fan-out of changes with and without the page.
// It needs ../../bin/signpost (make bin/signpost). Several programs (-programs=OLD,NEW) are measured in
// turns.
func TestScale(t *testing.T) {
	if *scale <= 0 {
		t.Skip("-scale isn't set")
	}
	services, streams := int(scaleServices**scale), int(scaleStreams**scale)
	cluster := kubetest.StartOwn(t, kubetest.Options{})
	loadServices(t, cluster.Client, services)
	var all []*scaled
	for i, program := range strings.Split(*programs, ",") {
		p := &scaled{name: program, loads: map[string][]stages{}}
		var grpcAddr string
		grpcAddr, p.url, p.pid = startScaled(t, program, cluster.Kubeconfig, i)
		p.load = openStreams(t, cluster.Client, fmt.Sprintf("web-%d", i), grpcAddr, streams)
		all = append(all, p)
	}
	b := newTab(t, all[0].url)
	call(b, network.Enable, network.EnableParams{})
	call(b, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	for _, p := range all {
		b.run(chromedp.Navigate(p.url + "/#tab=records"))
		b.awaitFor(scalePatience, fmt.Sprintf(`(() => { const m = /published ([0-9,]+)/.exec(document.querySelector("#tiles").innerText.replace(/\s+/g, " ")); return m !== null && Number(m[1].replace(/,/g, "")) === %d; })()`, services*namesPerService))
	}
	call(b, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: noteRows})
	t.Logf("%d Services, %d streams, %d records; load of the machine %s", services, streams, services*namesPerService, loadAverage())
	for range scaleLoads {
		for _, list := range scaleLists {
			for _, p := range all {
				p.loads[list] = append(p.loads[list], b.firstRows(p.url, list))
			}
		}
	}
	for _, p := range all {
		for _, list := range scaleLists {
			t.Logf("%s: first rows of %s: %s", p.name, list, summary(p.loads[list]))
		}
	}
	for range scaleRounds {
		for _, p := range all {
			b.run(chromedp.Navigate("about:blank"))
			p.measure(t, cluster.Client, &p.without)
			b.run(chromedp.Navigate(p.url + "/#tab=streams"))
			b.await(`document.querySelectorAll("#panel tbody tr").length > 0 && document.querySelector("#live").textContent.includes("live")`)
			p.measure(t, cluster.Client, &p.with)
		}
	}
	for _, p := range all {
		t.Logf("%s: fan-out of a change to %d streams: without the page %s; with it %s", p.name, streams, p.without, p.with)
	}
	t.Logf("load of the machine %s", loadAverage())
	b.complaints() // the connection that ended with the page
}

// measure changes the endpoints of p's streams, and adds the durations.
func (p *scaled) measure(t *testing.T, client kubernetes.Interface, f *fanOuts) {
	before := cpuOf(t, p.pid)
	f.took = append(f.took, p.load.fanOut(t, client)...)
	f.cpu += cpuOf(t, p.pid) - before
}

// String returns the p50 and p99, and the CPU time per change.
func (f fanOuts) String() string {
	return fmt.Sprintf("p50 %v, p99 %v, %v of CPU", quantileOf(f.took, .5), quantileOf(f.took, .99), (f.cpu / (scaleRounds * scaleUpdates)).Round(time.Millisecond))
}

// cpuOf returns the CPU time of a process. The clock of /proc has 100 ticks per second.
func cpuOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	// The name, in parentheses, may have spaces. utime and stime are the fields 14 and 15.
	fields := strings.Fields(string(text[strings.LastIndex(string(text), ")")+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}

// loadAverage returns the load of the last minutes.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

// quantileOf returns a quantile of durations.
func quantileOf(all []time.Duration, q float64) time.Duration {
	slices.Sort(all)
	return all[int(q*float64(len(all)-1))].Round(time.Millisecond)
}

// noteRows is a script that records when the first rows are in the document, and when they are painted.
const noteRows = `(() => {
  const look = new MutationObserver(() => {
    if (window.rows || !document.querySelector("#panel tbody tr, #panel .finding, #panel .now.is-well")) return;
    look.disconnect();
    window.rows = { made: performance.now() };
    requestAnimationFrame(() => {
      const later = new MessageChannel();
      later.port1.onmessage = () => { window.rows.painted = performance.now(); };
      later.port2.postMessage(0);
    });
  });
  look.observe(document, { childList: true, subtree: true });
})();`

// stages are the times of a load, in ms after its start: the document and its scripts were loaded, the rows
// were requested and received, and they were in the document and painted.
type stages struct{ Document, Scripts, Asked, Answered, Made, Painted float64 }

// firstRows loads a list and returns its stages.
func (b *tab) firstRows(url, list string) stages {
	b.Helper()
	b.run(chromedp.Navigate("about:blank"))
	b.run(chromedp.Navigate(url + "/#tab=" + list))
	b.await(`window.rows?.painted > 0`)
	return eval[stages](b, fmt.Sprintf(`(() => {
	  const all = performance.getEntriesByType("resource");
	  const rows = all.find((e) => /\/v1alpha1\/%s(\?|$)/.test(e.name));
	  const scripts = Math.max(...all.filter((e) => e.name.endsWith(".js")).map((e) => e.responseEnd));
	  return { Document: performance.getEntriesByType("navigation")[0].responseEnd, Scripts: scripts, Asked: rows.startTime, Answered: rows.responseEnd, Made: window.rows.made, Painted: window.rows.painted };
	})()`, list))
}

// summary returns the p50 and p90 until the first rows were painted, and the median of each stage.
func summary(loads []stages) string {
	of := func(q float64, stage func(stages) float64) int {
		var all []float64
		for _, s := range loads {
			all = append(all, stage(s))
		}
		slices.Sort(all)
		return int(all[int(math.Round(q*float64(len(all)-1)))])
	}
	painted := func(s stages) float64 { return s.Painted }
	return fmt.Sprintf("p50 %d ms, p90 %d ms of %d loads (document %d, scripts %d, asked %d, answered %d, in the document %d)", of(.5, painted), of(.9, painted), len(loads),
		of(.5, func(s stages) float64 { return s.Document }), of(.5, func(s stages) float64 { return s.Scripts }), of(.5, func(s stages) float64 { return s.Asked }),
		of(.5, func(s stages) float64 { return s.Answered }), of(.5, func(s stages) float64 { return s.Made }))
}

// loadServices creates Services with names in DNS.
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
}

// slice returns the slice of the Service, with its last endpoint if whole is true.
func (l *streamLoad) slice(whole bool) *discoveryv1.EndpointSlice {
	port, n := int32(8080), 20
	if !whole {
		n--
	}
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: l.service, Labels: map[string]string{discoveryv1.LabelServiceName: l.service}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: &port}},
	}
	for i := range n {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.9.0.%d", i+1)}})
	}
	return s
}

// startScaled runs the roles destination and dns of a program, and returns their addresses and the process
// ID. Each program of a test has its own Lease.
func startScaled(t *testing.T, program, kubeconfig string, number int) (grpcAddr, adminURL string, pid int) {
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
  leaderElection: {resourceName: signpost-dns-%d}
  publishers:
    - {name: public, source: [service], provider: inmemory, inmemory-zone: [example.org], policy: sync, registry: noop, interval: 1m}
`, kubeconfig, admin, grpcAddr, number)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, pid = startBinary(t, program, "run", "--config", config)
	return grpcAddr, "http://" + admin, pid
}

// freeAddress returns a free local address.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// streamLoad is many streams for a Service.
type streamLoad struct {
	service string
	n       int
	// got counts the messages.
	got atomic.Int64
	mu  sync.Mutex
	// late has the arrival times of the messages of the last change.
	late []time.Time
}

// openStreams creates a Service and opens streams for it until the test ends. It waits until each has its
// first response.
func openStreams(t *testing.T, client kubernetes.Interface, service, addr string, n int) *streamLoad {
	t.Helper()
	l := &streamLoad{service: service, n: n}
	web := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: service}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := client.CoreV1().Services("default").Create(t.Context(), web, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.DiscoveryV1().EndpointSlices("default").Create(t.Context(), l.slice(true), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
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
	stream, err := pb.NewDestinationClient(conn).Get(ctx, &pb.GetDestination{Scheme: "k8s", Path: l.service + ".default.svc.cluster.local:80"}, grpc.WaitForReady(true))
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

// await waits for this number of messages.
func (l *streamLoad) await(t *testing.T, n int64) {
	t.Helper()
	kubetest.Eventually(t, scalePatience, func() error {
		if got := l.got.Load(); got < n {
			return fmt.Errorf("%d of %d messages", got, n)
		}
		return nil
	})
}

// fanOut changes the endpoints, and returns the delay of the change on each stream.
func (l *streamLoad) fanOut(t *testing.T, client kubernetes.Interface) (all []time.Duration) {
	t.Helper()
	for i := range scaleUpdates {
		l.mu.Lock()
		l.late = l.late[:0]
		l.mu.Unlock()
		want := l.got.Load() + int64(l.n)
		begun := time.Now()
		if _, err := client.DiscoveryV1().EndpointSlices("default").Update(t.Context(), l.slice(i%2 == 1), metav1.UpdateOptions{}); err != nil {
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
