package controllers_test

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/controllers/endpoints"
)

// A change of a Service that endpoints don't depend on leads to no write (EP-84).
func TestEP84AnnotatedService(t *testing.T) {
	s := play(t)
	s.service("web", ports(port("http", 80, 8080), port("admin", 81, 9090)))
	s.pod("web-0", "web", "10.0.0.1", podIPs("10.0.0.1", "2001:db8::1"))
	s.wantEndpoints("web", "10.0.0.1 : admin=9090 http=8080")
	s.wantSlices("web", ofPods, "10.0.0.1@a : admin=9090 http=8080")
	s.quietly(func() {
		s.editService("web", serviceAnnotation("note", "other"))
		s.editPod("web-0", func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, "note", "other") })
		s.editPod("web-0", podLabel("note", "other"))
	})
}

// If the readiness of a pod changes faster than its Services are synced, the last change wins (EP-85).
func TestEP85FlipsOfSharedPod(t *testing.T) {
	s := play(t)
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprint("web-", i))
		s.service(names[i], selecting("app", "web"))
	}
	s.pod("pod", "web", "10.0.0.1")
	for _, name := range names {
		s.wantEndpoints(name, "10.0.0.1 : 8080")
	}
	for range 5 {
		s.editPodStatus("pod", notReady)
		s.editPodStatus("pod", ready(true))
	}
	s.settle()
	for _, name := range names {
		s.wantEndpoints(name, "10.0.0.1 : 8080")
		s.wantSlices(name, ofPods, "10.0.0.1@a : 8080")
	}
	s.quietly(func() {})
}

// A Service of type ExternalName gets Endpoints when it gets another type (EP-86). The Endpoints stay when
// the type is ExternalName again (K3).
func TestEP86ExternalNameBecomesClusterIP(t *testing.T) {
	s := play(t)
	s.pod("web-0", "web", "10.0.0.1")
	s.quietly(func() { s.service("web", externalName) })
	for _, service := range []struct {
		name string
		kind corev1.ServiceType
	}{{"ClusterIP", corev1.ServiceTypeClusterIP}, {"NodePort", corev1.ServiceTypeNodePort}} {
		s.editService("web", func(w *corev1.Service) { w.Spec.Type, w.Spec.ExternalName = service.kind, "" })
		s.wantEndpoints("web", "10.0.0.1 : 8080")
		s.wantSlices("web", ofPods, "10.0.0.1@a : 8080")
		if _, ok := s.getEndpoints("web").Labels[corev1.IsHeadlessService]; ok {
			t.Errorf("Endpoints of a %s Service have the label of headless ones", service.name)
		}
		s.quietly(func() {
			s.editService("web", func(w *corev1.Service) {
				externalName(w)
				w.Spec.ClusterIP, w.Spec.ClusterIPs, w.Spec.IPFamilies, w.Spec.IPFamilyPolicy = "", nil, nil, nil
				w.Spec.Ports[0].NodePort, w.Spec.InternalTrafficPolicy, w.Spec.ExternalTrafficPolicy = 0, nil, ""
			})
		})
	}
}

// A pod leaves the Endpoints when it starts to terminate (EP-87).
func TestEP87TerminatingPod(t *testing.T) {
	s := play(t)
	s.service("web")
	s.service("all", selecting("app", "web"), publishing)
	s.pod("web-0", "web", "10.0.0.1")
	s.wantEndpoints("web", "10.0.0.1 : 8080")
	s.deletePod("web-0", 30)
	s.wantEndpoints("web", "")
	s.wantEndpoints("all", "10.0.0.1 : 8080")
	if p := must[*corev1.Pod](s)(s.client.CoreV1().Pods(s.ns).Get(t.Context(), "web-0", metav1.GetOptions{})); p.DeletionTimestamp == nil {
		t.Error("the pod is not terminating")
	}
}

// A change of the labels of a Service changes the labels of its Endpoints and its slice (EP-89).
func TestEP89ChangedLabels(t *testing.T) {
	s := play(t)
	s.service("web", headless, serviceLabel("app", "web"))
	s.wantLabels("web", map[string]string{"app": "web", corev1.IsHeadlessService: ""})
	s.editService("web", func(w *corev1.Service) { w.Labels = map[string]string{"new-label": "web"} })
	s.wantLabels("web", map[string]string{"new-label": "web", corev1.IsHeadlessService: ""})
}

// wantLabels waits until the Endpoints and the slice of a Service have these labels, and the labels of their
// controllers.
func (s *fixture) wantLabels(service string, want map[string]string) {
	s.Helper()
	rest := func(labels map[string]string, remove ...string) map[string]string {
		for _, key := range remove {
			delete(labels, key)
		}
		return labels
	}
	s.eventually(func() error {
		s.Helper()
		ep, err := s.client.CoreV1().Endpoints(s.ns).Get(s.Context(), service, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, rest(ep.Labels, endpoints.ManagedByLabel)); diff != "" {
			return fmt.Errorf("labels of the Endpoints (-want +got):\n%s", diff)
		}
		list := s.slicesOf(service, ofPods)
		if len(list) != 1 {
			return fmt.Errorf("there are %d slices, want 1", len(list))
		}
		if diff := cmp.Diff(want, rest(list[0].Labels, "kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by")); diff != "" {
			return fmt.Errorf("labels of the slice (-want +got):\n%s", diff)
		}
		return nil
	})
}

