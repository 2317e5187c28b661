package source

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/kube"
)

// NodeAddresses are the addresses of a Node, in the order of its status.
type NodeAddresses struct {
	// External and Internal are the addresses of types ExternalIP and InternalIP.
	External, Internal []string
}

// AddressesOf returns the addresses of a Node.
func AddressesOf(p *kube.Problems, node *corev1.Node) NodeAddresses {
	var a NodeAddresses
	for _, address := range CutIn(p, node.Status.Addresses, AddressLimit, "status.addresses") {
		switch {
		case address.Address == "":
		case address.Type == corev1.NodeExternalIP:
			a.External = append(a.External, address.Address)
		case address.Type == corev1.NodeInternalIP:
			a.Internal = append(a.Internal, address.Address)
		}
	}
	return a
}

// Public returns the addresses of a Node that are reachable from outside of the cluster: the
// external ones and, with ExposeInternalIPv6, the internal IPv6 ones.
func (s Settings) Public(a NodeAddresses) []string {
	if !s.ExposeInternalIPv6 {
		return a.External
	}
	return slices.Concat(a.External, a.InternalIPv6())
}

// InternalIPv6 returns the internal IPv6 addresses, which are often reachable from everywhere.
func (a NodeAddresses) InternalIPv6() []string {
	var list []string
	for _, text := range a.Internal {
		if ip, err := netip.ParseAddr(text); err == nil && ip.Is6() {
			list = append(list, text)
		}
	}
	return list
}

// NodeForm returns the form of tables of Nodes for their addresses. With templates it has all
// fields of a Node.
func NodeForm(templates *Templates) kube.Form {
	form := kube.Protobuf(corev1.AddToScheme, func() runtime.Object { return &corev1.NodeList{} })
	if templates != nil {
		return form
	}
	return form.Without("status.images", "status.volumesInUse", "status.volumesAttached", "status.nodeInfo",
		"status.conditions.reason", "status.conditions.message", "status.conditions.lastHeartbeatTime")
}

// Namespace is the labels of a Namespace.
type Namespace struct {
	Name   string
	Labels labels.Set
}

// Namespaces returns the kind core/v1 Namespace.
func Namespaces() kube.Kind[Namespace] {
	return kube.Kind[Namespace]{
		Name: "namespace", Resource: corev1.SchemeGroupVersion.WithResource("namespaces"), ClusterWide: true,
		Form: kube.Protobuf(corev1.AddToScheme, func() runtime.Object { return &corev1.NamespaceList{} }).Without("spec", "status"),
		Trim: kube.TrimOf(func(s kube.Scope, ns *corev1.Namespace) (*Namespace, []kube.Problem) {
			kept := &Namespace{Name: s.Intern(ns.Name), Labels: labels.Set{}}
			for key, value := range ns.Labels {
				kept.Labels[s.Intern(key)] = s.Intern(value)
			}
			return kept, nil
		}),
	}
}
