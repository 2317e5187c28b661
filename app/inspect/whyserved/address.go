package whyserved

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/destination"
)

// maxHolders limits the explained Services or workloads of one address.
const maxHolders = 4

// address explains an address backwards: its owners, and the clients that were sent it.
func (x *Explainer) address(ctx context.Context, a netip.AddrPort) []inspect.Step {
	h := x.Catalog.Holders(a)
	var steps []inspect.Step
	for _, key := range h.Services[:min(maxHolders, len(h.Services))] {
		ref := serviceRef(key)
		steps = append(steps, stepf("Address", inspect.StepOK, ref, "%s is a cluster IP of the Service %s/%s", a.Addr(), key.Namespace, key.Name))
		steps = append(steps, x.service(ctx, &inspect.ServiceQuery{Namespace: key.Namespace, Name: key.Name, Port: a.Port()})...)
	}
	if len(h.Services) == 0 {
		steps = append(steps, x.endpointSteps(a, &h)...)
	}
	return append(steps, x.holdingSteps(a, h.Slices)...)
}

// endpointSteps explains an address that isn't a cluster IP.
func (x *Explainer) endpointSteps(a netip.AddrPort, h *catalog.AddressHolders) []inspect.Step {
	if a.Port() == 0 {
		return x.holderSteps(a.Addr(), h)
	}
	profile := x.Server.FirstProfile(catalog.ProfileQuery{IP: a.Addr(), Port: a.Port()})
	if profile.Refusal != nil {
		steps := []inspect.Step{stepf("Address", inspect.StepWrong, nil, "profiles of %s are %v: one of the workloads is out of date, delete it", a, refusalError(profile.Refusal))}
		return append(steps, listed(a.Addr(), h.Workloads)...)
	}
	if t := profile.Snapshot.Target; t != nil {
		return []inspect.Step{targetStep(a, t, &profile)}
	}
	steps := listed(a.Addr(), h.Workloads)
	if len(h.Workloads) > 0 {
		return append(steps, stepf("Address", inspect.StepWrong, nil, "no running workload accepts connections at %s, so clients get the bare address, without an identity", a))
	}
	if hosts := x.Catalog.Holders(netip.AddrPortFrom(a.Addr(), 0)).Hosts; len(hosts) > 0 {
		s := stepf("Address", inspect.StepWrong, nil, "%s is the address of a node, and no running pod there has the host port %d: use a host port that a pod declares", a.Addr(), a.Port())
		s.More = hostLines(hosts)
		return append(steps, s)
	}
	if len(h.Slices) == 0 {
		steps = append(steps, x.nobodys(a.Addr()))
	}
	return steps
}

// targetStep names the workload that GetProfile finds for an address.
func targetStep(a netip.AddrPort, t *catalog.Target, profile *destination.FirstProfile) inspect.Step {
	s := holderStep(a.Addr(), t.Workload)
	if !slices.Contains(t.IPs, a.Addr()) {
		s.Text = fmt.Sprintf("%s is a host port of the %s %s/%s on the node %s", a, t.Key.Kind, t.Key.Namespace, t.Key.Name, short(t.Node))
	}
	for _, r := range profile.Snapshot.Conflicts {
		s.More = append(s.More, fmt.Sprintf("the %s %s/%s has the address, too, and is not used: it is not ready, or older", short(r.Loser.Qualifier), r.Loser.Namespace, r.Loser.Name))
	}
	for _, p := range profile.LeftOut {
		s.State, s.Text = inspect.StepWrong, fmt.Sprintf("%s; clients get the bare address, because %s", s.Text, short(p.Reason))
	}
	if profile.Wire.GetOpaqueProtocol() {
		s.More = append(s.More, "the port is opaque")
	}
	if id := profile.Wire.GetEndpoint().GetTlsIdentity().GetDnsLikeIdentity().GetName(); id != "" {
		s.More = append(s.More, "its identity is "+short(id))
	}
	return s
}

// holderSteps lists the workloads and nodes that have an address, for any port.
func (x *Explainer) holderSteps(ip netip.Addr, h *catalog.AddressHolders) []inspect.Step {
	steps := listed(ip, h.Workloads)
	steps = append(steps, x.conflicts(ip, h.Workloads)...)
	if len(h.Hosts) > 0 {
		s := stepf("Address", inspect.StepNote, nil, "%s is the address of a node, where %s host ports", ip, counted(len(h.Hosts), "pod has", "pods have"))
		s.More = hostLines(h.Hosts)
		steps = append(steps, s)
	}
	if len(steps)+len(h.Slices) == 0 {
		steps = append(steps, x.nobodys(ip))
	}
	return steps
}

