package controllers_test

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Service that is being deleted gets no slices (ES-03, X3).
func TestES03ServiceBeingDeleted(t *testing.T) {
	s := playAlone(t)
	s.pod("web-0", "web", "10.0.0.1")
	s.workload("vm-0", "web", []string{"10.0.0.9"})
	s.between(func() {
		s.service("web", func(w *corev1.Service) { w.Finalizers = []string{"example.org/test"} })
		t.Cleanup(func() { s.unfinalizeService("web") })
		s.deleteService("web")
	})
	s.settle()
	s.wantSlices("web", ofPods, absent)
	s.wantSlices("web", ofWorkloads, absent)
}

// A Service without pods has a slice without endpoints, and a deleted Service gets none (ES-04, ES-05).
func TestES04NoPods(t *testing.T) {
	s := play(t)
	service := s.service("web")
	s.wantSlices("web", ofPods, ":")
	slice := s.slicesOf("web", ofPods)[0]
	owner := *metav1.NewControllerRef(service, corev1.SchemeGroupVersion.WithKind("Service"))
	if len(slice.OwnerReferences) != 1 || slice.OwnerReferences[0].UID != owner.UID || !*slice.OwnerReferences[0].Controller {
		t.Errorf("the slice has owners %v, want the Service", slice.OwnerReferences)
	}
	if slice.Annotations[corev1.EndpointsLastChangeTriggerTime] == "" || slice.Name[:4] != "web-" {
		t.Errorf("the slice is %s with annotations %v", slice.Name, slice.Annotations)
	}
	s.deleteService("web")
	s.deleteSlice(slice.Name)
	s.quietly(func() { s.pod("web-0", "web", "10.0.0.1") })
	s.wantSlices("web", ofPods, absent)
}

// Pods that don't match the selector are left out (ES-06).
func TestES06MatchingPods(t *testing.T) {
	s := play(t)
	s.pod("web-0", "web", "10.0.0.1")
	s.pod("db-0", "db", "10.0.0.2")
	s.service("web")
	s.wantSlices("web", ofPods, "10.0.0.1@a : 8080")
	target := s.slicesOf("web", ofPods)[0].Endpoints[0].TargetRef
	if target.Kind != "Pod" || target.Namespace != s.ns || target.Name != "web-0" || target.UID != s.uid("web-0") {
		t.Errorf("the target is %v, want pod web-0", target)
	}
}

// Slices that are being deleted are ignored (ES-07, ES-20, X5).
func TestES07SlicesBeingDeleted(t *testing.T) {
	s := play(t)
	s.pod("web-0", "web", "10.0.0.1")
	s.workload("vm-0", "web", []string{"10.0.0.9"})
	s.service("web")
	for manager, want := range map[string]string{ofPods: "10.0.0.1@a : 8080", ofWorkloads: "10.0.0.9 : 8080"} {
		s.wantSlices("web", manager, want)
		old := s.slicesOf("web", manager)[0]
		s.editSlice(old.Name, func(e *discoveryv1.EndpointSlice) { e.Finalizers = []string{"example.org/test"} })
		s.deleteSlice(old.Name)
		s.wantSlices("web", manager, want+" | "+want)
		s.quietly(func() { s.editService("web", serviceAnnotation("note", manager)) })
		s.editSlice(old.Name, func(e *discoveryv1.EndpointSlice) { e.Finalizers = nil })
		s.wantSlices("web", manager, want)
		s.quietly(func() {})
	}
}

// Of five slices, the controller reuses its own and leaves the others unchanged (ES-08).
func TestES08SlicesOfOthers(t *testing.T) {
	s := playAlone(t)
	var made []*discoveryv1.EndpointSlice
	s.between(func() {
		service := s.service("web")
		owner := *metav1.NewControllerRef(service, corev1.SchemeGroupVersion.WithKind("Service"))
		for _, labels := range []map[string]string{
			{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: ofPods},
			{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: ofPods},
			{discoveryv1.LabelServiceName: "web"},
			{discoveryv1.LabelServiceName: "other", discoveryv1.LabelManagedBy: ofPods},
			{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: "someone-else"},
		} {
			made = append(made, s.slice(&discoveryv1.EndpointSlice{
				ObjectMeta:  metav1.ObjectMeta{GenerateName: "web-", Labels: labels, OwnerReferences: []metav1.OwnerReference{owner}},
				AddressType: discoveryv1.AddressTypeIPv4,
				Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.9.9.9"}}},
			}))
		}
	})
	s.wantSlices("web", ofPods, ":")
	s.settle()
	if got := s.slicesOf("web", ofPods); len(got) != 1 || got[0].UID != made[0].UID && got[0].UID != made[1].UID {
		t.Errorf("%d slices are left, want one of the former", len(got))
	}
	for _, slice := range made[2:] {
		now := must[*discoveryv1.EndpointSlice](s)(s.client.DiscoveryV1().EndpointSlices(s.ns).Get(t.Context(), slice.Name, metav1.GetOptions{}))
		if versionOf(now) != versionOf(slice) {
			t.Errorf("the slice with labels %v was written", slice.Labels)
		}
	}
}

