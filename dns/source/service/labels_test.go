package service

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"
)

// TestSelects shows that a selector selects the same pods as in Kubernetes, all if empty (W1), and that an
// index finds it by one of the labels of each selected pod.
func TestSelects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			checkSelects(t)
		}
	})
}

func checkSelects(t *rapid.T) {
	value := rapid.StringMatching(`[ab0-]{0,3}`)
	key := rapid.OneOf(rapid.StringMatching(`[ab./]{0,2}`), rapid.Just(podIndexLabel), rapid.Just("statefulset.kubernetes.io/pod-name"))
	has := rapid.MapOfN(key, value, 0, 4).Draw(t, "labels")
	by := rapid.MapOfN(key, value, 0, 2).Draw(t, "selector")
	s, p := newSelector(by), &pod{name: value.Draw(t, "name")}
	p.labels = newLabelText(has, p.name)
	want := labels.SelectorFromSet(by).Matches(labels.Set(has))
	if got := s.selects(p); got != want {
		t.Fatalf("%v selects %v of the pod %q: %v, want %v", by, has, p.name, got, want)
	}
	var each []string
	p.eachLabel(func(label string) bool {
		each = append(each, label)
		return true
	})
	if all := newSelector(has); !slices.Equal(each, all) {
		t.Fatalf("the labels of the pod %q are %q, want %q", p.name, each, all)
	}
	if want && len(s) > 0 && !slices.Contains(each, s[0]) {
		t.Fatalf("%q is not among the labels %q", s[0], each)
	}
}

// TestLabelsOfStatefulSet shows that the pods of a StatefulSet share their labels.
func TestLabelsOfStatefulSet(t *testing.T) {
	of := func(name, index string) labelText {
		return newLabelText(map[string]string{
			"app": "db", "statefulset.kubernetes.io/pod-name": name, podIndexLabel: index, "controller-revision-hash": "db-55",
		}, name)
	}
	if a, b := of("db-0", "0"), of("db-10", "10"); a != b {
		t.Errorf("the labels of two pods are %q and %q, want the same text", a, b)
	}
	if a, b := of("db-0", "0"), of("db-1", "7"); a == b {
		t.Errorf("the labels %q don't say that the index of one isn't the number in its name", a)
	}
}

func TestTierOf(t *testing.T) {
	now := metav1.Now()
	condition := func(status corev1.ConditionStatus) []corev1.PodCondition {
		return []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: status}}
	}
	for _, test := range []struct {
		name       string
		phase      corev1.PodPhase
		conditions []corev1.PodCondition
		deleted    *metav1.Time
		want       tier
	}{
		{name: "ready", phase: corev1.PodRunning, conditions: condition(corev1.ConditionTrue), want: ready},
		{name: "ready and terminating", phase: corev1.PodRunning, conditions: condition(corev1.ConditionTrue), deleted: &now, want: terminatingReady},
		{name: "not ready", phase: corev1.PodRunning, conditions: condition(corev1.ConditionFalse), want: runningNotReady},
		{name: "unknown", phase: corev1.PodRunning, conditions: condition(corev1.ConditionUnknown), deleted: &now, want: runningNotReady},
		{name: "no condition", phase: corev1.PodRunning, want: runningNotReady},
		{name: "pending", phase: corev1.PodPending, conditions: condition(corev1.ConditionTrue), want: notRunning},
	} {
		pod := &corev1.Pod{}
		pod.Status.Phase, pod.Status.Conditions, pod.DeletionTimestamp = test.phase, test.conditions, test.deleted
		if got := tierOf(pod); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}
