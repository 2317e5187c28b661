package nodes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

const podsPath = "/api/v1/namespaces/default/pods"

// A simulator that has not yet heard of an opened readiness gate must not close it again.
func TestReportLeavesTheConditionsOfOthers(t *testing.T) {
	const gate = corev1.PodConditionType("example.com/lb")
	pod := testPod(func(p *corev1.Pod) {
		p.Namespace, p.UID, p.Spec.NodeName = "default", "uid", "node-0"
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}}
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: gate, Status: corev1.ConditionFalse})
	})
	api := newAPIServer(t)
	newer := pod.DeepCopy()
	newer.Status.Conditions[1].Status = corev1.ConditionTrue
	newer.Status.NominatedNodeName = "node-7"
	api.store(podsPath+"/p", newer)

	s := api.simulator(1)
	pod.Status.NominatedNodeName = "node-6"
	if err := (*podStore)(s).Add(pod); err != nil {
		t.Fatal(err)
	}
	if err := s.reconcile(t.Context(), "default/p"); err != nil {
		t.Fatal(err)
	}
	var have corev1.Pod
	api.load(podsPath+"/p", &have)
	conditions := map[corev1.PodConditionType]corev1.ConditionStatus{}
	for _, condition := range have.Status.Conditions {
		conditions[condition.Type] = condition.Status
	}
	if have.Status.Phase != corev1.PodRunning || conditions[corev1.ContainersReady] != corev1.ConditionTrue {
		t.Errorf("nothing was reported: %+v", have.Status)
	}
	if conditions[gate] != corev1.ConditionTrue || conditions[corev1.PodScheduled] != corev1.ConditionTrue || have.Status.NominatedNodeName != "node-7" {
		t.Errorf("something of others was written: %+v", have.Status)
	}
}