// A slice that another manager takes over is replaced by a new one (ES-09, §21 C4).
func TestES09SliceTakenOver(t *testing.T) {
	s := play(t)
	s.pod("web-0", "web", "10.0.0.1")
	s.workload("vm-0", "web", []string{"10.0.0.9"})
	s.service("web")
	s.service("bare", noSelector)
	s.endpoints("bare", oneSubset("10.0.0.5"))
	for _, c := range []struct{ service, manager, want string }{
		{"web", ofPods, "10.0.0.1@a : 8080"}, {"web", ofWorkloads, "10.0.0.9 : 8080"}, {"bare", ofEndpoints, "10.0.0.5 : 80"},
	} {
		s.wantSlices(c.service, c.manager, c.want)
		old := s.slicesOf(c.service, c.manager)[0]
		s.editSlice(old.Name, func(e *discoveryv1.EndpointSlice) { e.Labels[discoveryv1.LabelManagedBy] = "someone-else" })
		s.wantSlices(c.service, c.manager, c.want)
		if now := s.slicesOf(c.service, c.manager)[0]; now.UID == old.UID {
			t.Errorf("the slice taken over from %s was changed back", c.manager)
		}
		s.Log("slices that are given to another Service, more often than further names are tried blindly")
		for range 6 {
			old = s.slicesOf(c.service, c.manager)[0]
			s.editSlice(old.Name, func(e *discoveryv1.EndpointSlice) { e.Labels[discoveryv1.LabelServiceName] = "nobody" })
			s.wantSlices(c.service, c.manager, c.want)
		}
		s.quietly(func() {})
	}
}

func oneSubset(ip string) []corev1.EndpointSubset { return []corev1.EndpointSubset{subset(80, ip)} }

// A label with an empty value that a Service gets or loses is put right in its slices. The library for slices
// doesn't notice it in those without endpoints.
func TestEmptyLabels(t *testing.T) {
	s := playAlone(t)
	s.service("got")
	s.service("lost", serviceLabel("mine", ""))
	s.service("full", serviceLabel("mine", ""), serviceLabel("yours", "yes"))
	s.pod("full-0", "full", "10.0.0.1")
	s.wantSlices("full", ofPods, "10.0.0.1@a : 8080")
	s.editService("got", serviceLabel("mine", ""))
	s.editService("lost", func(service *corev1.Service) { delete(service.Labels, "mine") })
	s.editService("full", func(service *corev1.Service) { delete(service.Labels, "mine"); service.Labels["theirs"] = "" })
	s.settle()
	for service, want := range map[string]map[string]string{"got": {"mine": ""}, "lost": {}, "full": {"yours": "yes", "theirs": ""}} {
		got := maps.Clone(s.slicesOf(service, ofPods)[0].Labels)
		delete(got, discoveryv1.LabelServiceName)
		delete(got, discoveryv1.LabelManagedBy)
		if !maps.Equal(got, want) {
			t.Errorf("the slice of %s has the labels %v, want %v", service, got, want)
		}
	}
	s.quietly(func() {})
}

// A Service that is no longer headless, or becomes headless, by way of ExternalName: kube-proxy
// ignores slices with the label of headless Services.
func TestHeadlessLabel(t *testing.T) {
	s := playAlone(t)
	s.service("web", headless)
	s.pod("web-0", "web", "10.0.0.1")
	s.wantSlices("web", ofPods, "10.0.0.1@a : 8080")
	for _, isHeadless := range []bool{false, true} {
		s.editService("web", func(service *corev1.Service) {
			service.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.org"}
		})
		s.settle()
		s.editService("web", func(service *corev1.Service) {
			service.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{port("", 80, 8080)}}
			if isHeadless {
				headless(service)
			}
		})
		s.settle()
		e := s.slicesOf("web", ofPods)[0]
		if _, has := e.Labels[corev1.IsHeadlessService]; has != isHeadless {
			t.Errorf("headless %t: the slice has the labels %v", isHeadless, e.Labels)
		}
	}
	s.quietly(func() {})
}