// conflicts returns a step if profiles of an address are refused.
func (x *Explainer) conflicts(ip netip.Addr, holders []*catalog.Workload) []inspect.Step {
	for _, w := range holders[:min(maxHolders, len(holders))] {
		port := uint16(80)
		if len(w.Ports) > 0 {
			port = w.Ports[0].Port
		}
		if err := x.Server.FirstProfile(catalog.ProfileQuery{IP: ip, Port: port}).Refusal; err != nil {
			return []inspect.Step{stepf("Address", inspect.StepWrong, nil, "profiles of %s are %v: one of the workloads is out of date, delete it", ip, refusalError(err))}
		}
	}
	return nil
}

func (x *Explainer) nobodys(ip netip.Addr) inspect.Step {
	return stepf("Address", inspect.StepWrong, nil,
		"no Service, pod, ExternalWorkload or slice has the address %s now: it is outside of the cluster, or of a pod that is gone", ip)
}

func listed(ip netip.Addr, holders []*catalog.Workload) []inspect.Step {
	var steps []inspect.Step
	for _, w := range holders[:min(maxHolders, len(holders))] {
		steps = append(steps, holderStep(ip, w))
	}
	return steps
}

// hostLines lists the pods and their host ports.
func hostLines(hosts []*catalog.Workload) []string {
	var lines []string
	for _, w := range hosts {
		for _, p := range w.Ports {
			if p.HostPort != 0 {
				lines = addSome(lines, fmt.Sprintf("host port %d: %s %s/%s", p.HostPort, w.Key.Kind, w.Key.Namespace, w.Key.Name))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func refOf(key catalog.WorkloadKey) *inspect.ObjectRef {
	return objectRef(string(key.Kind), key.Cluster, key.Namespace, key.Name)
}

func serviceRef(key catalog.ServiceKey) *inspect.ObjectRef {
	return objectRef("Service", key.Cluster, key.Namespace, key.Name)
}

func objectRef(kind, cluster, namespace, name string) *inspect.ObjectRef {
	if cluster == catalog.LocalCluster {
		cluster = "" // as in the API
	}
	return &inspect.ObjectRef{Kind: kind, Cluster: cluster, Namespace: namespace, Name: name}
}

func holderStep(ip netip.Addr, w *catalog.Workload) inspect.Step {
	text := fmt.Sprintf("%s is the address of the %s %s/%s", ip, w.Key.Kind, w.Key.Namespace, w.Key.Name)
	if w.Key.Kind == catalog.Pod && w.Node != "" {
		text += " on the node " + short(w.Node)
	}
	switch {
	case w.Terminating:
		return stepf("Address", inspect.StepNote, refOf(w.Key), "%s, which is being deleted", text)
	case w.Finished:
		return stepf("Address", inspect.StepNote, refOf(w.Key), "%s, which has ended", text)
	case w.Key.Kind == catalog.Pod && !w.Running:
		return stepf("Address", inspect.StepNote, refOf(w.Key), "%s, which does not run yet", text)
	default:
		return stepf("Address", inspect.StepOK, refOf(w.Key), "%s", text)
	}
}

// holdingSteps lists the Services that have the address in their slices, and the clients that were
// sent the address.
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
		steps = append(steps, stepf("Service", inspect.StepNote, nil, "%d more Services have the address in their slices", n))
	}
	return steps
}

func (x *Explainer) holdingStep(a netip.AddrPort, key catalog.ServiceKey) inspect.Step {
	name := key.Namespace + "/" + key.Name
	ref := serviceRef(key)
	service, ok := x.Catalog.FindService(key)
	if !ok {
		return stepf("Service", inspect.StepNote, ref, "slices of %s have the address, and there is no Service of that name", name)
	}
	var lines []string
	served, omitted, replaced := 0, 0, 0
	for _, w := range x.ports(key, service, &inspect.ServiceQuery{Namespace: key.Namespace, Name: key.Name}) {
		isIt := func(e netip.AddrPort) bool {
			return e.Addr() == a.Addr() && (a.Port() == 0 || e.Port() == 0 || e.Port() == a.Port())
		}
		if anyEndpoint(&w.response, func(e *destination.ResponseEndpoint) bool { return isIt(e.Addr) }) {
			served++
			lines = addSome(lines, fmt.Sprintf("port %d is served by it", w.port.Port))
			continue
		}
		for _, reason := range leftOut(&w.response) {
			if strings.HasPrefix(reason, "address "+a.Addr().String()+" ") {
				lines = addSome(lines, fmt.Sprintf("for port %d it is left out: %s", w.port.Port, reason))
			}
		}
		for _, m := range w.explanation.Members {
			for _, s := range m.Slices {
				for _, e := range s.Endpoints {
					if isIt(e.Addr) {
						if servedInOtherFamily(&w.response, e) {
							replaced++
						} else {
							omitted++
						}
						lines = addSome(lines, fmt.Sprintf("for port %d it is left out: %s, in the slice %s", w.port.Port, outcomeTexts[e.Outcome], s.Slice.Name))
					}
				}
			}
		}
	}
	_, streams := x.Server.StreamsOfService(key, 0)
	var s inspect.Step
	switch {
	case served > 0:
		s = stepf("Service", inspect.StepOK, ref, "%s is an endpoint of the Service %s, and %s for it", a.Addr(), name, counted(streams, "stream asks", "streams ask"))
	case omitted > 0:
		s = stepf("Service", inspect.StepWrong, ref, "%s is in slices of the Service %s, and is not served: explain the Service, which says why", a.Addr(), name)
	case replaced > 0:
		s = stepf("Service", inspect.StepNote, ref, "%s is in slices of the Service %s, whose clients get the address of the other IP family", a.Addr(), name)
	default:
		s = stepf("Service", inspect.StepNote, ref, "%s is in slices of the Service %s, with other ports", a.Addr(), name)
	}
	s.More = lines
	return s
}

// servedInOtherFamily reports whether an endpoint is left out because of its IP family, and clients get another
// address of the same workload.
func servedInOtherFamily(r *destination.FirstResponse, e catalog.ExplainedEndpoint) bool {
	return (e.Outcome == catalog.IPv6Preferred || e.Outcome == catalog.IPv6Disabled) &&
		anyEndpoint(r, func(s *destination.ResponseEndpoint) bool {
			return s.Target != nil && s.Target.Key == e.Endpoint.Target
		})
}

// workload explains a pod or an ExternalWorkload: which Services have it.
func (x *Explainer) workload(ctx context.Context, o *inspect.ObjectRef) []inspect.Step {
	key := catalog.WorkloadKey{Kind: catalog.WorkloadKind(o.Kind), Cluster: catalog.LocalCluster, Namespace: o.Namespace, Name: o.Name}
	known, named := x.Catalog.FindWorkload(key)
	var steps []inspect.Step
	workloadLabels := map[string]string{}
	if key.Kind == catalog.Pod {
		p, s := readPod(ctx, live{x.Client, o.Namespace}, o)
		if p == nil && s.State == inspect.StepWrong {
			return []inspect.Step{s}
		}
		steps = append(steps, s)
		if p != nil {
			workloadLabels = p.Labels
		}
	}
	if known == nil {
		return append(steps, stepf(o.Kind, inspect.StepWrong, o, "this process doesn't know the %s %s/%s: look at the tables in its status", o.Kind, o.Namespace, o.Name))
	}
	if key.Kind != catalog.Pod {
		for _, l := range known.Labels {
			workloadLabels[l.Key] = l.Value
		}
		steps = append(steps, stepf(o.Kind, inspect.StepOK, o, "the %s %s/%s exists", o.Kind, o.Namespace, o.Name))
	}
	if len(named) == 0 {
		return append(steps, x.unselected(ctx, o, workloadLabels)...)
	}
	for _, ip := range known.IPs[:min(2, len(known.IPs))] {
		steps = append(steps, x.conflicts(ip, []*catalog.Workload{known})...)
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

// readPod returns a pod and a step about it. The pod is nil if it doesn't exist or can't be read.
func readPod(ctx context.Context, from live, o *inspect.ObjectRef) (*corev1.Pod, inspect.Step) {
	p, err := from.pod(ctx, o.Name)
	switch {
	case err != nil:
		return nil, unknown("Pod", err)
	case p == nil:
		return nil, stepf("Pod", inspect.StepWrong, o, "there is no Pod %s/%s: look at its name and namespace", o.Namespace, o.Name)
	}
	if why := NotReady(p); why != "" {
		return p, stepf("Pod", inspect.StepWrong, o, "the Pod %s/%s is not ready: %s", o.Namespace, o.Name, why)
	}
	return p, stepf("Pod", inspect.StepOK, o, "the Pod %s/%s is ready", o.Namespace, o.Name)
}

// unselected says why a workload is in no slice.
func (x *Explainer) unselected(ctx context.Context, o *inspect.ObjectRef, workloadLabels map[string]string) []inspect.Step {
	all, err := live{x.Client, o.Namespace}.services(ctx)
	if err != nil {
		return []inspect.Step{unknown("Service", err)}
	}
	if names := selecting(all, workloadLabels); len(names) > 0 {
		return []inspect.Step{stepf("Slices", inspect.StepWrong, o,
			"the Service %s selects it, and no slice has it: check the controller that writes slices, the role controllers or kube-controller-manager", names[0])}
	}
	return []inspect.Step{noService(all, workloadLabels, o)}
}

// noService says that no Service of the namespace selects a workload, and which one nearly does.
func noService(all []corev1.Service, workloadLabels map[string]string, o *inspect.ObjectRef) inspect.Step {
	near := ""
	for i := range all {
		selector := all[i].Spec.Selector
		if _, ok := nearMiss(selector, workloadLabels); ok {
			near = fmt.Sprintf("; the selector of %s is %s: is it meant?", all[i].Name, selectorText(selector))
			break
		}
	}
	return stepf("Service", inspect.StepNote, o, "no Service of the namespace selects it%s", near)
}
