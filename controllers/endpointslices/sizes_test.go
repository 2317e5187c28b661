package endpointslices

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/testkit/metrictest"
)

// The gauges count both families of a dual-stack Service. Those of the library count one (finding N4 of
// controllers).
func TestN4GaugesCountBothFamilies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		o := bare().o
		o.Metrics = reconcile.NewMetrics(registry, nil)
		r := runController(t, New(o))
		want := func(slices, endpoints float64) {
			t.Helper()
			synctest.Wait()
			gotSlices, gotEndpoints := metrictest.Sum(t, registry, "controller_endpoint_slices"), metrictest.Sum(t, registry, "controller_endpoints")
			if gotSlices != slices || gotEndpoints != endpoints {
				t.Errorf("%v slices and %v endpoints are counted, want %v and %v", gotSlices, gotEndpoints, slices, endpoints)
			}
		}
		put := func(s *corev1.Service) {
			r.o.Pods.PutService(s)
			r.ServiceChanged(reconcile.Key{Namespace: s.Namespace, Name: s.Name})
		}
		dual := service(0)
		dual.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
		dual.Spec.PublishNotReadyAddresses = true // pods need no node then
		for i := range 3 {
			name, ip := fmt.Sprint("pod-", i), fmt.Sprint("10.0.0.", i+1)
			r.o.Pods.Put(&watched.Pod{
				Namespace: "ns", Name: name, UID: name, Labels: objectmeta.NewLabels(dual.Spec.Selector), Ready: corev1.ConditionTrue,
				IP: ip, IPs: []string{ip, fmt.Sprint("2001:db8::", i+1)},
			})
		}
		put(dual)
		want(2, 6)
		put(service(1))
		want(3, 6)

		single := dual.DeepCopy()
		single.Spec.IPFamilies = single.Spec.IPFamilies[:1]
		put(single)
		want(2, 3)

		key := reconcile.Key{Namespace: single.Namespace, Name: single.Name}
		r.o.Pods.DeleteService(key)
		r.ServiceChanged(key)
		want(1, 0)
		r.stop()
		want(0, 0)
	})
}
