package xds

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/workload"
	"github.com/signpostd/signpost/xds/resource"
)

// From spec/xds.md case 57: a Service changes all the time, and a change of it is sent to all streams as a
// whole.
const (
	budgetEndpoints = 5000
	budgetStreams   = 1000
	budgetRate      = 50 // changes a second
	budgetFor       = time.Minute
	// egressBudget is the default of --xds-egress-budget.
	egressBudget = 64 << 20
	// removalsFor is how long an endpoint is removed each removalEvery, after the time in which none is: a
	// removal is sent earlier than the budget allows.
	removalsFor, removalEvery = 15 * time.Second, 3 * time.Second
	// canaryEvery is the time between two changes of another Service, and canaryFor how long it is measured
	// alone.
	canaryEvery, canaryFor = 100 * time.Millisecond, 20 * time.Second
)

// The limits of the figures.
const (
	stalenessLimit = 2200 * time.Millisecond
	removalLimit   = 700 * time.Millisecond
	canaryLimit    = 5 * time.Millisecond
)

// measureBudget measures what changes of a large Service cost, and others beside it.
func measureBudget(ctx context.Context, r *measure.Report, c measure.Options) error {
	endpoints := c.Scaled(budgetEndpoints, 100)
	k, err := workload.StartLoadedCluster(ctx, time.Second, endpoints)
	if err != nil {
		return err
	}
	defer k.Stop()
	changer := &changer{Cluster: k}
	if err := changer.create(ctx); err != nil {
		return err
	}
	s, err := startSignpost(ctx, k)
	if err != nil {
		return err
	}
	defer s.Stop()
	full, err := awaitEndpoints(ctx, s.Addr, endpoints+markers)
	if err != nil {
		return err
	}
	canary, err := openStream(ctx, s.Addr, canaryService)
	if err != nil {
		return err
	}
	defer canary.Close()
	alone, err := changer.watchCanary(ctx, canary, func(ctx context.Context) error { return measure.Pause(ctx, c.Share(canaryFor)) })
	if err != nil {
		return err
	}
	streams, err := startMarked(ctx, k, s.Addr, c.Scaled(budgetStreams, 20))
	if err != nil {
		return err
	}
	defer streams.Stop()
	begun := time.Now()
	var beside []time.Duration
	used, err := s.CpuOf(func() (err error) {
		beside, err = changer.watchCanary(ctx, canary, func(ctx context.Context) error { return changer.play(ctx, c.Share(budgetFor), time.Hour) })
		return err
	})
	if err != nil {
		return err
	}
	ended := time.Now()
	if err := changer.play(ctx, c.Share(removalsFor), c.Share(removalEvery)); err != nil {
		return err
	}
	got, err := streams.finish(ctx, changer)
	if err != nil {
		return err
	}
	budgetReport{c.Scaled(budgetStreams, 20), endpoints, full, begun, ended, used, alone, beside, changer, got}.print(r)
	return nil
}

// budgetReport has everything that was measured.
type budgetReport struct {
	streams, endpoints, full int
	// begun and ended are the time in which no endpoint is removed, and cpu what the server spent then.
	begun, ended  time.Time
	cpu           time.Duration
	alone, beside []time.Duration // of the changes of the canary
	*changer
	received [][]receipt
}

