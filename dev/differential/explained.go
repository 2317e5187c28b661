package main

//lint:file-ignore SA1019 Endpoints are deprecated, and one of the kinds that are compared.

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// duration says how long a disagreement lasts.
type duration string

const (
	untilTouched duration = "until its Service is touched"
	sinceTouched duration = "since its Service was touched"
	forGood      duration = "for good"
	late         duration = "for a while" // and then it went by itself
)

// circumstances are a disagreement and what is known about it.
type circumstances struct {
	disagreement
	lasts duration
	// kubernetesMoved and signpostMoved say in which clusters the objects changed before the disagreement was
	// gone.
	kubernetesMoved, signpostMoved bool
	// played are all steps so far. The last of them led to the disagreement.
	played []step
	// agreed are the outputs when both clusters last agreed.
	agreed []output
	clusterStates
}

// clusterStates is what the namespace had, in both clusters, when the disagreement was found.
type clusterStates struct{ inKubernetes, inSignpost clusterState }

// reason explains a difference from Kubernetes that is intended, or that is none of Signpost's.
type reason struct {
	// name is what is counted in the summary.
	name string
	// why says what the two do.
	why string
	// documented is where users can read it: a page, and what it says.
	documented string
	// explains reports whether it is the reason. It says yes to as little as possible.
	explains func(circumstances) bool
}

// reasons are all reasons. The first that explains a disagreement is counted.
var reasons = []reason{
	{
		name:       "headless label put right",
		why:        "Kubernetes leaves the headless label of Endpoints when the Service becomes headless or no longer is; Signpost writes it.",
		documented: `docs/controllers.md: "A headless label on Endpoints that is wrong or missing is repaired"`,
		explains:   headlessLabelPutRight,
	},
	{
		name:       "ended pod leaves at once",
		why:        "A pod that Succeeded or Failed stays with Kubernetes until something else changes; with Signpost it leaves at once.",
		documented: `docs/controllers.md: "A pod that is not ready and has Succeeded or Failed leaves at once"`,
		explains:   endedPodLeaves,
	},
	{
		name: "selector taken away during a change",
		why: "What was written for a Service stays when it loses its selector. If something else changed in the same moment, it depends on " +
			"timing whether that was written too, with either.",
		documented: `docs/controllers.md: "If something else changed in the same moment, either may or may not have written that before"`,
		explains:   selectorTakenDuringChange,
	},
	{
		name: "Kubernetes lacks all slices of a family",
		why: "When slices are deleted just when they are written, or their Service is deleted and created again, Kubernetes may be left " +
			"without any slice of a family, although there is always one. Signpost has them.",
		documented: `docs/controllers.md: "Kubernetes may be left without any slice of a family"`,
		explains:   kubernetesLacksFamily,
	},
	{
		name: "mirroring of Kubernetes is late",
		why: "When Endpoints written by hand change twice in a short time, Kubernetes may fail to write their slices until it tries again, " +
			"seconds or minutes later. Signpost's slices are exactly what the Endpoints say.",
		documented: `docs/controllers.md: "The slices of hand-written Endpoints follow every change at once"`,
		explains:   mirroringOfKubernetesIsLate,
	},
	{
		name: "Kubernetes overwrites Endpoints written by hand",
		why: "When Endpoints are written by hand just after their Service has lost its selector, Kubernetes may still write what the selector " +
			"gave, and leaves that. Signpost has what was written by hand.",
		documented: `docs/controllers.md: "Kubernetes sometimes overwrites Endpoints that are written by hand just after their Service has lost its selector"`,
		explains:   kubernetesOverwrites,
	},
	{
		name: "slices of a former selector are deleted",
		why: "When somebody writes the Endpoints of a Service that has lost its selector, Kubernetes leaves the slices of the selector beside " +
			"the mirrored ones. Signpost deletes them.",
		documented: `docs/controllers.md: "If a Service loses its selector and somebody writes its Endpoints, the slices of the selector are deleted."`,
		explains:   leftoversAreDeleted,
	},
	{
		name: "Kubernetes is late",
		why: "Kubernetes writes what Signpost has already, seconds later, and nothing else has happened in between. Its controllers put off " +
			"what they can't write yet, because their caches lag or their requests are limited, for longer and longer.",
		documented: `docs/controllers.md: "The Kubernetes controllers retry after a second"`,
		explains:   kubernetesIsLate,
	},
	{
		name: "repair is put off",
		why: "What somebody else deletes is written again: with Kubernetes after a second, with Signpost at once, and after up to five " +
			"seconds while it happens to the same Service again.",
		documented: `docs/controllers.md: "When somebody else edits or deletes EndpointSlices, or the Endpoints of a Service that selects pods, they are repaired"`,
		explains:   repairIsPutOff,
	},
	{
		name: "empty label put right",
		why: "Kubernetes leaves the headless label of a slice, and other labels with an empty value of a slice without endpoints, until it " +
			"writes the slice for another reason. Signpost puts them right.",
		documented: `docs/controllers.md: "The label of headless Services, with which kube-proxy ignores a slice, is put right at once in EndpointSlices."`,
		explains:   emptyLabelUnseen,
	},
	{
		name: "pods of a deleted node stay",
		why: "When the object of a node is deleted, Kubernetes takes the endpoints of its running pods away with the next sync of their " +
			"Service, and knows a zone that is new only then. Signpost keeps the endpoints, and writes the zone at once.",
		documented: `docs/controllers.md: "When a Node object is deleted, the endpoints of its running pods stay"`,
		explains:   podsOfDeletedNodeStay,
	},
}

