package whyserved

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/inspect"
)

// maxHolders is how many Services or workloads of one address are explained.
const maxHolders = 4

// address goes the way back: from an address to what has it, and to the clients that were told.
func (x *Explainer) address(ctx context.Context, a netip.AddrPort) []inspect.Step {
	h := x.Catalog.Holders(a)
	var steps []inspect.Step
	for _, key := range h.Services[:min(maxHolders, len(h.Services))] {
		ref := &inspect.ObjectRef{Kind: "Service", Namespace: key.Namespace, Name: key.Name}
		steps = append(steps, step("Address", inspect.StepWell, fmt.Sprintf("%s is a cluster IP of the Service %s/%s", a.Addr(), key.Namespace, key.Name), ref))
		steps = append(steps, x.service(ctx, &inspect.ServiceQuery{Namespace: key.Namespace, Name: key.Name, Port: a.Port()})...)
	}
	for _, w := range h.Workloads[:min(maxHolders, len(h.Workloads))] {
		steps = append(steps, holderStep(a.Addr(), w))
	}
	if len(h.Workloads) > 1 {
		steps = append(steps, step("Address", inspect.StepWrong, fmt.Sprintf("%d workloads have the address %s: one of them is out of date; profiles of it are refused until that is mended", len(h.Workloads), a.Addr()), nil))
	}
	for _, w := range h.Hosts[:min(maxHolders, len(h.Hosts))] {
		steps = append(steps, step("Address", inspect.StepNote, fmt.Sprintf("%s is the address of the node of the %s %s/%s, which maps a port to it", a.Addr(), w.Key.Kind, w.Key.Namespace, w.Key.Name), refOf(w.Key)))
	}
	steps = append(steps, x.holdingSteps(a, h.Slices)...)
	if len(steps) == 0 {
		return []inspect.Step{step("Address", inspect.StepWrong, fmt.Sprintf(
			"no Service, pod, ExternalWorkload or slice has the address %s now: it is outside of the cluster, or of a pod that is gone", a.Addr(),
		), nil)}
	}
	return steps
}

func refOf(key catalog.WorkloadKey) *inspect.ObjectRef {
	ref := &inspect.ObjectRef{Kind: string(key.Kind), Namespace: key.Namespace, Name: key.Name}
	if key.Cluster != catalog.LocalCluster {
		ref.Cluster = key.Cluster
	}
	return ref
}

func holderStep(ip netip.Addr, w *catalog.Workload) inspect.Step {
	text := fmt.Sprintf("%s is the address of the %s %s/%s", ip, w.Key.Kind, w.Key.Namespace, w.Key.Name)
	if w.Key.Kind == catalog.Pod && w.Node != "" {
		text += " on the node " + short(w.Node)
	}
	switch {
	case w.Terminating:
		return step("Address", inspect.StepNote, text+", which is being deleted", refOf(w.Key))
	case w.Finished:
		return step("Address", inspect.StepNote, text+", which has ended", refOf(w.Key))
	default:
		return step("Address", inspect.StepWell, text, refOf(w.Key))
	}
}

// holdingSteps say which Services have the address in their slices, and who was told.
func (x *Explainer) holdingSteps(a netip.AddrPort, held []*catalog.EndpointSlice) []inspect.Step {
	var steps []inspect.Step
	var services []catalog.ServiceKey
	for _, s := range held {
		if !slices.Contains(services, s.Service) {
			services = append(services, s.Service)
		}
	}
	for _, key := range services[:min(maxHolders, len(services))] {
		steps = append(steps, x.holdingStep(a, key))
	}
	if n := len(services) - maxHolders; n > 0 {
		steps = append(steps, step("Service", inspect.StepNote, fmt.Sprintf("%d more Services have the address in their slices", n), nil))
	}
	return steps
}

func (x *Explainer) holdingStep(a netip.AddrPort, key catalog.ServiceKey) inspect.Step {
	name := key.Namespace + "/" + key.Name
	ref := &inspect.ObjectRef{Kind: "Service", Namespace: key.Namespace, Name: key.Name}
	if key.Cluster != catalog.LocalCluster {
		ref.Cluster = key.Cluster
	}
	service, ok := x.Catalog.FindService(key)
	if !ok {
		return step("Service", inspect.StepNote, fmt.Sprintf("slices of %s have the address, and there is no Service of that name", name), ref)
	}
	var lines []string
	served, left := 0, 0
	for _, w := range x.walks(key, service, &inspect.ServiceQuery{Namespace: key.Namespace, Name: key.Name}) {
		for _, m := range w.walk.Members {
			for _, s := range m.Slices {
				for _, e := range s.Endpoints {
					switch {
					case e.Addr.Addr() != a.Addr() || a.Port() != 0 && e.Addr.Port() != 0 && e.Addr.Port() != a.Port():
					case e.Fate == catalog.Served:
						served++
						lines = addSome(lines, fmt.Sprintf("port %d is served by %s, from the slice %s", w.port.Port, e.Addr, s.Slice.Name))
					default:
						left++
						lines = addSome(lines, fmt.Sprintf("for port %d it is left out: %s, in the slice %s", w.port.Port, fateTexts[e.Fate], s.Slice.Name))
					}
				}
			}
		}
	}
	_, told := x.Server.StreamsOfService(key, 0)
	var s inspect.Step
	switch {
	case served > 0:
		s = step("Service", inspect.StepWell, fmt.Sprintf("%s is an endpoint of the Service %s, and %s for it", a.Addr(), name, clients(told, "asks", "ask")), ref)
	case left > 0:
		s = step("Service", inspect.StepWrong, fmt.Sprintf("%s is in slices of the Service %s, and is not served: explain the Service, which says why", a.Addr(), name), ref)
	default:
		s = step("Service", inspect.StepNote, fmt.Sprintf("%s is in slices of the Service %s, with other ports", a.Addr(), name), ref)
	}
	s.More = lines
	return s
}

