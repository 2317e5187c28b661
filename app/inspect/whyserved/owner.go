package whyserved

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/signpostd/signpost/app/inspect"
)

// podOwners are the kinds of objects that create pods.
var podOwners = []string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"}

// maxOwned limits the explained Services of an object that creates pods.
const maxOwned = 2

// ownerSteps explains an object that creates pods by the Services that select its pods, with service.
func ownerSteps(ctx context.Context, from live, o *inspect.ObjectRef, service func(context.Context, *inspect.ServiceQuery) []inspect.Step) []inspect.Step {
	all, err := from.pods(ctx, nil)
	if err != nil {
		return []inspect.Step{unknown("Pods", err)}
	}
	own := "a " + o.Kind + " has no endpoints of its own"
	at := slices.IndexFunc(all.pods, func(p corev1.Pod) bool { return isOwned(&p, o) })
	if at < 0 {
		return []inspect.Step{stepf(o.Kind, inspect.StepUnknown, o, "%s, and %s seems to be made by %s/%s: ask about its Service, as in svc/NAME, or about a pod", own, noneOf(all), o.Namespace, o.Name)}
	}
	pod := &all.pods[at]
	services, err := from.services(ctx)
	if err != nil {
		return []inspect.Step{unknown("Service", err)}
	}
	names := selecting(services, pod.Labels)
	if len(names) == 0 {
		return []inspect.Step{stepf(o.Kind, inspect.StepUnknown, o, "%s, and no Service of the namespace selects its pods: ask about one of them, as in pod/%s", own, pod.Name)}
	}
	steps := []inspect.Step{stepf(o.Kind, inspect.StepNote, o, "%s: its pods, such as %s, are those of the Service %s", own, pod.Name, strings.Join(names[:min(len(names), maxShown)], ", "))}
	for _, name := range names[:min(len(names), maxOwned)] {
		steps = append(steps, service(ctx, &inspect.ServiceQuery{Namespace: o.Namespace, Name: name})...)
	}
	return steps
}

// selecting returns the names of the Services that select a pod with these labels.
func selecting(services []corev1.Service, podLabels map[string]string) (names []string) {
	for i := range services {
		if selector := services[i].Spec.Selector; len(selector) > 0 && labels.SelectorFromSet(selector).Matches(labels.Set(podLabels)) {
			names = append(names, services[i].Name)
		}
	}
	return names
}

// isOwned reports whether an object owns a pod. Between a Deployment or a CronJob and its pods is
// another object, whose name has one more part.
func isOwned(p *corev1.Pod, o *inspect.ObjectRef) bool {
	return slices.ContainsFunc(p.OwnerReferences, func(owner metav1.OwnerReference) bool {
		if owner.Kind == o.Kind {
			return owner.Name == o.Name
		}
		between := map[string]string{"Deployment": "ReplicaSet", "CronJob": "Job"}[o.Kind]
		prefix, ok := strings.CutPrefix(owner.Name, o.Name+"-")
		return owner.Kind == between && ok && !strings.Contains(prefix, "-")
	})
}