// explain returns the first reason for a disagreement.
func explain(c circumstances) (reason, bool) {
	for _, r := range reasons {
		if r.explains(c) {
			return r, true
		}
	}
	return reason{}, false
}

// looksLike names a disagreement that nothing explains, for the summary.
func (c circumstances) looksLike() string {
	if c.overwroteByHand() {
		return "Endpoints written by hand are overwritten"
	}
	return c.kind + " differ " + string(c.lasts)
}

// liveService returns the Service in the cluster of Signpost, or nil.
func (c circumstances) liveService() *corev1.Service {
	for _, s := range c.inSignpost.services {
		if s.Name == c.service {
			return s
		}
	}
	return nil
}

// selectsPods reports whether the Service exists and has its outputs written from pods.
func (c circumstances) selectsPods() bool {
	s := c.liveService()
	return s != nil && len(s.Spec.Selector) > 0 && s.Spec.Type != corev1.ServiceTypeExternalName
}

// pair returns the outputs if there is exactly one on each side.
func (d disagreement) pair() (kubernetes, signpost output, ok bool) {
	if len(d.kubernetes) != 1 || len(d.signpost) != 1 {
		return output{}, output{}, false
	}
	return d.kubernetes[0], d.signpost[0], true
}

const headlessField = "label " + corev1.IsHeadlessService

// headlessLabelPutRight: nothing but the headless label differs, and Signpost's is what the Service says.
func headlessLabelPutRight(c circumstances) bool {
	k, s, ok := c.pair()
	if c.kind != kindEndpoints || !ok || !c.selectsPods() || !slices.Equal(differing(k, s), []string{headlessField}) {
		return false
	}
	label, has := s.fields[headlessField]
	return has == c.wantsEmptyLabel(corev1.IsHeadlessService) && (!has || label == quoted(""))
}

// endedPodLeaves: what Kubernetes has more are pods that have ended, until it looks at the Service again.
func endedPodLeaves(c circumstances) bool {
	if c.lasts != untilTouched || !c.selectsPods() {
		return false
	}
	ended := func(name string) bool {
		return slices.ContainsFunc(c.inKubernetes.pods, func(p *corev1.Pod) bool {
			return p.Name == name && isEnded(p.Status.Phase)
		})
	}
	nobody := func(string) bool { return false }
	here := c.inSignpost.withoutPods(ended).outputs()
	if lasts(compare(c.inSignpost.withoutPods(nobody).outputs(), here), c.key()) {
		return false // Signpost has one of them
	}
	return !lasts(compare(c.inKubernetes.withoutPods(ended).outputs(), here), c.key())
}

