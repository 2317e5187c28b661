package service

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

// sliceController is the value of the label managed-by on slices that Kubernetes writes for the
// selector of a Service.
const sliceController = "endpointslice-controller.k8s.io"

// slice is an EndpointSlice of a Service that may be headless. For other slices it is empty.
type slice struct {
	service source.Key
	name    string
	// managed is true if the pods were found by the selector of the Service. An unknown pod is then
	// expected soon.
	managed bool
	// addresses is true if the endpoints have addresses, and false if they have names.
	addresses bool
	endpoints []endpoint
}

type endpoint struct {
	// pod is the name of a pod in the same namespace; empty if the endpoint is something else.
	pod string
	// address is the first address. It is invalid if the slice has names.
	address  netip.Addr
	notReady bool
}

// emptySlice is shared by all slices without any kept field.
var emptySlice = &slice{}

func (s *services) trimSlice(scope kube.Scope, obj *discoveryv1.EndpointSlice) (*slice, []kube.Problem) {
	of := obj.Labels[discoveryv1.LabelServiceName]
	managed := obj.Labels[discoveryv1.LabelManagedBy] == sliceController
	// Most slices belong to Services that aren't headless, as their labels say.
	_, headless := obj.Labels[corev1.IsHeadlessService]
	if of == "" || managed && !headless || !s.reader.Settings.Includes(obj.Namespace) {
		return emptySlice, nil
	}
	kept := &slice{
		service: source.Key{Namespace: scope.Intern(obj.Namespace), Name: scope.Intern(of)}, name: obj.Name, managed: managed,
		addresses: obj.AddressType == discoveryv1.AddressTypeIPv4 || obj.AddressType == discoveryv1.AddressTypeIPv6,
	}
	if n := len(obj.Endpoints); n > 0 {
		kept.endpoints = make([]endpoint, n)
	}
	for i := range obj.Endpoints {
		kept.endpoints[i] = endpointOf(&obj.Endpoints[i], obj.Namespace)
	}
	return kept, nil
}

func endpointOf(e *discoveryv1.Endpoint, namespace string) endpoint {
	kept := endpoint{notReady: e.Conditions.Ready != nil && !*e.Conditions.Ready}
	if ref := e.TargetRef; ref != nil && ref.Kind == "Pod" && ref.APIVersion == "" && (ref.Namespace == "" || ref.Namespace == namespace) {
		kept.pod = ref.Name
	}
	if len(e.Addresses) > 0 {
		// The address stays invalid if this is a name.
		kept.address, _ = netip.ParseAddr(e.Addresses[0])
	}
	return kept
}

// serviceKeys returns the key in the index byService.
func (sl *slice) serviceKeys() []string {
	if sl.service == (source.Key{}) {
		return nil
	}
	return []string{sl.service.String()}
}
