package externalworkloads

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	slicestore "github.com/signpostd/signpost/controllers/slices"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/testkit/slicetest"
)

// The pools of random values are so small that objects collide: workloads share IPs, and some of their values
// are unusable.
var (
	poolOfNames = rapid.Map(rapid.IntRange(0, 30), func(i int) string { return fmt.Sprintf("m%02d", i) })
	poolOfIPs   = rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1", "fd00::2", "FD00::2", "127.0.0.1", "x"})
	poolOfPorts = rapid.SampledFrom([]watched.ContainerPort{{Name: "http", Number: 80, Protocol: "TCP"}, {Name: "http", Number: 81, Protocol: "TCP"}, {Name: "", Number: 81, Protocol: "TCP"}, {Name: "dns", Number: 53, Protocol: "UDP"}})
	poolOfZones = rapid.SampledFrom([]string{"", "west", "east"})
)

func drawWorkload(t *rapid.T, name string) *Workload {
	labels := map[string]string{"app": "web"}
	if zone := poolOfZones.Draw(t, "zone"); zone != "" {
		labels[corev1.LabelTopologyZone] = zone
	}
	return &Workload{
		Namespace: "ns", Name: name, UID: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "uid"),
		Labels: objectmeta.NewLabels(labels), Ready: rapid.Bool().Draw(t, "ready"),
		IPs:   rapid.SliceOfN(poolOfIPs, 0, 3).Draw(t, "ips"),
		Ports: rapid.SliceOfN(poolOfPorts, 0, 2).Draw(t, "ports"),
	}
}

func drawService(t *rapid.T) *corev1.Service {
	v4, v6 := corev1.IPv4Protocol, corev1.IPv6Protocol
	s := serviceWith(
		families(rapid.SampledFrom([][]corev1.IPFamily{nil, {v4}, {v6}, {v4, v6}}).Draw(t, "families")...),
		ports(
			corev1.ServicePort{Name: "a", Port: 80, Protocol: "TCP", TargetPort: intstr.FromString("http")},
			corev1.ServicePort{Name: "b", Port: 53, Protocol: "UDP", TargetPort: intstr.FromInt32(53)},
		),
	)
	if rapid.Bool().Draw(t, "headless") {
		headless(s)
	}
	s.Labels = rapid.SampledFrom([]map[string]string{nil, {"team": "blue"}, {"team": "red", "x": "y"}}).Draw(t, "labels")
	return s
}

// generator is a Service, its workloads and its slices, with random changes.
type generator struct {
	service   *corev1.Service
	workloads map[string]*Workload
	server    *slicetest.Server
	max       int
}

func newGenerator(t *rapid.T) *generator {
	return &generator{service: drawService(t), workloads: map[string]*Workload{}, server: &slicetest.Server{}}
}

// change edits one object, mostly a workload.
func (w *generator) change(t *rapid.T) {
	w.max = rapid.SampledFrom([]int{1, 2, 5, 5, 5}).Draw(t, "max")
	switch rapid.IntRange(0, 19).Draw(t, "change") {
	case 0:
		w.service = drawService(t)
	case 1:
		// After a Service is recreated, slices of the former one remain.
		w.service = drawService(t)
		w.service.UID = "another"
	case 2:
		w.editExternally(t)
	default:
		for range rapid.IntRange(1, 8).Draw(t, "workloads") {
			name := poolOfNames.Draw(t, "name")
			if rapid.IntRange(0, 2).Draw(t, "delete") == 0 {
				delete(w.workloads, name)
			} else {
				w.workloads[name] = drawWorkload(t, name)
			}
		}
	}
}

// editExternally edits a slice of the Service as another writer.
func (w *generator) editExternally(t *rapid.T) {
	if len(w.server.Slices) == 0 {
		return
	}
	s := w.server.Slices[rapid.IntRange(0, len(w.server.Slices)-1).Draw(t, "slice")]
	switch rapid.IntRange(0, 3).Draw(t, "edit") {
	case 0:
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.6.6.6"}})
	case 1:
		s.Endpoints = append(s.Endpoints, s.Endpoints...)
	case 2:
		s.Ports = nil
	case 3:
		s.Endpoints, s.Labels["external"] = nil, "label"
	}
}