func (b budgetReport) print(r *measure.Report) {
	var sent, sentLater, back, lost int
	var stale, removals []time.Duration
	for _, list := range b.received {
		known := receipt{}
		for _, got := range list {
			at := time.UnixMicro(got.At)
			switch {
			case at.Before(b.begun):
			case at.Before(b.ended):
				sent += got.Size
			default:
				sentLater += got.Size
			}
			if got.Change < known.Change || got.Removal < known.Removal {
				back++
			}
			if got.Change > known.Change {
				stale = append(stale, at.Sub(b.changes[known.Change]))
			}
			if got.Removal > known.Removal {
				removals = append(removals, at.Sub(b.removals[known.Removal]))
			}
			known = got
		}
		if known.Change != len(b.changes) || known.Removal != len(b.removals) {
			lost++
		}
	}
	for _, list := range [][]time.Duration{stale, removals, b.alone, b.beside} {
		slices.Sort(list)
	}
	perSecond := func(n int, d time.Duration) float64 { return float64(n) / d.Seconds() / measure.Mebibyte }
	r.TitleBeside("alone", "xDS: %d endpoints, %d streams, %d changes a second for %s; each response has %d kB", b.endpoints, b.streams, budgetRate,
		b.ended.Sub(b.begun).Round(time.Second), b.full>>10)
	r.AtMost("bytes a second to all streams", "MiB", perSecond(sent, b.ended.Sub(b.begun)), egressBudget*1.1/measure.Mebibyte)
	r.AtMost("from the API write of the oldest change to a stream, p99", "ms", measure.Quantile(stale, .99), measure.Ms(stalenessLimit))
	r.AtMost("max", "ms", measure.Quantile(stale, 1), measure.Ms(stalenessLimit))
	r.AtMost("from the removal of an endpoint to a stream, max", "ms", measure.Quantile(removals, 1), measure.Ms(removalLimit))
	r.AtMostBeside("p99 from a change of another Service to its stream", "ms", measure.Figures{
		Base: measure.Quantile(b.alone, .99), Signpost: measure.Quantile(b.beside, .99), Limit: measure.Quantile(b.alone, .99) + measure.Ms(canaryLimit),
	})
	r.None("responses with an older state than the one before", back, fmt.Sprint(back))
	r.None("streams that don't have the last change in the end", lost, fmt.Sprint(lost))
	r.Note("the server used %.2f of a core", b.cpu.Seconds()/b.ended.Sub(b.begun).Seconds())
	r.Note("%d changes; with %d removals in %s: %.1f MiB a second", len(b.changes), len(b.removals), removalsFor, perSecond(sentLater, removalsFor))
}

// Changes are marked by endpoints with hostnames, so that a stream can tell from the bytes of a response what
// it has: of one endpoint only the hostname changes, and another one is replaced.
const (
	changeMark  = "change-"
	removalMark = "removal-"
	// markers is how many endpoints the marks are.
	markers = 2
	// canaryService is the other Service.
	canaryService = "canary"
)

// changer changes the Services.
type changer struct {
	*measure.Cluster
	// changes and removals are when each was begun.
	changes, removals []time.Time
	absent            bool // of the canary's endpoint
}

// create creates the marks and the other Service.
func (c *changer) create(ctx context.Context) error {
	slicesOf := c.Client.DiscoveryV1().EndpointSlices(workload.Namespace)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: canaryService},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
	if _, err := c.Client.CoreV1().Services(workload.Namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create Service %s: %w", canaryService, err)
	}
	for _, s := range []*discoveryv1.EndpointSlice{c.marks(), c.canary()} {
		if _, err := slicesOf.Create(ctx, s, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create slice %s: %w", s.Name, err)
		}
	}
	return nil
}

// sliceWith returns a slice of a Service. The addresses of endpoints are by their hostnames, which may be
// empty.
func sliceWith(service, name string, hostnames map[string]string) *discoveryv1.EndpointSlice {
	s := workload.Slice(0, 0)
	s.Name, s.Labels = name, map[string]string{discoveryv1.LabelServiceName: service}
	for address, hostname := range hostnames {
		e := discoveryv1.Endpoint{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}
		if hostname != "" {
			e.Hostname = new(hostname)
		}
		s.Endpoints = append(s.Endpoints, e)
	}
	return s
}

func (c *changer) marks() *discoveryv1.EndpointSlice {
	n := len(c.removals)
	return sliceWith(workload.Service, workload.Service+"-marks", map[string]string{
		"10.99.0.1": changeMark + strconv.Itoa(len(c.changes)),
		fmt.Sprintf("10.98.%d.%d", n/250, n%250+1): removalMark + strconv.Itoa(n),
	})
}

func (c *changer) canary() *discoveryv1.EndpointSlice {
	endpoints := map[string]string{"10.97.0.1": "", "10.97.0.2": ""}
	if c.absent {
		delete(endpoints, "10.97.0.2")
	}
	return sliceWith(canaryService, canaryService, endpoints)
}

func (c *changer) write(ctx context.Context, s *discoveryv1.EndpointSlice) error {
	if _, err := c.Client.DiscoveryV1().EndpointSlices(workload.Namespace).Update(ctx, s, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update slice %s: %w", s.Name, err)
	}
	return nil
}

// play makes changes for a time, and a removal each time that the other duration is over.
func (c *changer) play(ctx context.Context, d, removals time.Duration) error {
	begun := time.Now()
	removed := begun
	for made := 0; time.Since(begun) < d; made++ {
		due := begun.Add(time.Duration(made) * time.Second / budgetRate)
		if err := measure.Pause(ctx, time.Until(due)); err != nil {
			return err
		}
		now := time.Now()
		c.changes = append(c.changes, now)
		if now.Sub(removed) >= removals {
			removed = now
			c.removals = append(c.removals, now)
		}
		if err := c.write(ctx, c.marks()); err != nil {
			return err
		}
	}
	return nil
}

