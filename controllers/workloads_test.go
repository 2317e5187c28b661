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

// Many workloads (X17 to X21).
func TestX18ManyWorkloads(t *testing.T) {
	s := play(t)
	web := ports(port("http", 80, "http"))
	for i := range 110 {
		s.workload(fmt.Sprintf("vm-%03d", i), "web", []string{fmt.Sprintf("10.1.0.%d", i+1)},
			serving(workload.Port{Name: "http", Port: 80}, workload.Port{Name: "five", Port: int32(8000 + i%5)}))
	}
	s.service("web", web)
	s.wantSizes("web", ofWorkloads, 100, 10)
	versions := names(s.slicesOf("web", ofWorkloads))

	s.Log("X21: a label of the Service")
	since := s.journal.now()
	s.editService("web", serviceLabel("team", "a"))
	s.wantUpdates(since, 2, func(e *discoveryv1.EndpointSlice) bool { return e.Labels["team"] == "a" })

	s.Log("X20: another port")
	s.service("named", selecting("app", "web"), ports(port("http", 80, 80)))
	s.wantSizes("named", ofWorkloads, 100, 10)
	since = s.journal.now()
	s.editService("web", func(w *corev1.Service) { w.Spec.Ports[0].Name = "https" })
	s.wantUpdates(since, 2, func(e *discoveryv1.EndpointSlice) bool { return *e.Ports[0].Name == "https" })
	if got := names(s.slicesOf("web", ofWorkloads)); got != versions {
		t.Errorf("slices are %s, want the same as before: %s", got, versions)
	}

	s.Log("X17: one name, five numbers")
	s.editService("web", ports(port("http", 80, "five")))
	s.wantSizes("web", ofWorkloads, 22, 22, 22, 22, 22)
	s.quietly(func() {})
}

// wantUpdates waits until all slices of the Service web meet a condition, and checks that exactly n updates
// and no other writes led to it.
func (s *fixture) wantUpdates(since, n int, is func(*discoveryv1.EndpointSlice) bool) {
	s.Helper()
	s.eventually(func() error {
		for _, e := range s.slicesOf("web", ofWorkloads) {
			if !is(&e) {
				return fmt.Errorf("slice %s doesn't meet the condition: %v", e.Name, e.ObjectMeta)
			}
		}
		return nil
	})
	updates := 0
	for _, e := range s.wrote(since) {
		if !strings.HasPrefix(e.name, "linkerd-external-web-") {
			continue
		}
		if updates++; e.method != "PUT" || e.status != 200 {
			s.Errorf("there was a write that is no update: %v", e)
		}
	}
	if updates != n {
		s.Errorf("there were %d updates, want %d", updates, n)
	}
}

// Slices that change anyway are filled first (X19).
func TestX19FillingSlices(t *testing.T) {
	s := playAlone(t)
	s.between(func() {
		service := s.service("web")
		for _, part := range [][2]int{{0, 62}, {62, 123}} {
			s.slice(externalSlice(s, service, part[0], part[1]))
		}
		for i := range 250 {
			s.workload(fmt.Sprintf("vm-%03d", i), "web", []string{fmt.Sprintf("10.1.0.%d", i+1)}, inZone("z"))
		}
	})
	before := names(s.slicesOf("web", ofWorkloads))
	s.wantSizes("web", ofWorkloads, 100, 100, 50)
	after := names(s.slicesOf("web", ofWorkloads))
	for _, name := range strings.Fields(before) {
		if !strings.Contains(after, name) {
			t.Errorf("slice %s was deleted", name)
		}
	}
	s.quietly(func() {})
}

// externalSlice returns a slice as Linkerd writes it, with the workloads of a range of numbers, without their
// zones.
func externalSlice(s *fixture, service *corev1.Service, from, to int) *discoveryv1.EndpointSlice {
	name, tcp, number := "", corev1.ProtocolTCP, int32(8080)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName:    "linkerd-external-web-",
			Labels:          map[string]string{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: ofWorkloads},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(service, corev1.SchemeGroupVersion.WithKind("Service"))},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Protocol: &tcp, Port: &number}},
	}
	yes, no := true, false
	for i := from; i < to; i++ {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{fmt.Sprintf("10.1.0.%d", i+1)},
			Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: &no},
			TargetRef:  &corev1.ObjectReference{Kind: "ExternalWorkload", Namespace: s.ns, Name: fmt.Sprintf("vm-%03d", i)},
		})
	}
	return slice
}

// Reserved labels of slices aren't copied from the Service (X22).
func TestX22ReservedLabels(t *testing.T) {
	s := play(t)
	s.workload("vm-0", "web", []string{"10.0.0.1"})
	s.service("web", serviceLabel(discoveryv1.LabelServiceName, "other"), serviceLabel(discoveryv1.LabelManagedBy, "other"),
		serviceLabel(corev1.IsHeadlessService, "other"), serviceLabel("team", "a"))
	s.wantSlices("web", ofWorkloads, "10.0.0.1 : 8080")
	want := map[string]string{"team": "a", discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: ofWorkloads}
	if got := s.slicesOf("web", ofWorkloads)[0].Labels; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("labels are %v, want %v", got, want)
	}
	since := s.journal.now()
	s.editService("web", serviceLabel("team", "b"))
	s.wantUpdates(since, 1, func(e *discoveryv1.EndpointSlice) bool { return e.Labels["team"] == "b" })
	before := versionOf(&s.slicesOf("web", ofWorkloads)[0])
	s.editService("web", serviceLabel(discoveryv1.LabelManagedBy, "another"))
	s.settle()
	if after := versionOf(&s.slicesOf("web", ofWorkloads)[0]); after != before {
		t.Errorf("the slice is %v, want the same as before: %v", after, before)
	}
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
