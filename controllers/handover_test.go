package controllers_test

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// In the tests of this file, a user takes over objects before the controllers see it. The writes of users
// must stay, however far the tables lag.

// takeOverByHand makes a user take over the Endpoints of the Service web: the selector is removed, and then
// the Endpoints are written. It returns the version that the user wrote.
func (s *fixture) takeOverByHand() string {
	s.Helper()
	s.editService("web", noSelector)
	s.editEndpoints("web", func(ep *corev1.Endpoints) { ep.Subsets = oneSubset("10.9.9.9") })
	return s.getEndpoints("web").ResourceVersion
}

// wantUserVersion fails the test if the Endpoints of the Service web are not those of the user.
func (s *fixture) wantUserVersion(version string) {
	s.Helper()
	s.settle()
	if ep := s.getEndpoints("web"); ep.ResourceVersion != version || showEndpoints(ep) != "10.9.9.9 : 80" {
		s.Errorf("Endpoints are %s in version %s, want what the user wrote, 10.9.9.9 : 80 in version %s", showEndpoints(ep), ep.ResourceVersion, version)
	}
}

// podsCount changes the pod of the Service web, and waits until the controllers have handled this and all
// earlier events, by a change of another Service.
func (s *fixture) podsCount(ip string) {
	s.Helper()
	s.editPodStatus("web-0", podIPs(ip))
	for round := range 2 {
		ip := fmt.Sprintf("10.8.0.%d", *s.rounds*2+round)
		s.editPodStatus("other-0", podIPs(ip))
		s.wantEndpoints("other", ip+" : 8080")
	}
	*s.rounds++
}

// handover returns a fixture with the Services web and other, whose Endpoints and slices are written.
func handover(t *testing.T) *fixture {
	t.Helper()
	s := playAlone(t)
	s.service("other")
	s.pod("other-0", "other", "10.8.0.250")
	s.wantEndpoints("other", "10.8.0.250 : 8080")
	s.service("web")
	s.pod("web-0", "web", "10.0.0.1")
	s.wantEndpoints("web", "10.0.0.1 : 8080")
	s.wantSlices("web", ofPods, "10.0.0.1@a : 8080")
	s.settle()
	return s
}

// Endpoints of a user stay if their event arrives before the removal of the selector. They were overwritten
// for good.
func TestC0EndpointsWrittenBeforeSelectorRemovalIsSeen(t *testing.T) {
	s := handover(t)
	release := s.watchDelays.hold(t, "services")
	version := s.takeOverByHand()
	s.catchUp("services")
	s.podsCount("10.0.0.2")
	release()
	s.wantUserVersion(version)
}

// A write of the controllers conflicts with the Endpoints of a user, before the removal of the selector
// arrives.
func TestC0ConflictBeforeSelectorRemovalIsSeen(t *testing.T) {
	s := handover(t)
	release := s.watchDelays.hold(t, "services", "endpoints")
	since := s.journal.now()
	version := s.takeOverByHand()
	s.editPodStatus("web-0", podIPs("10.0.0.2"))
	s.eventually(func() error {
		for _, e := range s.wrote(since) {
			if e.resource == "endpoints" && e.name == "web" && e.status == 409 {
				return nil
			}
		}
		return fmt.Errorf("no write has failed: %v", s.wrote(since))
	})
	s.podsCount("10.0.0.3")
	release()
	s.wantUserVersion(version)
}

// The first sync of a Service in a term may read outdated tables, too.
func TestC0TermStartsBeforeSelectorRemovalIsSeen(t *testing.T) {
	s := handover(t)
	var version string
	release := func() {}
	s.betweenWithout("services", func() {
		release = s.watchDelays.hold(t, "services")
		version = s.takeOverByHand()
	})
	s.podsCount("10.0.0.2")
	release()
	s.wantUserVersion(version)
}

// If Endpoints were changed externally, the Service is read from the API server and the Endpoints are
// restored.
func TestC0RepairsContinue(t *testing.T) {
	s := handover(t)
	release := s.watchDelays.hold(t, "services")
	s.editEndpoints("web", func(ep *corev1.Endpoints) { ep.Subsets = oneSubset("10.9.9.9") })
	s.wantEndpoints("web", "10.0.0.1 : 8080")
	release()
	s.editEndpoints("web", func(ep *corev1.Endpoints) { ep.Subsets = nil })
	s.wantEndpoints("web", "10.0.0.1 : 8080")
}

// A user changes Endpoints without a Service just before the controllers delete them as leftovers. The
// Endpoints stay, and a later Service gets its own. The controllers counted them as deleted, so the Service
// never got Endpoints, because they existed.
func TestC0LeftoverChangedByUser(t *testing.T) {
	s := playAlone(t)
	var since int
	release := func() {}
	s.betweenWithout("endpoints", func() {
		s.endpoints("web", oneSubset("10.9.9.8"))
		s.catchUp("")
		since = s.journal.now()
		release = s.watchDelays.hold(t, "endpoints")
		s.editEndpoints("web", func(ep *corev1.Endpoints) { ep.Subsets = oneSubset("10.9.9.9") })
	})
	s.eventually(func() error {
		for _, e := range s.wrote(since) {
			if e.method == "DELETE" && e.name == "web" && e.status == 409 {
				return nil
			}
		}
		return fmt.Errorf("the leftover wasn't deleted in an old version: %v", s.wrote(since))
	})
	release()
	s.settle()
	s.wantEndpoints("web", "10.9.9.9 : 80")
	s.service("web")
	s.pod("web-0", "web", "10.0.0.1")
	s.wantEndpoints("web", "10.0.0.1 : 8080")
}

