package main

//lint:file-ignore SA1019 Endpoints are deprecated, and one of the kinds that are compared.

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// scenario is two clusterStates that are the same until a test changes one, and what happened.
type scenario struct {
	kubernetes, signpost clusterState
	lasts                duration
	last                 step
	// moved are the sides that changed before the disagreement was gone.
	moved []string
}

func newScenario() *scenario {
	return &scenario{exampleState("kubernetes"), exampleState("signpost"), forGood, nil, nil}
}

func (s *scenario) both(change func(*clusterState)) *scenario {
	change(&s.kubernetes)
	change(&s.signpost)
	return s
}

// reasons returns the reason of each disagreement; "" where there is none.
func (s *scenario) reasons() []string {
	var names []string
	for _, d := range compare(s.kubernetes.outputs(), s.signpost.outputs()) {
		r, _ := explain(circumstances{
			disagreement: d, lasts: s.lasts, kubernetesMoved: slices.Contains(s.moved, kubernetesSide), signpostMoved: slices.Contains(s.moved, signpost),
			played: []step{s.last}, agreed: exampleState("kubernetes").outputs(), clusterStates: clusterStates{s.kubernetes, s.signpost},
		})
		names = append(names, r.name)
	}
	return names
}

func withoutSelector(w *clusterState) { w.services[0].Spec.Selector = nil }

func inIPv4(w *clusterState) { w.services[0].Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol} }

// byHand makes the Endpoints and the slice those of people.
func byHand(w *clusterState) {
	withoutSelector(w)
	w.slices[0].Labels[discoveryv1.LabelManagedBy] = "endpointslicemirroring-controller.k8s.io"
}

// firstOnOwnNode puts the first endpoint on the own node, in zone z1.
func firstOnOwnNode(w *clusterState) {
	w.slices[0].Endpoints[0].NodeName, w.slices[0].Endpoints[0].Zone = new("own-seed-1"), new("z1")
}

// emptySlice takes the endpoints from the slice.
func emptySlice(w *clusterState) { w.slices[0].Endpoints = nil }

// emptySliceAndLabel gives the Service a label, and takes the endpoints from its slice.
func (s *scenario) emptySliceAndLabel(label, value string) {
	s.both(emptySlice).both(func(w *clusterState) {
		for _, o := range []metav1.Object{w.services[0], w.slices[0]} {
			labels := maps.Clone(o.GetLabels())
			if labels == nil {
				labels = map[string]string{}
			}
			labels[label] = value
			o.SetLabels(labels)
		}
	})
	s.last = step{putService{onService: onService{"a"}, wanted: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{label: value}}}}}
}

