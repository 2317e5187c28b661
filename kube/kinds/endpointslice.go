package kinds

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

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
	d := newFieldReader(s, slice.Namespace, slice.Name)
	trimmed := d.sliceOf(slice)
	trimmed.AddressType = catalog.AddressType(d.required(string(slice.AddressType), labelLimit, "addressType"))
	if name := serviceOf(slice); name == "" {
		d.Add("the slice names no Service, so the endpoints are not used; set the label "+discoveryv1.LabelServiceName, "metadata.labels")
	} else if name, ok := d.text(name, nameLimit); ok {
		trimmed.Service = catalog.ServiceKey{Cluster: s.Cluster, Namespace: trimmed.Namespace, Name: name}
	} else {
		d.Add("the name of the Service is invalid, so the endpoints are not used; correct the label "+discoveryv1.LabelServiceName, "metadata.labels")
	}
	if slice.AddressType == discoveryv1.AddressTypeFQDN {
		d.Add("endpoints of the addressType FQDN are not used, because proxies connect to IP addresses; use IPv4 or IPv6, or a Service of the type ExternalName", "addressType")
		return admitted(&d, trimmed)
	}
	subset := catalog.Subset{Ports: d.slicePorts(slice.Ports)}
	endpoints := limited(&d, slice.Endpoints, &d.endpoints, "endpoints")
	if n := len(endpoints); n > 0 {
		subset.Endpoints = make([]catalog.SliceEndpoint, 0, n)
	}
	for i := range endpoints {
		if e, ok := d.sliceEndpoint(&endpoints[i], i); ok {
			subset.Endpoints = append(subset.Endpoints, e)
		}
	}
	trimmed.Subsets = []catalog.Subset{subset}
	return admitted(&d, trimmed)
}

// sliceOf returns what EndpointSlices and Endpoints have in common. The identity of a gateway is required,
// because without it the gateway would get plaintext. So is the name of the Service, because without it the
// gateway would get traffic for another one.
func (d *fieldReader) sliceOf(m metav1.Object) *catalog.EndpointSlice {
	slice := &catalog.EndpointSlice{
		Cluster: d.scope.Cluster, Namespace: d.scope.Intern(m.GetNamespace()), Name: m.GetName(),
		GatewayIdentity: d.required(m.GetAnnotations()[gatewayIdentityAnnotation], nameLimit, "metadata.annotations["+gatewayIdentityAnnotation+"]"),
		RemoteName:      d.required(m.GetAnnotations()[remoteNameAnnotation], nameLimit, "metadata.annotations["+remoteNameAnnotation+"]"),
		Mirror:          catalog.Mirror{Cluster: d.required(m.GetLabels()[targetClusterLabel], labelLimit, "metadata.labels["+targetClusterLabel+"]")},
	}
	if id := slice.GatewayIdentity; id != "" && !isDNSName(id) {
		d.refuse(quote(id)+" is no DNS name, so proxies can't verify the gateway", "metadata.annotations[%s]", gatewayIdentityAnnotation)
	}
	if slice.Mirror.Cluster == "" {
		return slice
	}
	if name, rest, ok := strings.Cut(slice.RemoteName, "."); ok {
		slice.Mirror.Name = name
		slice.Mirror.Namespace, _, _ = strings.Cut(rest, ".")
	}
	return slice
}

// serviceOf returns the name of the Service that a slice belongs to, if any.
func serviceOf(slice *discoveryv1.EndpointSlice) string {
	if name := slice.Labels[discoveryv1.LabelServiceName]; name != "" {
		return name
	}
	for i := range slice.OwnerReferences {
		if ref := &slice.OwnerReferences[i]; ref.Kind == "Service" && ref.Name != "" {
			return ref.Name
		}
	}
	return ""
}

func (d *fieldReader) slicePorts(ports []discoveryv1.EndpointPort) []catalog.SubsetPort {
	var kept []catalog.SubsetPort
	for i, port := range limited(d, ports, &d.ports, "ports") {
		if port.Port == nil {
			d.Add("the port has no number, so it is not used; set one from 1 to 65535", "ports[%d].port", i)
			continue
		}
		number, ok := portNumber(*port.Port)
		name, fit := d.text(value(port.Name), labelLimit)
		switch {
		case !ok:
			d.Add(d.invalidPort(*port.Port), "ports[%d].port", i)
		case !fit:
			d.Add(d.unfit(*port.Name, labelLimit)+", so the port is not used", "ports[%d].name", i)
		case tooMany(kept, name):
			d.Add(tooManyOfAName(name), "ports[%d].name", i)
		default:
			kept = append(kept, catalog.SubsetPort{Name: name, Port: number})
		}
	}
	return kept
}

