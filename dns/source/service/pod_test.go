package service

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
