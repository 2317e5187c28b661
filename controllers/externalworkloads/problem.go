package externalworkloads

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/api/workload"
	"github.com/signpostd/signpost/controllers/watched"
)

const workloadKind = "ExternalWorkload"

// Problem is a part of an object that can't be used. It becomes an Event on the object. The other parts stay
// in use.
type Problem struct {
	Object corev1.ObjectReference
	// Reason is one of the constants below. Message is one sentence without a full stop.
	Reason, Message string
}

// The reasons of problems.
const (
	// UnknownTargetPort is about a Service with a port that no workload serves.
	UnknownTargetPort = "UnknownTargetPort"
	// InvalidAddress is about a workload with an IP that no endpoint can have.
	InvalidAddress = "InvalidAddress"
	// NoUsableAddress is about a workload that is in no slice because it has no usable address.
	NoUsableAddress = "NoUsableAddress"
	// NameNotHostname is about a workload whose name can't be a hostname of a headless Service.
	NameNotHostname = "NameNotHostname"
	// FailedToUpdateEndpointSlices is about a Service whose slices the API server refuses.
	FailedToUpdateEndpointSlices = "FailedToUpdateEndpointSlices"
)

func referenceTo(service *corev1.Service) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: "v1", Kind: "Service", Namespace: service.Namespace, Name: service.Name, UID: service.UID,
	}
}

// problemsOf returns the problems of the Service in the order of its ports, then those of the workloads.
func problemsOf(service *corev1.Service, candidates []candidate) []Problem {
	problems := unknownPorts(service, candidates)
	for i := range candidates {
		c := &candidates[i]
		problems = append(problems, c.addressProblems()...)
		if isHeadless(service) && c.hostname == "" {
			problems = append(problems, c.problem(NameNotHostname,
				"the name is no DNS label, so headless Services have no hostname for it; use at most 63 characters and no dots"))
		}
	}
	return problems
}

// unknownPorts returns the ports that no workload serves. A port that only some workloads serve is fine.
func unknownPorts(service *corev1.Service, candidates []candidate) []Problem {
	var problems []Problem
	for _, p := range service.Spec.Ports {
		if len(candidates) == 0 || served(p, candidates) {
			continue
		}
		problems = append(problems, Problem{
			Object: referenceTo(service),
			Reason: UnknownTargetPort,
			Message: fmt.Sprintf("target %s/%s of port %d is in spec.ports of none of the selected ExternalWorkloads; add it there",
				p.TargetPort.String(), orTCP(p.Protocol), p.Port),
		})
	}
	return problems
}

func served(p corev1.ServicePort, candidates []candidate) bool {
	for i := range candidates {
		if _, ok := candidates[i].number(p.TargetPort, p.Protocol); ok {
			return true
		}
	}
	return false
}

func (c *candidate) addressProblems() []Problem {
	var problems []Problem
	for i, ip := range c.IPs {
		if _, ok := watched.Address(ip); !ok {
			problems = append(problems, c.problem(InvalidAddress,
				"spec.workloadIPs[%d]: %q can't be the address of an endpoint; use an IP that is neither loopback nor link-local", i, ip))
		}
	}
	if len(c.addresses) == 0 {
		problems = append(problems, c.problem(NoUsableAddress,
			"spec.workloadIPs has no address that can be used, so no Service sends traffic here"))
	}
	return problems
}

func (c *candidate) problem(reason, format string, args ...any) Problem {
	return Problem{
		Object: corev1.ObjectReference{
			APIVersion: workload.SchemeGroupVersion.String(), Kind: workloadKind,
			Namespace: c.Namespace, Name: c.Name, UID: types.UID(c.UID),
		},
		Reason: reason, Message: fmt.Sprintf(format, args...),
	}
}
