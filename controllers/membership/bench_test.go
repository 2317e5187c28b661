package membership

import (
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// The cluster of the benchmarks: each Service selects the pods of one Deployment.
const (
	benchNamespaces  = 20
	benchServices    = 50 // in a namespace
	benchPods        = 20 // of a Service
	benchPodsInTotal = benchNamespaces * benchServices * benchPods
)

// benchPod is a small workload behind a pointer, as in the controllers.
type benchPod struct {
	name   types.NamespacedName
	labels objectmeta.Labels
}

func describeBenchPod(p *benchPod) (types.NamespacedName, objectmeta.Labels) { return p.name, p.labels }

// benchCluster returns Services and pods. The pods of a Deployment share their labels in memory, as package
// kube makes them do, or each pod has its own, as those of StatefulSets.
func benchCluster(shared bool) ([]*corev1.Service, []*benchPod) {
	var services []*corev1.Service
	var pods []*benchPod
	for n := range benchNamespaces {
		namespace := fmt.Sprint("namespace-", n)
		for s := range benchServices {
			app := fmt.Sprintf("app-%d-%d", n, s)
			services = append(services, &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: app},
				Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": app}},
			})
			labels := map[string]string{"app": app, "tier": "backend", "pod-template-hash": "5d9c7b-" + app}
			set := objectmeta.NewLabels(labels)
			for p := range benchPods {
				name := fmt.Sprintf("%s-5d9c7b-%d", app, p)
				if !shared {
					labels["pod-template-hash"] = name
					set = objectmeta.NewLabels(labels)
				}
				pods = append(pods, &benchPod{name: types.NamespacedName{Namespace: namespace, Name: name}, labels: set})
			}
		}
	}
	return services, pods
}

// benchIndex returns an index with the Services and without pods.
func benchIndex(services []*corev1.Service) *Index[*benchPod] {
	x := New(describeBenchPod)
	for _, s := range services {
		x.PutService(s)
	}
	return x
}

// BenchmarkPut puts the pods of a cluster into an index ("fill"), and then a change of each of them
// ("again"). The memory in use after the first step is that of the index.
func BenchmarkPut(b *testing.B) {
	for _, variant := range []struct {
		name   string
		shared bool
	}{{name: "shared", shared: true}, {name: "unique"}} {
		services, pods := benchCluster(variant.shared)
		b.Run("fill/"+variant.name, func(b *testing.B) { benchmarkFill(b, services, pods) })
		b.Run("again/"+variant.name, func(b *testing.B) {
			x := benchIndex(services)
			putAll(x, pods)
			b.ReportAllocs()
			for b.Loop() {
				putAll(x, pods)
			}
			perPod(b)
		})
	}
}

func benchmarkFill(b *testing.B, services []*corev1.Service, pods []*benchPod) {
	bytes, objects := liveHeap()
	b.ReportAllocs()
	var x *Index[*benchPod]
	for b.Loop() {
		b.StopTimer()
		x = benchIndex(services)
		b.StartTimer()
		putAll(x, pods)
	}
	perPod(b)
	bytesNow, objectsNow := liveHeap()
	b.ReportMetric(float64(bytesNow-bytes), "live-B")
	b.ReportMetric(float64(objectsNow-objects), "live-objects")
	runtime.KeepAlive(x)
}

func putAll(x *Index[*benchPod], pods []*benchPod) {
	for _, p := range pods {
		x.Put(p)
	}
}

// perPod reports the time that one pod takes.
func perPod(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchPodsInTotal, "ns/pod")
}

// liveHeap returns the size and number of the objects of the heap that are in use.
func liveHeap() (bytes, objects int64) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc), int64(m.HeapObjects)
}
