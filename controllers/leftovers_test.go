package controllers_test

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Slices of a removed selector are deleted if hand-written Endpoints replace it. kube-proxy sent traffic to
// both (finding N5 of controllers).
func TestN5SlicesOfAFormerSelector(t *testing.T) {
	for name, c := range map[string]struct {
		// edit changes the hand-written Endpoints.
		edit func(*corev1.Endpoints)
		// editSlice, if not nil, changes the slice before.
		editSlice        func(*discoveryv1.EndpointSlice)
		mirrored, ofPods string
	}{
		"replaced": {
			edit: func(ep *corev1.Endpoints) {
				ep.Labels, ep.Annotations, ep.Subsets = nil, nil, oneSubset("192.0.2.9")
			},
			mirrored: "192.0.2.9 : 80", ofPods: absent,
		},
		"replaced by the same address": {
			edit: func(ep *corev1.Endpoints) {
				ep.Labels, ep.Annotations, ep.Subsets = nil, nil, oneSubset("10.0.0.1")
			},
			mirrored: "10.0.0.1 : 80", ofPods: absent,
		},
		"applied, which leaves the label": {
			edit:     func(ep *corev1.Endpoints) { ep.Subsets = []corev1.EndpointSubset{subset(80, "10.0.0.1", "192.0.2.9")} },
			mirrored: "10.0.0.1 192.0.2.9 : 80", ofPods: absent,
		},
		"only annotated": {
			edit:     func(ep *corev1.Endpoints) { ep.Annotations = map[string]string{"note": "1"} },
			mirrored: "10.0.0.1 : 8080", ofPods: "10.0.0.1@a : 8080",
		},
		"over capacity": {
			edit: func(ep *corev1.Endpoints) {
				ep.Annotations, ep.Subsets = map[string]string{corev1.EndpointsOverCapacity: "truncated"}, oneSubset("10.0.0.2")
			},
			mirrored: "10.0.0.2 : 80", ofPods: "10.0.0.1@a : 8080",
		},
		"emptied": {
			edit:     func(ep *corev1.Endpoints) { ep.Labels, ep.Subsets = nil, nil },
			mirrored: absent, ofPods: "10.0.0.1@a : 8080",
		},
		"not mirrored": {
			edit: func(ep *corev1.Endpoints) {
				ep.Labels, ep.Subsets = map[string]string{discoveryv1.LabelSkipMirror: "true"}, oneSubset("192.0.2.9")
			},
			mirrored: absent, ofPods: "10.0.0.1@a : 8080",
		},
		"slice without owner": {
			edit:      func(ep *corev1.Endpoints) { ep.Labels, ep.Subsets = nil, oneSubset("192.0.2.9") },
			editSlice: func(e *discoveryv1.EndpointSlice) { e.OwnerReferences = nil },
			mirrored:  "192.0.2.9 : 80", ofPods: "10.0.0.1@a : 8080",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t)
			s.pod("web-0", "web", "10.0.0.1")
			s.service("web")
			s.wantEndpoints("web", "10.0.0.1 : 8080")
			s.wantSlices("web", ofPods, "10.0.0.1@a : 8080")
			s.editService("web", noSelector)
			s.wantSlices("web", ofEndpoints, "10.0.0.1 : 8080")
			if c.editSlice != nil {
				s.settle()
				s.editSlice(s.slicesOf("web", ofPods)[0].Name, c.editSlice)
				s.settle()
			}
			since := s.journal.now()
			s.editEndpoints("web", c.edit)
			s.wantSlices("web", ofEndpoints, c.mirrored)
			s.wantSlices("web", ofPods, c.ofPods)
			s.quietly(func() {})
			s.wantSlices("web", ofPods, c.ofPods)
			s.wantNoWarnings("web", since)

			s.Log("the selector is restored")
			s.editService("web", func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "web"} })
			s.wantSlices("web", ofEndpoints, absent)
			s.wantEndpoints("web", "10.0.0.1 : 8080")
			s.wantSlices("web", ofPods, "10.0.0.1@a : 8080")
		})
	}
}

// Such slices are also found when a term starts, because another program may have led when the Endpoints were
// written.
func TestN5SlicesOfAFormerSelectorAtTheStart(t *testing.T) {
	s := handover(t)
	s.between(func() {
		s.editService("web", noSelector)
		s.editEndpoints("web", func(ep *corev1.Endpoints) { ep.Labels, ep.Subsets = nil, oneSubset("192.0.2.9") })
	})
	s.wantSlices("web", ofEndpoints, "192.0.2.9 : 80")
	s.wantSlices("web", ofPods, absent)
}

// The slices stay if the Service has its selector again, even if the controllers have not seen that yet.
func TestN5RestoredSelector(t *testing.T) {
	s := handover(t)
	s.editService("web", noSelector)
	s.wantSlices("web", ofEndpoints, "10.0.0.1 : 8080")
	s.settle()
	uid := s.slicesOf("web", ofPods)[0].UID
	release := s.watchDelays.hold(t, "services")
	s.editService("web", func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "web"} })
	s.editEndpoints("web", func(ep *corev1.Endpoints) { ep.Labels, ep.Subsets = nil, oneSubset("192.0.2.9") })
	s.wantSlices("web", ofEndpoints, "192.0.2.9 : 80")
	for _, ip := range []string{"10.8.0.1", "10.8.0.2"} {
		s.editPodStatus("other-0", podIPs(ip))
		s.wantSlices("other", ofPods, ip+"@a : 8080")
	}
	release()
	s.wantSlices("web", ofEndpoints, absent)
	s.wantSlices("web", ofPods, "10.0.0.1@a : 8080")
	s.settle()
	if list := s.slicesOf("web", ofPods); len(list) != 1 || list[0].UID != uid {
		t.Errorf("the slice of the pods was deleted: %v", list)
	}
}