// Endpoints with a finalizer stay after their Service is deleted, and become those of the next one. The
// controllers counted them as deleted, so the next Service got none for up to 16 minutes after the finalizer
// was removed.
func TestEndpointsWithFinalizerOutliveTheirService(t *testing.T) {
	s := play(t)
	s.service("web")
	s.pod("web-0", "web", "10.0.0.1")
	s.wantEndpoints("web", "10.0.0.1 : 8080")
	s.editEndpoints("web", func(ep *corev1.Endpoints) { ep.Finalizers = []string{"example.org/keep"} })
	s.deleteService("web")
	s.eventually(func() error {
		if s.getEndpoints("web").DeletionTimestamp == nil {
			return fmt.Errorf("the Endpoints of the deleted Service are not being deleted")
		}
		return nil
	})
	s.settle()
	s.service("web")
	s.pod("web-1", "web", "10.0.0.2")
	s.wantEndpoints("web", "10.0.0.1 10.0.0.2 : 8080")
	s.editEndpoints("web", func(ep *corev1.Endpoints) { ep.Finalizers = nil })
	s.eventually(func() error {
		if ep, err := s.client.CoreV1().Endpoints(s.ns).Get(t.Context(), "web", metav1.GetOptions{}); err != nil || ep.DeletionTimestamp != nil {
			return fmt.Errorf("there are no new Endpoints: %v", err)
		}
		return nil
	})
	s.wantEndpoints("web", "10.0.0.1 10.0.0.2 : 8080")
}

// A slice that a user takes over by its label isn't deleted, even if the controllers only know its old
// version.
func TestC11SliceTakenOverBeforeItIsDeleted(t *testing.T) {
	s := playAlone(t)
	s.service("web")
	s.workload("vm-0", "web", []string{"10.0.0.9"})
	s.wantSlices("web", ofWorkloads, "10.0.0.9 : 8080")
	s.service("bare", noSelector)
	s.endpoints("bare", oneSubset("10.0.0.5"))
	s.wantSlices("bare", ofEndpoints, "10.0.0.5 : 80")
	s.settle()
	release := s.watchDelays.hold(t, "endpointslices")
	since := s.journal.now()
	taken := map[string]string{}
	for service, manager := range map[string]string{"web": ofWorkloads, "bare": ofEndpoints} {
		name := s.slicesOf(service, manager)[0].Name
		taken[name] = service
		s.editSlice(name, func(e *discoveryv1.EndpointSlice) { e.Labels[discoveryv1.LabelManagedBy] = "the-user" })
	}
	s.must(s.external().Delete(t.Context(), "vm-0", metav1.DeleteOptions{}))
	s.deleteEndpoints("bare")
	s.eventually(func() error {
		tried := 0
		for _, e := range s.wrote(since) {
			if e.method == "DELETE" && taken[e.name] != "" {
				tried++
			}
		}
		if tried < 2 {
			return fmt.Errorf("the controllers have not tried to delete both slices: %v", s.wrote(since))
		}
		return nil
	})
	release()
	s.settle()
	for name, service := range taken {
		if list := s.slicesOf(service, "the-user"); !slices.ContainsFunc(list, func(e discoveryv1.EndpointSlice) bool { return e.Name == name }) {
			t.Errorf("the slice %s that a user has taken over was deleted", name)
		}
	}
	s.wantNoWarnings("web", since)
}

// An Event on each kind of object reports another writer that keeps changing it.
func TestC5ContestedObjects(t *testing.T) {
	s := play(t)
	s.mixedService()
	s.service("bare", noSelector)
	s.endpoints("bare", oneSubset("10.0.0.5"))
	s.wantSlices("bare", ofEndpoints, "10.0.0.5 : 80")
	since := s.journal.now()
	for range 6 {
		s.editEndpoints("web", func(ep *corev1.Endpoints) { ep.Subsets = nil })
		for manager, service := range map[string]string{ofPods: "web", ofWorkloads: "web", ofEndpoints: "bare"} {
			s.editSlice(s.slicesOf(service, manager)[0].Name, func(e *discoveryv1.EndpointSlice) { e.Endpoints = nil })
		}
		s.wantMixed()
		s.wantSlices("bare", ofEndpoints, "10.0.0.5 : 80")
	}
	s.eventually(func() error {
		web, bare := s.announced("web", since), s.announced("bare", since)
		if !slices.Equal(web, []string{"ContestedEndpoints", "ContestedEndpoints", "ContestedEndpoints"}) || !slices.Equal(bare, []string{"ContestedEndpoints"}) {
			return fmt.Errorf("Events on web are %q, on bare %q, want three and one about another writer that keeps changing them", web, bare)
		}
		return nil
	})
}
