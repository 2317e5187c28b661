package controllers_test

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/api/workload"
	"github.com/signpostd/signpost/controllers/endpoints"
)

// between calls a function between two terms. The second term starts when the controllers have seen its
// effects.
func (s *fixture) between(do func()) { s.Helper(); s.betweenWithout("", do) }

// betweenWithout is between, but the controllers need not see the objects of one resource.
func (s *fixture) betweenWithout(besides string, do func()) {
	s.Helper()
	s.settle()
	s.end()
	s.Cleanup(func() {
		if s.endTerm == nil {
			s.begin()
		}
	})
	do()
	s.catchUp(besides)
	s.begin()
}

// Leftovers of deleted Services are deleted when a term starts (EP-27, EP-28, §8.2).
func TestLeftovers(t *testing.T) {
	s := playAlone(t)
	managed := func(ep *corev1.Endpoints) {
		ep.Labels = map[string]string{endpoints.ManagedByLabel: endpoints.ManagedBy}
	}
	locked := func(ep *corev1.Endpoints) {
		ep.Annotations = map[string]string{"control-plane.alpha.kubernetes.io/leader": "{}"}
	}
	some := []corev1.EndpointSubset{subset(80, "10.0.0.1")}
	var since int
	s.between(func() {
		since = s.journal.now()
		s.endpoints("written", some)
		s.endpoints("managed", some, managed)
		s.endpoints("locked", some, locked, managed)
		s.service("bare", noSelector)
		s.endpoints("bare", some)
		s.service("selects")
		s.endpoints("selects", some)
	})
	s.wantEndpoints("written", absent)
	s.wantEndpoints("managed", absent)
	s.wantEndpoints("selects", "")
	s.settle()
	for _, name := range []string{"locked", "bare"} {
		s.wantEndpoints(name, "10.0.0.1 : 80")
	}
	var deletes []string
	for _, e := range s.wrote(since) {
		if e.method == "DELETE" {
			deletes = append(deletes, e.String())
		}
	}
	slices.Sort(deletes)
	if diff := cmp.Diff([]string{"DELETE endpoints managed: 200", "DELETE endpoints written: 200"}, deletes); diff != "" {
		t.Errorf("deletes (-want +got):\n%s", diff)
	}
	// Leftovers that are created later stay until the next term.
	s.quietly(func() { s.endpoints("later", some) })
	s.wantEndpoints("later", "10.0.0.1 : 80")
	s.between(func() {})
	s.wantEndpoints("later", absent)
}

// Endpoints whose Service the table lacks, because the watch is delayed, are no leftovers (AD-05, K11).
func TestAD05ServiceNotListedYet(t *testing.T) {
	s := playAlone(t)
	release := func() {}
	s.betweenWithout("services", func() {
		release = s.watchDelays.hold(t, "services")
		s.service("web")
		s.service("bare", noSelector)
		s.endpoints("web", []corev1.EndpointSubset{subset(80, "10.9.9.9")})
		s.endpoints("bare", []corev1.EndpointSubset{subset(80, "10.9.9.9")})
	})
	web, bare := s.getEndpoints("web"), s.getEndpoints("bare")
	// The Services of settle are delayed. A real leftover shows when leftovers have been deleted.
	s.end()
	s.endpoints("none", nil)
	s.catchUp("services")
	s.begin()
	s.wantEndpoints("none", absent)
	release()
	s.wantEndpoints("web", "")
	s.settle()
	if got := s.getEndpoints("web"); got.UID != web.UID {
		t.Error("the Endpoints of a Service that the table didn't have yet were deleted")
	}
	if got := s.getEndpoints("bare"); got.UID != bare.UID || got.ResourceVersion != bare.ResourceVersion {
		t.Error("the Endpoints of a Service without selector that the table didn't have yet were changed")
	}
}

