package controllers_test

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The tests of this file delay the watches of the controllers, so that these decide on an old state.

// A Service is deleted and recreated before the controllers see that its Endpoints were deleted (EP-80).
func TestEP80ServiceRecreated(t *testing.T) {
	for name, unknown := range map[string][]string{
		"Endpoints lag": {"endpoints"}, "slices lag": {"endpointslices"}, "Services lag": {"services"},
		"both outputs lag": {"endpoints", "endpointslices"},
	} {
		t.Run(name, func(t *testing.T) {
			s := playAlone(t)
			s.service("web", headless)
			s.pod("web-0", "web", "10.0.0.1")
			s.wantEndpoints("web", "10.0.0.1 : 8080")
			s.wantSlices("web", ofPods, "10.0.0.1@a : 8080")
			old := s.getEndpoints("web").UID
			release := s.watchDelays.hold(t, unknown...)
			since := s.journal.now()
			s.deleteService("web")
			if !slices.Contains(unknown, "services") {
				s.wantEndpoints("web", absent)
			}
			again := s.service("web", headless)
			release()
			s.wantEndpoints("web", "10.0.0.1 : 8080")
			s.eventually(func() error {
				list := s.slicesOf("web", ofPods)
				if got := showSlices(list); got != "10.0.0.1@a : 8080" || list[0].OwnerReferences[0].UID != again.UID {
					return fmt.Errorf("slices are %q of owner %v, want one of the new Service %s", got, list, again.UID)
				}
				return nil
			})
			// Endpoints have no owner, so a controller that sees both Services at once keeps them.
			if !slices.Contains(unknown, "services") && s.getEndpoints("web").UID == old {
				t.Error("the Endpoints are the old ones")
			}
			s.quietly(func() {})
			s.wantNoWarnings("web", since)
		})
	}
}

// wantNoWarnings fails the test if there were Events about an object.
func (s *fixture) wantNoWarnings(name string, since int) {
	s.Helper()
	if got := s.announced(name, since); len(got) > 0 {
		s.Errorf("there are Events on %s: %q", name, got)
	}
}

// A pod becomes unready and ready again before the controllers see their own write in between (EP-81).
func TestEP81FlipFasterThanTheWatch(t *testing.T) {
	s := playAlone(t)
	s.service("web")
	s.pod("web-0", "web", "10.0.0.1")
	s.wantEndpoints("web", "10.0.0.1 : 8080")
	s.wantSlices("web", ofPods, "10.0.0.1@a : 8080")
	release := s.watchDelays.hold(t, "endpoints", "endpointslices")
	since := s.journal.now()
	for range 3 {
		s.editPodStatus("web-0", notReady)
		s.wantEndpoints("web", "!10.0.0.1 : 8080")
		s.wantSlices("web", ofPods, "!10.0.0.1@a : 8080")
		s.editPodStatus("web-0", ready(true))
		s.wantEndpoints("web", "10.0.0.1 : 8080")
		s.wantSlices("web", ofPods, "10.0.0.1@a : 8080")
	}
	release()
	s.settle()
	for _, e := range s.wrote(since) {
		if e.status != 200 {
			t.Errorf("a write failed: %v", e)
		}
	}
	if n := len(s.wrote(since)); n != 12 {
		t.Errorf("there were %d writes, want 12:\n%s", n, strings.Join(texts(s.wrote(since)), "\n"))
	}
	s.wantNoWarnings("web", since)
}

