package controllers_test

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The Services and workloads that settle changes to wait for all earlier events.
const (
	barrier = "barrier" // selects a pod and an ExternalWorkload
	plain   = "barrier-plain"
)

// settle waits until the controllers have handled all earlier events. It changes objects of each kind and
// waits for the resulting writes. It does so twice, because a sync that started earlier may end later.
func (s *fixture) settle() {
	s.Helper()
	for range 2 {
		*s.rounds++
		if *s.rounds == 1 {
			s.service(barrier, serviceLabel("round", "1"))
			s.service(plain, noSelector)
			s.pod(barrier, barrier, s.roundIP(0))
			s.workload(barrier, barrier, []string{s.roundIP(100)})
			s.endpoints(plain, []corev1.EndpointSubset{subset(1, s.roundIP(0))})
		} else {
			s.editPodStatus(barrier, podIPs(s.roundIP(0)))
			s.editWorkload(barrier, workloadIPs(s.roundIP(100)))
			s.editEndpoints(plain, func(ep *corev1.Endpoints) { ep.Subsets[0].Addresses[0].IP = s.roundIP(0) })
			s.editService(barrier, serviceLabel("round", fmt.Sprint(*s.rounds)))
		}
		s.eventually(s.roundDone)
	}
}

func (s *fixture) roundIP(plus int) string { return fmt.Sprintf("10.255.255.%d", *s.rounds+plus) }

// roundDone returns an error unless all controllers have handled the latest change of settle.
func (s *fixture) roundDone() error {
	s.Helper()
	round := fmt.Sprint(*s.rounds)
	ep, err := s.client.CoreV1().Endpoints(s.ns).Get(s.Context(), barrier, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if ep.Labels["round"] != round || showEndpoints(ep) != s.roundIP(0)+" : 8080" {
		return fmt.Errorf("Endpoints of the barrier are %s in round %s", showEndpoints(ep), ep.Labels["round"])
	}
	for manager, want := range map[string]string{
		ofPods: s.roundIP(0) + "@a : 8080", ofWorkloads: s.roundIP(100) + " : 8080", ofEndpoints: s.roundIP(0) + " : 1",
	} {
		service := barrier
		if manager == ofEndpoints {
			service = plain
		}
		list := s.slicesOf(service, manager)
		if got := showSlices(list); got != want {
			return fmt.Errorf("slices of the barrier by %s are %q, want %q", manager, got, want)
		}
		if service == barrier && list[0].Labels["round"] != round {
			return fmt.Errorf("slices of the barrier by %s are those of another round", manager)
		}
	}
	return nil
}

// quietly fails the test if a function makes the controllers write, except to objects whose names begin with
// one of the given texts.
func (s *fixture) quietly(happens func(), besides ...string) {
	s.Helper()
	s.settle()
	since := s.journal.now()
	happens()
	s.settle()
	wrote := slices.DeleteFunc(s.wrote(since), func(e entry) bool {
		return slices.ContainsFunc(besides, func(prefix string) bool { return strings.HasPrefix(e.name, prefix) })
	})
	if len(wrote) > 0 {
		s.Errorf("the controllers wrote without need:\n%s", strings.Join(texts(wrote), "\n"))
	}
}

// wrote returns the writes of the controllers after the first since requests, without Events and the writes
// of settle.
func (s *fixture) wrote(since int) []entry {
	return slices.DeleteFunc(s.journal.in(s.ns, since), func(e entry) bool {
		return e.resource == "events" || strings.HasPrefix(strings.TrimPrefix(e.name, "linkerd-external-"), barrier)
	})
}

// announced returns the reasons of the Events about objects of a name that the controllers sent or tried to
// send.
func (s *fixture) announced(name string, since int) []string {
	var list []string
	for _, e := range s.journal.in(s.ns, since) {
		if e.resource == "events" && strings.TrimSpace(e.name) == name {
			list = append(list, e.reason)
		}
	}
	return list
}