// Changes between terms are handled in the next term (X12).
func TestX12NextTerm(t *testing.T) {
	s := playAlone(t)
	s.service("web")
	s.pod("web-0", "web", "10.0.0.1")
	s.workload("vm-0", "web", []string{"10.0.0.9"})
	s.service("bare", noSelector)
	s.endpoints("bare", []corev1.EndpointSubset{subset(80, "10.0.0.5")})
	outputs := func() {
		s.Helper()
		s.wantEndpoints("web", "10.0.0.1 : 8080")
		s.wantSlices("web", ofPods, "10.0.0.1@a : 8080")
		s.wantSlices("web", ofWorkloads, "10.0.0.9 : 8080")
		s.wantSlices("bare", ofEndpoints, "10.0.0.5 : 80")
	}
	outputs()
	since := s.journal.now()
	s.between(func() {
		s.deleteEndpoints("web")
		s.deleteSlice(s.slicesOf("web", ofPods)[0].Name)
		s.deleteSlice(s.slicesOf("web", ofWorkloads)[0].Name)
		s.deleteSlice(s.slicesOf("bare", ofEndpoints)[0].Name)
	})
	outputs()
	s.between(func() {
		s.editEndpoints("web", func(ep *corev1.Endpoints) { ep.Subsets = nil })
		for service, manager := range map[string]string{"web": ofPods, "bare": ofEndpoints} {
			s.editSlice(s.slicesOf(service, manager)[0].Name, func(e *discoveryv1.EndpointSlice) { e.Endpoints = nil })
		}
		s.editSlice(s.slicesOf("web", ofWorkloads)[0].Name, func(e *discoveryv1.EndpointSlice) { e.Ports = nil })
	})
	outputs()
	s.between(func() {
		s.pod("web-1", "web", "10.0.0.2")
		s.deletePod("web-0", 0)
		s.must(s.external().Delete(t.Context(), "vm-0", metav1.DeleteOptions{}))
		s.editEndpoints("bare", func(ep *corev1.Endpoints) { ep.Subsets = nil })
	})
	s.wantEndpoints("web", "10.0.0.2 : 8080")
	s.wantSlices("web", ofPods, "10.0.0.2@a : 8080")
	s.wantSlices("web", ofWorkloads, absent)
	s.wantSlices("bare", ofEndpoints, absent)
	s.wantNoWarnings("web", since)
	s.quietly(func() {})
}

// A new term writes nothing if all objects are in their desired state, as written by this process, or by the
// controllers of Kubernetes and Linkerd.
func TestTakeover(t *testing.T) {
	s := playAlone(t)
	both := []workload.Port{{Port: 8080}, {Port: 9090}}
	s.service("web", ports(port("http", 80, 8080), port("admin", 81, 9090)), serviceLabel("team", "a"))
	s.service("bare", noSelector)
	s.pod("web-0", "web", "10.0.0.1")
	s.pod("web-1", "web", "10.0.0.2", notReady)
	for i, name := range []string{"vm-1", "vm-0"} {
		s.workload(name, "web", []string{[]string{"10.0.0.8", "10.0.0.9"}[i]}, serving(both...), inZone("z"))
	}
	s.endpoints("bare", []corev1.EndpointSubset{subset(80, "10.0.0.5")})
	s.wantSlices("web", ofPods, "!10.0.0.2@a 10.0.0.1@a : admin=9090 http=8080")
	s.wantSlices("web", ofWorkloads, "10.0.0.8@z 10.0.0.9@z : admin=9090 http=8080")
	s.wantSlices("bare", ofEndpoints, "10.0.0.5 : 80")
	var before []version
	var since int
	s.between(func() {
		s.disguise("web", ofPods, "web-")
		s.disguise("web", ofWorkloads, "linkerd-external-web-")
		s.disguise("bare", ofEndpoints, "bare-")
		since = s.journal.now()
		before = append(s.versions("web"), s.versions("bare")...)
	})
	s.settle()
	if wrote := s.wrote(since); len(wrote) > 0 {
		t.Errorf("taking over led to writes:\n%s", strings.Join(texts(wrote), "\n"))
	}
	if diff := cmp.Diff(before, append(s.versions("web"), s.versions("bare")...), cmp.AllowUnexported(version{})); diff != "" {
		t.Errorf("versions (-before +after):\n%s", diff)
	}
	s.pod("web-2", "web", "10.0.0.3")
	s.wantSlices("web", ofPods, "!10.0.0.2@a 10.0.0.1@a 10.0.0.3@a : admin=9090 http=8080")
	s.workload("vm-2", "web", []string{"10.0.0.7"}, serving(both...))
	s.wantSlices("web", ofWorkloads, "10.0.0.7 10.0.0.8@z 10.0.0.9@z : admin=9090 http=8080")
}

// disguise replaces the slice of a Service by one as another controller writes it: with a random name, and
// all lists in another order.
func (s *fixture) disguise(service, manager, prefix string) {
	s.Helper()
	old := s.slicesOf(service, manager)[0]
	s.deleteSlice(old.Name)
	old.ObjectMeta = metav1.ObjectMeta{
		GenerateName: prefix, Labels: old.Labels, Annotations: old.Annotations, OwnerReferences: old.OwnerReferences,
	}
	slices.Reverse(old.Ports)
	slices.Reverse(old.Endpoints)
	s.slice(&old)
}