// A created object counts in the next sync, even if the tables lack it (AD-06).
func TestAD06SecondSyncBeforeTheFirstIsSeen(t *testing.T) {
	s := playAlone(t)
	release := s.watchDelays.hold(t, "endpoints", "endpointslices")
	since := s.journal.now()
	s.service("web")
	s.workload("vm-0", "web", []string{"10.0.0.9"})
	s.wantEndpoints("web", "")
	s.wantSlices("web", ofPods, ":")
	s.wantSlices("web", ofWorkloads, "10.0.0.9 : 8080")
	s.pod("web-0", "web", "10.0.0.1")
	s.workload("vm-1", "web", []string{"10.0.0.8"})
	s.wantEndpoints("web", "10.0.0.1 : 8080")
	s.wantSlices("web", ofPods, "10.0.0.1@a : 8080")
	s.wantSlices("web", ofWorkloads, "10.0.0.8 10.0.0.9 : 8080")
	release()
	s.settle()
	s.wantNoFailures(since)
	s.wantNoWarnings("web", since)
}

// A write of a slice succeeds, but its response is lost and the watch is delayed. The next plan counts the
// write, so that no endpoint is put into a second slice and no write conflicts.
func TestLostResponses(t *testing.T) {
	s := playAlone(t)
	s.mixedService()
	s.service("custom", noSelector)
	s.endpoints("custom", []corev1.EndpointSubset{subset(80, "10.1.0.1")})
	s.wantSlices("custom", ofEndpoints, "10.1.0.1 : 80")
	since := s.journal.now()
	release := s.watchDelays.hold(t, "endpointslices")

	s.loseResponse("web-")
	s.pod("web-1", "web", "10.0.0.2")
	s.wantSlices("web", ofPods, "10.0.0.1@a 10.0.0.2@a : 8080")
	s.pod("web-2", "web", "10.0.0.3")
	s.wantSlices("web", ofPods, "10.0.0.1@a 10.0.0.2@a 10.0.0.3@a : 8080")

	s.loseResponse("linkerd-external-web-")
	s.workload("vm-1", "web", []string{"10.0.0.8"})
	s.wantSlices("web", ofWorkloads, "10.0.0.8 10.0.0.9 : 8080")
	s.workload("vm-2", "web", []string{"10.0.0.7"})
	s.wantSlices("web", ofWorkloads, "10.0.0.7 10.0.0.8 10.0.0.9 : 8080")

	s.loseResponse("custom-")
	s.editEndpoints("custom", func(e *corev1.Endpoints) { e.Subsets[0].Addresses[0].IP = "10.1.0.2" })
	s.wantSlices("custom", ofEndpoints, "10.1.0.2 : 80")
	s.editEndpoints("custom", func(e *corev1.Endpoints) { e.Subsets[0].Addresses[0].IP = "10.1.0.3" })
	s.wantSlices("custom", ofEndpoints, "10.1.0.3 : 80")

	s.loseResponse("made-")
	s.service("made")
	s.wantSlices("made", ofPods, ":")
	s.pod("made-0", "made", "10.0.0.6")
	s.wantSlices("made", ofPods, "10.0.0.6@a : 8080")

	s.loseResponse("custom-")
	s.deleteEndpoints("custom")
	s.wantSlices("custom", ofEndpoints, "absent")
	s.endpoints("custom", []corev1.EndpointSubset{subset(80, "10.1.0.4")})
	s.wantSlices("custom", ofEndpoints, "10.1.0.4 : 80")

	release()
	s.settle()
	s.wantNoFailures(since)
	s.wantSlices("web", ofPods, "10.0.0.1@a 10.0.0.2@a 10.0.0.3@a : 8080")
}

// wantNoFailures checks that no write of Endpoints and slices failed.
func (s *fixture) wantNoFailures(since int) {
	s.Helper()
	for _, e := range s.wrote(since) {
		if e.status >= 300 {
			s.Errorf("a write failed: %v", e)
		}
	}
}

// mixedService creates the Service web with a pod and an ExternalWorkload, and waits for its Endpoints and
// slices.
func (s *fixture) mixedService() {
	s.Helper()
	s.service("web")
	s.pod("web-0", "web", "10.0.0.1")
	s.workload("vm-0", "web", []string{"10.0.0.9"})
	s.wantMixed()
}

