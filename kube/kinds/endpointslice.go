package kinds

import (
	"net/netip"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/kube"
)

// EndpointSlices is the kind discovery.k8s.io/v1 EndpointSlice.
func EndpointSlices() kube.Kind[catalog.EndpointSlice] {
	return kube.Kind[catalog.EndpointSlice]{
		Name: "endpointslices", Lag: "endpointslices",
		Resource: discoveryv1.SchemeGroupVersion.WithResource("endpointslices"),
		Form:     kube.Protobuf(discoveryv1.AddToScheme, func() runtime.Object { return &discoveryv1.EndpointSliceList{} }),
		Trim:     kube.TrimOf(trimEndpointSlice),
	}
}

func trimEndpointSlice(s kube.Scope, slice *discoveryv1.EndpointSlice) (*catalog.EndpointSlice, []kube.Problem) {
	p := &problems{namespace: slice.Namespace}
	trimmed := sliceOf(s, slice)
	trimmed.AddressType = catalog.AddressType(s.Intern(string(slice.AddressType)))
	if name := serviceOf(slice); name != "" {
		trimmed.Service = catalog.ServiceKey{Cluster: s.Cluster, Namespace: trimmed.Namespace, Name: s.Intern(name)}
	} else {
		p.add("no Service is named, so the endpoints are not used; set the label "+discoveryv1.LabelServiceName, "metadata.labels")
	}
	if slice.AddressType == discoveryv1.AddressTypeFQDN {
		return trimmed, p.list
	}
	subset := catalog.Subset{Ports: slicePorts(s, slice.Ports, p)}
	if n := len(slice.Endpoints); n > 0 {
		subset.Endpoints = make([]catalog.SliceEndpoint, 0, n)
	}
	for i := range slice.Endpoints {
		if e, ok := sliceEndpoint(s, &slice.Endpoints[i], i, p); ok {
			subset.Endpoints = append(subset.Endpoints, e)
		}
	}
	trimmed.Subsets = []catalog.Subset{subset}
	return trimmed, p.list
}

// sliceOf returns what EndpointSlices and Endpoints objects have in common.
func sliceOf(s kube.Scope, m metav1.Object) *catalog.EndpointSlice {
	return &catalog.EndpointSlice{
		Cluster: s.Cluster, Namespace: s.Intern(m.GetNamespace()), Name: m.GetName(),
		GatewayIdentity: s.Intern(m.GetAnnotations()[gatewayIdentityAnnotation]),
		RemoteName:      s.Intern(m.GetAnnotations()[remoteNameAnnotation]),
		TargetCluster:   s.Intern(m.GetLabels()[targetClusterLabel]),
	}
}

// serviceOf returns the name of the Service that a slice belongs to, if any.
func serviceOf(slice *discoveryv1.EndpointSlice) string {
	if name := slice.Labels[discoveryv1.LabelServiceName]; name != "" {
		return name
	}
	for _, ref := range slice.OwnerReferences {
		if ref.Kind == "Service" && ref.Name != "" {
			return ref.Name
		}
	}
	return ""
}

func slicePorts(s kube.Scope, ports []discoveryv1.EndpointPort, p *problems) []catalog.SubsetPort {
	var kept []catalog.SubsetPort
	for i, port := range ports {
		if port.Port == nil {
			p.add("the port has no number, so it is not used; set one from 1 to 65535", "ports[%d].port", i)
			continue
		}
		number, ok := portNumber(*port.Port)
		if !ok {
			p.add(notPort(*port.Port), "ports[%d].port", i)
			continue
		}
		kept = append(kept, catalog.SubsetPort{Name: s.Intern(value(port.Name)), Port: number})
	}
	return kept
}

// sliceEndpoint returns false for an endpoint that can't be used.
func sliceEndpoint(s kube.Scope, e *discoveryv1.Endpoint, index int, p *problems) (catalog.SliceEndpoint, bool) {
	target, ok := targetOf(s, e.TargetRef, p.namespace, catalog.Pod, catalog.ExternalWorkload)
	if !ok {
		p.add(notTarget(e.TargetRef, "a Pod or an ExternalWorkload"), "endpoints[%d].targetRef", index)
		return catalog.SliceEndpoint{}, false
	}
	addresses := make([]netip.Addr, 0, len(e.Addresses))
	for i, text := range e.Addresses {
		a, ok := address(text)
		if !ok {
			p.add(notAddress(text), "endpoints[%d].addresses[%d]", index, i)
			continue
		}
		addresses = append(addresses, a)
	}
	return catalog.SliceEndpoint{
		NotReady:  e.Conditions.Ready != nil && !*e.Conditions.Ready,
		Addresses: addresses,
		Hostname:  value(e.Hostname),
		Zone:      s.Intern(value(e.Zone)),
		HintZones: hintZones(s, e.Hints),
		Target:    target,
		TargetUID: targetUID(e.TargetRef),
	}, len(addresses) > 0
}

func hintZones(s kube.Scope, hints *discoveryv1.EndpointHints) []string {
	if hints == nil || len(hints.ForZones) == 0 {
		return nil
	}
	zones := make([]string, len(hints.ForZones))
	for i, z := range hints.ForZones {
		zones[i] = s.Intern(z.Name)
	}
	slices.Sort(zones)
	return slices.Compact(zones)
}
