package main

//lint:file-ignore SA1019 Endpoints are deprecated, and one of the kinds that are compared.

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// managedByMirroring is the label of mirrored slices, as a field.
var managedByMirroring = quoted("endpointslicemirroring-controller.k8s.io")

// mirroringOfKubernetesIsLate: only mirrored slices differ, the Endpoints are the same, and Signpost's slices
// have exactly their addresses.
func mirroringOfKubernetesIsLate(c circumstances) bool {
	return c.liveService() != nil && !c.selectsPods() && c.isMirrored() && !c.differs(kindEndpoints) &&
		c.inSignpost.mirrorsAll(c.service) && !c.inKubernetes.mirrorsAll(c.service)
}

// mirrorsAll reports whether the mirrored slices of a Service have exactly what its Endpoints say.
func (w clusterState) mirrorsAll(service string) bool {
	return maps.Equal(w.mirrorable(service), w.mirrored(service))
}

// mirrorable returns the addresses that mirrored slices of a Service should have, each with each of its
// ports. In which slices they are is another matter: addresses with the same ports may share one.
func (w clusterState) mirrorable(service string) map[string]bool {
	all := map[string]bool{}
	for _, e := range w.endpoints {
		_, elects := e.Annotations["control-plane.alpha.kubernetes.io/leader"]
		if e.Name != service || e.Labels[discoveryv1.LabelSkipMirror] == "true" || elects {
			continue
		}
		for _, subset := range e.Subsets {
			for _, a := range slices.Concat(subset.Addresses, subset.NotReadyAddresses) {
				for _, p := range subset.Ports {
					all[fmt.Sprintf("%s %s %d/%s", a.IP, p.Name, p.Port, p.Protocol)] = true
				}
				if len(subset.Ports) == 0 {
					all[a.IP] = true
				}
			}
		}
	}
	return all
}

// mirrored returns the addresses that mirrored slices of a Service have, each with each of its ports.
func (w clusterState) mirrored(service string) map[string]bool {
	all := map[string]bool{}
	for _, s := range w.slices {
		if s.Labels[discoveryv1.LabelServiceName] != service || quoted(s.Labels[discoveryv1.LabelManagedBy]) != managedByMirroring {
			continue
		}
		for _, e := range s.Endpoints {
			for _, p := range s.Ports {
				all[fmt.Sprintf("%s %s %d/%s", e.Addresses[0], *p.Name, *p.Port, *p.Protocol)] = true
			}
			if len(s.Ports) == 0 {
				all[e.Addresses[0]] = true
			}
		}
	}
	return all
}

// takesSelector reports whether an operation takes the selector from a Service, or makes it one without.
func takesSelector(o operation, service string) bool {
	switch o := o.(type) {
	case handOver:
		return o.Service == service
	case putService:
		return o.Service == service && (len(o.wanted.Spec.Selector) == 0 || o.external)
	default:
		return false
	}
}

// overwroteByHand reports whether Signpost doesn't have the Endpoints that were written by hand in this step,
// although the Service has no selector, so that nobody should have touched them. Their slices then differ,
// too.
func (c circumstances) overwroteByHand() bool {
	wanted := c.byHand()
	return wanted != nil && c.differs(kindEndpoints) && !c.inSignpost.hasWritten(wanted)
}

// kubernetesOverwrites: Signpost has the Endpoints that were written by hand in this step, with their slices,
// and Kubernetes has others.
func kubernetesOverwrites(c circumstances) bool {
	wanted := c.byHand()
	if wanted == nil || !c.inSignpost.hasWritten(wanted) || c.inKubernetes.hasWritten(wanted) {
		return false
	}
	return c.kind == kindEndpoints || c.isMirrored() && c.inSignpost.mirrorsAll(c.service)
}

// leftoversAreDeleted: Kubernetes has slices for a selector that the Service no longer has, which Signpost
// lacks, and its Endpoints were written by hand in this step or before. Mirrored slices may differ for one of
// the reasons above.
func leftoversAreDeleted(c circumstances) bool {
	service := c.liveService()
	if c.kind != kindSlice || service == nil || len(service.Spec.Selector) > 0 || !c.wroteByHand() {
		return false
	}
	rest := c
	rest.kubernetes = slices.DeleteFunc(slices.Clone(c.kubernetes), output.isOfPods)
	if len(rest.kubernetes) == len(c.kubernetes) {
		return false
	}
	return len(rest.kubernetes)+len(rest.signpost) == 0 || mirroringOfKubernetesIsLate(rest) || kubernetesOverwrites(rest)
}

// isOfPods reports whether an output is a slice for a selector.
func (o output) isOfPods() bool {
	return o.fields["label "+discoveryv1.LabelManagedBy] == quoted("endpointslice-controller.k8s.io")
}

// wroteByHand reports whether somebody has written the Endpoints of the Service in any step.
func (c circumstances) wroteByHand() bool {
	return slices.ContainsFunc(slices.Concat(c.played...), func(o operation) bool { return writesByHand(o, c.service) })
}

// byHand returns what was last written by hand in this step to the Endpoints of the Service. It is nil if
// nothing was, or if the Service has a selector.
func (c circumstances) byHand() *corev1.Endpoints {
	if c.liveService() == nil || c.selectsPods() {
		return nil
	}
	for _, o := range slices.Backward(c.played[len(c.played)-1]) {
		switch o := o.(type) {
		case handOver:
			if o.Service == c.service {
				return o.wanted
			}
		case writeEndpoints:
			if o.Service == c.service {
				return o.wanted
			}
		case deleteEndpoints:
			if o.Service == c.service {
				return nil
			}
		}
	}
	return nil
}

// hasWritten reports whether the Endpoints are there as they were written.
func (w clusterState) hasWritten(wanted *corev1.Endpoints) bool {
	return slices.ContainsFunc(w.endpoints, func(e *corev1.Endpoints) bool {
		same := len(e.Subsets) == 0 && len(wanted.Subsets) == 0 || canonical(e.Subsets) == canonical(wanted.Subsets)
		return e.Name == wanted.Name && same && maps.Equal(e.Labels, wanted.Labels) && maps.Equal(e.Annotations, wanted.Annotations)
	})
}

func writesByHand(o operation, service string) bool {
	switch o := o.(type) {
	case handOver:
		return o.Service == service
	case writeEndpoints:
		return o.Service == service
	default:
		return false
	}
}

// key is what a disagreement is about.
func (d disagreement) key() [2]string { return [2]string{d.kind, d.service} }

// lasts reports whether the disagreements have one about the same.
func lasts(found []disagreement, key [2]string) bool {
	return slices.ContainsFunc(found, func(d disagreement) bool { return d.key() == key })
}