// External edits and deletions of slices are reverted.
func TestEditedSlicesAreRepaired(t *testing.T) {
	s := play(t)
	s.pod("web-0", "web", "10.0.0.1")
	s.workload("vm-0", "web", []string{"10.0.0.9"})
	s.service("web", serviceLabel("mine", "yes"))
	s.service("bare", noSelector)
	s.endpoints("bare", oneSubset("10.0.0.5"))
	for _, c := range []struct{ service, manager, want string }{
		{"web", ofPods, "10.0.0.1@a : 8080"}, {"web", ofWorkloads, "10.0.0.9 : 8080"}, {"bare", ofEndpoints, "10.0.0.5 : 80"},
	} {
		s.wantSlices(c.service, c.manager, c.want)
		for _, edit := range []func(*discoveryv1.EndpointSlice){
			func(e *discoveryv1.EndpointSlice) { e.Endpoints = nil },
			func(e *discoveryv1.EndpointSlice) { e.Endpoints[0].Addresses = []string{"10.8.8.8"} },
			func(e *discoveryv1.EndpointSlice) { e.Endpoints = append(e.Endpoints, e.Endpoints[0]) },
			func(e *discoveryv1.EndpointSlice) { e.Ports = nil },
			func(e *discoveryv1.EndpointSlice) { delete(e.Labels, "mine") },
			func(e *discoveryv1.EndpointSlice) { e.OwnerReferences = nil },
		} {
			s.editSlice(s.slicesOf(c.service, c.manager)[0].Name, edit)
			s.settle()
			list := s.slicesOf(c.service, c.manager)
			if got := showSlices(list); got != c.want {
				t.Fatalf("slices are %q after a sync, want %q", got, c.want)
			}
			if c.service == "web" && list[0].Labels["mine"] != "yes" || len(list[0].OwnerReferences) != 1 {
				t.Errorf("the slice has labels %v and owners %v", list[0].Labels, list[0].OwnerReferences)
			}
		}
		s.deleteSlice(s.slicesOf(c.service, c.manager)[0].Name)
		s.wantSlices(c.service, c.manager, c.want)
		s.quietly(func() {})
	}
}

// Slices have the IP families of the Service (ES-10, ES-11, RC-02).
func TestES10Families(t *testing.T) {
	s := play(t)
	three := ports(over(port("a", 80, 8080), corev1.ProtocolTCP), over(port("b", 80, 8080), corev1.ProtocolUDP), over(port("c", 80, 8080), corev1.ProtocolSCTP))
	s.service("four", selecting("app", "web"), families(corev1.IPv4Protocol), three)
	s.service("six", selecting("app", "web"), families(corev1.IPv6Protocol), three, headless)
	s.service("dual", selecting("app", "web"), families(corev1.IPv4Protocol, corev1.IPv6Protocol), headless, ports())
	s.pod("web-0", "web", "10.0.0.1")
	s.pod("web-1", "web", "10.0.0.2", podIPs("10.0.0.2", "2001:db8::2"))
	s.wantSlices("four", ofPods, "10.0.0.1@a 10.0.0.2@a : a=8080 b=8080/UDP c=8080/SCTP")
	s.wantSlices("six", ofPods, "IPv6 2001:db8::2@a : a=8080 b=8080/UDP c=8080/SCTP")
	s.wantSlices("dual", ofPods, "10.0.0.1@a 10.0.0.2@a : | IPv6 2001:db8::2@a :")
	s.wantEndpoints("six", "2001:db8::2 : a=8080 b=8080/UDP c=8080/SCTP")
	s.wantEndpoints("dual", "10.0.0.1 10.0.0.2 :")
}

// Terminating pods stay in slices with their conditions (ES-12, ES-13, ES-21).
func TestES21TerminatingPods(t *testing.T) {
	s := play(t)
	s.service("web")
	s.pod("web-0", "web", "10.0.0.1")
	s.pod("web-1", "web", "10.0.0.2", notReady)
	s.wantSlices("web", ofPods, "!10.0.0.2@a 10.0.0.1@a : 8080")
	s.deletePod("web-0", 30)
	s.deletePod("web-1", 30)
	s.wantSlices("web", ofPods, "!~10.0.0.2@a ~10.0.0.1@a : 8080")
	s.wantEndpoints("web", "")
	s.deletePod("web-0", 0)
	s.deletePod("web-1", 0)
	s.wantSlices("web", ofPods, ":")
}

// Each of several pods with one address is listed (ES-14, ES-15).
func TestES15PodsOfOneAddress(t *testing.T) {
	s := play(t)
	s.service("web")
	s.pod("web-0", "web", "10.0.0.1")
	s.pod("web-1", "web", "10.0.0.1")
	s.wantSlices("web", ofPods, "10.0.0.1@a 10.0.0.1@a : 8080")
	s.editPodStatus("web-1", notReady)
	s.wantSlices("web", ofPods, "!10.0.0.1@a 10.0.0.1@a : 8080")
}

