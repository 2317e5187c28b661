package model_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/endpointslice"
	"k8s.io/endpointslice/util"
	"k8s.io/klog/v2"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/model"
)

// generator makes random objects around one Service.
type generator struct {
	random  *rand.Rand
	service *corev1.Service
	pods    []*corev1.Pod
}

func newGenerator(seed uint64) *generator {
	w := &generator{random: rand.New(rand.NewPCG(seed, 11))}
	w.service = &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: "web", UID: "service"},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "web"}, Type: corev1.ServiceTypeClusterIP, PublishNotReadyAddresses: w.chance(20),
			ClusterIP:  pick(w, "10.96.0.1", "2001:db8:1::1", corev1.ClusterIPNone),
			IPFamilies: pick(w, []corev1.IPFamily{corev1.IPv4Protocol}, []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}, nil),
		},
	}
	for n := range w.random.IntN(3) {
		application := "http"
		w.service.Spec.Ports = append(w.service.Spec.Ports, corev1.ServicePort{
			Name: fmt.Sprint("port-", n), Port: int32(80 + n), Protocol: pick(w, corev1.ProtocolTCP, corev1.ProtocolUDP), AppProtocol: pick(w, nil, &application),
			TargetPort: pick(w, intstr.FromInt32(8080), intstr.FromString("http"), intstr.FromString("admin")),
		})
	}
	for n := range w.random.IntN(12) {
		w.pods = append(w.pods, w.pod(fmt.Sprint("web-", n), n))
	}
	return w
}

func pick[T any](w *generator, all ...T) T { return all[w.random.IntN(len(all))] }

func (w *generator) chance(percent int) bool { return w.random.IntN(100) < percent }

func (w *generator) pod(name string, n int) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "lab", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": pick(w, "web", "web", "web", "other")}},
		Spec:       corev1.PodSpec{NodeName: fmt.Sprint("node-", w.random.IntN(4)), Hostname: pick(w, "", name), Subdomain: pick(w, "", "web", "other")},
		Status:     corev1.PodStatus{Phase: pick(w, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodFailed, corev1.PodSucceeded)},
	}
	always := corev1.ContainerRestartPolicyAlways
	ports := []corev1.ContainerPort{{Name: "http", ContainerPort: pick(w, int32(8080), 8081), Protocol: pick(w, corev1.ProtocolTCP, corev1.ProtocolUDP)}}
	pod.Spec.Containers = []corev1.Container{{Ports: ports}}
	pod.Spec.InitContainers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "admin", ContainerPort: 9090, Protocol: corev1.ProtocolTCP}}, RestartPolicy: pick(w, nil, &always)}}
	for _, ip := range pick(w, []string{fmt.Sprint("10.64.0.", n)}, []string{fmt.Sprint("10.64.0.", n), fmt.Sprint("2001:db8::", n+1)}, nil) {
		pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: ip})
		pod.Status.PodIP = pod.Status.PodIPs[0].IP
	}
	if w.chance(60) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: pick(w, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse)}}
	}
	if w.chance(20) {
		pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	}
	return pod
}

// nodes returns all but one of the nodes that pods name. One has no zone.
func nodes() []*corev1.Node {
	out := []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "node-0"}}}
	for n := 1; n < 3; n++ {
		out = append(out, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", n), Labels: map[string]string{corev1.LabelTopologyZone: fmt.Sprint("zone-", n)}}})
	}
	return out
}

// TestSlicesOfTheLibrary shows that the model agrees with the slice library of Kubernetes' controllers on
// random objects.
func TestSlicesOfTheLibrary(t *testing.T) {
	nodeStore := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	for _, n := range nodes() {
		if err := nodeStore.Add(n); err != nil {
			t.Fatal(err)
		}
	}
	for seed := range uint64(60) {
		w := newGenerator(seed)
		client := fake.NewClientset()
		created := 0
		client.PrependReactor("create", "endpointslices", func(action clienttesting.Action) (bool, runtime.Object, error) {
			created++
			action.(clienttesting.CreateAction).GetObject().(*discoveryv1.EndpointSlice).Name = fmt.Sprint("slice-", created)
			return false, nil, nil
		})
		r := endpointslice.NewReconciler(client, corelisters.NewNodeLister(nodeStore), 100, util.NewEndpointSliceTracker(), nil, record.NewFakeRecorder(1000), string(model.SliceWriter))
		var selected []*corev1.Pod
		for _, pod := range w.pods {
			if pod.Labels["app"] == "web" {
				selected = append(selected, pod)
			}
		}
		// Reconcile returns an error for pods on unknown nodes, after it has written the rest.
		_ = r.Reconcile(klog.Background(), w.service, selected, nil, time.Unix(1, 0))
		written, err := client.DiscoveryV1().EndpointSlices("lab").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var got []model.Entry
		for i := range written.Items {
			got = append(got, model.SliceEntries(&written.Items[i])...)
		}
		want := model.WantSlices(w.state(t), "lab", "web")[model.SliceWriter]
		if diff := cmp.Diff(texts(want), texts(got)); diff != "" {
			t.Fatalf("seed %d (-model +library):\n%s", seed, diff)
		}
	}
}

// state returns the objects in the form of a history.
func (w *generator) state(t *testing.T) *model.State {
	var s model.State
	add := func(resource, namespace, name string, o any) {
		content, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		s.Apply(history.Object{Resource: resource, Namespace: namespace, Name: name, Revision: lastRevision.Add(1), Content: content})
	}
	for _, n := range nodes() {
		add("nodes", "", n.Name, n)
	}
	add("services", "lab", "web", w.service)
	for _, pod := range w.pods {
		add("pods", "lab", pod.Name, pod)
	}
	return &s
}
