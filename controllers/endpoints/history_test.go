package endpoints

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/endpointslice/util"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/controllers/reconcile"
)

func since(seconds int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.Unix(seconds, 0) }
}

func createdAt(seconds int64) func(*corev1.Service) {
	return func(s *corev1.Service) { s.CreationTimestamp = metav1.Unix(seconds, 0) }
}

// seconds returns a time as a number, zero for the zero time.
func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// The rows and remarks of spec/endpoints.md §5.13.
func TestTriggerTimes(t *testing.T) {
	type sync struct {
		created int64
		pods    []*corev1.Pod
		want    int64
	}
	for name, syncs := range map[string][]sync{
		"the first sync has the creation of the Service": {{5, pods(pod(0, since(9))), 5}},
		"a Service without a creation time":              {{0, pods(pod(0, since(9))), 0}},
		"the earliest of the new transitions":            {{5, pods(pod(0, since(9)), pod(1, since(9)), pod(2, since(9))), 5}, {5, pods(pod(0, since(12)), pod(1, since(11)), pod(2, since(9))), 11}},
		"either status counts":                           {{5, pods(pod(0, since(9))), 5}, {5, pods(pod(0, since(10), notReady)), 10}},
		"a new pod":                                      {{5, nil, 5}, {5, pods(pod(0, since(3))), 3}},
		"nothing new":                                    {{5, pods(pod(0, since(9))), 5}, {5, pods(pod(0, since(9))), 0}},
		"an earlier transition than before":              {{5, pods(pod(0, since(9))), 5}, {5, pods(pod(0, since(8))), 0}},
		"a pod is gone":                                  {{5, pods(pod(0, since(9)), pod(1, since(9))), 5}, {5, pods(pod(0, since(9))), 0}},
		"a pod comes back under its name":                {{5, pods(pod(0, since(9))), 5}, {5, nil, 0}, {5, pods(pod(0, since(9))), 9}},
		"a pod without the condition is forgotten":       {{5, pods(pod(0, since(9))), 5}, {5, pods(pod(0, unready)), 0}, {5, pods(pod(0, since(9))), 9}},
		"the Service was recreated":                      {{5, pods(pod(0, since(9))), 5}, {7, pods(pod(0, since(9))), 7}, {6, pods(pod(0, since(9))), 0}},
	} {
		t.Run(name, func(t *testing.T) {
			times := newHistory()
			for i, s := range syncs {
				service := serviceFoo()
				if s.created != 0 {
					createdAt(s.created)(service)
				}
				if got := seconds(times.triggers.Next(service, watchedPods(s.pods))); got != s.want {
					t.Errorf("sync %d: got %d, want %d", i+1, got, s.want)
				}
			}
		})
	}
}

// The state of a deleted Service is dropped.
func TestTriggerTimesAreForgotten(t *testing.T) {
	times := newHistory()
	service := serviceFoo(createdAt(5))
	for range 2 {
		if got := seconds(times.triggers.Next(service, nil)); got != 5 {
			t.Errorf("got %d, want the creation at 5", got)
		}
		times.forget(reconcile.Key{Namespace: service.Namespace, Name: service.Name})
	}
}

// The times equal those of the Kubernetes library.
func TestTriggerTimesEqualTheLibrarys(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		times, library := newHistory(), util.NewTriggerTimeTracker()
		for i := range rapid.IntRange(1, 12).Draw(rt, "syncs") {
			service := serviceFoo(createdAt(rapid.Int64Range(1, 4).Draw(rt, "created")))
			service.Name = rapid.SampledFrom([]string{"foo", "bar"}).Draw(rt, "service")
			if rapid.IntRange(0, 5).Draw(rt, "deleted") == 0 {
				times.forget(reconcile.Key{Namespace: service.Namespace, Name: service.Name})
				library.DeleteService(service.Namespace, service.Name)
			}
			var list []*corev1.Pod
			for n := range 3 {
				switch rapid.IntRange(0, 3).Draw(rt, fmt.Sprint("pod ", n)) {
				case 0:
				case 1:
					list = append(list, pod(n, unready))
				default:
					list = append(list, pod(n, since(rapid.Int64Range(1, 6).Draw(rt, "since"))))
				}
			}
			got := times.triggers.Next(service, watchedPods(list))
			want := library.ComputeEndpointLastChangeTriggerTime(service.Namespace, service, list)
			if !got.Equal(want) {
				rt.Fatalf("sync %d: got %d, the library says %d", i+1, seconds(got), seconds(want))
			}
		}
	})
}
