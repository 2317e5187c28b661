package mirroring

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/testkit/slicetest"
)

// The pools are so small that values collide: addresses in several subsets, ready and not, and ports that
// share a name.
var (
	poolOfAddresses = rapid.Custom(func(t *rapid.T) corev1.EndpointAddress {
		a := corev1.EndpointAddress{
			IP: rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "fd00::1", "fd00::2", "x"}).Draw(t, "ip"),
		}
		if rapid.IntRange(0, 3).Draw(t, "target") == 0 {
			a.TargetRef = &corev1.ObjectReference{Kind: "Pod", Name: a.IP, UID: types.UID(a.IP)}
		}
		return a
	})
	poolOfPorts = rapid.SampledFrom([]corev1.EndpointPort{
		{Name: "a", Port: 80, Protocol: "TCP"},
		{Name: "a", Port: 81, Protocol: "TCP"},
		{Name: "b", Port: 81, Protocol: "TCP"},
		{Name: "c", Port: 53, Protocol: "UDP"},
	})
	poolOfMaxima = rapid.SampledFrom([]int{1, 2, 1000, 1000})
)

func drawSubset(t *rapid.T) corev1.EndpointSubset {
	return corev1.EndpointSubset{
		Ports:             rapid.SliceOfN(poolOfPorts, 0, 3).Draw(t, "ports"),
		Addresses:         rapid.SliceOfN(poolOfAddresses, 0, 4).Draw(t, "ready"),
		NotReadyAddresses: rapid.SliceOfN(poolOfAddresses, 0, 2).Draw(t, "not ready"),
	}
}

func drawEndpoints(t *rapid.T) *corev1.Endpoints {
	e := endpointsOf(rapid.SliceOfN(rapid.Custom(drawSubset), 0, 4).Draw(t, "subsets")...)
	e.UID = rapid.SampledFrom([]types.UID{"1", "1", "1", "2"}).Draw(t, "uid")
	e.Labels = rapid.SampledFrom([]map[string]string{
		nil, {"team": "blue"}, {discoveryv1.LabelManagedBy: "me"}, {discoveryv1.LabelSkipMirror: "true"},
	}).Draw(t, "labels")
	e.Annotations = rapid.SampledFrom([]map[string]string{nil, nil, {"a": "b", lastApplied: "{}"}}).Draw(t, "annotations")
	return e
}

// editExternally edits one of the slices as another writer.
func editExternally(t *rapid.T, list []*discoveryv1.EndpointSlice) {
	if len(list) == 0 {
		return
	}
	s := list[rapid.IntRange(0, len(list)-1).Draw(t, "slice")]
	switch rapid.IntRange(0, 4).Draw(t, "edit") {
	case 0:
		s.Endpoints = append(s.Endpoints, s.Endpoints...)
	case 1:
		s.Ports = nil
	case 2:
		s.OwnerReferences = nil
	case 3:
		metav1.SetMetaDataLabel(&s.ObjectMeta, "external", "label")
	case 4:
		s.Endpoints = nil
	}
}

// TestRandom changes Endpoints and slices at random, carries out the plan each time, and checks invariants.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &slicetest.Server{}
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			e, limit := drawEndpoints(t), poolOfMaxima.Draw(t, "max")
			if rapid.Bool().Draw(t, "vandalize") {
				editExternally(t, s.Slices)
			}
			endpoints, existing := e.DeepCopy(), slicetest.Copies(s.Slices)
			plan := Compute(e, bare(), s.Slices, limit)
			if diff := cmp.Diff(endpoints, e) + cmp.Diff(existing, s.Slices, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("arguments changed:\n%s", diff)
			}
			checkOrder(t, e, s.Slices, limit, plan)
			s.Apply(t, plan.Plan)
			if again := Compute(e, bare(), s.Slices, limit); slicetest.Writes(again.Plan) > 0 {
				t.Fatalf("done %q\nthen %q", text(plan), text(again))
			}
			checkContent(t, e, s.Slices, limit)
		}
	})
}

