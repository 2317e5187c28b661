package model_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/model"
)

func pod(revision int64, name, ip string) history.Object {
	content := `{"metadata":{"name":"` + name + `"},"status":{"podIP":"` + ip + `"}}`
	return history.Object{Resource: "pods", Namespace: "lab", Name: name, Revision: revision, Content: json.RawMessage(content)}
}

func gone(o history.Object) history.Object {
	return history.Object{Resource: o.Resource, Namespace: o.Namespace, Name: o.Name, Revision: o.Revision, Deleted: true}
}

func ips(s *model.State) map[string]string {
	out := map[string]string{}
	for _, p := range model.All[corev1.Pod](s, "pods", "lab") {
		out[p.Name] = p.Status.PodIP
	}
	return out
}

// TestState shows that a state has the last version of each object, and no deleted one.
func TestState(t *testing.T) {
	var s model.State
	steps := []struct {
		name   string
		change history.Object
		want   map[string]string
	}{
		{"created", pod(1, "a", "10.0.0.1"), map[string]string{"a": "10.0.0.1"}},
		{"another", pod(2, "b", "10.0.0.2"), map[string]string{"a": "10.0.0.1", "b": "10.0.0.2"}},
		{"changed", pod(4, "a", "10.0.0.4"), map[string]string{"a": "10.0.0.4", "b": "10.0.0.2"}},
		{"older", pod(3, "a", "10.0.0.3"), map[string]string{"a": "10.0.0.4", "b": "10.0.0.2"}},
		{"deleted", gone(pod(5, "a", "")), map[string]string{"b": "10.0.0.2"}},
		{"older than the deletion", pod(4, "a", "10.0.0.4"), map[string]string{"b": "10.0.0.2"}},
		{"not a pod", history.Object{Resource: "pods", Namespace: "lab", Name: "c", Revision: 6, Content: json.RawMessage(`{"metadata":5}`)}, map[string]string{"b": "10.0.0.2"}},
	}
	for _, step := range steps {
		s.Apply(step.change)
		if diff := cmp.Diff(step.want, ips(&s)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}

// TestGetMissing shows that a missing object, and one of another namespace, are not found.
func TestGetMissing(t *testing.T) {
	var s model.State
	s.Apply(pod(1, "a", "10.0.0.1"))
	for _, key := range [][2]string{{"other", "a"}, {"lab", "b"}} {
		if _, ok := model.Get[corev1.Pod](&s, "pods", key[0], key[1]); ok {
			t.Errorf("found %v", key)
		}
	}
}

// TestDecodeOnce shows that two states with a shared version decode it once.
func TestDecodeOnce(t *testing.T) {
	v := model.NewVersion(pod(1, "a", "10.0.0.1"))
	one, two := &model.State{}, &model.State{}
	one.ApplyVersion(v)
	two.ApplyVersion(v)
	first, _ := model.Get[corev1.Pod](one, "pods", "lab", "a")
	second, _ := model.Get[corev1.Pod](two, "pods", "lab", "a")
	if first == nil || first != second {
		t.Errorf("decoded to %p and %p", first, second)
	}
}
