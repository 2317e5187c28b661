package xds

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	endpointpb "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/simulation"
	"github.com/signpostd/signpost/dev/bench/workload"
	"github.com/signpostd/signpost/xds/resource"
)

// From spec/xds.md case 52.
const (
	restartServices      = 1000
	restartPods          = 10
	restartStreams       = 20_000
	restartPerConnection = 10
	// restartWithin is how long it may take from when the server is ready until the last stream is right.
	restartWithin = 10 * time.Second
)

// measureRestart restarts the server. While it is stopped, an endpoint of each Service becomes unready.
func measureRestart(ctx context.Context, r *measure.Report, c measure.Options) error {
	k, err := simulation.Start(ctx, simulation.Size{Services: c.Scaled(restartServices, 10), Pods: restartPods})
	if err != nil {
		return err
	}
	defer k.Stop()
	s, err := startXDS(ctx, k.Dir, k.Kubeconfig)
	if err != nil {
		return err
	}
	defer func() { s.Stop() }()
	streams := c.Scaled(restartStreams, 100)
	p, err := measure.StartSelf(ctx, k.Dir, 0, "xdsreconnect", "--addr", s.Addr, "--services", strconv.Itoa(k.Services),
		"--pods", strconv.Itoa(k.Pods), "--streams", strconv.Itoa(streams))
	if err != nil {
		return err
	}
	defer p.Stop()
	if _, err := awaitStage(ctx, p, stageOpen, streams); err != nil {
		return err
	}
	stopped := time.Now()
	s.Stop()
	var all simulation.Changes
	for svc := range k.Services {
		all.Slices = append(all.Slices, svc)
	}
	if err := k.Change(ctx, all); err != nil {
		return err
	}
	if s, err = startXDS(ctx, k.Dir, k.Kubeconfig); err != nil {
		return err
	}
	ready := time.Now()
	var got stageReport
	used, err := s.CpuOf(func() (err error) {
		got, err = awaitStage(ctx, p, stageChanged, streams)
		return err
	})
	if err != nil {
		return err
	}
	peak, err := s.PeakMemory()
	if err != nil {
		return err
	}
	open, err := sumOf(ctx, "xds_streams")
	if err != nil {
		return err
	}
	refused, err := refusals(ctx)
	if err != nil {
		return err
	}
	var took []time.Duration
	for _, at := range got.Right {
		took = append(took, max(0, time.UnixMicro(at).Sub(ready)))
	}
	slices.Sort(took)
	r.TitleBeside("", "xDS: %s; %d streams on %d connections, the server is restarted", k.Size, streams, (streams+restartPerConnection-1)/restartPerConnection)
	r.AtMost("from ready until the last stream is right", "s", measure.Quantile(took, 1)/1000, restartWithin.Seconds())
	r.None("streams without the right resources in the end", streams-len(got.Right), fmt.Sprint(streams-len(got.Right)))
	r.None("streams that the server lacks", streams-int(open), fmt.Sprint(streams-int(open)))
	r.Note("p50 %.1f s, p99 %.1f s; the server was ready %.1f s after it began to stop", measure.Quantile(took, .5)/1000, measure.Quantile(took, .99)/1000,
		ready.Sub(stopped).Seconds())
	r.Note("%.0f µs of CPU of the server for each stream, %.0f MiB at the peak", float64(used.Microseconds())/float64(streams), peak/measure.Mebibyte)
	r.Note("streams that ended before a response, by code: %v; connections and streams that the server refused, by reason: %s", got.Codes, refused)
	return nil
}

// sumOf returns the sum of the series of a metric.
func sumOf(ctx context.Context, name string) (sum float64, err error) {
	values, err := measure.Metric(ctx, name)
	for _, v := range values {
		sum += v
	}
	return sum, err
}