func (w *generator) compute() Plan {
	return Compute(w.service, slices.Collect(maps.Values(w.workloads)), w.server.Slices, w.max)
}

// contents returns the contents of slices, without the distribution of endpoints over them.
func contents(list []*discoveryv1.EndpointSlice) []string {
	var lines []string
	for _, s := range list {
		for _, e := range s.Endpoints {
			lines = append(lines, fmt.Sprintln(s.AddressType, slicestore.PortSetOf(s.Ports), e.Addresses, value(e.Hostname),
				value(e.Zone), *e.Conditions.Ready, *e.Conditions.Serving, *e.TargetRef, s.Labels, s.OwnerReferences[0].UID))
		}
	}
	slices.Sort(lines)
	return lines
}

// TestRandom changes objects at random, carries out the plan each time, and checks invariants.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newGenerator(t)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			w.change(t)
			before := slicetest.Copies(w.server.Slices)
			plan := w.compute()
			w.checkOrder(t, plan)
			if diff := cmp.Diff(before, w.server.Slices); diff != "" {
				t.Fatalf("existing slices changed:\n%s", diff)
			}
			w.server.Apply(t, plan.Plan)
			w.checkSlices(t)
			if again := w.compute(); slicetest.Writes(again.Plan) > 0 {
				t.Fatalf("done %q\nthen %q", text(plan), text(again))
			}
		}
	})
}

// checkOrder checks that the order of the workloads makes no difference.
func (w *generator) checkOrder(t *rapid.T, plan Plan) {
	shuffled := Compute(w.service, rapid.Permutation(slices.Collect(maps.Values(w.workloads))).Draw(t, "workloads"), w.server.Slices, w.max)
	if diff := cmp.Diff(plan, shuffled); diff != "" {
		t.Fatalf("plan depends on order:\n%s", diff)
	}
}

// checkSlices checks that the slices have the same endpoints as if none had existed before.
func (w *generator) checkSlices(t *rapid.T) {
	for _, s := range w.server.Slices {
		if len(s.Endpoints) == 0 || len(s.Endpoints) > w.max {
			t.Fatalf("slice %s has %d endpoints, maximum %d", s.Name, len(s.Endpoints), w.max)
		}
	}
	fresh := &slicetest.Server{}
	fresh.Apply(t, Compute(w.service, slices.Collect(maps.Values(w.workloads)), nil, w.max).Plan)
	if diff := cmp.Diff(contents(fresh.Slices), contents(w.server.Slices)); diff != "" {
		t.Fatalf("endpoints (-from nothing +step by step):\n%s", diff)
	}
	if got, want := countEndpoints(w.server.Slices), w.wanted(); !maps.Equal(got, want) {
		t.Fatalf("endpoints are %v, want %v", got, want)
	}
}

// countEndpoints counts the endpoints of each workload in each type.
func countEndpoints(list []*discoveryv1.EndpointSlice) map[string]int {
	n := map[string]int{}
	for _, s := range list {
		for _, e := range s.Endpoints {
			n[string(s.AddressType)+" "+e.TargetRef.Name]++
		}
	}
	return n
}

// wanted computes the expected result of countEndpoints independently.
func (w *generator) wanted() map[string]int {
	types := map[string]string{
		"10.0.0.1": "IPv4", "10.0.0.2": "IPv4", "10.0.0.3": "IPv4", "fd00::1": "IPv6", "fd00::2": "IPv6", "FD00::2": "IPv6",
	}
	n := map[string]int{}
	for name, o := range w.workloads {
		for _, ip := range o.IPs {
			family := types[ip]
			if len(w.service.Spec.IPFamilies) == 0 || slices.Contains(w.service.Spec.IPFamilies, corev1.IPFamily(family)) {
				n[family+" "+name] = 1
			}
		}
	}
	maps.DeleteFunc(n, func(k string, _ int) bool { return k[0] == ' ' })
	return n
}
