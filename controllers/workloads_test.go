package controllers_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/api/workload"
)

// Workloads that don't match the selector, and those of other namespaces, are left out (X4).
func TestX4MatchingWorkloads(t *testing.T) {
	s := play(t)
	s.workload("vm-0", "web", []string{"10.0.0.1"})
	s.workload("vm-1", "db", []string{"10.0.0.2"})
	other := s.in(t)
	other.ns = s.cluster.Namespace(t)
	other.workload("vm-2", "web", []string{"10.0.0.3"})
	s.service("web")
	s.wantSlices("web", ofWorkloads, "10.0.0.1 : 8080")
	slice := s.slicesOf("web", ofWorkloads)[0]
	if target := slice.Endpoints[0].TargetRef; target.Kind != "ExternalWorkload" || target.Name != "vm-0" || target.Namespace != s.ns {
		t.Errorf("the target is %v, want ExternalWorkload vm-0", target)
	}
	if !strings.HasPrefix(slice.Name, "linkerd-external-web-") {
		t.Errorf("the slice is named %s", slice.Name)
	}
	s.quietly(func() {})
}

// Slices have the IP families and ports of the Service and its workloads (X6, X7, X13, X14).
func TestX6Families(t *testing.T) {
	s := play(t)
	three := ports(over(port("a", 80, 8080), corev1.ProtocolTCP), over(port("b", 80, 8080), corev1.ProtocolUDP), over(port("c", 80, "sctp"), corev1.ProtocolSCTP))
	all := serving(workload.Port{Port: 8080}, workload.Port{Port: 8080, Protocol: corev1.ProtocolUDP}, workload.Port{Name: "sctp", Port: 9, Protocol: corev1.ProtocolSCTP})
	s.service("four", selecting("app", "web"), families(corev1.IPv4Protocol), three)
	s.service("six", selecting("app", "web"), families(corev1.IPv6Protocol), headless, three)
	s.service("dual", selecting("app", "web"), families(corev1.IPv4Protocol, corev1.IPv6Protocol), headless, ports())
	s.workload("vm-0", "web", []string{"10.0.0.1"}, all)
	s.workload("vm-1", "web", []string{"10.0.0.2", "2001:db8::2"}, all)
	s.wantSlices("four", ofWorkloads, "10.0.0.1 10.0.0.2 : a=8080 b=8080/UDP c=9/SCTP")
	s.wantSlices("six", ofWorkloads, "IPv6 2001:db8::2#vm-1 : a=8080 b=8080/UDP c=9/SCTP")
	s.wantSlices("dual", ofWorkloads, "10.0.0.1#vm-0 10.0.0.2#vm-1 : | IPv6 2001:db8::2#vm-1 :")
	for service, headless := range map[string]bool{"four": false, "dual": true} {
		if _, ok := s.slicesOf(service, ofWorkloads)[0].Labels[corev1.IsHeadlessService]; ok != headless {
			t.Errorf("slices of Service %s have the label of headless ones: %t", service, ok)
		}
	}

	s.Log("X15: new workloads are added to the existing slices")
	versions := names(s.slicesOf("dual", ofWorkloads))
	s.workload("vm-2", "web", []string{"10.0.0.3"}, all)
	s.workload("vm-3", "web", []string{"2001:db8::3"}, all)
	s.wantSlices("dual", ofWorkloads, "10.0.0.1#vm-0 10.0.0.2#vm-1 10.0.0.3#vm-2 : | IPv6 2001:db8::2#vm-1 2001:db8::3#vm-3 :")
	if got := names(s.slicesOf("dual", ofWorkloads)); got != versions {
		t.Errorf("slices are %s, want the same as before: %s", got, versions)
	}
	s.quietly(func() {})
}

func names(list []discoveryv1.EndpointSlice) string {
	var names []string
	for _, e := range list {
		names = append(names, e.Name)
	}
	return strings.Join(names, " ")
}

// Readiness, and several workloads with one address (X8, X9).
func TestX8Readiness(t *testing.T) {
	s := play(t)
	s.service("web")
	s.workload("vm-0", "web", []string{"10.0.0.1"}, workloadReady(metav1.ConditionFalse))
	s.wantSlices("web", ofWorkloads, "!10.0.0.1 : 8080")
	s.workload("vm-1", "web", []string{"10.0.0.1"})
	s.wantSlices("web", ofWorkloads, "!10.0.0.1 10.0.0.1 : 8080")
	s.editWorkload("vm-0", workloadReady(metav1.ConditionTrue))
	s.wantSlices("web", ofWorkloads, "10.0.0.1 10.0.0.1 : 8080")
	s.quietly(func() {
		s.editWorkload("vm-0", func(w *workload.ExternalWorkload) { metav1.SetMetaDataAnnotation(&w.ObjectMeta, "note", "1") })
		s.editWorkload("vm-0", func(w *workload.ExternalWorkload) { metav1.SetMetaDataLabel(&w.ObjectMeta, "note", "1") })
	})
	s.editWorkload("vm-0", func(w *workload.ExternalWorkload) { w.Labels["app"] = "db" })
	s.wantSlices("web", ofWorkloads, "10.0.0.1 : 8080")
	s.must(s.external().Delete(t.Context(), "vm-1", metav1.DeleteOptions{}))
	s.wantSlices("web", ofWorkloads, absent)
}

// Changes of the labels alone, of a workload or a Service, reach the slices (X16, Q30).
func TestX16Zone(t *testing.T) {
	s := play(t)
	s.service("web", serviceLabel("team", "a"))
	s.workload("vm-0", "web", []string{"10.0.0.1"})
	s.wantSlices("web", ofWorkloads, "10.0.0.1 : 8080")
	before := s.slicesOf("web", ofWorkloads)[0]
	s.editWorkload("vm-0", inZone("z"))
	s.wantSlices("web", ofWorkloads, "10.0.0.1@z : 8080")
	if after := s.slicesOf("web", ofWorkloads)[0]; after.UID != before.UID || after.Generation <= before.Generation {
		t.Error("the slice was not updated in place")
	}
	s.editWorkload("vm-0", func(w *workload.ExternalWorkload) { delete(w.Labels, corev1.LabelTopologyZone) })
	s.wantSlices("web", ofWorkloads, "10.0.0.1 : 8080")
	s.editService("web", func(w *corev1.Service) { w.Labels = nil })
	s.eventually(func() error {
		if got := s.slicesOf("web", ofWorkloads)[0].Labels; got["team"] != "" {
			return fmt.Errorf("the slice has labels %v", got)
		}
		return nil
	})
}

// A Service that selects pods and ExternalWorkloads has slices of both, each written by one controller.
func TestPodsAndWorkloads(t *testing.T) {
	s := play(t)
	s.service("web")
	s.pod("web-0", "web", "10.0.0.1")
	s.workload("vm-0", "web", []string{"10.0.0.2"})
	s.wantSlices("web", ofPods, "10.0.0.1@a : 8080")
	s.wantSlices("web", ofWorkloads, "10.0.0.2 : 8080")
	s.wantEndpoints("web", "10.0.0.1 : 8080")
	s.deletePod("web-0", 0)
	s.wantSlices("web", ofPods, ":")
	s.wantSlices("web", ofWorkloads, "10.0.0.2 : 8080")
	s.quietly(func() {})
}