// wantMixed waits until the Endpoints and slices of web are as after mixedService.
func (s *fixture) wantMixed() {
	s.Helper()
	s.wantEndpoints("web", "10.0.0.1 : 8080")
	s.wantSlices("web", ofPods, "10.0.0.1@a : 8080")
	s.wantSlices("web", ofWorkloads, "10.0.0.9 : 8080")
}

// Endpoints and slices that another writer deletes, before the controllers see it, are recreated without the
// metadata of the old ones (AD-10).
func TestAD10UpdateOfDeletedObjects(t *testing.T) {
	s := playAlone(t)
	s.mixedService()
	s.editEndpoints("web", func(ep *corev1.Endpoints) {
		metav1.SetMetaDataAnnotation(&ep.ObjectMeta, "external", "yes")
	})
	s.settle()
	release := s.watchDelays.hold(t, "endpoints", "endpointslices")
	since := s.journal.now()
	s.deleteEndpoints("web")
	for _, manager := range []string{ofPods, ofWorkloads} {
		s.deleteSlice(s.slicesOf("web", manager)[0].Name)
	}
	s.editService("web", serviceLabel("new", "yes"))
	s.wantMixed()
	if ep := s.getEndpoints("web"); ep.Annotations["external"] != "" || ep.Labels["new"] == "" {
		t.Errorf("Endpoints have annotations %v and labels %v, want new ones", ep.Annotations, ep.Labels)
	}
	release()
	s.settle()
	s.wantNoWarnings("web", since)
}

// After a conflict with another writer, the controllers read the object and write again, without an Event
// (K15).
func TestConflicts(t *testing.T) {
	s := playAlone(t)
	s.mixedService()
	s.settle()
	release := s.watchDelays.hold(t, "endpoints", "endpointslices")
	since := s.journal.now()
	s.editEndpoints("web", func(ep *corev1.Endpoints) { ep.Subsets = nil })
	for _, manager := range []string{ofPods, ofWorkloads} {
		s.editSlice(s.slicesOf("web", manager)[0].Name, func(e *discoveryv1.EndpointSlice) { e.Endpoints = nil })
	}
	s.editService("web", serviceLabel("new", "yes"))
	s.wantMixed()
	release()
	s.quietly(func() {})
	s.wantNoWarnings("web", since)
	conflicts := 0
	for _, e := range s.wrote(since) {
		if e.status == 409 {
			conflicts++
		}
	}
	if conflicts != 3 {
		t.Errorf("there were %d conflicts, want one for each object", conflicts)
	}
}

// A Service is synced even if slices of a former Service were created and deleted unseen (AD-07, §13.12).
func TestAD07VanishedSlices(t *testing.T) {
	s := playAlone(t)
	release := s.watchDelays.hold(t, "endpointslices")
	s.pod("web-0", "web", "10.0.0.1")
	for range 3 {
		s.service("web")
		s.wantSlices("web", ofPods, "10.0.0.1@a : 8080")
		s.deleteService("web")
		s.deleteSlice(s.slicesOf("web", ofPods)[0].Name)
	}
	s.service("web")
	s.wantSlices("web", ofPods, "10.0.0.1@a : 8080")
	s.editPodStatus("web-0", notReady)
	s.wantSlices("web", ofPods, "!10.0.0.1@a : 8080")
	release()
	s.quietly(func() {})
	s.wantSlices("web", ofPods, "!10.0.0.1@a : 8080")
}

// If a Service is deleted and recreated, the slice without endpoints of the first one is replaced by one of
// the second.
func TestVanishedPlaceholder(t *testing.T) {
	s := playAlone(t)
	release := s.watchDelays.hold(t, "endpointslices")
	s.service("web")
	s.wantSlices("web", ofPods, ":")
	old := s.slicesOf("web", ofPods)[0]
	s.deleteService("web")
	again := s.service("web")
	s.deleteSlice(old.Name) // as the garbage collector does
	release()
	s.eventually(func() error {
		list := s.slicesOf("web", ofPods)
		if len(list) != 1 || list[0].OwnerReferences[0].UID != again.UID {
			return fmt.Errorf("slices are %v, want one that the new Service owns", list)
		}
		return nil
	})
}

