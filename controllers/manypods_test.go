package controllers_test

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/controllers/endpoints"
	"github.com/signpostd/signpost/testkit/longtest"
)

// manyPods creates n pods concurrently. edit is called for each with its number.
func (s *fixture) manyPods(n int, edit func(i int, p *corev1.Pod)) {
	s.Helper()
	const atOnce = 16
	errs := make([]error, atOnce)
	var working sync.WaitGroup
	for worker := range atOnce {
		working.Go(func() {
			for i := worker; i < n && errs[worker] == nil; i += atOnce {
				pod := newPod(s.ns, fmt.Sprintf("web-%04d", i), "web", fmt.Sprintf("10.1.%d.%d", i/250, i%250+1))
				edit(i, pod)
				errs[worker] = makePod(s.Context(), s.client, pod)
			}
		})
	}
	working.Wait()
	for _, err := range errs {
		s.must(err)
	}
}

// wantCounts waits until Endpoints have these numbers of addresses and this over-capacity annotation.
func (s *fixture) wantCounts(name string, ready, notReady, subsets int, truncated string) {
	s.Helper()
	s.eventually(func() error {
		s.Helper()
		ep, err := s.client.CoreV1().Endpoints(s.ns).Get(s.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		gotReady, gotNotReady := 0, 0
		for _, subset := range ep.Subsets {
			gotReady += len(subset.Addresses)
			gotNotReady += len(subset.NotReadyAddresses)
		}
		got := fmt.Sprint(gotReady, gotNotReady, len(ep.Subsets), ep.Annotations[endpoints.OverCapacityAnnotation])
		if want := fmt.Sprint(ready, notReady, subsets, truncated); got != want {
			return fmt.Errorf("ready addresses, others, subsets and annotation are %s, want %s", got, want)
		}
		return nil
	})
}

// Endpoints of more than 1000 pods are truncated, and slices are packed (EP-88, AD-01, AD-02, RC-06, §13.7).
func TestManyPods(t *testing.T) {
	longtest.Only(t, "truncation is tested in package endpoints, and slices of several sizes by TestPacking in package externalworkloads")
	s := play(t)
	// 1001 ready pods have the port http under one number, ten others under another number.
	s.manyPods(1011, func(i int, p *corev1.Pod) {
		if i < 250 {
			podLabel("some", "yes")(p)
		}
		if i < 1001 {
			exposing("http", 8080)(p)
		} else {
			exposing("http", 9090)(p)
			p.Labels["app"] = "late"
		}
	})
	s.service("web")
	s.service("named", selecting("app", "web"), ports(port("http", 80, "http")))
	s.wantCounts("web", 1000, 0, 1, endpoints.Truncated)
	s.wantSlicesTotal("web", 1001)
	s.service("some", selecting("some", "yes"))
	s.wantSizes("some", ofPods, 100, 100, 50)

	s.Log("AD-02: no room for the unready pods with another port number")
	for i := 1001; i < 1011; i++ {
		s.editPodStatus(fmt.Sprintf("web-%04d", i), notReady)
		s.editPod(fmt.Sprintf("web-%04d", i), podLabel("app", "web"))
	}
	s.wantSlicesTotal("named", 1011)
	s.wantCounts("named", 1000, 0, 1, endpoints.Truncated)
	s.wantCounts("web", 1000, 0, 1, endpoints.Truncated)

	s.Log("AD-01: truncated Endpoints are not written again")
	s.settle()
	versions := append(s.versions("web"), s.versions("named")...)
	s.quietly(func() {
		s.editService("web", serviceAnnotation("a", "b"))
		s.editService("named", serviceAnnotation("a", "b"))
	})
	if got := append(s.versions("web"), s.versions("named")...); fmt.Sprint(got) != fmt.Sprint(versions) {
		t.Error("Endpoints of too many pods were written again")
	}

	s.Log("EP-88: the missing pod changes its readiness")
	out := s.missingPod("web", 1001)
	for range 10 {
		s.editPodStatus(out, notReady)
		s.editPodStatus(out, ready(true))
	}
	s.must(s.client.CoreV1().Pods(s.ns).DeleteCollection(t.Context(), metav1.DeleteOptions{GracePeriodSeconds: new(int64)},
		metav1.ListOptions{LabelSelector: "app=web,some!=yes"}))
	s.wantCounts("web", 250, 0, 1, "")
	s.wantCounts("named", 250, 0, 1, "")
	s.wantSlicesTotal("web", 250)
}

// wantSlicesTotal waits until the slices of a Service have this number of endpoints.
func (s *fixture) wantSlicesTotal(service string, want int) {
	s.Helper()
	s.eventually(func() error {
		s.Helper()
		got := 0
		for _, slice := range s.slicesOf(service, ofPods) {
			got += len(slice.Endpoints)
		}
		if got != want {
			return fmt.Errorf("slices of %s have %d endpoints, want %d", service, got, want)
		}
		return nil
	})
}

// missingPod returns one of the first n pods that isn't in Endpoints.
func (s *fixture) missingPod(name string, n int) string {
	s.Helper()
	in := map[string]bool{}
	for _, subset := range s.getEndpoints(name).Subsets {
		for _, a := range subset.Addresses {
			in[a.TargetRef.Name] = true
		}
	}
	for i := range n {
		if pod := fmt.Sprintf("web-%04d", i); !in[pod] {
			return pod
		}
	}
	s.Fatal("no pod is left out")
	return ""
}
