package controllers_test

//lint:file-ignore SA1019 Endpoints are deprecated, and what one of the controllers writes.

import (
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Slices of each manager for Services with and without a selector (MI-25).
func TestMI25Mirroring(t *testing.T) {
	for name, c := range map[string]struct {
		service      []func(*corev1.Service) // nil: there is none
		subsets      []corev1.EndpointSubset
		ofPods, byUs string
	}{
		"selector": {service: []func(*corev1.Service){}, ofPods: ":", byUs: absent},
		"no selector": {
			service: []func(*corev1.Service){noSelector}, subsets: oneSubset("10.0.0.1"),
			ofPods: absent, byUs: "10.0.0.1 : 80",
		},
		"two subsets, same address": {
			service: []func(*corev1.Service){noSelector},
			subsets: []corev1.EndpointSubset{namedSubset("a", 80, "10.0.0.1"), namedSubset("b", 443, "10.0.0.1")},
			ofPods:  absent, byUs: "10.0.0.1 : a=80 b=443",
		},
		"two subsets, two addresses": {
			service: []func(*corev1.Service){noSelector},
			subsets: []corev1.EndpointSubset{namedSubset("a", 80, "10.0.0.1"), namedSubset("b", 443, "10.0.0.2")},
			ofPods:  absent, byUs: "10.0.0.1 : a=80 | 10.0.0.2 : b=443",
		},
		"two families (MI-17)": {
			service: []func(*corev1.Service){noSelector}, subsets: []corev1.EndpointSubset{subset(80, "10.0.0.1", "2001:db8::1")},
			ofPods: absent, byUs: "10.0.0.1 : 80 | IPv6 2001:db8::1 : 80",
		},
		"ExternalName without selector": {
			service: []func(*corev1.Service){externalName, noSelector}, subsets: oneSubset("10.0.0.1"),
			ofPods: absent, byUs: "10.0.0.1 : 80",
		},
		"no Service (MI-03)": {subsets: oneSubset("10.0.0.1"), ofPods: absent, byUs: absent},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t)
			if c.subsets != nil {
				s.endpoints("web", c.subsets)
			}
			if c.service != nil {
				s.service("web", c.service...)
			}
			s.wantSlices("web", ofEndpoints, c.byUs)
			s.settle()
			s.wantSlices("web", ofEndpoints, c.byUs)
			s.wantSlices("web", ofPods, c.ofPods)
		})
	}
}

func namedSubset(port string, number int32, ip string) corev1.EndpointSubset {
	list := subset(number, ip)
	list.Ports[0].Name = port
	return list
}