// watchCanary returns how long changes of the other Service take while something happens.
func (c *changer) watchCanary(ctx context.Context, canary *xdsStreams, during func(context.Context) error) ([]time.Duration, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	happened := make(chan error, 1)
	go func() { happened <- during(ctx) }()
	for canary.takeLatencies(); ; {
		select {
		case err := <-happened:
			return canary.takeLatencies(), err
		case <-time.After(canaryEvery):
		}
		canary.await(!c.absent)
		c.absent = !c.absent
		err := c.write(ctx, c.canary())
		if err == nil {
			err = canary.seenByAll(ctx)
		}
		if err != nil {
			stop()
			<-happened
			return nil, fmt.Errorf("change Service %s: %w", canaryService, err)
		}
	}
}

// receipt is a response that a stream got: when, in microseconds, its size, and the numbers of the marks.
type receipt struct {
	At                    int64
	Size, Change, Removal int
}

// markedStreams is the process of the streams.
type markedStreams struct {
	*measure.Process
	stopped bool
}

// readyLine is what the process prints when all streams have a response.
const readyLine = "ready"

// startMarked starts the process of the streams, and waits until each has a response. The process
// takes only the processor time that is left, because clients usually have machines of their own.
func startMarked(ctx context.Context, k *measure.Cluster, addr string, streams int) (*markedStreams, error) {
	p, err := measure.StartSelf(ctx, k.Dir, 19, "xdsmarked", "--addr", addr, "--streams", strconv.Itoa(streams))
	if err != nil {
		return nil, err
	}
	m := &markedStreams{Process: p}
	if err := p.AwaitLine(ctx, 2*time.Minute, func(line string) bool { return line == readyLine }); err != nil {
		m.Stop()
		return nil, fmt.Errorf("open %d streams: %w: see %s", streams, err, p.Log)
	}
	return m, nil
}

// finish waits until changes have had time to arrive, ends the streams, and returns what they got.
func (m *markedStreams) finish(ctx context.Context, c *changer) (received [][]receipt, err error) {
	if err := measure.Pause(ctx, 2*stalenessLimit); err != nil {
		return nil, err
	}
	m.Stop()
	if err := json.Unmarshal([]byte(m.LastLine()), &received); err != nil {
		return nil, fmt.Errorf("read what the streams got: %w: see %s", err, m.Log)
	}
	return received, nil
}

// Stop ends the process, once.
func (m *markedStreams) Stop() {
	if !m.stopped {
		m.stopped = true
		m.Process.Stop()
	}
}

// RunMarked is the process of the streams. It prints a line when all have a response, and what each has got
// when it is ended.
func RunMarked(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("xdsmarked", flag.ExitOnError)
	addr := fs.String("addr", "", "address of the server")
	streams := fs.Int("streams", 0, "how many streams")
	if err := fs.Parse(args); err != nil {
		return err
	}
	const perConnection = 20
	received := make([][]receipt, *streams)
	var all workload.Connections
	var first sync.WaitGroup
	first.Add(*streams)
	err := all.Start(ctx, *addr, *streams, perConnection, func(ctx context.Context, i int, conn *grpc.ClientConn) {
		err := follow(ctx, conn, subscriptionsTo(workload.Service), func(r *markedResponse) {
			if r.typeURL != resource.EndpointsURL {
				return
			}
			if len(received[i]) == 0 {
				first.Done()
			}
			received[i] = append(received[i], receipt{time.Now().UnixMicro(), r.size, r.change, r.removal})
		})
		if len(received[i]) == 0 {
			first.Done()
		}
		if ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "a stream ended:", err)
		}
	})
	if err != nil {
		return err
	}
	defer all.Close()
	first.Wait()
	fmt.Println(readyLine)
	all.Wait()
	return json.NewEncoder(os.Stdout).Encode(received)
}

// markedResponse is a response with the numbers of its marks.
type markedResponse struct {
	rawResponse
	change, removal int
}

func (r *markedResponse) decode(b []byte) error {
	if err := r.rawResponse.decode(b); err != nil || r.typeURL != resource.EndpointsURL {
		return err
	}
	r.change, r.removal = numberAfter(b, changeMark), numberAfter(b, removalMark)
	return nil
}

// numberAfter returns the number that stands behind a mark, -1 without the mark.
func numberAfter(b []byte, mark string) int {
	_, rest, found := bytes.Cut(b, []byte(mark))
	if !found {
		return -1
	}
	text, _, _ := strings.Cut(string(rest[:min(len(rest), 20)]), ".")
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}
