package controllers_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// topologyAuto makes a Service distribute its endpoints over zones by the CPUs of nodes.
var topologyAuto = serviceAnnotation(corev1.AnnotationTopologyMode, "Auto")

func cpus(n string) func(*corev1.Node) {
	return func(node *corev1.Node) {
		node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(n)}
	}
}

// nodeStatus changes the status of a node.
func (s *fixture) nodeStatus(name string, edit func(*corev1.Node)) {
	s.Helper()
	node := must[*corev1.Node](s)(s.client.CoreV1().Nodes().Get(s.Context(), name, metav1.GetOptions{}))
	edit(node)
	must[*corev1.Node](s)(s.client.CoreV1().Nodes().UpdateStatus(s.Context(), node, metav1.UpdateOptions{}))
}

// podsOn creates n ready pods on a node.
func (s *fixture) podsOn(node, app string, n int) {
	s.Helper()
	for range n {
		*s.made++
		s.pod(fmt.Sprint(app, "-", *s.made), app, fmt.Sprint("10.0.0.", *s.made), onNode(node))
	}
}

// wantHints waits until these numbers of endpoints have each hint; "" stands for no hint.
func (s *fixture) wantHints(service string, want map[string]int) {
	s.Helper()
	s.eventually(func() error {
		s.Helper()
		got := map[string]int{}
		for _, slice := range s.slicesOf(service, ofPods) {
			for i := range slice.Endpoints {
				_, hints, _ := strings.Cut(showEndpoint(&slice.Endpoints[i]), ">")
				got[hints]++
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("endpoints by hint: %v, want %v", got, want)
		}
		return nil
	})
}

// Endpoints are distributed over zones as nodes are added, labelled, become ready and are removed (ES-18,
// ES-19, RC-21, HI-02).
func TestES19DistributionOverZones(t *testing.T) {
	s := playAlone(t)
	s.service("web", topologyAuto)
	n1, n2, n3 := "n1-"+s.ns, "n2-"+s.ns, "n3-"+s.ns
	s.node(n1, "", cpus("1"))
	s.node(n2, "", cpus("1"))
	s.podsOn(n1, "web", 2)
	s.podsOn(n2, "web", 2)
	s.wantHints("web", map[string]int{"": 4})
	s.wantEvent("Service", "web", "TopologyAwareHintsDisabled")

	s.Log("nodes get zones")
	s.editNode(n1, zoned("x"))
	s.wantHints("web", map[string]int{"": 4})
	s.editNode(n2, zoned("y"))
	s.wantHints("web", map[string]int{"x": 2, "y": 2})
	s.wantEvent("Service", "web", "TopologyAwareHintsEnabled")

	s.Log("a third zone, in which there are too few endpoints")
	s.node(n3, "z", cpus("1"))
	s.podsOn(n1, "web", 2) // 4, 2, 0
	s.wantHints("web", map[string]int{"x": 2, "y": 2, "z": 2})

	s.Log("a node that isn't ready doesn't count")
	s.nodeStatus(n3, func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse })
	s.editPodStatus("web-1", notReady)
	s.editPodStatus("web-1", ready(true))
	s.wantHints("web", map[string]int{"x": 3, "y": 3})
	s.nodeStatus(n3, func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionTrue })
	s.wantHints("web", map[string]int{"x": 2, "y": 2, "z": 2})

	s.Log("the mode wins over trafficDistribution, and can be switched off")
	s.editService("web", distributing(corev1.ServiceTrafficDistributionPreferClose))
	s.quietly(func() {})
	s.wantHints("web", map[string]int{"x": 2, "y": 2, "z": 2})
	s.editService("web", serviceAnnotation(corev1.AnnotationTopologyMode, "disabled"))
	s.wantHints("web", map[string]int{"x": 4, "y": 2})
	s.editService("web", func(w *corev1.Service) { w.Spec.TrafficDistribution = nil })
	s.wantHints("web", map[string]int{"": 6})

	s.Log("no distribution while the CPUs of a node are unknown")
	s.editService("web", topologyAuto)
	s.wantHints("web", map[string]int{"x": 2, "y": 2, "z": 2})
	s.nodeStatus(n3, cpus("0"))
	s.wantHints("web", map[string]int{"": 6})
}