// withoutPods returns the clusterState with no address of these pods, and no subset or slice without an
// address.
func (w clusterState) withoutPods(gone func(name string) bool) clusterState {
	isGone := func(r *corev1.ObjectReference) bool { return r != nil && r.Kind == "Pod" && gone(r.Name) }
	isGoneAddress := func(a corev1.EndpointAddress) bool { return isGone(a.TargetRef) }
	less := w
	less.endpoints, less.slices = nil, nil
	for _, e := range w.endpoints {
		e = e.DeepCopy()
		for i := range e.Subsets {
			e.Subsets[i].Addresses = slices.DeleteFunc(e.Subsets[i].Addresses, isGoneAddress)
			e.Subsets[i].NotReadyAddresses = slices.DeleteFunc(e.Subsets[i].NotReadyAddresses, isGoneAddress)
		}
		e.Subsets = slices.DeleteFunc(e.Subsets, func(s corev1.EndpointSubset) bool { return len(s.Addresses)+len(s.NotReadyAddresses) == 0 })
		less.endpoints = append(less.endpoints, e)
	}
	for _, s := range w.slices {
		s = s.DeepCopy()
		s.Endpoints = slices.DeleteFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool { return isGone(e.TargetRef) })
		if len(s.Endpoints) > 0 {
			less.slices = append(less.slices, s)
		}
	}
	return less
}

// selectorTakenDuringChange: the Service has lost its selector in this step, shortly after or before
// something else that concerns what is written for the selector. Controllers see Services and pods by watches
// of their own, in any order. If that was one thing, one side still has what both had before. What was
// mirrored of what was left is as different.
func selectorTakenDuringChange(c circumstances) bool {
	if c.liveService() == nil || c.selectsPods() || c.overwroteByHand() {
		return false
	}
	last := c.played[len(c.played)-1]
	taken := slices.IndexFunc(last, func(o operation) bool { return takesSelector(o, c.service) })
	if taken < 0 {
		return false
	}
	others := slices.Concat(last[:taken], last[taken+1:])
	switch changes := only([]step{others}, func(o operation) bool { return o.concerns(c.service) && !writesByHand(o, c.service) })[0]; {
	case len(changes) == 0:
		return false
	case c.isMirrored():
		return c.differs(kindEndpoints) && c.inKubernetes.mirrorsAll(c.service) && c.inSignpost.mirrorsAll(c.service)
	case len(changes) == 1 && isOneWrite(changes[0]):
		return c.wereAgreed(c.kubernetes) || c.wereAgreed(c.signpost)
	default:
		return true
	}
}

// isOneWrite reports whether an operation shows controllers one new state. The others show two: a pod that is
// deleted terminates before it is gone, and what is deleted of controllers is written again.
func isOneWrite(o operation) bool {
	switch o.(type) {
	case putService, setStatus, relabel:
		return true
	default:
		return false
	}
}

// wereAgreed reports whether both clusters had these outputs when they last agreed.
func (c circumstances) wereAgreed(list []output) bool {
	// A pod that was there then may have gone since.
	plain := func(o output) string { return strings.ReplaceAll(o.text(), `"uid":"former"`, `"uid":"present"`) }
	then := map[string]bool{}
	for _, o := range c.agreed {
		then[plain(o)] = true
	}
	return !slices.ContainsFunc(list, func(o output) bool { return !then[plain(o)] })
}

// differs reports whether outputs of a kind differ for the same Service.
func (c circumstances) differs(kind string) bool {
	return lasts(compare(c.inKubernetes.outputs(), c.inSignpost.outputs()), [2]string{kind, c.service})
}

// isMirrored reports whether all that differs are mirrored slices.
func (c circumstances) isMirrored() bool {
	return c.kind == kindSlice && !slices.ContainsFunc(slices.Concat(c.kubernetes, c.signpost), func(o output) bool {
		return o.fields["label "+discoveryv1.LabelManagedBy] != managedByMirroring
	})
}

