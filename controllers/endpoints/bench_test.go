package endpoints

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func BenchmarkPlan(b *testing.B) {
	named := withPorts(namedTarget("a", "a"), namedTarget("b", "b"))
	for name, bc := range map[string]struct {
		service *corev1.Service
		pods    []*corev1.Pod
		settled bool // there is nothing to write
	}{
		"50 pods, unchanged":                     {serviceFoo(), manyPods(50), true},
		"20 pods, create":                        {serviceFoo(), manyPods(20), false},
		"1000 pods, unchanged":                   {serviceFoo(), manyPods(1000), true},
		"50 pods, two ports with names, settled": {serviceFoo(named), manyPods(50, exposing("a", 1), exposing("b", 2)), true},
	} {
		b.Run(name, func(b *testing.B) {
			pods := watchedPods(bc.pods)
			want := Create
			var current *corev1.Endpoints
			if bc.settled {
				_, current = Plan(bc.service, pods, nil, time.Time{})
				want, current.ResourceVersion = None, "1"
			}
			b.ReportAllocs()
			for b.Loop() {
				if action, _ := Plan(bc.service, pods, current, time.Time{}); action != want {
					b.Fatal(action)
				}
			}
		})
	}
}
