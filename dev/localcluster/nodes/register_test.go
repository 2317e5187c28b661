package nodes

import (
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const nodesPath = "/api/v1/nodes"

// isRegistered checks that a node is as a first start makes it.
func (a *apiServer) isRegistered(index int) corev1.Node {
	a.Helper()
	var have corev1.Node
	a.load(nodesPath+"/"+nodeName(index), &have)
	want := node(index)
	if ready := findCondition(have.Status.Conditions, corev1.NodeReady); ready == nil || ready.Status != corev1.ConditionTrue {
		a.Errorf("%s: conditions %+v, want Ready among them", want.Name, have.Status.Conditions)
	}
	for label, value := range want.Labels {
		if have.Labels[label] != value {
			a.Errorf("%s: label %s is %q, want %q", want.Name, label, have.Labels[label], value)
		}
	}
	// Two of them have one type, and their order counts: of each type, clients take the first.
	if got := have.Status.Addresses; !slices.Equal(got, want.Status.Addresses) {
		a.Errorf("%s: addresses %v, want %v", want.Name, got, want.Status.Addresses)
	}
	if got := have.Status.Allocatable.Pods(); got.Cmp(*want.Status.Allocatable.Pods()) != 0 {
		a.Errorf("%s: %s pods, want %s", want.Name, got, want.Status.Allocatable.Pods())
	}
	return have
}

// No answer that a node gets is ever the newest state, so a write that depends on one would fail, each time.
func TestRegisterBesideAnotherWriter(t *testing.T) {
	api := newAPIServer(t)
	api.anotherWriter(nodesPath)
	var first [2]corev1.Node
	for i := range first {
		if err := api.simulator(len(first)).Register(t.Context()); err != nil {
			t.Fatalf("start %d: %v", i, err)
		}
		for index := range first {
			have := api.isRegistered(index)
			if have.Annotations[annotationOther] == "" {
				t.Errorf("start %d: the other writer's annotation of %s is gone", i, have.Name)
			}
			if i > 0 && have.UID != first[index].UID {
				t.Errorf("start %d: %s is another object", i, have.Name)
			}
			first[index] = have
		}
	}
}

// What an earlier run and others left of a node is put right, and what belongs to others stays.
func TestRegisterTakesANodeOver(t *testing.T) {
	past := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	old := node(0)
	old.UID = "old"
	old.Labels = map[string]string{corev1.LabelTopologyZone: "elsewhere", "example.com/mine": "yes"}
	old.Spec.Taints = []corev1.Taint{{Key: "example.com/mine", Effect: corev1.TaintEffectNoSchedule}}
	old.Status = corev1.NodeStatus{
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.7"}, {Type: corev1.NodeExternalIP, Address: "192.0.2.8"}},
		Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: past},
			{Type: corev1.NodeDiskPressure, Status: corev1.ConditionUnknown, LastTransitionTime: past},
			{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, LastTransitionTime: past},
		},
		VolumesAttached: []corev1.AttachedVolume{{Name: "disk", DevicePath: "/dev/disk"}},
	}
	api := newAPIServer(t)
	api.store(nodesPath+"/node-0", old)
	if err := api.simulator(1).Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	have := api.isRegistered(0)
	if have.UID != "old" || have.Labels["example.com/mine"] != "yes" || len(have.Spec.Taints) != 1 || len(have.Status.VolumesAttached) != 1 {
		t.Errorf("something of others is gone: %+v", have)
	}
	if got := findCondition(have.Status.Conditions, corev1.NodeNetworkUnavailable); got == nil || !got.LastTransitionTime.Equal(&past) {
		t.Errorf("the condition of others is %+v", got)
	}
	if got := findCondition(have.Status.Conditions, corev1.NodeReady); !got.LastTransitionTime.Equal(&past) {
		t.Errorf("Ready since %s, but was true since %s", got.LastTransitionTime, past)
	}
	if got := findCondition(have.Status.Conditions, corev1.NodeDiskPressure); got.Status != corev1.ConditionFalse || got.LastTransitionTime.Equal(&past) {
		t.Errorf("DiskPressure was unknown and is %+v", got)
	}
}

// A node that is deleted by somebody right after it was found is created anew.
func TestRegisterANodeThatVanishes(t *testing.T) {
	api := newAPIServer(t)
	api.store(nodesPath+"/node-0", node(0))
	api.answered = func(method, target string, code int) {
		if method == http.MethodPost && code == http.StatusConflict {
			delete(api.objects, target+"/node-0")
		}
	}
	if err := api.simulator(1).Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	if have := api.isRegistered(0); have.UID == "" {
		t.Error("the node was not created anew")
	}
}