// The mirrored slice follows its Endpoints (MI-26, MI-02, MI-08, MI-20).
func TestMI26SliceFollowsEndpoints(t *testing.T) {
	s := play(t)
	s.service("web", noSelector)
	s.endpoints("web", oneSubset("10.0.0.1"))
	s.wantSlices("web", ofEndpoints, "10.0.0.1 : 80")
	uid := s.slicesOf("web", ofEndpoints)[0].UID

	s.editEndpoints("web", func(ep *corev1.Endpoints) { ep.Labels = map[string]string{"team": "a"} })
	s.wantMirrored("labels", func(e *discoveryv1.EndpointSlice) bool { return e.Labels["team"] == "a" && len(e.Labels) == 3 })
	s.editEndpoints("web", func(ep *corev1.Endpoints) { ep.Labels = nil })
	s.wantMirrored("no labels", func(e *discoveryv1.EndpointSlice) bool { return len(e.Labels) == 2 })

	s.editEndpoints("web", func(ep *corev1.Endpoints) {
		ep.Annotations = map[string]string{
			"note": "1", corev1.EndpointsLastChangeTriggerTime: "2020-01-01T00:00:00Z", corev1.LastAppliedConfigAnnotation: "{}",
		}
	})
	s.wantMirrored("annotations", func(e *discoveryv1.EndpointSlice) bool {
		return maps.Equal(e.Annotations, map[string]string{"note": "1"})
	})
	s.quietly(func() {
		s.editEndpoints("web", func(ep *corev1.Endpoints) {
			ep.Annotations[corev1.EndpointsLastChangeTriggerTime] = "2020-01-01T00:00:01Z"
		})
	})
	s.editEndpoints("web", func(ep *corev1.Endpoints) {
		ep.Subsets[0].NotReadyAddresses = []corev1.EndpointAddress{{IP: "10.0.0.2"}}
	})
	s.wantSlices("web", ofEndpoints, "!10.0.0.2 10.0.0.1 : 80")
	if got := s.slicesOf("web", ofEndpoints)[0].UID; got != uid {
		t.Error("there is another slice, want the same")
	}

	s.Log("Endpoints with the label skip-mirror, or with a leader election lock")
	s.editEndpoints("web", func(ep *corev1.Endpoints) { ep.Labels = map[string]string{discoveryv1.LabelSkipMirror: "true"} })
	s.wantSlices("web", ofEndpoints, absent)
	s.editEndpoints("web", func(ep *corev1.Endpoints) { ep.Labels[discoveryv1.LabelSkipMirror] = "false" })
	s.wantSlices("web", ofEndpoints, "!10.0.0.2 10.0.0.1 : 80")
	s.editEndpoints("web", func(ep *corev1.Endpoints) {
		ep.Annotations["control-plane.alpha.kubernetes.io/leader"] = "{}"
	})
	s.wantSlices("web", ofEndpoints, absent)
	s.editEndpoints("web", func(ep *corev1.Endpoints) { ep.Annotations = nil })
	s.wantSlices("web", ofEndpoints, "!10.0.0.2 10.0.0.1 : 80")

	s.Log("deleted Endpoints")
	s.deleteEndpoints("web")
	s.wantSlices("web", ofEndpoints, absent)
	s.endpoints("web", oneSubset("10.0.0.3"))
	s.wantSlices("web", ofEndpoints, "10.0.0.3 : 80")
	s.deleteService("web")
	s.wantSlices("web", ofEndpoints, absent)
	s.quietly(func() {})
}

// wantMirrored waits until the mirrored slice meets a condition.
func (s *fixture) wantMirrored(what string, is func(*discoveryv1.EndpointSlice) bool) {
	s.Helper()
	s.eventually(func() error {
		s.Helper()
		list := s.slicesOf("web", ofEndpoints)
		if len(list) != 1 || !is(&list[0]) {
			return fmt.Errorf("%s: slices are %v", what, list)
		}
		return nil
	})
}

// Endpoints are mirrored while the Service has no selector (MI-27).
func TestMI27SelectorAddedAndRemoved(t *testing.T) {
	selector := func(selector map[string]string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.Selector = selector }
	}
	some := map[string]string{"foo": "bar"}
	for name, c := range map[string]struct {
		from, to     map[string]string
		before, then string
	}{
		"nil to some":   {nil, some, "10.0.0.1 : 80", absent},
		"empty to some": {map[string]string{}, some, "10.0.0.1 : 80", absent},
		"some to nil":   {some, nil, absent, "10.0.0.1 : 8080"},
		"some to empty": {some, map[string]string{}, absent, "10.0.0.1 : 8080"},
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t)
			s.pod("web-0", "web", "10.0.0.1", podLabel("foo", "bar"))
			s.service("web", selector(c.from))
			if c.from["foo"] == "" {
				s.endpoints("web", oneSubset("10.0.0.1"))
				s.wantSlices("web", ofEndpoints, c.before)
			} else {
				s.wantEndpoints("web", "10.0.0.1 : 8080")
				s.wantSlices("web", ofPods, "10.0.0.1@a : 8080")
			}
			s.editService("web", selector(c.to))
			s.wantSlices("web", ofEndpoints, c.then)
			s.quietly(func() {})
			// The slices of the selector stay (K3).
			s.wantSlices("web", ofPods, "10.0.0.1@a : 8080")
			s.wantEndpoints("web", "10.0.0.1 : 8080")
		})
	}
}
