package streams

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/workload"
)

// The storm: a scraper that restarts asks for the profile of every pod that it
// knows, all at once (linkerd2#15583).
const (
	profilePods    = 10000
	profileServers = 200
	stormStreams   = 2000
	stormAddresses = 1400
	stormWithin    = time.Second
	storms         = 5
	// edits is how many pod updates are timed, at rest and while storms come.
	edits    = 300            // an even number for each pod, so that it ends as it began
	editedAt = stormAddresses // the first pod that is edited; no storm asks for it
	editPods = 50
	// editRounds is how often storms go to each server in turn: a collection of
	// garbage, in whatever process, delays a few updates of a round.
	editRounds = 3
)

// measureProfiles measures a storm of GetProfile calls beside a server that sends
// one message per stream, and what the storm does to the updates of others.
func measureProfiles(ctx context.Context, r *measure.Report, _ measure.Options) error {
	k, err := workload.StartLoadedCluster(ctx, time.Second, profilePods)
	if err != nil {
		return err
	}
	defer k.Stop()
	if err := loadServers(ctx, k); err != nil {
		return fmt.Errorf("load Servers: %w", err)
	}
	floorServer, err := startFloor(ctx, k)
	if err != nil {
		return err
	}
	defer floorServer.Stop()
	floor, err := measureStorms(ctx, floorServer)
	if err != nil {
		return err
	}
	signpost, err := workload.StartSignpost(ctx, k)
	if err != nil {
		return err
	}
	defer signpost.Stop()
	return profileRun{k, signpost, floorServer}.measure(ctx, r, floor)
}

type profileRun struct {
	cluster *measure.Cluster
	server  *measure.Server
	floor   *measure.Server
}

func (run profileRun) measure(ctx context.Context, r *measure.Report, floor stormFigures) error {
	alone, err := measureStorms(ctx, run.server)
	if err != nil {
		return err
	}
	rest, err := run.edits(ctx, nil)
	if err != nil {
		return err
	}
	// The storms' clients share the machine's cores with the server, so that what a
	// storm at this server costs shows beside one at another server.
	var elsewhere, during []time.Duration
	for range editRounds {
		atFloor, err := run.edits(ctx, run.floor)
		if err != nil {
			return err
		}
		elsewhere = append(elsewhere, atFloor...)
		atServer, err := run.edits(ctx, run.server)
		if err != nil {
			return err
		}
		during = append(during, atServer...)
	}
	slices.Sort(elsewhere)
	slices.Sort(during)
	r.Title("%d GetProfile streams for %d pods within %s; %d pods, %d Servers; medians of %d", stormStreams, stormAddresses, stormWithin, profilePods, profileServers, storms)
	r.Ratio("CPU to answer the storm", "s", measure.Figures{Base: floor.cpu, Signpost: alone.cpu, Limit: 2})
	r.Ratio("p99 of the first answer", "ms", measure.Figures{Base: floor.p99, Signpost: alone.p99, Limit: 0})
	for _, m := range []struct {
		when      string
		latencies []time.Duration
	}{{"at rest", rest}, {"while storms come to the floor", elsewhere}, {"while storms come to Signpost", during}} {
		r.Note("a pod update to its stream %s: p50 %.2f ms, p99 %.2f ms", m.when, measure.Quantile(m.latencies, .5), measure.Quantile(m.latencies, .99))
	}
	r.AtMost("p99 of a pod update while storms come to Signpost, beside storms to the floor", "×", measure.Quantile(during, .99)/measure.Quantile(elsewhere, .99), 1.2)
	return nil
}

var serversResource = schema.GroupVersionResource{Group: "policy.linkerd.io", Version: "v1beta3", Resource: "servers"}

func loadServers(ctx context.Context, k *measure.Cluster) error {
	config, err := clientcmd.BuildConfigFromFlags("", k.Kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	return measure.ForEach(ctx, profileServers, func(ctx context.Context, i int) error {
		s := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "policy.linkerd.io/v1beta3", "kind": "Server",
			"metadata": map[string]any{"name": fmt.Sprintf("server-%d", i), "namespace": workload.Namespace},
			"spec": map[string]any{
				"podSelector": map[string]any{"matchLabels": map[string]any{"app": fmt.Sprintf("app-%d", i)}}, "port": int64(8080), "proxyProtocol": "opaque",
			},
		}}
		_, err := client.Resource(serversResource).Namespace(workload.Namespace).Create(ctx, s, metav1.CreateOptions{})
		return measure.IgnoreExists(err)
	})
}

// stormFigures are medians over the storms: CPU in seconds, p99 in milliseconds.
type stormFigures struct{ cpu, p99 float64 }

