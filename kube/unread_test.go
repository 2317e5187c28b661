package kube_test

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
	"github.com/signpostd/signpost/testkit/kubetest"
)

// What a kind keeps of an object doesn't depend on the fields that it says it can do
// without.
func TestTrimDoesWithoutUnreadFields(t *testing.T) {
	node := &corev1.Node{}
	kubetest.Fill(node)
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	node.Status.Conditions[1].Type = corev1.NodeReady
	t.Run("pods of the catalog", func(t *testing.T) { sameTrim(t, kinds.Pods(), kubetest.FullPod()) })
	t.Run("pods of the controllers", func(t *testing.T) { sameTrim(t, watched.Pods(), kubetest.FullPod()) })
	t.Run("nodes of the controllers", func(t *testing.T) { sameTrim(t, watched.Nodes(), node) })
}

func sameTrim[T any, P kube.Marshaler](t *testing.T, k kube.Kind[T], object P) {
	t.Helper()
	want, wantProblems, err := kube.TrimWhole(k, object)
	if err != nil {
		t.Fatal(err)
	}
	got, problems, err := kube.TrimPruned(k, object)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("kept of the pruned object:\n%+v\nand of the whole one:\n%+v", got, want)
	}
	if !reflect.DeepEqual(problems, wantProblems) {
		t.Errorf("problems of the pruned object:\n%+v\nand of the whole one:\n%+v", problems, wantProblems)
	}
	if reflect.ValueOf(want).Elem().IsZero() {
		t.Error("the kind keeps nothing of the object: it is no good for a test")
	}
}