// kubernetesLacksFamily: the Service was deleted in this step and put again, or its slices were deleted, and
// something else changed that concerns it. Nothing differs but that Kubernetes lacks the slices of a family
// that the Service has.
func kubernetesLacksFamily(c circumstances) bool {
	last := c.played[len(c.played)-1]
	serviceGone, slicesGone := slices.Contains(last, operation(deleteService{onService{c.service}})), slices.Contains(last, operation(deleteSlices{onService{c.service}}))
	put := slices.ContainsFunc(last, func(o operation) bool { p, ok := o.(putService); return ok && p.Service == c.service })
	changed := slices.ContainsFunc(last, func(o operation) bool {
		_, isDeletion := o.(deleteSlices)
		return !isDeletion && o.concerns(c.service)
	})
	if !(serviceGone && put || slicesGone && changed) || c.kind != kindSlice || !c.selectsPods() || len(c.kubernetes) > 0 {
		return false
	}
	for _, o := range c.signpost {
		family := o.fields["address type"]
		if !o.isOfPods() || c.inKubernetes.hasSlices(c.service, family) ||
			!slices.Contains(c.liveService().Spec.IPFamilies, corev1.IPFamily(family)) {
			return false
		}
	}
	return true
}

// hasSlices reports whether a Service has a slice of a family that was written for its selector.
func (w clusterState) hasSlices(service, family string) bool {
	return slices.ContainsFunc(w.slices, func(s *discoveryv1.EndpointSlice) bool {
		return s.Labels[discoveryv1.LabelServiceName] == service && string(s.AddressType) == family &&
			s.Labels[discoveryv1.LabelManagedBy] == "endpointslice-controller.k8s.io"
	})
}

// kubernetesIsLate: the disagreement went by itself, because Kubernetes wrote what Signpost had all the time.
func kubernetesIsLate(c circumstances) bool {
	return c.lasts == late && c.kubernetesMoved && !c.signpostMoved
}

// repairIsPutOff: objects of this Service were deleted in this step, Signpost lacks some, has nothing else,
// and has them in the end.
func repairIsPutOff(c circumstances) bool {
	if c.lasts != late || len(c.signpost) > 0 {
		return false
	}
	return slices.ContainsFunc(c.played[len(c.played)-1], func(o operation) bool {
		switch o := o.(type) {
		case deleteSlices:
			return c.kind == kindSlice && o.Service == c.service
		case deleteEndpoints:
			return c.kind == kindEndpoints && o.Service == c.service
		default:
			return false
		}
	})
}

// emptyLabelUnseen: the slices are the same but for labels with an empty value, which are right
// with Signpost.
func emptyLabelUnseen(c circumstances) bool {
	if c.kind != kindSlice || !c.selectsPods() || len(c.kubernetes) != len(c.signpost) {
		return false
	}
	ours := slices.Clone(c.signpost)
	for _, theirs := range c.kubernetes {
		i := mostAlike(theirs, ours)
		if !c.differByEmptyLabels(theirs, ours[i]) {
			return false
		}
		ours = slices.Delete(ours, i, i+1)
	}
	return true
}

// differByEmptyLabels reports whether two outputs differ in nothing but labels with empty values, which the
// second output has if the Service wants them.
func (c circumstances) differByEmptyLabels(theirs, ours output) bool {
	return !slices.ContainsFunc(differing(theirs, ours), func(field string) bool {
		label, isLabel := strings.CutPrefix(field, "label ")
		before, there := theirs.fields[field]
		now, here := ours.fields[field]
		return !isLabel || there && here || before+now != quoted("") || here != c.wantsEmptyLabel(label)
	})
}

// wantsEmptyLabel reports whether the slices of the Service should have a label with an empty value.
func (c circumstances) wantsEmptyLabel(label string) bool {
	s := c.liveService()
	if label == corev1.IsHeadlessService {
		return s.Spec.ClusterIP == corev1.ClusterIPNone
	}
	value, has := s.Labels[label]
	return has && value == ""
}
