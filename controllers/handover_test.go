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

// The tests of this file take objects out of the hands of the controllers, who don't know it
// yet: what users write must stay, however far the tables lag.

// byHand has a user take over the Endpoints of the Service web: the selector is removed, and
// then the Endpoints are written. It returns the version that the user wrote.
func (s *fixture) byHand() string {
	s.Helper()
	s.editService("web", noSelector)
	s.editEndpoints("web", func(ep *corev1.Endpoints) { ep.Subsets = oneSubset("10.9.9.9") })
	return s.getEndpoints("web").ResourceVersion
}

// wantByHand fails the test when the Endpoints of the Service web are not those of the user.
func (s *fixture) wantByHand(version string) {
	s.Helper()
	s.settle()
	if ep := s.getEndpoints("web"); ep.ResourceVersion != version || showEndpoints(ep) != "10.9.9.9 : 80" {
		s.Errorf("Endpoints are %s in version %s, want what the user wrote, 10.9.9.9 : 80 in version %s", showEndpoints(ep), ep.ResourceVersion, version)
	}
}

// podsCount changes the pod of the Service web, and waits until the controllers have dealt
// with that and with what came before, which shows in another Service.
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

// handover returns a fixture with the Service web, of which the controllers have written all,
// and the Service other.
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

// The Endpoints that a user had written arrived before the news that the Service had lost
// its selector, and were overwritten for good.
func TestC0EndpointsWrittenBeforeTheSelectorIsKnownToBeGone(t *testing.T) {
	s := handover(t)
	release := s.gates.hold(t, "services")
	version := s.byHand()
	s.catchUp("services")
	s.podsCount("10.0.0.2")
	release()
	s.wantByHand(version)
}

// A write of the controllers fails because the user has written, and the news that the
// Service has lost its selector is on its way.
func TestC0ConflictBeforeTheSelectorIsKnownToBeGone(t *testing.T) {
	s := handover(t)
	release := s.gates.hold(t, "services", "endpoints")
	since := s.journal.now()
	version := s.byHand()
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
	s.wantByHand(version)
}

// The first look at a Service in a term is taken from tables that may lag as well.
func TestC0TermBeginsBeforeTheSelectorIsKnownToBeGone(t *testing.T) {
	s := handover(t)
	var version string
	release := func() {}
	s.betweenWithout("services", func() {
		release = s.gates.hold(t, "services")
		version = s.byHand()
	})
	s.podsCount("10.0.0.2")
	release()
	s.wantByHand(version)
}

// The Service of Endpoints that somebody has changed is asked for, and what it selects is
// written again.
func TestC0RepairsGoOn(t *testing.T) {
	s := handover(t)
	release := s.gates.hold(t, "services")
	s.editEndpoints("web", func(ep *corev1.Endpoints) { ep.Subsets = oneSubset("10.9.9.9") })
	s.wantEndpoints("web", "10.0.0.1 : 8080")
	release()
	s.editEndpoints("web", func(ep *corev1.Endpoints) { ep.Subsets = nil })
	s.wantEndpoints("web", "10.0.0.1 : 8080")
}

// A user has changed Endpoints without a Service when the controllers, which don't know that yet, delete them
// as leftovers. They stay, and were taken for deleted ever after: the Service that came then never got its
// own, because they existed.
func TestC0LeftoverThatSomebodyHasChanged(t *testing.T) {
	s := playAlone(t)
	var since int
	release := func() {}
	s.betweenWithout("endpoints", func() {
		s.endpoints("web", oneSubset("10.9.9.8"))
		s.catchUp("")
		since = s.journal.now()
		release = s.gates.hold(t, "endpoints")
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

// A user took over a slice by its label, and the controllers deleted it, because they
// knew an old version only.
func TestC11SliceTakenOverBeforeItIsDeleted(t *testing.T) {
	s := playAlone(t)
	s.service("web")
	s.workload("vm-0", "web", []string{"10.0.0.9"})
	s.wantSlices("web", ofWorkloads, "10.0.0.9 : 8080")
	s.service("bare", noSelector)
	s.endpoints("bare", oneSubset("10.0.0.5"))
	s.wantSlices("bare", ofEndpoints, "10.0.0.5 : 80")
	s.settle()
	release := s.gates.hold(t, "endpointslices")
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
			t.Errorf("the slice %s that a user has taken over is gone", name)
		}
	}
	s.wantNoWarnings("web", since)
}

// An Event tells of somebody who keeps changing what is written, for each kind of object.
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
			return fmt.Errorf("Events on web are %q, on bare %q, want three and one about somebody who keeps changing them", web, bare)
		}
		return nil
	})
}
