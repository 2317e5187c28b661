package whyserved

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/signpostd/signpost/internal/inspect"
)

// readySteps say how many of the selected pods are ready.
func readySteps(f *facts) []inspect.Step {
	ready := 0
	var lines []string
	first := ""
	for i := range f.matched.pods {
		why := notReady(&f.matched.pods[i])
		if why == "" {
			ready++
			continue
		}
		if first == "" {
			first = why
		}
		if len(lines) < maxShown {
			lines = append(lines, f.matched.pods[i].Name+": "+why)
		}
	}
	all := podCount(f.matched)
	switch {
	case ready == len(f.matched.pods):
		return []inspect.Step{step("Pods", inspect.StepWell, fmt.Sprintf("%s ready", withVerb(ready, "pod", "pods")), nil)}
	case f.service.Spec.PublishNotReadyAddresses:
		s := step("Pods", inspect.StepNote, fmt.Sprintf("%d of %s are ready, and the Service publishes those that aren't, too", ready, all), nil)
		s.More = lines
		return []inspect.Step{s}
	case ready == 0:
		s := step("Pods", inspect.StepWrong, fmt.Sprintf("none of the %s is ready (%s): look at kubectl describe pod, and at the readiness probe", all, first), nil)
		if len(f.matched.pods) == 1 {
			s.Text = fmt.Sprintf("the only pod, %s, is not ready (%s): look at kubectl describe pod, and at the readiness probe", f.matched.pods[0].Name, first)
		}
		s.More = lines
		return []inspect.Step{s}
	default:
		s := step("Pods", inspect.StepNote, fmt.Sprintf("%d of %s are ready", ready, all), nil)
		s.More = lines
		return []inspect.Step{s}
	}
}

func withVerb(n int, one, many string) string {
	if n == 1 {
		return "1 " + one + " is"
	}
	return fmt.Sprintf("%d %s are", n, many)
}

// notReady says why a pod isn't ready; empty if it is.
func notReady(p *corev1.Pod) string {
	if p.DeletionTimestamp != nil {
		return "it is being deleted"
	}
	switch p.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed:
		return "its containers have ended: phase " + string(p.Status.Phase)
	}
	var ready *corev1.PodCondition
	for i := range p.Status.Conditions {
		c := &p.Status.Conditions[i]
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return "it can't be scheduled: " + short(c.Reason+" "+c.Message)
		}
		if c.Type == corev1.PodReady {
			ready = c
		}
	}
	if ready != nil && ready.Status == corev1.ConditionTrue {
		return ""
	}
	for _, all := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range all {
			if waiting := all[i].State.Waiting; waiting != nil && waiting.Reason != "" {
				return fmt.Sprintf("the container %s waits: %s", all[i].Name, short(waiting.Reason))
			}
		}
	}
	for i := range p.Status.ContainerStatuses {
		if c := &p.Status.ContainerStatuses[i]; !c.Ready && c.State.Running != nil {
			return fmt.Sprintf("the readiness probe of the container %s fails, or has not succeeded yet", c.Name)
		}
	}
	if ready != nil && ready.Reason != "" {
		return short(ready.Reason)
	}
	return "its phase is " + phase(p)
}

func phase(p *corev1.Pod) string {
	if p.Status.Phase == "" {
		return string(corev1.PodPending)
	}
	return string(p.Status.Phase)
}

// policySteps say which NetworkPolicies apply to the pods. They decide whether a connection comes
// about, and nothing of what clients are told; many look for the cause there.
func policySteps(f *facts) []inspect.Step {
	if f.policiesErr != nil {
		return []inspect.Step{step("Network policy", inspect.StepNote, "whether NetworkPolicies apply to the pods isn't known: "+f.policiesErr.Error(), nil)}
	}
	var names []string
	for i := range f.policies {
		if applies(&f.policies[i], f.matched.pods) {
			names = append(names, f.policies[i].Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	s := step("Network policy", inspect.StepNote, "NetworkPolicies apply to the pods: they decide which connections come about, and not which endpoints clients are told", nil)
	s.More = names
	return []inspect.Step{s}
}

// applies reports whether a policy for incoming traffic selects one of the pods.
func applies(p *networkingv1.NetworkPolicy, pods []corev1.Pod) bool {
	ingress := len(p.Spec.PolicyTypes) == 0
	for _, t := range p.Spec.PolicyTypes {
		ingress = ingress || t == networkingv1.PolicyTypeIngress
	}
	selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
	if err != nil || !ingress {
		return false
	}
	for i := range pods {
		if selector.Matches(labels.Set(pods[i].Labels)) {
			return true
		}
	}
	return false
}