// The zones are known before the first Service of a term is synced (§13.10).
func TestHintsInNextTerm(t *testing.T) {
	s := playAlone(t)
	n1, n2 := "n1-"+s.ns, "n2-"+s.ns
	s.node(n1, "x", cpus("1"))
	s.node(n2, "y", cpus("1"))
	s.service("web", topologyAuto)
	s.podsOn(n1, "web", 3)
	s.podsOn(n2, "web", 3)
	s.wantHints("web", map[string]int{"x": 3, "y": 3})
	since := 0
	s.between(func() { since = s.journal.now() })
	s.settle()
	if wrote := s.wrote(since); len(wrote) > 0 {
		t.Errorf("a new term caused writes: %v", wrote)
	}
}

func distributing(how string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.TrafficDistribution = &how }
}

// With trafficDistribution, hints follow the zones and nodes of endpoints (RC-22, HI-08).
func TestTrafficDistribution(t *testing.T) {
	s := play(t)
	for name, how := range map[string]string{
		"close": corev1.ServiceTrafficDistributionPreferClose, "zone": corev1.ServiceTrafficDistributionPreferSameZone,
		"node": corev1.ServiceTrafficDistributionPreferSameNode,
	} {
		s.service(name, selecting("app", "web"), distributing(how))
	}
	s.pod("web-0", "web", "10.0.0.1")
	s.pod("web-1", "web", "10.0.0.2", onNode(nodeB))
	s.pod("web-2", "web", "10.0.0.3", notReady)
	zones := "!10.0.0.3@a 10.0.0.1@a>a 10.0.0.2@b>b : 8080"
	s.wantSlices("close", ofPods, zones)
	s.wantSlices("zone", ofPods, zones)
	s.wantSlices("node", ofPods, "!10.0.0.3@a 10.0.0.1@a>a>node-a 10.0.0.2@b>b>node-b : 8080")
	s.editService("node", distributing(corev1.ServiceTrafficDistributionPreferSameZone))
	s.wantSlices("node", ofPods, zones)
	s.editService("zone", func(w *corev1.Service) { w.Spec.TrafficDistribution = nil })
	s.wantSlices("zone", ofPods, "!10.0.0.3@a 10.0.0.1@a 10.0.0.2@b : 8080")
	s.quietly(func() {})
}

// A node that is recreated changes no slice. In another zone, it changes the slices at once (controllers N1).
func TestRecreatedNode(t *testing.T) {
	s := playAlone(t)
	node := "n-" + s.ns
	s.node(node, "x", controlPlane)
	s.service("web", distributing(corev1.ServiceTrafficDistributionPreferClose))
	s.pod("web-0", "web", "10.0.0.1", onNode(node))
	s.wantSlices("web", ofPods, "10.0.0.1@x>x : 8080")
	s.quietly(func() {
		s.deleteNode(node)
		s.editService("web", serviceAnnotation("note", "1"))
	})
	s.quietly(func() { s.node(node, "x", controlPlane) })
	s.deleteNode(node)
	s.node(node, "y", controlPlane)
	s.wantSlices("web", ofPods, "10.0.0.1@y>y : 8080")
}

// A node that was deleted before the controllers started has the zone in the slices of Services with a selector, and not
// that of an earlier node in slices that nobody maintains: those of other Services, and those that a finalizer keeps.
func TestZoneOfNodeDeletedBeforeStart(t *testing.T) {
	s := playAlone(t)
	node := "n-" + s.ns
	slice := func(service, zone string, finalizers ...string) *discoveryv1.EndpointSlice {
		return s.slice(&discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				GenerateName: service + "-", Labels: map[string]string{discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: ofPods},
				Finalizers: finalizers,
			},
			AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}, NodeName: &node, Zone: &zone}},
		})
	}
	s.between(func() {
		s.pod("web-0", "web", "10.0.0.1", onNode(node))
		s.service("web")
		slice("web", "x")
		for i := range 20 {
			name := fmt.Sprint("former-", i)
			s.service(name, noSelector)
			slice(name, "y")
			s.deleteSlice(slice("web", "y", "example.org/stay").Name)
		}
	})
	s.settle()
	for _, kept := range s.slicesOf("web", ofPods) {
		if len(kept.Finalizers) > 0 {
			s.editSlice(kept.Name, func(e *discoveryv1.EndpointSlice) { e.Finalizers = nil })
		}
	}
	s.wantSlices("web", ofPods, "10.0.0.1@x : 8080")
}
