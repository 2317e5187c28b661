package mirroring

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
	"k8s.io/client-go/tools/record"

	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/testkit/kubetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(kubetest.Wrap(m)) }

// patience is a timeout for operations that usually take milliseconds.
const patience = 20 * time.Second

// fixture is a controller with tables of a real API server. It doesn't run until the test starts it.
type fixture struct {
	*Controller
	api    *kubetest.Cluster
	key    reconcile.Key
	events *record.FakeRecorder
	// beforeWrite is called before each write of a slice. If it returns an error, the write fails with it.
	beforeWrite func(operation string) error
}

// EndpointSlices implements discoveryclient.EndpointSlicesGetter.
func (r *fixture) EndpointSlices(namespace string) discoveryclient.EndpointSliceInterface {
	return interposed{r.api.Client.DiscoveryV1().EndpointSlices(namespace), r}
}

// interposed is a client that calls beforeWrite before its writes.
type interposed struct {
	discoveryclient.EndpointSliceInterface
	fixture *fixture
}

func (m interposed) Create(ctx context.Context, s *discoveryv1.EndpointSlice, o metav1.CreateOptions) (*discoveryv1.EndpointSlice, error) {
	if err := m.fixture.beforeWrite("create"); err != nil {
		return nil, err
	}
	return m.EndpointSliceInterface.Create(ctx, s, o)
}

func (m interposed) Update(ctx context.Context, s *discoveryv1.EndpointSlice, o metav1.UpdateOptions) (*discoveryv1.EndpointSlice, error) {
	if err := m.fixture.beforeWrite("update"); err != nil {
		return nil, err
	}
	return m.EndpointSliceInterface.Update(ctx, s, o)
}

// newFixture returns a fixture with a namespace that has the Service "foo".
func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newBatchingFixture(t, 0)
}

