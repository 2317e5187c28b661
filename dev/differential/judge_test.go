package main

import "testing"

// Who ends a disagreement is the side whose objects changed, and what lasts has no end.
func TestWhoEndsADisagreement(t *testing.T) {
	less := func(w *clusterState) { w.slices[0].Endpoints = w.slices[0].Endpoints[1:] }
	for name, test := range map[string]struct {
		then                 func(*scenario)
		lasts                duration
		kubernetes, signpost bool
	}{
		"Kubernetes":   {func(s *scenario) { s.kubernetes = exampleState("kubernetes") }, late, true, false},
		"Signpost":     {func(s *scenario) { less(&s.signpost) }, late, false, true},
		"both":         {func(s *scenario) { s.kubernetes.slices, s.signpost.slices = nil, nil }, late, true, true},
		"nobody":       {func(*scenario) {}, forGood, false, false},
		"another kind": {func(s *scenario) { s.kubernetes.endpoints, s.signpost.endpoints = nil, nil }, forGood, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScenario()
			less(&s.kubernetes)
			d := compare(s.kubernetes.outputs(), s.signpost.outputs())[0]
			cases := []circumstances{{disagreement: d, lasts: forGood, clusterStates: clusterStates{s.kubernetes.copied(), s.signpost.copied()}}}
			test.then(s)
			conclude(cases, compare(s.kubernetes.outputs(), s.signpost.outputs()), clusterStates{s.kubernetes, s.signpost}, late)
			if c := cases[0]; c.lasts != test.lasts || c.kubernetesMoved != test.kubernetes || c.signpostMoved != test.signpost {
				t.Errorf("it lasts %q, and Kubernetes moved: %t, Signpost moved: %t; want %q, %t, %t",
					c.lasts, c.kubernetesMoved, c.signpostMoved, test.lasts, test.kubernetes, test.signpost)
			}
		})
	}
}

// copied returns a clusterState whose slices don't change with those of another one.
func (w clusterState) copied() clusterState { return w.withoutPods(func(string) bool { return false }) }
