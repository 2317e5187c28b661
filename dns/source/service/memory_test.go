package service

import (
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/testkit/heaptest"
)

// row is the entry of an object in a table of package kube, and rowKey the key of that entry and of each
// index.
type (
	rowKey struct{ namespace, name string }
	row    struct {
		value   *pod
		updated int64
	}
)

// replicaOf returns the n-th pod. Twenty pods each have the same owner.
func replicaOf(n int) *corev1.Pod {
	set := n / 20
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("team-%d", set/10), Name: fmt.Sprintf("checkout-%d-7f9c6d5b8-%05d", set, n), UID: "9c2f0b7e-7a8e-4b7c-8a38-000000000000",
			Labels: map[string]string{
				"app.kubernetes.io/name": "checkout", "app.kubernetes.io/instance": fmt.Sprint("checkout-", set), "pod-template-hash": "7f9c6d5b8",
				"topology.example.org/tier": "backend", "version": "v1.2.3",
			},
			Annotations: map[string]string{"prometheus.io/scrape": "true", "checksum/config": "0123456789abcdef0123456789abcdef"},
		},
		Spec:   corev1.PodSpec{NodeName: fmt.Sprint("node-", n%200), Containers: []corev1.Container{{Name: "main", Image: "checkout:v1"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, HostIP: fmt.Sprint("10.0.0.", n%200), PodIP: fmt.Sprintf("10.1.%d.%d", n/250, n%250)},
	}
}

// memberOf returns a pod of a StatefulSet.
func memberOf(n int) *corev1.Pod {
	pod := replicaOf(n)
	index := fmt.Sprint(n % 20)
	pod.Name = fmt.Sprintf("database-%d-%s", n/20, index)
	pod.Spec.Hostname = pod.Name
	pod.Labels["statefulset.kubernetes.io/pod-name"], pod.Labels["apps.kubernetes.io/pod-index"] = pod.Name, index
	return pod
}

// sent returns a pod as decoded from the API server's response, which shares no memory.
func sent(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	message, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	decoded := &corev1.Pod{}
	if err := decoded.Unmarshal(message); err != nil {
		t.Fatal(err)
	}
	return decoded
}

// TestMemoryOfPods shows that a pod takes less than 350 bytes in the table and the index (spec/dns.md §16),
// one of a StatefulSet, which has labels of its own, less than 900, and a finished pod hardly any (§15.14).
func TestMemoryOfPods(t *testing.T) {
	const count = 20000
	measure := func(phase corev1.PodPhase, podOf func(int) *corev1.Pod) uint64 {
		s := newServices(*NewConfig(), source.Input{Settings: source.Settings{Prefixes: source.DefaultPrefixes}}, allTypes)
		scope := kube.NewScope("local")
		rows, index := map[rowKey]row{}, map[string]map[rowKey]struct{}{}
		before := heaptest.InUse()
		for n := range count {
			obj := sent(t, podOf(n))
			obj.Status.Phase = phase
			kept, _ := s.trimPod(scope, obj)
			key := rowKey{scope.Intern(obj.Namespace), obj.Name}
			rows[key] = row{value: kept, updated: int64(n)}
			for _, under := range kept.namespaceKeys() {
				if index[under] == nil {
					index[under] = map[rowKey]struct{}{}
				}
				index[under][key] = struct{}{}
			}
		}
		after := heaptest.InUse()
		runtime.KeepAlive([]any{rows, index, scope, s})
		return (after - before) / count
	}
	replica, member := measure(corev1.PodRunning, replicaOf), measure(corev1.PodRunning, memberOf)
	finished := measure(corev1.PodSucceeded, replicaOf)
	t.Logf("%d bytes for a pod of a ReplicaSet, %d for one of a StatefulSet, %d for one that has finished", replica, member, finished)
	if replica >= 350 || member >= 900 {
		t.Errorf("pods cost %d and %d bytes, want less than 350 and 900", replica, member)
	}
	if finished >= 150 {
		t.Errorf("a pod that has finished costs %d bytes, want less than 150: its name", finished)
	}
}