// Each reason explains its own case, and nothing that is only nearly so.
func TestReasons(t *testing.T) {
	on := onService{"a"}
	takes := handOver{on, exampleState("").endpoints[0]}
	for name, tt := range map[string]struct {
		edit func(*scenario)
		want string
	}{
		"headless label is right here": {func(s *scenario) {
			s.both(func(w *clusterState) { w.services[0].Spec.ClusterIP = corev1.ClusterIPNone })
			s.signpost.endpoints[0].Labels[corev1.IsHeadlessService] = ""
		}, "headless label put right"},
		"headless label is stale there": {func(s *scenario) {
			s.kubernetes.endpoints[0].Labels[corev1.IsHeadlessService] = ""
		}, "headless label put right"},
		"headless label is wrong here": {func(s *scenario) {
			s.signpost.endpoints[0].Labels[corev1.IsHeadlessService] = ""
		}, ""},
		"headless label and something else": {func(s *scenario) {
			s.kubernetes.endpoints[0].Labels[corev1.IsHeadlessService] = ""
			s.kubernetes.endpoints[0].Labels["team"] = "x"
		}, ""},
		"headless label of hand-written Endpoints": {func(s *scenario) {
			s.both(withoutSelector)
			s.kubernetes.endpoints[0].Labels[corev1.IsHeadlessService] = ""
		}, ""},

		"ended pod is only there": {func(s *scenario) {
			s.both(func(w *clusterState) { w.pods[0].Status.Phase = corev1.PodFailed })
			s.lasts = untilTouched
			s.signpost.slices[0].Endpoints = s.signpost.slices[0].Endpoints[1:]
		}, "ended pod leaves at once"},
		"ended pod has a slice of its own there": {func(s *scenario) {
			s.both(func(w *clusterState) { w.pods[0].Status.Phase = corev1.PodFailed })
			s.lasts = untilTouched
			s.signpost.slices[0].Endpoints = s.signpost.slices[0].Endpoints[1:]
			s.kubernetes.slices = append(s.kubernetes.slices, s.kubernetes.slices[0].DeepCopy())
			s.kubernetes.slices[0].Endpoints = s.kubernetes.slices[0].Endpoints[1:]
			s.kubernetes.slices[1].Endpoints = s.kubernetes.slices[1].Endpoints[:1]
		}, "ended pod leaves at once"},
		"ended pod is only there, even when touched": {func(s *scenario) {
			s.both(func(w *clusterState) { w.pods[0].Status.Phase = corev1.PodFailed })
			s.signpost.slices[0].Endpoints = s.signpost.slices[0].Endpoints[1:]
		}, ""},
		"ended pod is only here": {func(s *scenario) {
			s.both(func(w *clusterState) { w.pods[0].Status.Phase = corev1.PodFailed })
			s.lasts = untilTouched
			s.kubernetes.slices[0].Endpoints = s.kubernetes.slices[0].Endpoints[1:]
		}, ""},
		"living pod is only there": {func(s *scenario) {
			s.lasts = untilTouched
			s.signpost.slices[0].Endpoints = s.signpost.slices[0].Endpoints[1:]
		}, ""},

		"selector was taken after a change": {func(s *scenario) {
			s.both(withoutSelector)
			s.last = step{setStatus{onPod{"pod-0"}, corev1.PodStatus{}}, takes}
			s.kubernetes.slices[0].Endpoints = nil
		}, "selector taken away during a change"},
		"selector was taken after a change, and neither has what was before": {func(s *scenario) {
			s.both(withoutSelector)
			s.last = step{setStatus{onPod{"pod-0"}, corev1.PodStatus{}}, takes}
			s.kubernetes.slices[0].Endpoints = nil
			s.signpost.slices[0].Ports = nil
		}, ""},
		"selector was taken after two changes": {func(s *scenario) {
			s.both(withoutSelector)
			status := setStatus{onPod{"pod-0"}, corev1.PodStatus{}}
			s.last = step{status, status, takes}
			s.kubernetes.slices[0].Endpoints = nil
			s.signpost.slices[0].Ports = nil
		}, "selector taken away during a change"},
		"selector was taken, and nothing else": {func(s *scenario) {
			s.both(withoutSelector)
			s.last = step{takes}
			s.kubernetes.slices[0].Endpoints = nil
		}, ""},
		"selector was taken before a change": {func(s *scenario) {
			s.both(withoutSelector)
			s.last = step{takes, setStatus{onPod{"pod-0"}, corev1.PodStatus{}}}
			s.kubernetes.slices[0].Endpoints = nil
		}, "selector taken away during a change"},
		"selector was taken, and Endpoints were written by hand": {func(s *scenario) {
			s.both(withoutSelector)
			s.last = step{takes, writeEndpoints(takes)}
			s.kubernetes.slices[0].Endpoints = nil
		}, ""},
		"selector of another Service was taken": {func(s *scenario) {
			s.both(withoutSelector)
			s.last = step{setStatus{onPod{"pod-0"}, corev1.PodStatus{}}, handOver{onService{"b"}, &corev1.Endpoints{}}}
			s.kubernetes.slices[0].Endpoints = nil
		}, ""},
		"selector is there still": {func(s *scenario) {
			s.last = step{setStatus{onPod{"pod-0"}, corev1.PodStatus{}}, takes}
			s.kubernetes.slices[0].Endpoints = nil
		}, ""},

		"Service came again, and its slices are missing there": {func(s *scenario) {
			s.both(inIPv4)
			s.last = step{deleteService{on}, putService{onService: on}}
			s.kubernetes.slices = nil
		}, "Kubernetes lacks all slices of a family"},
		"Service changed, and its slices were deleted and are missing there": {func(s *scenario) {
			s.both(inIPv4)
			s.last = step{putService{onService: on}, deleteSlices{on}}
			s.kubernetes.slices = nil
		}, "Kubernetes lacks all slices of a family"},
		"pod changed, and the slices were deleted and are missing there": {func(s *scenario) {
			s.both(inIPv4)
			s.last = step{setStatus{onPod{"pod-0"}, corev1.PodStatus{}}, deleteSlices{on}}
			s.kubernetes.slices = nil
		}, "Kubernetes lacks all slices of a family"},
		"slices were deleted and are missing there": {func(s *scenario) {
			s.both(inIPv4)
			s.last = step{deleteSlices{on}}
			s.kubernetes.slices = nil
		}, ""},
		"pod changed, and the slices of another Service were deleted": {func(s *scenario) {
			s.both(inIPv4)
			s.last = step{setStatus{onPod{"pod-0"}, corev1.PodStatus{}}, deleteSlices{onService{"b"}}}
			s.kubernetes.slices = nil
		}, ""},
		"Service came again, and one of two slices is missing there": {func(s *scenario) {
			s.both(inIPv4).both(func(w *clusterState) {
				w.slices = append(w.slices, w.slices[0].DeepCopy())
				w.slices[1].Endpoints = nil
			})
			s.last = step{deleteService{on}, putService{onService: on}}
			s.kubernetes.slices = s.kubernetes.slices[:1]
		}, ""},
		"Service came again, and a family that it lacks is only here": {func(s *scenario) {
			s.last = step{deleteService{on}, putService{onService: on}}
			s.kubernetes.slices = nil
		}, ""},
		"Service came again, and its slices are missing here": {func(s *scenario) {
			s.both(inIPv4)
			s.last = step{deleteService{on}, putService{onService: on}}
			s.signpost.slices = nil
		}, ""},
		"Service changed, and its slices are missing there": {func(s *scenario) {
			s.both(inIPv4)
			s.last = step{putService{onService: on}}
			s.kubernetes.slices = nil
		}, ""},
		"Endpoints written by hand are only here": {func(s *scenario) {
			s.both(withoutSelector)
			s.last = step{handOver{on, s.signpost.endpoints[0].DeepCopy()}}
			s.kubernetes.endpoints[0].Subsets = nil
		}, "Kubernetes overwrites Endpoints written by hand"},
		"Endpoints written by hand are only there": {func(s *scenario) {
			s.both(withoutSelector)
			s.last = step{handOver{on, s.kubernetes.endpoints[0].DeepCopy()}}
			s.signpost.endpoints[0].Subsets = nil
		}, ""},
		"Endpoints written by hand were deleted": {func(s *scenario) {
			s.both(withoutSelector)
			s.last = step{handOver{on, s.signpost.endpoints[0].DeepCopy()}, deleteEndpoints{on}}
			s.kubernetes.endpoints[0].Subsets = nil
		}, "selector taken away during a change"},
		"slice is stale there for a while": {func(s *scenario) {
			s.lasts, s.moved = late, []string{kubernetesSide}
			s.kubernetes.slices[0].Endpoints = s.kubernetes.slices[0].Endpoints[1:]
		}, "Kubernetes is late"},
		"slice is stale here for a while": {func(s *scenario) {
			s.lasts, s.moved = late, []string{signpost}
			s.signpost.slices[0].Endpoints = s.signpost.slices[0].Endpoints[1:]
		}, ""},
		"slice is other in both for a while": {func(s *scenario) {
			s.lasts, s.moved = late, []string{kubernetesSide, signpost}
			s.kubernetes.slices[0].Endpoints = s.kubernetes.slices[0].Endpoints[1:]
		}, ""},
		"slice is stale there until its Service is touched": {func(s *scenario) {
			s.lasts, s.moved = untilTouched, []string{kubernetesSide}
			s.kubernetes.slices[0].Endpoints = s.kubernetes.slices[0].Endpoints[1:]
		}, ""},
		"slices were deleted, and one is missing here until touched": {func(s *scenario) {
			s.lasts, s.last = untilTouched, step{deleteSlices{on}}
			s.signpost.slices = nil
		}, ""},
		"slices were deleted, and one is missing here for a while": {func(s *scenario) {
			s.lasts, s.last = late, step{deleteSlices{on}}
			s.signpost.slices = nil
		}, "repair is put off"},
		"slices were deleted, and one is missing here for good": {func(s *scenario) {
			s.last = step{deleteSlices{on}}
			s.signpost.slices = nil
		}, ""},
		"slices were deleted, and one is other here": {func(s *scenario) {
			s.lasts, s.last = late, step{deleteSlices{on}}
			s.signpost.slices[0].Endpoints = nil
		}, ""},
		"Endpoints were deleted, and a slice is missing here for a while": {func(s *scenario) {
			s.lasts, s.last = late, step{deleteEndpoints{on}}
			s.signpost.slices = nil
		}, ""},
		"endpoint on a deleted node is only here": {func(s *scenario) {
			s.both(firstOnOwnNode)
			s.last = step{createNode{zone: "z1"}, deleteNode{}}
			s.kubernetes.slices[0].Endpoints = s.kubernetes.slices[0].Endpoints[1:]
		}, "pods of a deleted node stay"},
		"endpoint on a deleted node is only there": {func(s *scenario) {
			s.both(firstOnOwnNode)
			s.last = step{createNode{zone: "z1"}, deleteNode{}}
			s.signpost.slices[0].Endpoints = s.signpost.slices[0].Endpoints[1:]
		}, ""},
		"endpoint is only here, and no node was deleted": {func(s *scenario) {
			s.both(firstOnOwnNode)
			s.last = step{createNode{zone: "z1"}}
			s.kubernetes.slices[0].Endpoints = s.kubernetes.slices[0].Endpoints[1:]
		}, ""},
		"endpoint on another node is only here": {func(s *scenario) {
			s.both(firstOnOwnNode)
			s.last = step{createNode{zone: "z1"}, deleteNode{}}
			s.kubernetes.slices[0].Endpoints = s.kubernetes.slices[0].Endpoints[:1]
		}, ""},
		"node was created again in another zone, which is known here": {func(s *scenario) {
			s.both(firstOnOwnNode)
			s.last = step{createNode{zone: "z1"}, deleteNode{}, createNode{zone: "z2"}}
			s.signpost.slices[0].Endpoints[0].Zone = new("z2")
		}, "pods of a deleted node stay"},
		"node was created again in another zone, which is known there": {func(s *scenario) {
			s.both(firstOnOwnNode)
			s.last = step{createNode{zone: "z1"}, deleteNode{}, createNode{zone: "z2"}}
			s.kubernetes.slices[0].Endpoints[0].Zone = new("z2")
		}, ""},
		"empty label is missing on an empty slice here": {func(s *scenario) {
			s.emptySliceAndLabel("team", "")
			delete(s.signpost.slices[0].Labels, "team")
		}, ""},
		"empty label is missing on an empty slice there": {func(s *scenario) {
			s.emptySliceAndLabel("team", "")
			delete(s.kubernetes.slices[0].Labels, "team")
		}, "empty label put right"},
		"headless label stays there": {func(s *scenario) {
			s.both(emptySlice)
			s.last = step{putService{onService: on, wanted: &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}}}}
			s.kubernetes.slices[0].Labels[corev1.IsHeadlessService] = ""
		}, "empty label put right"},
		"headless label is on an empty slice of a Service that wasn't headless": {func(s *scenario) {
			s.both(emptySlice)
			s.last = step{putService{onService: on, wanted: &corev1.Service{}}}
			s.signpost.slices[0].Labels[corev1.IsHeadlessService] = ""
		}, ""},
		"empty label is missing on a slice with endpoints there": {func(s *scenario) {
			s.emptySliceAndLabel("team", "")
			full := exampleState("").slices[0].Endpoints[1:]
			s.kubernetes.slices[0].Endpoints, s.signpost.slices[0].Endpoints = full, full
			delete(s.kubernetes.slices[0].Labels, "team")
		}, "empty label put right"},
		"label with a value is missing on an empty slice": {func(s *scenario) {
			s.emptySliceAndLabel("team", "a")
			delete(s.signpost.slices[0].Labels, "team")
		}, ""},
		"empty label has a value on an empty slice": {func(s *scenario) {
			s.emptySliceAndLabel("team", "")
			s.signpost.slices[0].Labels["team"] = "a"
		}, ""},
		"empty label that the Service never had is on an empty slice": {func(s *scenario) {
			s.both(emptySlice)
			s.signpost.slices[0].Labels["team"] = ""
		}, ""},
		"empty label is missing on an empty slice that has other ports": {func(s *scenario) {
			s.emptySliceAndLabel("team", "")
			delete(s.signpost.slices[0].Labels, "team")
			s.signpost.slices[0].Ports = append(s.signpost.slices[0].Ports, discoveryv1.EndpointPort{Name: new("q"), Port: new(int32(1)), Protocol: new(corev1.ProtocolTCP)})
		}, ""},
		"mirrored slice is stale there": {func(s *scenario) {
			s.both(byHand)
			s.kubernetes.slices[0].Endpoints = s.kubernetes.slices[0].Endpoints[1:]
		}, "mirroring of Kubernetes is late"},
		"mirrored slice is stale here": {func(s *scenario) {
			s.both(byHand)
			s.signpost.slices[0].Endpoints = s.signpost.slices[0].Endpoints[1:]
		}, ""},
		"slice of the former selector is only there": {func(s *scenario) {
			s.both(withoutSelector)
			s.last = step{takes}
			s.signpost.slices = nil
		}, "slices of a former selector are deleted"},
		"slice of the former selector is only there, and mirroring is late": {func(s *scenario) {
			s.both(byHand)
			s.last = step{takes}
			s.kubernetes.slices = append(s.kubernetes.slices, exampleState("kubernetes").slices[0])
			s.kubernetes.slices[0].Endpoints = s.kubernetes.slices[0].Endpoints[1:]
		}, "slices of a former selector are deleted"},
		"slice of the former selector is only there, and a mirrored one is stale here": {func(s *scenario) {
			s.both(byHand)
			s.last = step{takes}
			s.kubernetes.slices = append(s.kubernetes.slices, exampleState("kubernetes").slices[0])
			s.signpost.slices[0].Endpoints = s.signpost.slices[0].Endpoints[1:]
		}, ""},
		"slice of the former selector is only there, and nobody wrote Endpoints": {func(s *scenario) {
			s.both(withoutSelector)
			s.last = step{putService{onService: on, wanted: &corev1.Service{}}}
			s.signpost.slices = nil
		}, ""},
		"slice of the present selector is only there": {func(s *scenario) {
			s.last = step{takes}
			s.signpost.slices = nil
		}, ""},
		"slice of the former selector is only here": {func(s *scenario) {
			s.both(withoutSelector)
			s.last = step{takes}
			s.kubernetes.slices = nil
		}, ""},
		"mirrored slice has another label": {func(s *scenario) {
			s.both(byHand)
			s.signpost.slices[0].Labels["team"] = "x"
		}, ""},
		"slice of pods is stale there": {func(s *scenario) {
			s.kubernetes.slices[0].Endpoints = s.kubernetes.slices[0].Endpoints[1:]
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScenario()
			tt.edit(s)
			if got := s.reasons(); len(got) != 1 || got[0] != tt.want {
				t.Errorf("got %q, want one disagreement with %q", got, tt.want)
			}
		})
	}
}