// workload explains a pod or an ExternalWorkload: which Services have it.
func (x *Explainer) workload(ctx context.Context, o *inspect.ObjectRef) []inspect.Step {
	key := catalog.WorkloadKey{Kind: catalog.WorkloadKind(o.Kind), Cluster: catalog.LocalCluster, Namespace: o.Namespace, Name: o.Name}
	known, named := x.Catalog.FindWorkload(key)
	var steps []inspect.Step
	has := map[string]string{}
	if key.Kind == catalog.Pod {
		p, err := live{x.Client, o.Namespace}.pod(ctx, o.Name)
		switch {
		case err != nil:
			steps = append(steps, unknown("Pod", err))
		case p == nil:
			return []inspect.Step{step("Pod", inspect.StepWrong, fmt.Sprintf("there is no Pod %s/%s: look at its name and namespace", o.Namespace, o.Name), o)}
		default:
			has = p.Labels
			steps = append(steps, podStep(p, o))
		}
	}
	if known == nil {
		return append(steps, step(o.Kind, inspect.StepWrong, fmt.Sprintf("this process doesn't know the %s %s/%s: look at the tables in its status", o.Kind, o.Namespace, o.Name), o))
	}
	if key.Kind != catalog.Pod {
		for _, l := range known.Labels {
			has[l.Key] = l.Value
		}
		steps = append(steps, step(o.Kind, inspect.StepWell, fmt.Sprintf("the %s %s/%s exists", o.Kind, o.Namespace, o.Name), o))
	}
	if len(named) == 0 {
		return append(steps, x.unselected(ctx, o, has)...)
	}
	for _, ip := range known.IPs[:min(2, len(known.IPs))] {
		steps = append(steps, x.holdingSteps(netip.AddrPortFrom(ip, 0), slicesWith(named, ip))...)
	}
	return steps
}

func slicesWith(all []*catalog.EndpointSlice, ip netip.Addr) []*catalog.EndpointSlice {
	return slices.DeleteFunc(slices.Clone(all), func(s *catalog.EndpointSlice) bool {
		return !slices.ContainsFunc(s.Subsets, func(subset catalog.Subset) bool {
			return slices.ContainsFunc(subset.Endpoints, func(e catalog.SliceEndpoint) bool { return slices.Contains(e.Addresses, ip) })
		})
	})
}

func podStep(p *corev1.Pod, o *inspect.ObjectRef) inspect.Step {
	if why := notReady(p); why != "" {
		return step("Pod", inspect.StepWrong, fmt.Sprintf("the Pod %s/%s is not ready: %s", o.Namespace, o.Name, why), o)
	}
	return step("Pod", inspect.StepWell, fmt.Sprintf("the Pod %s/%s is ready", o.Namespace, o.Name), o)
}

// unselected says why a workload is in no slice.
func (x *Explainer) unselected(ctx context.Context, o *inspect.ObjectRef, has map[string]string) []inspect.Step {
	all, err := live{x.Client, o.Namespace}.services(ctx)
	if err != nil {
		return []inspect.Step{unknown("Service", err)}
	}
	near := ""
	for i := range all {
		selector := all[i].Spec.Selector
		if len(selector) == 0 {
			continue
		}
		if labels.SelectorFromSet(selector).Matches(labels.Set(has)) {
			return []inspect.Step{step("Slices", inspect.StepWrong, fmt.Sprintf(
				"the Service %s selects it, and no slice has it: look at who makes slices, the role controllers or kube-controller-manager", all[i].Name,
			), o)}
		}
		if _, ok := nearMiss(selector, has); ok && near == "" {
			near = fmt.Sprintf("; the selector of %s is %s: is it meant?", all[i].Name, selectorText(selector))
		}
	}
	return []inspect.Step{step("Service", inspect.StepNote, "no Service of the namespace selects it"+near, o)}
}
