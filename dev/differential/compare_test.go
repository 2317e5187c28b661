package main

//lint:file-ignore SA1019 Endpoints are deprecated, and one of the kinds that are compared.

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// exampleState is a Service with one pod, its Endpoints and its slice. The UIDs and the name of the slice are
// those of one cluster.
func exampleState(cluster string) clusterState {
	uid := func(of string) types.UID { return types.UID(cluster + of) }
	pod := &corev1.ObjectReference{Kind: "Pod", Namespace: "ns", Name: "pod-0", UID: uid("pod")}
	meta := func(name, of string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "ns", Name: name, UID: uid(of), Labels: map[string]string{}, Annotations: map[string]string{
			corev1.EndpointsLastChangeTriggerTime: "the time in " + cluster,
		}}
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  meta("a-"+cluster, "slice"),
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{
			{Name: new("p0"), Port: new(int32(8080)), Protocol: new(corev1.ProtocolTCP)}, {Name: new("p1"), Port: new(int32(9090)), Protocol: new(corev1.ProtocolTCP)},
		},
		Endpoints: []discoveryv1.Endpoint{
			{Addresses: []string{"10.1.2.1"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}, TargetRef: pod},
			{Addresses: []string{"10.1.2.2"}, Conditions: discoveryv1.EndpointConditions{Ready: new(false)}},
		},
	}
	slice.Labels[discoveryv1.LabelServiceName], slice.Labels[discoveryv1.LabelManagedBy] = "a", "endpointslice-controller.k8s.io"
	slice.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "a", UID: uid("service")}}
	return clusterState{
		services: []*corev1.Service{{ObjectMeta: meta("a", "service"), Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "x"}}}},
		pods:     []*corev1.Pod{{ObjectMeta: meta("pod-0", "pod"), Status: corev1.PodStatus{Phase: corev1.PodRunning}}},
		endpoints: []*corev1.Endpoints{{ObjectMeta: meta("a", "endpoints"), Subsets: []corev1.EndpointSubset{{
			Addresses:         []corev1.EndpointAddress{{IP: "10.1.2.1", TargetRef: pod}},
			NotReadyAddresses: []corev1.EndpointAddress{{IP: "10.1.2.2"}},
			Ports:             []corev1.EndpointPort{{Name: "p0", Port: 8080, Protocol: corev1.ProtocolTCP}, {Name: "p1", Port: 9090, Protocol: corev1.ProtocolTCP}},
		}}}},
		slices: []*discoveryv1.EndpointSlice{slice},
	}
}

// What differs between clusters of itself is no difference: UIDs, names of slices, times, and the order in
// lists.
func TestSameInBothClusters(t *testing.T) {
	k, s := exampleState("kubernetes"), exampleState("signpost")
	if found := compare(k.outputs(), s.outputs()); len(found) > 0 {
		t.Errorf("different: %v", found)
	}
	list := s.slices[0]
	list.Endpoints[0], list.Endpoints[1] = list.Endpoints[1], list.Endpoints[0]
	list.Ports[0], list.Ports[1] = list.Ports[1], list.Ports[0]
	ports := s.endpoints[0].Subsets[0].Ports
	ports[0], ports[1] = ports[1], ports[0]
	if found := compare(k.outputs(), s.outputs()); len(found) > 0 {
		t.Errorf("different in another order: %v", found)
	}
}