func measureStorms(ctx context.Context, s *measure.Server) (stormFigures, error) {
	// One small storm first, for what happens only once.
	if _, err := runStorm(ctx, s.Addr, 100); err != nil {
		return stormFigures{}, err
	}
	var cpu, p99 []float64
	for range storms {
		var latencies []time.Duration
		used, err := s.CpuOf(func() (err error) {
			latencies, err = runStorm(ctx, s.Addr, stormStreams)
			return err
		})
		if err != nil {
			return stormFigures{}, err
		}
		cpu = append(cpu, used.Seconds())
		p99 = append(p99, measure.Quantile(latencies, .99))
	}
	return stormFigures{measure.Median(cpu, measure.Itself), measure.Median(p99, measure.Itself)}, nil
}

// runStorm opens n streams spread over stormWithin, waits for the first answer of
// each, and closes them. It returns the sorted times from call to answer.
func runStorm(ctx context.Context, addr string, n int) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	conns, closeAll, err := dialAll(addr, (n+workload.PerConnection-1)/workload.PerConnection)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	latencies := make([]time.Duration, n)
	answered := make(chan error, n)
	begun := time.Now()
	for i := range n {
		if err := measure.Pause(ctx, time.Until(begun.Add(stormWithin*time.Duration(i)/time.Duration(n)))); err != nil {
			return nil, err
		}
		go func() {
			start := time.Now()
			_, err := askProfile(ctx, conns[i/workload.PerConnection], i%stormAddresses)
			latencies[i] = time.Since(start)
			answered <- err
		}()
	}
	for range n {
		if err := <-answered; err != nil {
			return nil, fmt.Errorf("ask for a profile: %w", err)
		}
	}
	slices.Sort(latencies)
	return latencies, nil
}

func dialAll(addr string, n int) ([]*grpc.ClientConn, func(), error) {
	var conns []*grpc.ClientConn
	closeAll := func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}
	for range n {
		c, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		conns = append(conns, c)
	}
	return conns, closeAll, nil
}

// askProfile opens a stream for the profile of a pod and returns it after its first answer.
func askProfile(ctx context.Context, conn *grpc.ClientConn, pod int) (pb.Destination_GetProfileClient, error) {
	stream, err := pb.NewDestinationClient(conn).GetProfile(ctx, &pb.GetDestination{
		Scheme: "k8s", Path: fmt.Sprintf("%s:8080", workload.PodIP(pod)), ContextToken: `{"ns":"bench","nodeName":"node-0"}`,
	}, grpc.WaitForReady(true))
	if err != nil {
		return nil, err
	}
	_, err = stream.Recv()
	return stream, err
}

// edits changes pods one by one and returns, sorted, how long each change took to
// reach the stream that asks for the pod, while storms come to a server, or to
// none (nil).
func (run profileRun) edits(ctx context.Context, stormed *measure.Server) ([]time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conns, closeAll, err := dialAll(run.server.Addr, 1)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	var hear hearing
	defer hear.reading.Wait()
	defer cancel()
	for i := range editPods {
		stream, err := askProfile(ctx, conns[0], editedAt+i)
		if err != nil {
			return nil, err
		}
		hear.reading.Go(func() { hear.read(stream, i) })
	}
	g, gctx := errgroup.WithContext(ctx)
	var done atomic.Bool
	if stormed != nil {
		g.Go(func() error {
			for !done.Load() {
				if _, err := measureStorms(gctx, stormed); err != nil {
					return err
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		defer done.Store(true)
		return run.editAll(gctx, &hear)
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	slices.Sort(hear.latencies)
	return hear.latencies, nil
}

// hearing notes when the streams of edited pods hear of an edit.
type hearing struct {
	reading   sync.WaitGroup
	heard     [editPods]atomic.Int64 // messages after the first, by pod
	at        [editPods]atomic.Int64 // when the last one came, in nanoseconds since 1970
	latencies []time.Duration
}

func (h *hearing) read(stream pb.Destination_GetProfileClient, i int) {
	for {
		if _, err := stream.Recv(); err != nil {
			return
		}
		h.at[i].Store(time.Now().UnixNano())
		h.heard[i].Add(1)
	}
}

func (run profileRun) editAll(ctx context.Context, h *hearing) error {
	for n := range edits {
		i := n % editPods
		want := h.heard[i].Load() + 1
		// Opaque or not shows in the profile, and is another one each time.
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"config.linkerd.io/opaque-ports":%q}}}`, []string{"8080", "9090"}[h.heard[i].Load()%2])
		begun := time.Now()
		_, err := run.cluster.Client.CoreV1().Pods(workload.Namespace).Patch(ctx, workload.PodName(editedAt+i), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		if err != nil {
			return fmt.Errorf("edit pod %s: %w", workload.PodName(editedAt+i), err)
		}
		if err := measure.Poll(ctx, 10*time.Second, func() bool { return h.heard[i].Load() >= want }); err != nil {
			return fmt.Errorf("the stream of pod %s did not hear of an edit: %w", workload.PodName(editedAt+i), err)
		}
		h.latencies = append(h.latencies, time.Unix(0, h.at[i].Load()).Sub(begun))
		if err := measure.Pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
