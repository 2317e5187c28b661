package whyserved

import (
	"context"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/app/inspect"
)

// WrittenExplainer explains the selector, the pods and the EndpointSlices of a Service, and the Services of a
// pod, an object that creates pods, or an address, in a process that serves no clients. It implements
// [inspect.Explainer].
type WrittenExplainer struct {
	// Client reads objects on demand. Its responses must be [Bounded].
	Client kubernetes.Interface
}

// Explain implements [inspect.Explainer].
func (x WrittenExplainer) Explain(ctx context.Context, q inspect.Query) []inspect.Step {
	o := q.Object
	switch {
	case q.Service != nil:
		return x.service(ctx, q.Service)
	case q.Address.IsValid():
		return x.address(ctx, q.Address.Addr())
	case o == nil || o.Namespace == "":
		return nil
	case o.Kind == "Pod":
		return x.pod(ctx, o)
	case slices.Contains(podOwners, o.Kind):
		return ownerSteps(ctx, live{x.Client, o.Namespace}, o, x.service)
	default:
		return nil
	}
}

// address explains the Services and pods of an address.
func (x WrittenExplainer) address(ctx context.Context, ip netip.Addr) []inspect.Step {
	var steps []inspect.Step
	everywhere := live{x.Client, metav1.NamespaceAll}
	services, err := x.Client.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "spec.clusterIP=" + ip.String(), Limit: maxHolders})
	if err != nil {
		return []inspect.Step{unknown("Address", everywhere.wrap("services", err))}
	}
	pods, err := x.Client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "status.podIP=" + ip.String(), Limit: maxHolders})
	if err != nil {
		return []inspect.Step{unknown("Address", everywhere.wrap("pods", err))}
	}
	for _, s := range services.Items {
		ref := &inspect.ObjectRef{Kind: "Service", Namespace: s.Namespace, Name: s.Name}
		steps = append(steps, stepf("Address", inspect.StepOK, ref, "%s is a cluster IP of the %s", ip, ref.Title()))
		steps = append(steps, x.service(ctx, &inspect.ServiceQuery{Namespace: s.Namespace, Name: s.Name})...)
	}
	for _, p := range pods.Items {
		ref := &inspect.ObjectRef{Kind: "Pod", Namespace: p.Namespace, Name: p.Name}
		steps = append(steps, stepf("Address", inspect.StepOK, ref, "%s is the address of the %s", ip, ref.Title()))
		steps = append(steps, x.pod(ctx, ref)...)
	}
	if len(steps) == 0 {
		steps = append(steps, stepf("Address", inspect.StepUnknown, nil,
			"no pod has %s as its first address, and no Service as its first cluster IP: ask about the pod or the Service by its name, or a process with the role destination", ip))
	}
	return steps
}

// pod explains a pod, and the Services that select it.
func (x WrittenExplainer) pod(ctx context.Context, o *inspect.ObjectRef) []inspect.Step {
	from := live{x.Client, o.Namespace}
	p, s := readPod(ctx, from, o)
	steps := []inspect.Step{s}
	if p == nil {
		return steps
	}
	services, err := from.services(ctx)
	if err != nil {
		return append(steps, unknown("Service", err))
	}
	names := selecting(services, p.Labels)
	if len(names) == 0 {
		return append(steps, noService(services, p.Labels, o))
	}
	for _, name := range names[:min(len(names), maxOwned)] {
		steps = append(steps, x.service(ctx, &inspect.ServiceQuery{Namespace: o.Namespace, Name: name})...)
	}
	return steps
}

func (x WrittenExplainer) service(ctx context.Context, q *inspect.ServiceQuery) []inspect.Step {
	f := x.gather(ctx, q)
	name := f.query.Namespace + "/" + f.query.Name
	switch {
	case f.serviceErr != nil:
		return []inspect.Step{unknown("Service", f.serviceErr)}
	case f.service == nil:
		return []inspect.Step{missingService(f)}
	case f.service.Spec.Type == corev1.ServiceTypeExternalName:
		return []inspect.Step{stepf("Service", inspect.StepOK, f.ref(),
			"the Service %s is of type ExternalName: it stands for the DNS name %s, and no endpoints are written for it", name, short(f.service.Spec.ExternalName))}
	}
	steps := []inspect.Step{stepf("Service", inspect.StepOK, f.ref(), "the Service %s exists", name)}
	return append(append(steps, selectorSteps(f)...), sliceSteps(f)...)
}

func (x WrittenExplainer) gather(ctx context.Context, q *inspect.ServiceQuery) *facts {
	f := &facts{query: q}
	from := live{x.Client, q.Namespace}
	if f.service, f.serviceErr = from.service(ctx, q.Name); f.service == nil {
		if f.serviceErr == nil {
			f.names, f.elsewhere = from.suggestions(ctx, q.Name)
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

func workloadsIn(all []discoveryv1.EndpointSlice) int {
	n := 0
	for i := range all {
		for _, e := range all[i].Endpoints {
			if e.TargetRef != nil && e.TargetRef.Kind == "ExternalWorkload" {
				n++
			}
		}
	}
	return n
}
