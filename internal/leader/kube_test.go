package leader

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/testkit/kubetest"
)

const soon = 30 * time.Second

// process is an elector on the API server, with a writer that writes as often as possible.
type process struct {
	*Elector
	cut     atomic.Bool // the elector's connection, not the writer's
	writer  kubernetes.Interface
	leads   chan context.Context
	written atomic.Pointer[time.Time] // when the last write that succeeded began
	stop    context.CancelFunc
	done    chan error
}

// cable is a transport that can be disconnected.
type cable struct {
	next http.RoundTripper
	cut  *atomic.Bool
}

func (c *cable) WrappedRoundTripper() http.RoundTripper { return c.next }

func (c *cable) RoundTrip(request *http.Request) (*http.Response, error) {
	if c.cut.Load() {
		return nil, errDown
	}
	return c.next.RoundTrip(request)
}

// startProcess starts a candidate, for a lease of this duration.
func startProcess(t *testing.T, cluster *kubetest.Cluster, namespace, identity string, lease time.Duration) *process {
	p := &process{leads: make(chan context.Context, 9), done: make(chan error, 1)}
	client := newClient(t, cluster.Config, func(next http.RoundTripper) http.RoundTripper {
		return &cable{next: next, cut: &p.cut}
	})
	var err error
	p.Elector, err = New(Config{
		Client: client.CoordinationV1(), Namespace: namespace, Name: "a", Identity: identity,
		LeaseDuration: lease, RenewDeadline: lease / 2, RetryPeriod: 200 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	p.writer = newClient(t, cluster.Config, p.Fence().Wrap)
	ctx, stop := context.WithCancel(t.Context())
	p.stop = stop
	go func() {
		p.done <- p.Run(ctx, func(ctx context.Context) error { return p.lead(ctx, namespace) })
	}()
	return p
}

// newClient returns a client with its own connections, so that the test can close them.
func newClient(t *testing.T, config *rest.Config, wrap func(http.RoundTripper) http.RoundTripper) kubernetes.Interface {
	t.Helper()
	config = rest.CopyConfig(config)
	config.Proxy = http.ProxyFromEnvironment // not comparable: client-go shares no transport
	config.Wrap(wrap)
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(transport) })
	client, err := kubernetes.NewForConfigAndClient(config, &http.Client{Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// lead writes until a write is refused, with a context that doesn't end.
func (p *process) lead(ctx context.Context, namespace string) error {
	p.leads <- ctx
	maps := p.writer.CoreV1().ConfigMaps(namespace)
	for {
		began := time.Now()
		_, err := maps.Create(context.WithoutCancel(ctx), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: p.Identity()}}, metav1.CreateOptions{})
		if errors.Is(err, ErrNotLeading) {
			return err
		}
		if err != nil {
			return fmt.Errorf("write: %w", err)
		}
		p.written.Store(&began)
		select {
		case <-ctx.Done():
			if !errors.Is(context.Cause(ctx), ErrNotLeading) {
				return nil
			}
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (p *process) end(t *testing.T) {
	t.Helper()
	p.stop()
	if err := receive(t, soon, p.done); err != nil {
		t.Errorf("Run of %s: %v", p.Identity(), err)
	}
}

func TestAPIServerHandOver(t *testing.T) {
	const lease = 2 * soon
	cluster := kubetest.Start(t)
	namespace := cluster.Namespace(t)
	a := startProcess(t, cluster, namespace, "a", lease)
	receive(t, soon, a.leads)
	b := startProcess(t, cluster, namespace, "b", lease)
	kubetest.Eventually(t, soon, func() error {
		if b.Leader() != "a" {
			return fmt.Errorf("b sees %q", b.Leader())
		}
		return nil
	})
	a.end(t)
	released := time.Now()
	receive(t, soon, b.leads) // otherwise the lease would have to run out
	wantNoWriteSince(t, a, released)
	b.end(t)
}

func TestAPIServerCutOff(t *testing.T) {
	const lease = 4 * time.Second
	cluster := kubetest.Start(t)
	namespace := cluster.Namespace(t)
	a := startProcess(t, cluster, namespace, "a", lease)
	term := receive(t, soon, a.leads)
	b := startProcess(t, cluster, namespace, "b", lease)
	a.cut.Store(true)
	receive(t, soon, b.leads)
	began := time.Now()
	if err := a.Fence().Check(); !errors.Is(err, ErrNotLeading) || !errors.Is(context.Cause(term), ErrNotLeading) {
		t.Errorf("b leads; the fence of a says %v, its work ended with %v", err, context.Cause(term))
	}
	wantNoWriteSince(t, a, began.Add(-time.Second)) // the lease lasts 2 s longer

	a.cut.Store(false)
	b.end(t)
	receive(t, soon, a.leads)
	kubetest.Eventually(t, soon, a.Fence().Check)
	a.end(t)
}

func wantNoWriteSince(t *testing.T, p *process, since time.Time) {
	t.Helper()
	last := p.written.Load()
	if last == nil {
		t.Fatalf("%s never wrote", p.Identity())
	}
	if !last.Before(since) {
		t.Errorf("%s wrote %v too late", p.Identity(), last.Sub(since))
	}
}
