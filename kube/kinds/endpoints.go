package kinds

//lint:file-ignore SA1019 Endpoints are deprecated, and all there is when EndpointSlices are switched off.

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
)

// Endpoints is the kind core/v1 Endpoints, for clusters without EndpointSlices.
func Endpoints() kube.Kind[catalog.EndpointSlice] {
	return kube.Kind[catalog.EndpointSlice]{
		Name: "endpoints", Lag: "endpoints",
		Resource: corev1.SchemeGroupVersion.WithResource("endpoints"),
		Form:     kube.Protobuf(corev1.AddToScheme, func() runtime.Object { return &corev1.EndpointsList{} }),
		Trim:     kube.TrimOf(trimEndpoints),
	}
}

func trimEndpoints(s kube.Scope, ep *corev1.Endpoints) (*catalog.EndpointSlice, []kube.Problem) {
	p := &problems{namespace: ep.Namespace}
	trimmed := sliceOf(s, ep)
	trimmed.Service = catalog.ServiceKey{Cluster: s.Cluster, Namespace: trimmed.Namespace, Name: trimmed.Name}
	for i := range ep.Subsets {
		trimmed.Subsets = append(trimmed.Subsets, subset(s, &ep.Subsets[i], i, p))
	}
	return trimmed, p.list
}

// subset returns what is kept of the subset of an index.
func subset(s kube.Scope, from *corev1.EndpointSubset, index int, p *problems) catalog.Subset {
	var kept catalog.Subset
	for i, port := range from.Ports {
		number, ok := portNumber(port.Port)
		if !ok {
			p.add(notPort(port.Port), "subsets[%d].ports[%d].port", index, i)
			continue
		}
		kept.Ports = append(kept.Ports, catalog.SubsetPort{Name: s.Intern(port.Name), Port: number})
	}
	for i := range from.Addresses {
		appendAddress(s, &kept, &from.Addresses[i], fmt.Sprintf("subsets[%d].addresses[%d]", index, i), p)
	}
	ready := len(kept.Endpoints)
	for i := range from.NotReadyAddresses {
		appendAddress(s, &kept, &from.NotReadyAddresses[i], fmt.Sprintf("subsets[%d].notReadyAddresses[%d]", index, i), p)
	}
	for i := range kept.Endpoints[ready:] {
		kept.Endpoints[ready+i].NotReady = true
	}
	return kept
}

// appendAddress adds an endpoint for an address, unless that can't be used.
func appendAddress(s kube.Scope, to *catalog.Subset, a *corev1.EndpointAddress, field string, p *problems) {
	target, known := targetOf(s, a.TargetRef, p.namespace, catalog.Pod)
	ip, ok := address(a.IP)
	switch {
	case !known:
		p.add(notTarget(a.TargetRef, "a Pod"), "%s.targetRef", field)
	case !ok:
		p.add(notAddress(a.IP), "%s.ip", field)
	default:
		to.Endpoints = append(to.Endpoints, catalog.SliceEndpoint{Addresses: []netip.Addr{ip}, Hostname: a.Hostname, Target: target, TargetUID: targetUID(a.TargetRef)})
	}
}
