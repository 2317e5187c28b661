package whyserved

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/internal/nearest"
)

// suggestSimilar suggests a similar name; empty if there is none.
func suggestSimilar(name string, candidates []string) string {
	if near, ok := mostSimilar(name, candidates); ok && near != name {
		return ": did you mean " + near + "?"
	}
	return ": look at its name and namespace"
}

// mostSimilar returns the candidate that is most similar to a name, also with transposed letters.
func mostSimilar(name string, candidates []string) (string, bool) {
	if near, ok := nearest.Of(name, candidates); ok {
		return near, true
	}
	sorted := func(s string) string { b := []byte(s); slices.Sort(b); return string(b) }
	for _, c := range candidates {
		if len(c) == len(name) && sorted(c) == sorted(name) {
			return c, true
		}
	}
	return "", false
}

// selectorSteps describes the selected pods of a Service.
func selectorSteps(f *facts) []inspect.Step {
	if f.service == nil {
		return nil
	}
	selector := f.service.Spec.Selector
	if len(selector) == 0 {
		if f.slicesErr == nil && len(f.slices) == 0 {
			return []inspect.Step{stepf("Selector", inspect.StepWrong, f.ref(),
				"the Service has neither a selector nor EndpointSlices: give it a selector in spec.selector, or make slices with its name in the label kubernetes.io/service-name")}
		}
		return []inspect.Step{stepf("Selector", inspect.StepNote, f.ref(), "the Service has no selector: its slices are written by another program, or mirrored from its Endpoints")}
	}
	text := selectorText(selector)
	switch {
	case f.podsErr != nil:
		return []inspect.Step{unknown("Selector", f.podsErr)}
	case len(f.matched.pods) > 0:
		found := stepf("Selector", inspect.StepOK, f.ref(), "the selector %s matches %s", text, podCount(f.matched))
		return append([]inspect.Step{found}, podSteps(f)...)
	case f.workloads > 0:
		return []inspect.Step{stepf("Selector", inspect.StepOK, f.ref(), "the selector %s matches %d ExternalWorkloads", text, f.workloads)}
	case len(f.nearby.pods) == 0 && f.service.DeletionTimestamp != nil:
		return []inspect.Step{stepf("Selector", inspect.StepWrong, f.ref(), "the Service is being deleted, possibly with its namespace, and the namespace %s has no pods: what remains waits for its finalizers (%s)",
			f.query.Namespace, short(strings.Join(f.service.Finalizers, ", ")))}
	case len(f.nearby.pods) == 0:
		return []inspect.Step{stepf("Selector", inspect.StepWrong, f.ref(), "the selector %s matches no pod, and the namespace %s has no pods: create them, or check the controller that should", text, f.query.Namespace)}
	default:
		return []inspect.Step{stepf("Selector", inspect.StepWrong, f.ref(), "the selector %s matches no pod%s", text, suggestion(selector, f.nearby))}
	}
}

func podCount(s podList) string {
	if s.more {
		return s.count() + " pods"
	}
	return counted(len(s.pods), "pod", "pods")
}

// thePods names all pods.
func thePods(s podList) string {
	if len(s.pods) == 1 && !s.more {
		return "the only pod"
	}
	return "the " + s.count() + " pods"
}

// noneOf names the pods of a namespace, none of which has a property.
func noneOf(s podList) string {
	if len(s.pods) == 1 && !s.more {
		return "no pod of the namespace"
	}
	return "none of the " + s.count() + " pods of the namespace"
}

// selectorText returns a selector in kubectl's notation, cut if it is long.
func selectorText(selector map[string]string) string {
	return short(labels.SelectorFromSet(selector).String())
}

// suggestion names the label that would match the most pods in place of a requirement of the
// selector.
func suggestion(selector map[string]string, nearby podList) string {
	instead := map[string]int{} // pods by the label that they have in place of the required one
	for i := range nearby.pods {
		if label, ok := nearMiss(selector, nearby.pods[i].Labels); ok {
			instead[label]++
		}
	}
	if len(instead) == 0 {
		return fmt.Sprintf(": %s has even a similar label; compare spec.selector with the labels of the pods", noneOf(nearby))
	}
	best := slices.MaxFunc(slices.Sorted(maps.Keys(instead)), func(a, b string) int { return cmp.Compare(instead[a], instead[b]) })
	return fmt.Sprintf("; %s %s: did you mean that?", counted(instead[best], "pod of the namespace has", "pods of the namespace have"), short(best))
}

// nearMiss returns the label of a pod that fails exactly one requirement: the label has the same
// key, or another key and the same value.
func nearMiss(selector, podLabels map[string]string) (label string, ok bool) {
	var failed []string
	for key, value := range selector {
		if got, found := podLabels[key]; !found || got != value {
			failed = append(failed, key)
		}
	}
	if len(failed) != 1 {
		return "", false
	}
	key := failed[0]
	if got, found := podLabels[key]; found {
		// Pods with a very different value belong to another Service, unless all else is equal.
		_, similar := mostSimilar(selector[key], []string{got})
		return key + "=" + got, len(selector) > 1 || similar
	}
	for _, other := range slices.Sorted(maps.Keys(podLabels)) {
		if _, required := selector[other]; !required && podLabels[other] == selector[key] {
			return other + "=" + podLabels[other], true
		}
	}
	return "", false
}

// podSteps returns the readiness of the selected pods, and the named target ports that they lack.
func podSteps(f *facts) []inspect.Step {
	steps := []inspect.Step{readyStep(f)}
	for _, p := range f.service.Spec.Ports {
		if p.TargetPort.StrVal == "" || !f.query.WantsPort(uint16(p.Port), p.Name) {
			continue
		}
		if s, wrong := targetPortStep(f, p); wrong {
			steps = append(steps, s)
		}
	}
	return steps
}

// targetPortStep returns a step, and true, if no pod has a container port with the name of the
// targetPort.
func targetPortStep(f *facts, p corev1.ServicePort) (inspect.Step, bool) {
	name := p.TargetPort.StrVal
	var have []string
	for i := range f.matched.pods {
		for _, c := range slices.Concat(f.matched.pods[i].Spec.InitContainers, f.matched.pods[i].Spec.Containers) {
			for _, port := range c.Ports {
				if port.Name == name {
					return inspect.Step{}, false
				}
				if port.Name != "" && !slices.Contains(have, port.Name) && len(have) < maxShown {
					have = append(have, port.Name)
				}
			}
		}
	}
	text := fmt.Sprintf("the port %s has the targetPort %q, and no container of %s has a port of that name", portName(p), short(name), thePods(f.matched))
	slices.Sort(have)
	switch near, ok := mostSimilar(name, have); {
	case len(have) == 0:
		text += ": name a port in the containers, or give targetPort as a number"
	case ok:
		text += fmt.Sprintf(" (they have %s): did you mean %s?", strings.Join(have, ", "), near)
	default:
		text += fmt.Sprintf(" (they have %s): name one of these in targetPort", strings.Join(have, ", "))
	}
	return stepf("Target port", inspect.StepWrong, f.ref(), "%s", text), true
}

func portName(p corev1.ServicePort) string {
	if p.Name == "" {
		return fmt.Sprint(p.Port)
	}
	return fmt.Sprintf("%s:%d", p.Name, p.Port)
}
