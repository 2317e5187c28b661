package kube_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// When another object is decoded into the memory of an object, what was kept of the first one
// doesn't change, and the second one has nothing of the first.
func TestRecycledObjects(t *testing.T) {
	t.Run("pods of the catalog", func(t *testing.T) { recycles(t, kinds.Pods()) })
	t.Run("pods of the controllers", func(t *testing.T) { recycles(t, watched.Pods()) })
}

func recycles[T any](t *testing.T, k kube.Kind[T]) {
	small := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "small", Labels: map[string]string{"app": "small"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}},
		Status:     corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: "10.0.0.9"}}, Conditions: []corev1.PodCondition{{Type: "Small"}}},
	}
	for name, next := range map[string]*corev1.Pod{"a small one": small, "an empty one": {}, "a full one": kubetest.FullPod()} {
		want, _, err := kube.TrimWhole(k, kubetest.FullPod())
		if err != nil {
			t.Fatal(err)
		}
		got, decoded, err := kube.TrimRecycled(k, kubetest.FullPod(), next)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("after %s, kept of the first:\n%+v\nwant:\n%+v", name, got, want)
		}
		encoded, err := next.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		fresh := &corev1.Pod{}
		if err := fresh.Unmarshal(encoded); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fresh, decoded, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("decoded into the memory of another one, %s differs (-fresh +recycled):\n%s", name, diff)
		}
	}
}

// Objects are not recycled when a kind that keeps whole objects shares the watch.
func TestWholeObjectsAreNotRecycled(t *testing.T) {
	whole := kube.FullObject[corev1.Pod](kinds.Pods())
	if _, _, err := kube.TrimRecycled(whole, kubetest.FullPod(), kubetest.FullPod()); err == nil {
		t.Error("whole pods are recycled")
	}
	for name, form := range map[string]kube.Form{"whole pods": whole.Form, "metadata": kube.Metadata(), "unstructured pods": kube.Unstructured()} {
		if kube.Recycles(kinds.Pods().Form, form) || kube.Recycles(form, kinds.Pods().Form) {
			t.Errorf("pods that share a watch with %s are recycled", name)
		}
	}
	if !kube.Recycles(kinds.Pods().Form, watched.Pods().Form) {
		t.Error("pods of the catalog and of the controllers, from one watch, are not recycled")
	}
}