// tooMany reports whether no further port may have a name.
func tooMany(ports []catalog.SubsetPort, name string) bool {
	n := 0
	for _, p := range ports {
		if p.Name == name {
			n++
		}
	}
	return n >= sameNameLimit
}

func tooManyOfAName(name string) string {
	return fmt.Sprintf("%d ports before this one have the name %q, so it is not used; give each port its own name", sameNameLimit, name)
}

// sliceEndpoint returns false for an endpoint that can't be used.
func (d *fieldReader) sliceEndpoint(e *discoveryv1.Endpoint, index int) (catalog.SliceEndpoint, bool) {
	target, ok := d.targetOf(e.TargetRef, catalog.Pod, catalog.ExternalWorkload)
	if !ok {
		d.Add(d.invalidTarget(e.TargetRef, "a Pod or an ExternalWorkload"), "endpoints[%d].targetRef", index)
		return catalog.SliceEndpoint{}, false
	}
	texts := limited(d, e.Addresses, &d.addressRoom, "endpoints")
	addresses := make([]netip.Addr, 0, len(texts))
	for i, text := range texts {
		a, ok := address(text)
		if !ok {
			d.Add(d.invalidAddress(text), "endpoints[%d].addresses[%d]", index, i)
			continue
		}
		addresses = append(addresses, a)
	}
	return catalog.SliceEndpoint{
		NotReady:  isNotReady(&e.Conditions),
		Draining:  isNotReady(&e.Conditions) && (e.Conditions.Serving == nil || *e.Conditions.Serving) && value(e.Conditions.Terminating),
		Addresses: addresses,
		Hostname:  d.hostname(value(e.Hostname), "endpoints[%d].hostname", index),
		Zone:      d.zone(value(e.Zone), "endpoints[%d].zone", index),
		HintZones: d.hintZones(e.Hints, index),
		HintNodes: d.hintNodes(e.Hints, index),
		Target:    target,
		TargetUID: targetUID(e.TargetRef),
	}, len(addresses) > 0
}

// isNotReady reports whether an endpoint gets no new traffic. An unknown condition counts as ready.
func isNotReady(c *discoveryv1.EndpointConditions) bool { return c.Ready != nil && !*c.Ready }

// hostname returns the hostname of an endpoint, or "" with a problem if it doesn't fit. Hostnames are not
// interned: most endpoints have none, the others each their own.
func (d *fieldReader) hostname(name, path string, index int) string {
	if fits(name, labelLimit) {
		return name
	}
	d.Add(d.unfit(name, labelLimit)+", so the hostname is not served", path, index)
	return ""
}

// zone returns the zone of an endpoint, or "" (unknown) with a problem if it doesn't fit.
func (d *fieldReader) zone(name, path string, index int) string {
	kept, ok := d.text(name, labelLimit)
	if !ok {
		d.Add(d.unfit(name, labelLimit)+", so the zone counts as unknown", path, index)
	}
	return kept
}

func (d *fieldReader) hintZones(hints *discoveryv1.EndpointHints, index int) []string {
	if hints == nil || len(hints.ForZones) == 0 {
		return nil
	}
	list := limited(d, hints.ForZones, &d.hints, "endpoints")
	zones := make([]string, 0, len(list))
	for i := range list {
		if zone := d.zone(list[i].Name, "endpoints[%d].hints", index); zone != "" {
			zones = append(zones, zone)
		}
	}
	slices.Sort(zones)
	return slices.Compact(zones)
}

// hintNodes returns the nodes that the hints of an endpoint name. A name that doesn't fit is left out.
func (d *fieldReader) hintNodes(hints *discoveryv1.EndpointHints, index int) []string {
	if hints == nil || len(hints.ForNodes) == 0 {
		return nil
	}
	list := limited(d, hints.ForNodes, &d.hints, "endpoints")
	nodes := make([]string, 0, len(list))
	for i := range list {
		node, ok := d.text(list[i].Name, nameLimit)
		if !ok {
			d.Add(d.unfit(list[i].Name, nameLimit)+", so the hint is not used", "endpoints[%d].hints", index)
		} else if node != "" {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}