// Pods on an unknown node wait for the node, and then get its zone, sooner than with the Kubernetes
// controller (§13.6).
func TestNodesOfPods(t *testing.T) {
	s := play(t)
	name := "late-" + s.ns
	s.service("web")
	s.service("all", selecting("app", "web"), publishing)
	s.pod("web-0", "web", "10.0.0.1", onNode(name))
	s.pod("web-1", "web", "10.0.0.2")
	s.wantSlices("web", ofPods, "10.0.0.2@a : 8080")
	s.wantSlices("all", ofPods, "10.0.0.1 10.0.0.2@a : 8080")
	s.wantEvent("Service", "web", "FailedToUpdateEndpointSlices")
	s.node(name, "z", controlPlane)
	s.wantSlices("web", ofPods, "10.0.0.1@z 10.0.0.2@a : 8080")
	s.wantSlices("all", ofPods, "10.0.0.1@z 10.0.0.2@a : 8080")
	s.editNode(name, zoned("y"))
	s.wantSlices("web", ofPods, "10.0.0.1@y 10.0.0.2@a : 8080")
	s.editNode(name, zoned(""))
	s.wantSlices("web", ofPods, "10.0.0.1 10.0.0.2@a : 8080")
	s.quietly(func() {})
}

// A pod that has an address and no node is left out (§13.6), and the Event says why.
func TestPodWithoutNode(t *testing.T) {
	s := play(t)
	s.service("web")
	s.pod("web-0", "web", "10.0.0.1", onNode(""))
	s.pod("web-1", "web", "10.0.0.2")
	s.wantSlices("web", ofPods, "10.0.0.2@a : 8080")
	e := s.wantEvent("Service", "web", "FailedToUpdateEndpointSlices")
	if !strings.Contains(e.Message, "skipping Pod web-0 for Service "+s.ns+"/web: the pod has an IP address but no node: ") {
		t.Errorf("the Event says %q", e.Message)
	}
}

// The numbers of named target ports are those of the pods (§16.15).
func TestPortsOfPods(t *testing.T) {
	s := play(t)
	s.service("web", ports(port("tcp", 80, "web"), over(port("udp", 80, 53), corev1.ProtocolUDP)))
	always := corev1.ContainerRestartPolicyAlways
	s.pod("web-0", "web", "10.0.0.1", func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{
			Name: "sidecar", Image: "any", RestartPolicy: &always,
			Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 4000}},
		}}
	})
	s.wantEndpoints("web", "10.0.0.1 : tcp=4000 udp=53/UDP")
	s.wantSlices("web", ofPods, "10.0.0.1@a : tcp=4000 udp=53/UDP")
	s.pod("web-1", "web", "10.0.0.2", exposing("web", 5000))
	s.wantEndpoints("web", "10.0.0.1 10.0.0.2 : udp=53/UDP | 10.0.0.1 : tcp=4000 | 10.0.0.2 : tcp=5000")
	s.wantSlices("web", ofPods, "10.0.0.1@a : tcp=4000 udp=53/UDP | 10.0.0.2@a : tcp=5000 udp=53/UDP")
	s.deletePod("web-1", 0)
	s.pod("web-1", "web", "10.0.0.2", exposing("web", 4000))
	s.wantEndpoints("web", "10.0.0.1 10.0.0.2 : tcp=4000 udp=53/UDP")
	s.wantSlices("web", ofPods, "10.0.0.1@a 10.0.0.2@a : tcp=4000 udp=53/UDP")
	s.editService("web", ports(over(port("udp", 80, 53), corev1.ProtocolUDP)))
	s.wantEndpoints("web", "10.0.0.1 10.0.0.2 : udp=53/UDP")
	s.wantSlices("web", ofPods, "10.0.0.1@a 10.0.0.2@a : udp=53/UDP")
}

// Pods of a headless Service have hostnames. Pods that no longer match leave the slice.
func TestHeadlessService(t *testing.T) {
	s := play(t)
	s.service("web", headless)
	s.pod("web-0", "web", "10.0.0.1", func(p *corev1.Pod) { p.Spec.Hostname, p.Spec.Subdomain = "web-0", "web" })
	s.wantEndpoints("web", "10.0.0.1#web-0 : 8080")
	s.wantSlices("web", ofPods, "10.0.0.1#web-0@a : 8080")
	s.editPod("web-0", podLabel("app", "other"))
	s.wantEndpoints("web", "")
	s.wantSlices("web", ofPods, ":")
	s.editService("web", selecting("app", "other"))
	s.wantEndpoints("web", "10.0.0.1#web-0 : 8080")
	s.wantSlices("web", ofPods, "10.0.0.1#web-0@a : 8080")
	s.editService("web", publishing)
	s.editPodStatus("web-0", notReady)
	s.wantEndpoints("web", "10.0.0.1#web-0 : 8080")
	s.wantSlices("web", ofPods, "10.0.0.1(ready=true serving=false)#web-0@a : 8080")
}