// newBatchingFixture returns a fixture with a batch period.
func newBatchingFixture(t *testing.T, period time.Duration) *fixture {
	t.Helper()
	api := kubetest.Start(t)
	r := &fixture{
		api: api, key: reconcile.Key{Namespace: api.Namespace(t), Name: "foo"},
		events: record.NewFakeRecorder(100), beforeWrite: func(string) error { return nil },
	}
	services := watched.Services().Table(kube.WithHandler(func(old, now *corev1.Service) { r.ServiceChanged(old, now) }))
	endpoints := watched.Endpoints().Table(kube.WithHandler(func(old, now *watched.EncodedEndpoints) { r.EndpointsChanged(old, now) }))
	slices := watched.EndpointSlices(ManagedBy).Table(kube.WithIndex(watched.ByService, watched.ServiceKeys),
		kube.WithHandler(func(old, now *watched.Slice) { r.SliceChanged(old, now) }))
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	r.Controller = New(Options{
		Client: r, Services: services, Endpoints: endpoints, Slices: slices, MaxEndpointsPerSubset: 2,
		Options: reconcile.Options{Workers: 1, RepairBatch: period, Metrics: reconcile.NewMetrics(nil, nil), Recorder: r.events, Logger: logger},
	})
	r.api.Apply(t, "{apiVersion: v1, kind: Service, metadata: {name: foo}, spec: {ports: [{port: 80}]}}", r.key.Namespace)
	cluster, err := kube.New(kube.Options{Config: api.Config, Logger: logger}, services, endpoints, slices)
	if err != nil {
		t.Fatal(err)
	}
	background(t, func(ctx context.Context) {
		if err := cluster.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	select {
	case <-cluster.Settled():
	case <-time.After(patience):
		t.Fatal("the cluster did not settle")
	}
	return r
}

// background runs f until the test ends.
func background(t *testing.T, f func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// write writes the Endpoints, and waits until the controller can read them.
func (r *fixture) write(t *testing.T, subsets ...corev1.EndpointSubset) {
	t.Helper()
	client := r.api.Client.CoreV1().Endpoints(r.key.Namespace)
	e := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: r.key.Name}, Subsets: subsets}
	made, err := client.Update(t.Context(), e, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		made, err = client.Create(t.Context(), e, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, patience, func() error {
		if seen := r.o.Endpoints.Get(r.key.Namespace, r.key.Name); seen == nil || seen.GetResourceVersion() != made.ResourceVersion {
			return fmt.Errorf("the table has %+v, not version %s", seen, made.ResourceVersion)
		}
		return nil
	})
}

func (r *fixture) mustSync(t *testing.T) {
	t.Helper()
	if err := r.sync(t.Context(), r.key); err != nil {
		t.Error(err)
	}
}

func (r *fixture) slices(t *testing.T) []discoveryv1.EndpointSlice {
	t.Helper()
	list, err := r.api.Client.DiscoveryV1().EndpointSlices(r.key.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// differs returns an error unless the API server has slices with these contents.
func (r *fixture) differs(t *testing.T, want ...string) error {
	t.Helper()
	var got []string
	for _, s := range r.slices(t) {
		got = append(got, contentOf(&s))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("slices (-want +got):\n%s", diff)
	}
	return nil
}

func (r *fixture) eventually(t *testing.T, want ...string) {
	t.Helper()
	kubetest.Eventually(t, patience, func() error { return r.differs(t, want...) })
}

// TestRefused shows that slices are kept while the API server refuses their replacements.
func TestRefused(t *testing.T) {
	r := newFixture(t)
	r.write(t, subset("a:80", "10.0.0.1"), subset("b:81", "10.0.0.2"))
	r.mustSync(t)
	no := apierrors.NewForbidden(discoveryv1.Resource("endpointslices"), "foo", nil)
	r.beforeWrite = func(string) error { return no }
	r.write(t, subset("c:82", "10.0.0.3"))
	for range 2 {
		if err := r.sync(t.Context(), r.key); !apierrors.IsForbidden(err) {
			t.Errorf("sync returns %v, want the refusal", err)
		}
	}
	if n := len(r.slices(t)); n != 2 {
		t.Errorf("%d slices, want both, because their replacements were refused", n)
	}
	r.wantEvents(t, "Warning "+FailedToUpdateEndpointSlices)
}

// wantEvents checks the Events since the last call.
func (r *fixture) wantEvents(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for len(r.events.Events) > 0 {
		got = append(got, strings.Join(strings.Fields(<-r.events.Events)[:2], " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestRun runs the controller, and checks that slices follow changes of all objects that they depend on.
func TestRun(t *testing.T) {
	r := newFixture(t)
	const made, changed = "IPv4 [a:80/TCP] 10.0.0.1", "IPv4 [a:80/TCP] 10.0.0.2"
	r.write(t, subset("a:80", "10.0.0.1"))
	background(t, r.Run)
	r.eventually(t, made)

	r.write(t, subset("a:80", "10.0.0.2"))
	r.eventually(t, changed)
	r.changeExternally(t)
	r.eventually(t, changed)
	slices := r.api.Client.DiscoveryV1().EndpointSlices(r.key.Namespace)
	if err := slices.Delete(t.Context(), r.slices(t)[0].Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.eventually(t, changed)
	kubetest.Eventually(t, patience, func() error {
		m := r.o.Mirrored
		if got := []float64{testutil.ToFloat64(m.endpoints), testutil.ToFloat64(m.slices), testutil.ToFloat64(m.wantedSlices)}; got[0] != 1 || got[1] != 1 || got[2] != 1 {
			return fmt.Errorf("gauges are %v", got)
		}
		return nil
	})

	r.patchService(t, `{"spec": {"selector": {"app": "foo"}}}`)
	r.eventually(t)
	r.patchService(t, `{"spec": {"selector": null}}`)
	r.eventually(t, changed)
	if err := r.api.Client.CoreV1().Services(r.key.Namespace).Delete(t.Context(), r.key.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	r.eventually(t)
}

// changeExternally empties the slice.
func (r *fixture) changeExternally(t *testing.T) {
	t.Helper()
	s := r.slices(t)[0]
	s.Endpoints = nil
	if _, err := r.api.Client.DiscoveryV1().EndpointSlices(s.Namespace).Update(t.Context(), &s, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (r *fixture) patchService(t *testing.T, patch string) {
	t.Helper()
	_, err := r.api.Client.CoreV1().Services(r.key.Namespace).Patch(t.Context(), r.key.Name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// The batch period only delays repairs of slices, as in Kubernetes. It delayed every change of Endpoints.
func TestC12BatchPeriodDelaysNoEndpoints(t *testing.T) {
	r := newBatchingFixture(t, time.Hour)
	background(t, r.Run)
	kubetest.Eventually(t, patience, func() error {
		if !r.loop.Running() {
			return fmt.Errorf("the loop doesn't run")
		}
		return nil
	})
	for _, ip := range []string{"10.0.0.1", "10.0.0.2"} {
		r.write(t, corev1.EndpointSubset{Addresses: []corev1.EndpointAddress{{IP: ip}}, Ports: []corev1.EndpointPort{{Port: 80}}})
		kubetest.Eventually(t, patience, func() error {
			list := r.slices(t)
			if len(list) != 1 || list[0].Endpoints[0].Addresses[0] != ip {
				return fmt.Errorf("slices are %v, want one of %s", list, ip)
			}
			return nil
		})
	}
}
