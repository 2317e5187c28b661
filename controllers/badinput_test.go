package controllers_test

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/api/workload"
	"github.com/signpostd/signpost/controllers/externalworkloads"
	"github.com/signpostd/signpost/controllers/mirroring"
)

// Invalid parts of an ExternalWorkload or a Service are reported by an Event on the object and counted. The
// other parts are used.
func TestProblemsOfWorkloads(t *testing.T) {
	s := play(t)
	before := s.problems()
	s.service("web", headless, ports(port("http", 80, 8080), port("other", 81, "nope")))
	s.workload("none", "web", nil)
	s.workload("bad", "web", []string{"not-an-ip", "127.0.0.1"})
	s.workload("half", "web", []string{"10.0.0.1", "fe80::1"})
	s.workload("with.dot", "web", []string{"10.0.0.2"})
	s.workload("good", "web", []string{"10.0.0.3"})
	s.wantSlices("web", ofWorkloads, "10.0.0.1#half 10.0.0.2 10.0.0.3#good : http=8080")
	for _, c := range []struct{ kind, name, reason string }{
		{"ExternalWorkload", "none", externalworkloads.NoUsableAddress},
		{"ExternalWorkload", "bad", externalworkloads.InvalidAddress},
		{"ExternalWorkload", "bad", externalworkloads.NoUsableAddress},
		{"ExternalWorkload", "half", externalworkloads.InvalidAddress},
		{"ExternalWorkload", "with.dot", externalworkloads.NameNotHostname},
		{"Service", "web", externalworkloads.UnknownTargetPort},
	} {
		e := s.wantEvent(c.kind, c.name, c.reason)
		if e.Type != corev1.EventTypeWarning || e.Source.Component != externalworkloads.Component || e.Message == "" {
			t.Errorf("Event %+v, want a warning", e)
		}
		if s.problems()[c.reason] <= before[c.reason] {
			t.Errorf("problem %s is not counted", c.reason)
		}
	}
	s.settle()
	if n := len(s.events("good")); n != 0 {
		t.Errorf("%d Events on a valid workload, want none", n)
	}
	s.Log("a reported problem isn't reported again")
	s.settle()
	reported := s.problems()
	s.quietly(func() { s.editService("web", serviceAnnotation("note", "1")) })
	for _, reason := range []string{externalworkloads.UnknownTargetPort, externalworkloads.InvalidAddress, externalworkloads.NoUsableAddress} {
		if got := s.problems()[reason]; got != reported[reason] {
			t.Errorf("problem %s was reported %g times more", reason, got-reported[reason])
		}
	}
	s.Log("repaired parts are used")
	s.editWorkload("none", workloadIPs("10.0.0.4"))
	s.editWorkload("bad", workloadIPs("10.0.0.5"), serving(workload.Port{Port: 8080}, workload.Port{Name: "nope", Port: 9}))
	s.wantSlices("web", ofWorkloads, "10.0.0.1#half 10.0.0.2 10.0.0.3#good 10.0.0.4#none : http=8080 | 10.0.0.5#bad : http=8080 other=9")
}

// problems returns the number of counted problems by reason.
func (s *fixture) problems() map[string]float64 {
	s.Helper()
	counts := map[string]float64{}
	families, err := s.registry.Gather()
	s.must(err)
	for _, f := range families {
		if f.GetName() != "controller_problems_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "reason" {
					counts[l.GetValue()] += m.GetCounter().GetValue()
				}
			}
		}
	}
	return counts
}

// If the API server refuses the endpoints of a Service, the Service gets an Event, and other Services are not
// delayed.
func TestRefusedEndpoints(t *testing.T) {
	s := play(t)
	const many = 20
	end := s.refuse("bad-")
	s.pod("good", "bad", "10.0.0.1")
	for i := range many {
		s.service(fmt.Sprint("bad-", i), selecting("app", "bad"))
	}
	s.service("web")
	s.pod("web-0", "web", "10.0.0.2")
	s.wantEndpoints("web", "10.0.0.2 : 8080")
	s.wantSlices("web", ofPods, "10.0.0.2@a : 8080")
	s.wantEvent("Endpoints", "bad-0", "FailedToCreateEndpoint")
	s.wantEvent("Service", "bad-0", "FailedToUpdateEndpointSlices")
	s.quietly(func() { s.editService("web", serviceAnnotation("note", "1")) }, "bad-")
	end()
	for i := range many {
		s.wantEndpoints(fmt.Sprint("bad-", i), "10.0.0.1 : 8080")
		s.wantSlices(fmt.Sprint("bad-", i), ofPods, "10.0.0.1@a : 8080")
	}
}

// Only the first 1000 addresses of Endpoints are mirrored (MI-07).
func TestMI07TooManyAddresses(t *testing.T) {
	s := play(t)
	s.service("web", noSelector)
	var ips []string
	for i := range 1001 {
		ips = append(ips, fmt.Sprintf("10.1.%d.%d", i/250, i%250+1))
	}
	s.endpoints("web", []corev1.EndpointSubset{subset(80, ips...)})
	s.wantSizes("web", ofEndpoints, 1000)
	e := s.wantEvent("Endpoints", "web", mirroring.TooManyAddressesToMirror)
	if e.InvolvedObject.UID != s.getEndpoints("web").UID || s.problems()[mirroring.TooManyAddressesToMirror] < 1 {
		t.Errorf("Event %+v, want one about these Endpoints, and counted", e)
	}
	s.editEndpoints("web", func(ep *corev1.Endpoints) { ep.Subsets = []corev1.EndpointSubset{subset(80, ips[:1000]...)} })
	s.settle()
	s.wantSizes("web", ofEndpoints, 1000)
}

// A pod address that the API server refuses in slices doesn't keep the other pods of the Service out of them
// (day2 B6).
func TestPodWithAddressThatNoEndpointCanHave(t *testing.T) {
	s := play(t)
	for i, ip := range []string{"127.0.0.1", "0.0.0.0", "169.254.1.1", "224.0.0.1"} {
		s.pod(fmt.Sprint("bad-", i), "web", ip)
	}
	s.pod("good", "web", "10.0.0.1")
	s.service("web")
	s.wantSlices("web", ofPods, "10.0.0.1@a : 8080")
	s.wantEndpoints("web", "10.0.0.1 : 8080")
	s.deletePod("good", 0)
	s.wantSlices("web", ofPods, ":")
	if events := s.events("web"); len(events) > 0 {
		t.Errorf("unexpected Events: %v", events)
	}
}
