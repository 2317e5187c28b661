package abuse

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/workload"
)

const (
	canaryName = "canary"
	canaryGap  = time.Second
)

// canary is a Service whose port becomes opaque and no longer is, and a stream of GetProfile that receives
// it. Changes of Services take another way through the server than those of endpoints.
type canary struct {
	client *kubernetes.Clientset
	conn   *grpc.ClientConn
	cancel context.CancelFunc
	ended  chan struct{}

	opaque bool        // what was written last
	heard  atomic.Bool // what the stream received last
}

// newCanary creates the Service and opens the stream.
func newCanary(ctx context.Context, client *kubernetes.Clientset, addr string) (*canary, error) {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: canaryName},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
	if _, err := client.CoreV1().Services(workload.Namespace).Create(ctx, s, metav1.CreateOptions{}); measure.IgnoreExists(err) != nil {
		return nil, fmt.Errorf("create the canary: %w", err)
	}
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	c := &canary{client: client, conn: conn, ended: make(chan struct{})}
	ctx, c.cancel = context.WithCancel(ctx)
	go c.listen(ctx)
	return c, nil
}

func (c *canary) listen(ctx context.Context) {
	defer close(c.ended)
	stream, err := pb.NewDestinationClient(c.conn).GetProfile(ctx,
		&pb.GetDestination{Path: canaryName + "." + workload.Namespace + ".svc.cluster.local:80"}, grpc.WaitForReady(true))
	for err == nil {
		var p *pb.DestinationProfile
		if p, err = stream.Recv(); err == nil {
			c.heard.Store(p.GetOpaqueProtocol())
		}
	}
}

func (c *canary) close() {
	c.cancel()
	<-c.ended
	_ = c.conn.Close()
}

// changeFor changes the Service until the time is over, and returns the longest time until the stream
// received a change. A change that isn't received within abuseUpdateWithin ends it.
func (c *canary) changeFor(ctx context.Context, d time.Duration) (time.Duration, error) {
	var slowest time.Duration
	for due, end := time.Now(), time.Now().Add(d); due.Before(end); due = due.Add(canaryGap) {
		if err := measure.Pause(ctx, time.Until(due)); err != nil {
			return slowest, err
		}
		if err := c.change(ctx); err != nil {
			return slowest, err
		}
		err := measure.Poll(ctx, abuseUpdateWithin, func() bool { return c.heard.Load() == c.opaque || c.gone() })
		if ctx.Err() != nil {
			return slowest, ctx.Err()
		}
		slowest = max(slowest, time.Since(due))
		if err != nil || c.gone() {
			return slowest, nil
		}
	}
	return slowest, nil
}

// gone reports whether the stream has ended.
func (c *canary) gone() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

func (c *canary) change(ctx context.Context) error {
	c.opaque = !c.opaque
	ports := ""
	if c.opaque {
		ports = "80"
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, opaquePortsAnnotation, ports)
	if _, err := c.client.CoreV1().Services(workload.Namespace).Patch(ctx, canaryName, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("change the canary: %w", err)
	}
	return nil
}