// refusals returns what the server has refused so far, such as "unsynced 12".
func refusals(ctx context.Context) (string, error) {
	body, err := measure.AdminGet(ctx, "/metrics")
	var list []string
	for line := range strings.Lines(body) {
		if series, of := strings.CutPrefix(line, `xds_refused_total{reason="`); of {
			if reason, count, _ := strings.Cut(strings.TrimSpace(series), `"} `); count != "0" {
				list = append(list, reason+" "+count)
			}
		}
	}
	return cmp.Or(strings.Join(list, ", "), "none"), err
}

// The stages of the streams: all of them have the endpoints from before the restart, or those from after it.
const (
	stageOpen    = "open"
	stageChanged = "changed"
)

// stageReport is what the process of the streams prints at the end of a stage.
type stageReport struct {
	Stage string
	// Right is when each stream got the last of its resources in this stage, in microseconds. Streams without
	// are left out.
	Right []int64
	// Codes counts the streams that ended before a response, since the stage before, by their codes.
	Codes map[string]int64
}

// awaitStage waits until the process prints that a stage is over.
func awaitStage(ctx context.Context, p *measure.Process, stage string, streams int) (got stageReport, err error) {
	err = measure.PollSlowly(ctx, 2*time.Minute, func() bool {
		return json.Unmarshal([]byte(p.LastLine()), &got) == nil && got.Stage == stage || p.Ended() != nil
	})
	if err == nil {
		err = p.Ended()
	}
	if err != nil {
		return got, fmt.Errorf("wait until %d streams are right (%s): %w: see %s", streams, stage, err, p.Log)
	}
	return got, nil
}

// reconnecting are streams that connect again as gRPC clients do.
type reconnecting struct {
	simulation.Size
	addr    string
	streams []*reconnectingStream
	// flips is how often the slice of each Service was changed in the cluster that the streams wait for.
	flips atomic.Int32
	right atomic.Int64

	mu    sync.Mutex
	codes map[string]int64
}

// reconnectingStream is one of them.
type reconnectingStream struct {
	all     *reconnecting
	service int

	mu sync.Mutex
	// types are those of which the open stream has had a resource, and known its endpoints.
	types map[string]bool
	known []string
	at    time.Time // when it became right; zero if it isn't
}

