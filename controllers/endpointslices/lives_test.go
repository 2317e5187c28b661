package endpointslices

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	basemetrics "k8s.io/component-base/metrics"
	"k8s.io/endpointslice/metrics"

	"github.com/signpostd/signpost/controllers/membership"
	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/longtest"
	"github.com/signpostd/signpost/testkit/metrictest"
)

// bare returns a controller without a cluster.
func bare() *Controller {
	client := fake.NewClientset()
	client.PrependReactor("*", "endpointslices", versioned())
	return New(Options{
		Client: client.DiscoveryV1(),
		Pods: membership.New(func(p *watched.Pod) (types.NamespacedName, objectmeta.Labels) {
			return types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, p.Labels
		}),
		PodTable:             watched.Pods().Table(),
		Slices:               watched.EndpointSlices(ManagedBy).Table(kube.WithIndex(watched.ByService, watched.ServiceKeys)),
		MaxEndpointsPerSlice: 100,
		Options:              reconcile.Options{Workers: 1, Metrics: reconcile.NewMetrics(nil, nil), Recorder: &record.FakeRecorder{}, Logger: slog.New(slog.DiscardHandler)},
	})
}

func service(i int) *corev1.Service {
	name := fmt.Sprint("web-", i)
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": name}, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			TrafficDistribution: new("PreferClose"),
		},
	}
}

// The tracker of the library has no entries for deleted slices. It kept an entry for each slice that ever
// existed.
func TestC6TrackerForgets(t *testing.T) {
	c := bare()
	c.begin()
	client := c.o.Client.EndpointSlices("ns")
	kept := 0
	for i := range longtest.Rounds(2000) {
		s := service(i)
		key := reconcile.Key{Namespace: s.Namespace, Name: s.Name}
		c.o.Pods.PutService(s)
		if err := c.sync(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		made, err := client.List(t.Context(), metav1.ListOptions{})
		if err != nil || len(made.Items) != 1 {
			t.Fatalf("%d slices were made, want 1: %v", len(made.Items), err)
		}
		if err := client.Delete(t.Context(), made.Items[0].Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		c.o.Pods.DeleteService(key)
		if err := c.sync(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		if _, known := c.tracker.GenerationsForSliceUnsafe(&made.Items[0]); known {
			kept++
		}
	}
	if kept > 0 {
		t.Errorf("the tracker has %d slices of deleted Services", kept)
	}
}

// The gauges of the library are zero in a process that no longer leads, and its syncs are counted. The gauges
// stayed at their last values.
func TestC7GaugesOfTheLibrary(t *testing.T) {
	registry := prometheus.NewRegistry()
	for _, m := range []basemetrics.Registerable{
		metrics.EndpointsDesired, metrics.NumEndpointSlices, metrics.DesiredEndpointSlices, metrics.ServicesCountByTrafficDistribution,
		metrics.EndpointSliceSyncs,
	} {
		m.Create(nil)
		registry.MustRegister(m)
	}
	c := bare()
	for term := range 3 {
		for i := range 10 {
			c.o.Pods.PutService(service(i))
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.Run(ctx)
		}()
		kubetest.Eventually(t, 20*time.Second, func() error {
			if got := metrictest.Sum(t, registry, "endpoint_slice_controller_desired_endpoint_slices"); got != 10 {
				return fmt.Errorf("%v slices are desired, want 10", got)
			}
			return nil
		})
		cancel()
		<-done
		for _, name := range []string{"num_endpoint_slices", "desired_endpoint_slices", "endpoints_desired", "services_count_by_traffic_distribution"} {
			if got := metrictest.Sum(t, registry, "endpoint_slice_controller_"+name); got != 0 {
				t.Errorf("after term %d, %s is %v", term, name, got)
			}
		}
	}
	if got := metrictest.Sum(t, registry, "endpoint_slice_controller_syncs"); got < 10 {
		t.Errorf("%v syncs are counted", got)
	}
}