// Every field counts, and the text names it.
func TestDifferences(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*clusterState)
		kind   string
		says   string
	}{
		"label of a slice":       {func(w *clusterState) { w.slices[0].Labels["team"] = "x" }, kindSlice, "label team: absent with Kubernetes"},
		"label that is empty":    {func(w *clusterState) { w.slices[0].Labels["team"] = "" }, kindSlice, `"" with Signpost`},
		"annotation of a slice":  {func(w *clusterState) { w.slices[0].Annotations["note"] = "x" }, kindSlice, "annotation note"},
		"owner of a slice":       {func(w *clusterState) { w.slices[0].OwnerReferences[0].Controller = new(true) }, kindSlice, "owner Service a"},
		"owner of a former life": {func(w *clusterState) { w.slices[0].OwnerReferences[0].UID = "old" }, kindSlice, "former"},
		"no owner":               {func(w *clusterState) { w.slices[0].OwnerReferences = nil }, kindSlice, "owner Service a"},
		"finalizer":              {func(w *clusterState) { w.slices[0].Finalizers = []string{"x"} }, kindSlice, "finalizer"},
		"name of a slice":        {func(w *clusterState) { w.slices[0].Name = "other" }, kindSlice, "name begins"},
		"family":                 {func(w *clusterState) { w.slices[0].AddressType = discoveryv1.AddressTypeIPv6 }, kindSlice, "address type"},
		"port":                   {func(w *clusterState) { *w.slices[0].Ports[0].Port = 1 }, kindSlice, "port p0"},
		"protocol of a port":     {func(w *clusterState) { w.slices[0].Ports[0].AppProtocol = new("http") }, kindSlice, "port p0"},
		"address":                {func(w *clusterState) { w.slices[0].Endpoints[1].Addresses[0] = "10.1.2.3" }, kindSlice, "endpoint 10.1.2.3"},
		"address twice":          {func(w *clusterState) { w.slices[0].Endpoints = append(w.slices[0].Endpoints, w.slices[0].Endpoints[1]) }, kindSlice, "(2)"},
		"condition":              {func(w *clusterState) { w.slices[0].Endpoints[0].Conditions.Serving = new(true) }, kindSlice, "endpoint 10.1.2.1"},
		"hint": {func(w *clusterState) {
			w.slices[0].Endpoints[0].Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "z1"}}}
		}, kindSlice, "forZones"},
		"zone":     {func(w *clusterState) { w.slices[0].Endpoints[0].Zone = new("z1") }, kindSlice, "zone"},
		"hostname": {func(w *clusterState) { w.slices[0].Endpoints[0].Hostname = new("h") }, kindSlice, "hostname"},
		"another pod": {func(w *clusterState) {
			w.slices[0].Endpoints[0].TargetRef = &corev1.ObjectReference{Kind: "Pod", Name: "x"}
		}, kindSlice, "targetRef"},
		"slice is absent": {func(w *clusterState) { w.slices = nil }, kindSlice, "only with Kubernetes"},
		"slice too many":  {func(w *clusterState) { w.slices = append(w.slices, w.slices[0]) }, kindSlice, "only with Signpost"},

		"label of Endpoints":   {func(w *clusterState) { w.endpoints[0].Labels["team"] = "x" }, kindEndpoints, "label team"},
		"ready":                {func(w *clusterState) { w.endpoints[0].Subsets[0].NotReadyAddresses = nil }, kindEndpoints, "not ready 10.1.2.2"},
		"address of Endpoints": {func(w *clusterState) { w.endpoints[0].Subsets[0].Addresses[0].Hostname = "h" }, kindEndpoints, "ready 10.1.2.1"},
		"port of Endpoints":    {func(w *clusterState) { w.endpoints[0].Subsets[0].Ports[0].Port = 1 }, kindEndpoints, "subset"},
		"empty subset": {func(w *clusterState) {
			w.endpoints[0].Subsets = append(w.endpoints[0].Subsets, corev1.EndpointSubset{})
		}, kindEndpoints, "empty"},
		"no Endpoints": {func(w *clusterState) { w.endpoints = nil }, kindEndpoints, "only with Kubernetes"},
	} {
		t.Run(name, func(t *testing.T) {
			s := exampleState("signpost")
			// References are shared in the example, and a test changes one of them.
			for i := range s.slices {
				s.slices[i] = s.slices[i].DeepCopy()
			}
			tt.change(&s)
			found := compare(exampleState("kubernetes").outputs(), s.outputs())
			if len(found) != 1 || found[0].kind != tt.kind || found[0].service != "a" {
				t.Fatalf("found %v, want one difference in %s of a", found, tt.kind)
			}
			if text := found[0].String(); !strings.Contains(text, tt.says) {
				t.Errorf("says\n%s\nwhich lacks %q", text, tt.says)
			}
		})
	}
}

// A slice that is being deleted doesn't count.
func TestDeletedSlicesAreAbsent(t *testing.T) {
	k, s := exampleState("kubernetes"), exampleState("signpost")
	k.slices[0].DeletionTimestamp = new(metav1.Now())
	s.slices = nil
	if found := compare(k.outputs(), s.outputs()); len(found) > 0 {
		t.Errorf("different: %v", found)
	}
}
