package whyserved

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/app/inspect"
)

// WrittenExplainer explains the selector, the pods and the EndpointSlices of a Service, in a process that
// serves no clients. It implements [inspect.Explainer].
type WrittenExplainer struct {
	// Client reads objects on demand. Its responses must be [Bounded].
	Client kubernetes.Interface
}

// Explain implements [inspect.Explainer].
func (x WrittenExplainer) Explain(ctx context.Context, q inspect.Query) []inspect.Step {
	if q.Service == nil {
		return nil
	}
	f := x.gather(ctx, q.Service)
	name := f.query.Namespace + "/" + f.query.Name
	switch {
	case f.serviceErr != nil:
		return []inspect.Step{unknown("Service", f.serviceErr)}
	case f.service == nil:
		return []inspect.Step{step("Service", inspect.StepWrong, "there is no Service "+name+suggestSimilar(f.query.Name, f.names), f.ref())}
	case f.service.Spec.Type == corev1.ServiceTypeExternalName:
		return []inspect.Step{step("Service", inspect.StepOK, fmt.Sprintf(
			"the Service %s is of type ExternalName: it stands for the DNS name %s, and no endpoints are written for it", name, short(f.service.Spec.ExternalName),
		), f.ref())}
	}
	steps := []inspect.Step{step("Service", inspect.StepOK, "the Service "+name+" exists", f.ref())}
	return append(append(steps, selectorSteps(f)...), sliceSteps(f)...)
}

// gather reads the facts of a Service.
func (x WrittenExplainer) gather(ctx context.Context, q *inspect.ServiceQuery) *facts {
	f := &facts{query: q}
	from := live{x.Client, q.Namespace}
	if f.service, f.serviceErr = from.service(ctx, q.Name); f.service == nil {
		if all, err := from.services(ctx); f.serviceErr == nil && err == nil {
			for i := range all {
				f.names = append(f.names, all[i].Name)
			}
		}
		return f
	}
	f.slices, f.slicesErr = from.slices(ctx, q.Name)
	f.workloads = workloadsIn(f.slices)
	if selector := f.service.Spec.Selector; len(selector) > 0 {
		f.readPods(ctx, from, selector)
	}
	return f
}

// workloadsIn counts the ExternalWorkloads in slices.
func workloadsIn(slices []discoveryv1.EndpointSlice) int {
	n := 0
	for i := range slices {
		for _, e := range slices[i].Endpoints {
			if e.TargetRef != nil && e.TargetRef.Kind == "ExternalWorkload" {
				n++
			}
		}
	}
	return n
}