// checkOrder checks that the order within the Endpoints makes no difference.
func checkOrder(t *rapid.T, e *corev1.Endpoints, existing []*discoveryv1.EndpointSlice, limit int, plan Plan) {
	shuffled := e.DeepCopy()
	shuffled.Subsets = rapid.Permutation(shuffled.Subsets).Draw(t, "subset order")
	for i := range shuffled.Subsets {
		s := &shuffled.Subsets[i]
		s.Ports = rapid.Permutation(s.Ports).Draw(t, "port order")
		s.Addresses = rapid.Permutation(s.Addresses).Draw(t, "address order")
	}
	other := Compute(shuffled, bare(), existing, limit)
	if diff := cmp.Diff(plan, other); diff != "" {
		t.Fatalf("plan depends on order:\n%s", diff)
	}
}

// pairs maps "family port address" to whether the address is ready.
type pairs map[string]bool

// checkContent checks that the slices have the content of the Endpoints.
func checkContent(t *rapid.T, e *corev1.Endpoints, list []*discoveryv1.EndpointSlice, limit int) {
	got := pairs{}
	keys := map[groupKey]bool{}
	for _, s := range list {
		if len(s.Endpoints) == 0 || len(s.Endpoints) > limit || keys[keyOfSlice(s)] {
			t.Fatalf("slices %v, at most %d endpoints each", keys, limit)
		}
		keys[keyOfSlice(s)] = true
		got.addSlice(t, s)
	}
	want := wanted(e)
	if limit == 1000 {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("endpoints (-want +got):\n%s", diff)
		}
	}
	for pair, ready := range got {
		if r, ok := want[pair]; !ok || r != ready {
			t.Fatalf("%s is ready %v, want %v", pair, ready, r)
		}
	}
	if len(want) > 0 && len(got) == 0 {
		t.Fatalf("no endpoints, want some of %v", slices.Collect(maps.Keys(want)))
	}
}

func (p pairs) addSlice(t *rapid.T, s *discoveryv1.EndpointSlice) {
	ports := []string{""}
	if len(s.Ports) > 0 {
		ports = nil
	}
	for _, port := range s.Ports {
		ports = append(ports, fmt.Sprint(*port.Name, *port.Port, *port.Protocol))
	}
	for _, e := range s.Endpoints {
		for _, port := range ports {
			pair := fmt.Sprint(s.AddressType, " ", port, " ", e.Addresses[0], " ", e.TargetRef != nil)
			if _, twice := p[pair]; twice {
				t.Fatalf("%s appears twice", pair)
			}
			p[pair] = *e.Conditions.Ready
		}
	}
}

// wanted computes the expected pairs independently.
func wanted(e *corev1.Endpoints) pairs {
	p := pairs{}
	if e.Labels[discoveryv1.LabelSkipMirror] == "true" {
		return p
	}
	byPort := map[string]pairs{} // by "address"
	for _, s := range e.Subsets {
		ports := s.Ports
		if len(ports) == 0 {
			ports = []corev1.EndpointPort{{}}
		}
		for _, port := range ports {
			text := ""
			if port.Port > 0 {
				text = fmt.Sprint(port.Name, port.Port, port.Protocol)
			}
			if byPort[text] == nil {
				byPort[text] = pairs{}
			}
			byPort[text].addAddresses(s.Addresses, true)
			byPort[text].addAddresses(s.NotReadyAddresses, false)
		}
	}
	for port, addresses := range byPort {
		if port == "" && sharesSubset(byPort) {
			continue
		}
		p.addPort(port, addresses)
	}
	return p
}

// sharesSubset reports whether the addresses without a port are those of a port, so that
// packing puts both into one subset, which has that port (spec/endpoints.md §6.2).
func sharesSubset(byPort map[string]pairs) bool {
	for port, addresses := range byPort {
		if port != "" && maps.Equal(addresses, byPort[""]) {
			return true
		}
	}
	return false
}

func (p pairs) addAddresses(list []corev1.EndpointAddress, ready bool) {
	for _, a := range list {
		address := fmt.Sprint(a.IP, " ", a.TargetRef != nil)
		before, known := p[address]
		p[address] = ready && (before || !known)
	}
}

func (p pairs) addPort(port string, addresses pairs) {
	families := map[byte]string{'1': "IPv4", 'f': "IPv6"}
	for address, ready := range addresses {
		if family := families[address[0]]; family != "" {
			p[fmt.Sprint(family, " ", port, " ", address)] = ready
		}
	}
}