// Who removed a selector and wrote Endpoints by hand in the same moment lost what was written, because it was
// repaired to what the selector gave. Nothing may explain that, whatever else happened in the step.
func TestC0OverwrittenByHandIsNeverExplained(t *testing.T) {
	s := newScenario().both(withoutSelector)
	s.last = step{setStatus{onPod{"pod-0"}, corev1.PodStatus{}}, handOver{onService{"a"}, s.kubernetes.endpoints[0].DeepCopy()}}
	s.signpost.endpoints[0].Subsets = nil
	if got := s.reasons(); len(got) != 1 || got[0] != "" {
		t.Errorf("got %q, want one disagreement without a reason", got)
	}
	d := compare(s.kubernetes.outputs(), s.signpost.outputs())[0]
	c := circumstances{disagreement: d, played: []step{s.last}, clusterStates: clusterStates{s.kubernetes, s.signpost}}
	if name := c.looksLike(); name != "Endpoints written by hand are overwritten" {
		t.Errorf("it looks like %q", name)
	}
}

// Users can read about each reason where the table says.
func TestReasonsAreDocumented(t *testing.T) {
	for _, r := range reasons {
		page, quote, ok := strings.Cut(r.documented, `: "`)
		if !ok {
			t.Errorf("%s: documented says %q, want a page and a quotation", r.name, r.documented)
			continue
		}
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		if !strings.Contains(strings.Join(strings.Fields(string(text)), " "), strings.TrimSuffix(quote, `"`)) {
			t.Errorf("%s: %s doesn't say %q", r.name, page, quote)
		}
	}
}