// A create that fails because the namespace is being deleted is no failure (AD-13).
func TestAD13NamespaceTerminating(t *testing.T) {
	s := playAlone(t)
	lively := *s
	s.ns = must[*corev1.Namespace](s)(s.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "t-ad13-"},
	}, metav1.CreateOptions{})).Name
	release := s.watchDelays.hold(t, "services")
	s.service("web")
	s.workload("vm-0", "web", []string{"10.0.0.9"})
	s.pod("web-0", "web", "10.0.0.1")
	s.catchUp("services") // a workload that arrives later would cause another attempt
	since := s.journal.now()
	s.must(s.client.CoreV1().Namespaces().Delete(t.Context(), s.ns, metav1.DeleteOptions{}))
	t.Cleanup(s.emptyNamespace)
	release()
	lively.settle()
	var refused []string
	for _, e := range s.wrote(since) {
		refused = append(refused, fmt.Sprint(e.method, " ", e.resource, " ", e.status))
	}
	slices.Sort(refused)
	want := []string{"POST endpoints 403", "POST endpointslices 403", "POST endpointslices 403"}
	if !slices.Equal(refused, want) {
		t.Errorf("the controllers wrote %q, want one attempt of each: %q", refused, want)
	}
	for _, name := range []string{"web", "vm-0"} {
		s.wantNoWarnings(name, since)
	}
}

// emptyNamespace deletes the remaining objects of AD-13, because kubetest doesn't empty a namespace that is
// being deleted already.
func (s *fixture) emptyNamespace() {
	ctx, now := context.Background(), metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	for _, err := range []error{
		s.client.CoreV1().Services(s.ns).Delete(ctx, "web", now),
		s.client.CoreV1().Pods(s.ns).DeleteCollection(ctx, now, metav1.ListOptions{}),
		s.external().DeleteCollection(ctx, now, metav1.ListOptions{}),
	} {
		if err != nil {
			s.Error(err)
		}
	}
	namespaces := s.client.CoreV1().Namespaces()
	namespace, err := namespaces.Get(ctx, s.ns, metav1.GetOptions{})
	if err == nil {
		namespace.Spec.Finalizers = nil
		_, err = namespaces.Finalize(ctx, namespace, metav1.UpdateOptions{})
	}
	if err != nil {
		s.Error(err)
	}
}

// Any other refusal sends an Event, and the sync is retried until it succeeds (AD-13).
func TestAD13OtherRefusals(t *testing.T) {
	s := play(t)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "none"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			"count/endpoints": {}, "count/endpointslices.discovery.k8s.io": {},
		}},
	}
	quotas := s.client.CoreV1().ResourceQuotas(s.ns)
	made := must[*corev1.ResourceQuota](s)(quotas.Create(t.Context(), quota, metav1.CreateOptions{}))
	made.Status = corev1.ResourceQuotaStatus{Hard: made.Spec.Hard, Used: made.Spec.Hard}
	must[*corev1.ResourceQuota](s)(quotas.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}))
	s.pod("web-0", "web", "10.0.0.1")
	s.workload("vm-0", "web", []string{"10.0.0.9"})
	service := s.service("web")
	s.wantEvent("Endpoints", "web", "FailedToCreateEndpoint")
	e := s.wantEvent("Service", "web", "FailedToUpdateEndpointSlices")
	if e.InvolvedObject.UID != service.UID || e.Type != corev1.EventTypeWarning {
		t.Errorf("Event %+v, want a warning about the Service", e)
	}
	if !strings.Contains(e.Message, "exceeded quota: none") || !strings.Contains(e.Message, "raise this ResourceQuota") {
		t.Errorf("the Event says %q, want the quota and what to do", e.Message)
	}
	s.must(quotas.Delete(t.Context(), "none", metav1.DeleteOptions{}))
	s.wantMixed()
}
