package kinds

//lint:file-ignore SA1019 Endpoints are deprecated, and all there is when EndpointSlices are switched off.

import (
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
	d := newFieldReader(s, ep.Namespace, ep.Name)
	trimmed := d.sliceOf(ep)
	trimmed.Service = catalog.ServiceKey{Cluster: s.Cluster, Namespace: trimmed.Namespace, Name: trimmed.Name}
	room := subsetsLimit
	for i := range limited(&d, ep.Subsets, &room, "subsets") {
		trimmed.Subsets = append(trimmed.Subsets, d.subset(&ep.Subsets[i], i))
	}
	return admitted(&d, trimmed)
}

func (d *fieldReader) subset(from *corev1.EndpointSubset, index int) catalog.Subset {
	var kept catalog.Subset
	for i, port := range limited(d, from.Ports, &d.ports, "subsets") {
		number, ok := portNumber(port.Port)
		name, fit := d.text(port.Name, labelLimit)
		switch {
		case !ok:
			d.Add(d.invalidPort(port.Port), "subsets[%d].ports[%d].port", index, i)
		case !fit:
			d.Add(d.unfit(port.Name, labelLimit)+", so the port is not used", "subsets[%d].ports[%d].name", index, i)
		case tooMany(kept.Ports, name):
			d.Add(tooManyOfAName(name), "subsets[%d].ports[%d].name", index, i)
		default:
			kept.Ports = append(kept.Ports, catalog.SubsetPort{Name: name, Port: number})
		}
	}
	ready := limited(d, from.Addresses, &d.endpoints, "subsets")
	notReady := limited(d, from.NotReadyAddresses, &d.endpoints, "subsets")
	if n := len(ready) + len(notReady); n > 0 {
		kept.Endpoints = make([]catalog.SliceEndpoint, 0, n)
	}
	for i := range ready {
		d.appendAddress(&kept, &ready[i], place{"subsets[%d].addresses[%d]", index, i})
	}
	n := len(kept.Endpoints)
	for i := range notReady {
		d.appendAddress(&kept, &notReady[i], place{"subsets[%d].notReadyAddresses[%d]", index, i})
	}
	for i := range kept.Endpoints[n:] {
		kept.Endpoints[n+i].NotReady = true
	}
	return kept
}

// place is the path of an address in the object, with the indexes of its subset and its own.
type place struct {
	path          string
	subset, index int
}

// appendAddress adds an endpoint for an address, unless the address can't be used.
func (d *fieldReader) appendAddress(to *catalog.Subset, a *corev1.EndpointAddress, at place) {
	target, known := d.targetOf(a.TargetRef, catalog.Pod)
	ip, ok := address(a.IP)
	hostname := a.Hostname
	switch {
	case !known:
		d.Add(d.invalidTarget(a.TargetRef, "a Pod"), at.path+".targetRef", at.subset, at.index)
		return
	case !ok:
		d.Add(d.invalidAddress(a.IP), at.path+".ip", at.subset, at.index)
		return
	case !fits(hostname, labelLimit):
		d.Add(d.unfit(hostname, labelLimit)+", so the hostname is not served", at.path+".hostname", at.subset, at.index)
		hostname = ""
	}
	to.Endpoints = append(to.Endpoints, catalog.SliceEndpoint{Addresses: []netip.Addr{ip}, Hostname: hostname, Target: target, TargetUID: targetUID(a.TargetRef)})
}