// RunReconnecting is the process of the streams of the restart. It prints a stageReport for each stage, and
// stays until it is ended.
func RunReconnecting(ctx context.Context, args []string) error {
	all := &reconnecting{codes: map[string]int64{}}
	fs := flag.NewFlagSet("xdsreconnect", flag.ExitOnError)
	fs.StringVar(&all.addr, "addr", "", "address of the server")
	fs.IntVar(&all.Services, "services", 0, "Services of the simulated cluster")
	fs.IntVar(&all.Pods, "pods", 0, "pods of each Service")
	streams := fs.Int("streams", 0, "how many streams")
	if err := fs.Parse(args); err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	var conn *grpc.ClientConn
	for i := range *streams {
		if i%restartPerConnection == 0 {
			var err error
			if conn, err = workload.DialFrom(i/restartPerConnection, all.addr); err != nil {
				return err
			}
			defer conn.Close()
		}
		s, on := &reconnectingStream{all: all, service: i % all.Services}, conn
		all.streams = append(all.streams, s)
		running.Go(func() { s.run(ctx, on) })
	}
	for flips, stage := range []string{stageOpen, stageChanged} {
		all.await(flips)
		if err := measure.PollSlowly(ctx, 90*time.Second, func() bool { return all.right.Load() == int64(*streams) }); ctx.Err() != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(all.report(stage)); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// await makes the streams wait for another state of the cluster.
func (r *reconnecting) await(flips int) {
	for _, s := range r.streams {
		s.mu.Lock()
	}
	r.flips.Store(int32(flips))
	r.right.Store(0)
	for _, s := range r.streams {
		s.at = time.Time{}
		s.judge(time.Now())
		s.mu.Unlock()
	}
}

func (r *reconnecting) report(stage string) stageReport {
	report := stageReport{Stage: stage, Codes: map[string]int64{}}
	for _, s := range r.streams {
		s.mu.Lock()
		if !s.at.IsZero() {
			report.Right = append(report.Right, s.at.UnixMicro())
		}
		s.mu.Unlock()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.Copy(report.Codes, r.codes)
	clear(r.codes)
	return report
}

// The delays of gRPC clients before another attempt, after one that ended without a response.
const (
	firstBackoff   = time.Second
	longestBackoff = 30 * time.Second
	backoffGrowth  = 1.6
	backoffJitter  = .2
)

// run follows the Service until the context ends. A stream that ends after a response is opened again at
// once.
func (s *reconnectingStream) run(ctx context.Context, conn *grpc.ClientConn) {
	backoff := firstBackoff
	for ctx.Err() == nil {
		s.begin()
		answered := false
		err := follow(ctx, conn, subscriptions(s.all.ServiceName(s.service), s.all.NamespaceOf(s.service)), func(r *wholeResponse) {
			answered = true
			s.receive(r)
		})
		if answered {
			backoff = firstBackoff
			continue
		}
		s.all.fail(err)
		wait := time.Duration(float64(backoff) * (1 + backoffJitter*(2*rand.Float64()-1)))
		backoff = min(longestBackoff, time.Duration(float64(backoff)*backoffGrowth))
		if measure.Pause(ctx, wait) != nil {
			return
		}
	}
}

func (r *reconnecting) fail(err error) {
	code := codes.OK // of a stream that ended because the server stops
	if !errors.Is(err, io.EOF) {
		code = status.Code(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.codes[code.String()]++
}

// begin forgets what the stream before had.
func (s *reconnectingStream) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.types, s.known = map[string]bool{}, nil
	s.unright()
}

// unright makes the stream count as one that isn't right. The caller holds the lock.
func (s *reconnectingStream) unright() {
	if !s.at.IsZero() {
		s.at = time.Time{}
		s.all.right.Add(-1)
	}
}

// receive takes a response of any type.
func (s *reconnectingStream) receive(r *wholeResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.types[r.typeURL] = true
	if r.typeURL == resource.EndpointsURL {
		s.known = r.addresses
	}
	s.judge(time.Now())
}

// judge notes since when the stream has a Listener, a Cluster, and the endpoints that it should. The caller
// holds the lock.
func (s *reconnectingStream) judge(now time.Time) {
	right := len(s.types) == 3 && slices.Equal(s.known, s.all.addresses(s.service))
	switch {
	case !right:
		s.unright()
	case s.at.IsZero():
		s.at = now
		s.all.right.Add(1)
	}
}

// addresses returns the addresses of the ready endpoints of a Service, sorted.
func (r *reconnecting) addresses(service int) (list []string) {
	unready := simulation.Edited{Flips: int(r.flips.Load())}.Unready(r.Pods)
	for i := range r.Pods {
		if i != unready {
			list = append(list, r.PodAddress(service*r.Pods+i).String())
		}
	}
	slices.Sort(list)
	return list
}

// wholeResponse is a response with the addresses of its endpoints, sorted.
type wholeResponse struct {
	rawResponse
	addresses []string
}

func (r *wholeResponse) decode(b []byte) error {
	if err := r.rawResponse.decode(b); err != nil || r.typeURL != resource.EndpointsURL {
		return err
	}
	err := eachField(b, func(number protowire.Number, value []byte) error {
		if number != 2 {
			return nil
		}
		return eachField(value, func(number protowire.Number, value []byte) error {
			if number != 2 {
				return nil
			}
			var a endpointpb.ClusterLoadAssignment
			if err := proto.Unmarshal(value, &a); err != nil {
				return err
			}
			for _, l := range a.GetEndpoints() {
				for _, e := range l.GetLbEndpoints() {
					r.addresses = append(r.addresses, e.GetEndpoint().GetAddress().GetSocketAddress().GetAddress())
				}
			}
			return nil
		})
	})
	slices.Sort(r.addresses)
	return err
}
