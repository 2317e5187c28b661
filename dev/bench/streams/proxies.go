package streams

import (
	"context"
	"fmt"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/workload"
)

// A mesh of 10,000 proxies at rest: a proxy closes a stream that has been idle for
// five minutes and opens it again, which makes 33 a second of them.
const (
	proxyCount     = 10000
	proxyIdle      = 5 * time.Minute
	proxyEndpoints = 100
	proxyConns     = 100
)

// measureProxies replays five minutes of that: for each proxy a GetProfile for
// the Service's cluster IP and a Get for its name, opened, answered and left open.
func measureProxies(ctx context.Context, r *measure.Report, _ measure.Options) error {
	k, err := workload.StartLoadedCluster(ctx, time.Second, proxyEndpoints)
	if err != nil {
		return err
	}
	defer k.Stop()
	web, err := k.Client.CoreV1().Services(workload.Namespace).Get(ctx, workload.Service, metav1.GetOptions{})
	if err != nil {
		return err
	}
	s, err := workload.StartSignpost(ctx, k)
	if err != nil {
		return err
	}
	defer s.Stop()
	conns, closeAll, err := dialAll(s.Addr, proxyConns)
	if err != nil {
		return err
	}
	defer closeAll()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := proxies{conns: conns, clusterIP: web.Spec.ClusterIP}
	if err := p.reopen(ctx, 0); err != nil {
		return err
	}
	before, err := s.Usage()
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := p.replay(ctx, begun); err != nil {
		return err
	}
	after, err := s.Usage()
	if err != nil {
		return err
	}
	took := time.Since(begun)
	fmt.Fprintf(r.Out, "\n%d proxies open GetProfile by cluster IP and Get by name again, spread over %s, and keep them open\n", proxyCount, took.Round(time.Second))
	r.Note("server: %.2f s of CPU, %.2f %% of one core, %.0f µs per proxy; %.1f MB resident in the end",
		(after.Cpu - before.Cpu).Seconds(), 100*(after.Cpu-before.Cpu).Seconds()/took.Seconds(),
		float64((after.Cpu-before.Cpu).Microseconds())/proxyCount, after.Rss/(1<<20))
	return nil
}

type proxies struct {
	conns     []*grpc.ClientConn
	clusterIP string
}

func (p proxies) replay(ctx context.Context, begun time.Time) error {
	var g errgroup.Group
	for i := range proxyCount {
		if err := measure.Pause(ctx, time.Until(begun.Add(proxyIdle*time.Duration(i)/proxyCount))); err != nil {
			break
		}
		g.Go(func() error { return p.reopen(ctx, i) })
	}
	return g.Wait()
}

// reopen is what one proxy does in five minutes.
func (p proxies) reopen(ctx context.Context, i int) error {
	client := pb.NewDestinationClient(p.conns[i%len(p.conns)])
	token := fmt.Sprintf(`{"ns":"bench","nodeName":%q,"pod":"client-%d"}`, workload.NodeName(i), i)
	profile, err := client.GetProfile(ctx, &pb.GetDestination{Scheme: "k8s", Path: p.clusterIP + ":80", ContextToken: token}, grpc.WaitForReady(true))
	if err == nil {
		_, err = profile.Recv()
	}
	if err != nil {
		return fmt.Errorf("GetProfile of proxy %d: %w", i, err)
	}
	endpoints, err := client.Get(ctx, &pb.GetDestination{Scheme: "k8s", Path: workload.Service + "." + workload.Namespace + ".svc.cluster.local:80", ContextToken: token})
	if err == nil {
		_, err = endpoints.Recv()
	}
	if err != nil {
		return fmt.Errorf("get of proxy %d: %w", i, err)
	}
	return nil
}
