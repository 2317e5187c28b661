package whyserved

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/app/inspect"
)

// readyStep says how many of the selected pods are ready.
func readyStep(f *facts) inspect.Step {
	ready := 0
	s := inspect.Step{What: "Pods"}
	first := ""
	for i := range f.matched.pods {
		why := NotReady(&f.matched.pods[i])
		if why == "" {
			ready++
			continue
		}
		first = cmp.Or(first, why)
		if len(s.More) < maxShown {
			s.More = append(s.More, f.matched.pods[i].Name+": "+why)
		}
	}
	all := f.matched.title()
	switch {
	case ready == len(f.matched.pods) && f.matched.more:
		s.State, s.Text = inspect.StepOK, fmt.Sprintf("%s are ready", all)
	case ready == len(f.matched.pods):
		s.State, s.Text = inspect.StepOK, fmt.Sprintf("%s ready", counted(ready, "pod is", "pods are"))
	case f.service.Spec.PublishNotReadyAddresses:
		s.State, s.Text = inspect.StepNote, fmt.Sprintf("%d of %s are ready, and the Service also publishes those that aren't", ready, all)
	case ready > 0:
		s.State, s.Text = inspect.StepNote, fmt.Sprintf("%d of %s are ready", ready, all)
	case len(f.matched.pods) == 1:
		s.State, s.Text = inspect.StepWrong, fmt.Sprintf("the only pod, %s, is not ready (%s): look at kubectl describe pod, and at the readiness probe", f.matched.pods[0].Name, first)
	default:
		s.State, s.Text = inspect.StepWrong, fmt.Sprintf("none of the %s is ready (%s): look at kubectl describe pod, and at the readiness probe", strings.TrimPrefix(all, "the "), first)
	}
	return s
}

// counted returns a number with one text for 1 and another for other numbers.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// NotReady says why a pod isn't ready; empty if it is.
func NotReady(p *corev1.Pod) string {
	if p.DeletionTimestamp != nil {
		return "it is being deleted"
	}
	switch p.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed:
		return "its containers have ended: phase " + string(p.Status.Phase)
	}
	conditions := map[corev1.PodConditionType]*corev1.PodCondition{}
	for i := range p.Status.Conditions {
		conditions[p.Status.Conditions[i].Type] = &p.Status.Conditions[i]
	}
	if c := conditions[corev1.PodScheduled]; c != nil && c.Status == corev1.ConditionFalse {
		return "it can't be scheduled: " + short(c.Reason+" "+c.Message)
	}
	ready := conditions[corev1.PodReady]
	if ready != nil && ready.Status == corev1.ConditionTrue {
		return ""
	}
	if why := containerNotReady(p); why != "" {
		return why
	}
	for _, gate := range p.Spec.ReadinessGates {
		if c := conditions[gate.ConditionType]; c == nil {
			return fmt.Sprintf("the condition %s of its readiness gates is not set", short(string(gate.ConditionType)))
		} else if c.Status != corev1.ConditionTrue {
			return withMessage(fmt.Sprintf("the condition %s of its readiness gates is %s", short(string(gate.ConditionType)), short(string(c.Status))), c.Reason, c.Message)
		}
	}
	if ready != nil && ready.Reason+ready.Message != "" {
		return withMessage("", ready.Reason, ready.Message)
	}
	if p.Status.Phase == corev1.PodRunning {
		return "it runs, and the kubelet has not said that it is ready"
	}
	return "its phase is " + string(cmp.Or(p.Status.Phase, corev1.PodPending))
}

// withMessage appends another program's reason to a text, which may be empty.
func withMessage(text, reason, message string) string {
	for _, part := range []string{reason, message} {
		switch {
		case part == "":
		case text == "":
			text = short(part)
		default:
			text += ": " + short(part)
		}
	}
	return text
}

// containerNotReady says which container keeps a pod from being ready; empty if the status names
// none.
func containerNotReady(p *corev1.Pod) string {
	for _, all := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range all {
			if waiting := all[i].State.Waiting; waiting != nil && waiting.Reason != "" {
				return withMessage(fmt.Sprintf("the container %s waits", all[i].Name), waiting.Reason, waiting.Message)
			}
		}
	}
	for i := range p.Status.ContainerStatuses {
		c := &p.Status.ContainerStatuses[i]
		switch {
		case c.Ready:
		case c.State.Terminated != nil:
			return withMessage(fmt.Sprintf("the container %s has ended with the code %d", c.Name, c.State.Terminated.ExitCode), c.State.Terminated.Reason, "")
		case c.State.Running != nil:
			return fmt.Sprintf("the readiness probe of the container %s fails, or has not succeeded yet", c.Name)
		}
	}
	return ""
}
