package endpoints

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

func drawService() *rapid.Generator[*corev1.Service] {
	ports := rapid.SliceOfN(rapid.SampledFrom([]corev1.ServicePort{
		servicePort("x", 80, 8080, corev1.ProtocolTCP), servicePort("y", 81, 8081, corev1.ProtocolUDP),
		namedTarget("a", "a"), namedTarget("b", "b"),
	}), 0, 3)
	labels := rapid.SampledFrom([]map[string]string{nil, mapOf("k", "v"), mapOf(HeadlessLabel, "x", ManagedByLabel, "x")})
	return rapid.Custom(func(t *rapid.T) *corev1.Service {
		s := serviceFoo(
			clusterIP(rapid.SampledFrom([]string{"", "None", v4IP, v6IP}).Draw(t, "cluster IP")),
			withPorts(ports.Draw(t, "ports")...),
		)
		s.Labels = labels.Draw(t, "labels")
		s.Spec.PublishNotReadyAddresses = rapid.Bool().Draw(t, "publish not ready")
		s.Spec.IPFamilies = rapid.SampledFrom([][]corev1.IPFamily{nil, families(corev1.IPv4Protocol), families(corev1.IPv6Protocol)}).Draw(t, "families")
		return s
	})
}

// drawPods draws pods that share IPs and port names, and differ in UIDs.
func drawPods(most int) *rapid.Generator[[]*corev1.Pod] {
	edits := rapid.SliceOfN(rapid.SampledFrom([]func(*corev1.Pod){
		notReady, terminating, phase(corev1.PodFailed), phase(corev1.PodPending),
		podIPs("10.0.0.1"), podIPs("10.0.0.2", "fd00::2"), podIPs("fd00::3"), podIPs(),
		exposing("a", 1), exposing("a", 2), exposing("b", 1), exposing("b", 3),
		func(p *corev1.Pod) { p.Spec.NodeName = "" },
		func(p *corev1.Pod) { p.Spec.Hostname, p.Spec.Subdomain = "host", "foo" },
	}), 0, 4)
	return rapid.Custom(func(t *rapid.T) []*corev1.Pod {
		var list []*corev1.Pod
		for i := range rapid.IntRange(0, most).Draw(t, "pods") {
			list = append(list, pod(i, edits.Draw(t, fmt.Sprint("pod ", i))...))
		}
		return list
	})
}

// Planning again is a no-op (see planned). The order of pods and the former contents of the Endpoints make no
// difference.
func TestPlanIgnoresOrderAndHistory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		service, list := drawService().Draw(rt, "service"), drawPods(6).Draw(rt, "pods")
		first := planned(rt, service, list, nil, later)
		shuffled := rapid.Permutation(list).Draw(rt, "shuffled")
		if diff := cmp.Diff(first, planned(rt, service, shuffled, nil, later)); diff != "" {
			rt.Errorf("another order of pods (-first +second):\n%s", diff)
		}
		_, current := Plan(drawService().Draw(rt, "service before"), watchedPods(drawPods(6).Draw(rt, "pods before")), nil, later)
		current.ResourceVersion, current.UID = "1", types.UID("uid")
		second := planned(rt, service, list, current, later)
		if second.Action == None {
			second.Endpoints = current
		}
		if diff := cmp.Diff(first.Endpoints.Subsets, second.Endpoints.Subsets); diff != "" {
			rt.Errorf("subsets after others (-new +updated):\n%s", diff)
		}
		if diff := cmp.Diff(first.Endpoints.Labels, second.Endpoints.Labels); diff != "" {
			rt.Errorf("labels after others (-new +updated):\n%s", diff)
		}
	})
}

// Truncation is deterministic, too, with ports in several subsets.
func TestPlanTruncatesDeterministically(t *testing.T) {
	list := manyPods(900, exposing("a", 1), exposing("b", 2))
	for i := range 300 {
		list = append(list, pod(900+i, exposing("a", 1)), pod(1200+i, exposing("a", 2), notReady))
	}
	service := serviceFoo(withPorts(namedTarget("a", "a"), namedTarget("b", "b")))
	first := planned(t, service, list, nil, time.Time{})
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	if diff := cmp.Diff(first, planned(t, service, list, nil, time.Time{})); diff != "" {
		t.Errorf("another order of pods (-first +second):\n%s", diff)
	}
	if ready, notReady := addressesIn(first); ready != Capacity || notReady != 0 {
		t.Errorf("got %d ready and %d not ready, want as many as there is capacity for", ready, notReady)
	}
}
