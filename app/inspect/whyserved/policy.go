package whyserved

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/destination"
)

// policySteps lists the NetworkPolicies of the pods. Policies affect connections, not the responses
// to clients, but are often the cause of a problem.
func policySteps(f *facts) []inspect.Step {
	if f.policiesErr != nil {
		return []inspect.Step{stepf("Network policy", inspect.StepNote, nil, "whether NetworkPolicies apply to the pods isn't known: %v", f.policiesErr)}
	}
	var names []string
	for i := range f.policies {
		if slices.ContainsFunc(f.matched.pods, func(p corev1.Pod) bool { return applies(&f.policies[i], &p) }) {
			names = append(names, f.policies[i].Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	s := stepf("Network policy", inspect.StepNote, nil, "NetworkPolicies apply to the pods: they affect connections, not the endpoints that clients get")
	s.More = names
	return append([]inspect.Step{s}, closedSteps(f)...)
}

// closedSteps returns a step if policies allow connections to a port of pods, but not to the port
// of their proxies, to which meshed clients connect.
func closedSteps(f *facts) []inspect.Step {
	for i := range f.matched.pods {
		pod := &f.matched.pods[i]
		for _, w := range f.ports {
			for _, e := range endpointsOf(&w.response) {
				inbound := int32(e.Wire.GetProtocolHint().GetOpaqueTransport().GetInboundPort())
				if inbound == 0 || e.Target == nil || e.Target.Key.Name != pod.Name || e.Target.Key.Namespace != pod.Namespace {
					continue
				}
				if closed(f.policies, pod, inbound) && !closed(f.policies, pod, int32(e.Addr.Port())) {
					return []inspect.Step{closedStep(f, pod, &e, inbound)}
				}
			}
		}
	}
	return nil
}

func closedStep(f *facts, pod *corev1.Pod, e *destination.ResponseEndpoint, inbound int32) inspect.Step {
	return stepf("Network policy", inspect.StepWrong, f.ref(),
		"meshed clients connect to the port %d of the proxy of the pod %s, and NetworkPolicies allow its port %d and not that one: allow TCP port %[1]d, too", inbound, pod.Name, e.Addr.Port())
}

// closed reports whether policies apply to a pod and none allows connections to a port.
func closed(all []networkingv1.NetworkPolicy, pod *corev1.Pod, port int32) bool {
	any := false
	for i := range all {
		if !applies(&all[i], pod) {
			continue
		}
		any = true
		for _, rule := range all[i].Spec.Ingress {
			if len(rule.Ports) == 0 || slices.ContainsFunc(rule.Ports, func(p networkingv1.NetworkPolicyPort) bool { return allows(&p, pod, port) }) {
				return false
			}
		}
	}
	return any
}

// allows reports whether a part of a rule is about a TCP port of a pod.
func allows(p *networkingv1.NetworkPolicyPort, pod *corev1.Pod, port int32) bool {
	if p.Protocol != nil && *p.Protocol != corev1.ProtocolTCP {
		return false
	}
	switch {
	case p.Port == nil:
		return true
	case p.Port.Type == intstr.String:
		return slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool {
			return slices.ContainsFunc(c.Ports, func(own corev1.ContainerPort) bool { return own.Name == p.Port.StrVal && own.ContainerPort == port })
		})
	case p.EndPort != nil:
		return p.Port.IntVal <= port && port <= *p.EndPort
	default:
		return p.Port.IntVal == port
	}
}

// applies reports whether a policy for incoming traffic selects a pod.
func applies(p *networkingv1.NetworkPolicy, pod *corev1.Pod) bool {
	if len(p.Spec.PolicyTypes) > 0 && !slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
	return err == nil && selector.Matches(labels.Set(pod.Labels))
}
