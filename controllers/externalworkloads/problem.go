package externalworkloads

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/api/workload"
	slicestore "github.com/signpostd/signpost/controllers/slices"
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
	// TooManyProblems is about a Service with more than maxProblems problems.
	TooManyProblems = "TooManyProblems"
	// FailedToUpdateEndpointSlices is about a Service whose slices the API server refuses.
	FailedToUpdateEndpointSlices = "FailedToUpdateEndpointSlices"
)

func referenceTo(service *corev1.Service) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: "v1", Kind: "Service", Namespace: service.Namespace, Name: service.Name, UID: service.UID,
	}
}

// maxProblems is how many problems of a Service and its workloads are reported. Each is an Event, and is
// remembered. A hundred workloads could have ten thousand.
const maxProblems = 100

// problems collects at most maxProblems problems of a Service.
type problems struct {
	list []Problem
	// omitted is true if there are more.
	omitted bool
}

func (p *problems) add(object func() corev1.ObjectReference, reason, format string, args ...any) {
	if len(p.list) == maxProblems {
		p.omitted = true
		return
	}
	p.list = append(p.list, Problem{Object: object(), Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// problemsOf returns the problems of the Service in the order of its ports, then those of the workloads.
func problemsOf(service *corev1.Service, l *portLookup, candidates []candidate) []Problem {
	var p problems
	about := func() corev1.ObjectReference { return referenceTo(service) }
	if _, problem := slicestore.Labels(service.Labels); problem != "" && len(candidates) > 0 {
		p.add(about, slicestore.LabelsTooLarge, "%s", problem)
	}
	if l.omitted > 0 {
		p.add(about, slicestore.TooManyPorts, "%d of the ExternalWorkloads are in no EndpointSlice because they serve other ports than the rest, and the %d ports of the Service, counted once for each set of ports, are more than %d; give the workloads the same ports",
			l.omitted, len(l.ports), slicestore.MaxPorts)
	}
	for i, is := range l.served {
		// A port that only some workloads serve is fine.
		if port := &service.Spec.Ports[i]; !is && len(candidates) > 0 {
			p.add(about, UnknownTargetPort, "target %s/%s of port %d is in spec.ports of none of the selected ExternalWorkloads; add it there",
				port.TargetPort.String(), cmp.Or(port.Protocol, corev1.ProtocolTCP), port.Port)
		}
	}
	for i := range candidates {
		candidates[i].addProblems(&p, isHeadless(service))
	}
	if p.omitted {
		p.list = append(p.list, Problem{about(), TooManyProblems, fmt.Sprintf(
			"the Service and its ExternalWorkloads have more than %d problems, and only the first ones are reported", maxProblems,
		)})
	}
	return p.list
}

// addProblems adds the problems of a workload of a Service.
func (c *candidate) addProblems(p *problems, headless bool) {
	for i, ip := range c.IPs {
		if _, ok := watched.Address(ip); !ok {
			p.add(c.reference, InvalidAddress,
				"spec.workloadIPs[%d]: %q can't be the address of an endpoint; use an IP that is neither loopback nor link-local", i, ip)
		}
	}
	if len(c.addresses) == 0 {
		p.add(c.reference, NoUsableAddress, "spec.workloadIPs has no address that can be used, so no Service sends traffic here")
	}
	if headless && c.hostname == "" {
		p.add(c.reference, NameNotHostname,
			"the name is no DNS label, so headless Services have no hostname for it; use at most 63 characters and no dots")
	}
}

func (c *candidate) reference() corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: workload.SchemeGroupVersion.String(), Kind: workloadKind,
		Namespace: c.Namespace, Name: c.Name, UID: types.UID(c.UID),
	}
}
