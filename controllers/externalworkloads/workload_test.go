package externalworkloads

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/signpostd/signpost/api/workload"
	"github.com/signpostd/signpost/controllers/watched"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube"
)

// TestEqual has case X10 of spec/destination.md §9.9. The deletion timestamp of a workload makes no
// difference, because slices don't show it (§8.4.3).
func TestEqual(t *testing.T) {
	base := machine("a", "10.0.0.1", "fd00::1")
	for _, c := range []struct {
		id   string
		edit func(*Workload)
	}{
		{"X10 no change", func(*Workload) {}},
		{"X10 IP added", func(w *Workload) { w.IPs = append(w.IPs, "10.0.0.9") }},
		{"X10 IP removed", func(w *Workload) { w.IPs = w.IPs[:1] }},
		{"X10 IP changed", func(w *Workload) { w.IPs[0] = "10.0.0.9" }},
		{"X10 port added", func(w *Workload) { w.Ports = append(w.Ports, watched.ContainerPort{Number: 1}) }},
		{"X10 port removed", func(w *Workload) { w.Ports = nil }},
		{"X10 port renumbered", func(w *Workload) { w.Ports[0].Number = 1 }},
		{"X10 port renamed", func(w *Workload) { w.Ports[0].Name = "x" }},
		{"X10 port name dropped", func(w *Workload) { w.Ports[0].Name = "" }},
		{"protocol", func(w *Workload) { w.Ports[0].Protocol = "UDP" }},
		{"readiness", func(w *Workload) { w.Ready = false }},
		{"replaced", func(w *Workload) { w.UID = "x" }},
		{"Q30 zone", labelled("app=web", "topology.kubernetes.io/zone=west")},
		{"label", labelled("app=web", "x=y")},
	} {
		t.Run(c.id, func(t *testing.T) {
			want := c.id == "X10 no change"
			if got := base.Equal(edited(base, c.edit)); got != want {
				t.Errorf("equal is %v, want %v", got, want)
			}
		})
	}
}

// TestManyAddresses shows that a workload has at most as many addresses as an endpoint can have. With more,
// the API server would refuse all slices of its Services, and each invalid one would be an Event.
func TestManyAddresses(t *testing.T) {
	w := &workload.ExternalWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x"}}
	w.Spec.WorkloadIPs = slices.Repeat([]workload.WorkloadIP{{IP: "nonsense"}}, 50_000)
	trimmed, problems := trim(kube.Scope{}, w)
	if len(trimmed.IPs) != maxIPs || len(problems) != 1 || problems[0].Field != "spec.workloadIPs" {
		t.Errorf("%d addresses are kept, problems %v", len(trimmed.IPs), problems)
	}
}

// TestTrim checks the kept fields of an object as a user would write it.
func TestTrim(t *testing.T) {
	const meta = "metadata: {name: x, namespace: ns, uid: u, labels: {app: web}, deletionTimestamp: 2026-01-01T00:00:00Z}\n"
	for _, c := range []struct {
		name, yaml string
		want       *Workload
		problems   []string
	}{
		{
			name: "everything",
			yaml: meta + `
spec: {workloadIPs: [{ip: 10.0.0.1}, {ip: nonsense}], ports: [{name: http, port: 80, protocol: UDP}, {port: 1}, {port: 70000}]}
status: {conditions: [{type: Other, status: "False"}, {type: Ready, status: "True"}]}`,
			want: &Workload{
				Namespace: "ns", Name: "x", UID: "u", Labels: objectmeta.Labels{{Key: "app", Value: "web"}}, Ready: true,
				IPs: []string{"10.0.0.1", "nonsense"}, Ports: []watched.ContainerPort{{Name: "http", Number: 80, Protocol: "UDP"}, {Name: "", Number: 1, Protocol: ""}},
			},
			problems: []string{"spec.ports[2].port"},
		},
		{
			name: "not ready",
			yaml: meta + `status: {conditions: [{type: Ready, status: Unknown}]}`,
			want: &Workload{Namespace: "ns", Name: "x", UID: "u", Labels: objectmeta.Labels{{Key: "app", Value: "web"}}},
		},
		{name: "spec of the wrong shape", yaml: meta + `spec: {ports: 80}`, problems: []string{"spec"}},
		{
			name: "status of the wrong shape", yaml: meta + `status: {conditions: yes}`, problems: []string{"status"},
			want: &Workload{Namespace: "ns", Name: "x", UID: "u", Labels: objectmeta.Labels{{Key: "app", Value: "web"}}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			obj := &workload.ExternalWorkload{}
			if err := yaml.Unmarshal([]byte(c.yaml), obj); err != nil {
				t.Fatal(err)
			}
			got, problems := Workloads().Trim(kube.Scope{}, obj)
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("trimmed to %+v, want %+v", got, c.want)
			}
			var fields []string
			for _, p := range problems {
				fields = append(fields, p.Field)
			}
			if diff := cmp.Diff(c.problems, fields); diff != "" {
				t.Errorf("fields with problems (-want +got):\n%s", diff)
			}
		})
	}
}