// Services without a selector get no Endpoints or slices from pods or ExternalWorkloads (EP-01, EP-02, EP-26,
// ES-01, ES-02, X1, X2).
func TestServicesWithoutSelector(t *testing.T) {
	for name, edits := range map[string][]func(*corev1.Service){
		"EP-02, ES-01, X1":                              {noSelector},
		"EP-26a, ES-02a, X2: selector and ports":        {externalName},
		"EP-26b, ES-02b, X2: ports":                     {externalName, noSelector},
		"EP-26c, ES-02c, X2: selector":                  {externalName, ports()},
		"EP-26d, ES-02d, X2: neither selector nor port": {externalName, noSelector, ports()},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t)
			s.pod("web-0", "web", "10.0.0.1")
			s.workload("vm-0", "web", []string{"10.0.0.2"})
			s.quietly(func() {
				s.service("web", edits...)
				s.editPodStatus("web-0", notReady)
				s.editService("web", serviceLabel("a", "b"))
			})
		})
	}
}

// The Endpoints in the example of the API documentation have four pairs of an address and a port (EP-01).
func TestEP01TwoAddressesTwoPorts(t *testing.T) {
	s := play(t)
	s.service("web", noSelector)
	wrote := s.endpoints("web", []corev1.EndpointSubset{{
		Addresses: []corev1.EndpointAddress{{IP: "10.10.1.1"}, {IP: "10.10.2.2"}},
		Ports:     []corev1.EndpointPort{{Name: "a", Port: 8675}, {Name: "b", Port: 309}},
	}})
	s.wantSlices("web", ofEndpoints, "10.10.1.1 10.10.2.2 : a=8675 b=309")
	s.settle()
	if got := s.getEndpoints("web"); got.ResourceVersion != wrote.ResourceVersion {
		t.Errorf("the Endpoints of a user were changed to %s", showEndpoints(got))
	}
}

// A finished pod leaves the Endpoints, even if its addresses and readiness don't change (AD-03).
func TestAD03FinishedPod(t *testing.T) {
	for _, end := range []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded} {
		t.Run(string(end), func(t *testing.T) {
			s := play(t)
			s.service("web")
			s.service("all", selecting("app", "web"), publishing)
			s.pod("web-0", "web", "10.0.0.1", notReady)
			s.wantEndpoints("web", "!10.0.0.1 : 8080")
			s.wantSlices("web", ofPods, "!10.0.0.1@a : 8080")
			s.editPodStatus("web-0", phase(end))
			for _, name := range []string{"web", "all"} {
				s.wantEndpoints(name, "")
				s.wantSlices(name, ofPods, ":")
			}
		})
	}
}

// Metadata of Endpoints from other writers stays, except labels (AD-11).
func TestAD11MetadataOfOthers(t *testing.T) {
	s := play(t)
	s.service("web", serviceLabel("mine", "yes"))
	s.wantEndpoints("web", "")
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "some", UID: "some"}
	s.editEndpoints("web", func(ep *corev1.Endpoints) {
		ep.Annotations = map[string]string{"external": "yes"}
		ep.OwnerReferences = []metav1.OwnerReference{owner}
		ep.Finalizers = []string{"example.org/external"}
		ep.Labels["external"] = "yes"
	})
	t.Cleanup(func() { s.unfinalizeEndpoints("web") })
	s.pod("web-0", "web", "10.0.0.1")
	s.wantEndpoints("web", "10.0.0.1 : 8080")
	s.wantLabels("web", map[string]string{"mine": "yes"})
	ep := s.getEndpoints("web")
	if ep.Annotations["external"] != "yes" || len(ep.OwnerReferences) != 1 || len(ep.Finalizers) != 1 {
		t.Errorf("Endpoints have annotations %v, owners %v and finalizers %v, want those of the other writer", ep.Annotations, ep.OwnerReferences, ep.Finalizers)
	}
}

// External changes of Endpoints of Services that select pods are reverted.
func TestEditedEndpointsAreRepaired(t *testing.T) {
	s := play(t)
	s.service("web", serviceLabel("mine", "yes"))
	s.pod("web-0", "web", "10.0.0.1")
	want := "10.0.0.1 : 8080"
	s.wantEndpoints("web", want)
	for name, edit := range map[string]func(*corev1.Endpoints){
		"address added":   func(ep *corev1.Endpoints) { ep.Subsets = append(ep.Subsets, subset(1, "10.9.9.9")) },
		"address removed": func(ep *corev1.Endpoints) { ep.Subsets = nil },
		"labels":          func(ep *corev1.Endpoints) { ep.Labels = nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			s.editEndpoints("web", edit)
			s.wantEndpoints("web", want)
			s.wantLabels("web", map[string]string{"mine": "yes"})
		})
	}
	t.Run("deleted", func(t *testing.T) {
		s := s.in(t)
		s.deleteEndpoints("web")
		s.wantEndpoints("web", want)
	})
}
