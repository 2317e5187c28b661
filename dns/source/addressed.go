package source

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

// AddressedIngress is the part of an Ingress from which other objects take their targets.
type AddressedIngress struct {
	Key Key
	// Addresses are those of the load balancer: for each entry the IP, else the hostname.
	Addresses []string
}

// AddressedIngresses returns the kind Ingress for sources whose objects may refer to an Ingress in
// the annotation ingress.
func AddressedIngresses() kube.Kind[AddressedIngress] {
	return kube.Kind[AddressedIngress]{
		Name: "ingress", Resource: networkingv1.SchemeGroupVersion.WithResource("ingresses"),
		Form: kube.Protobuf(networkingv1.AddToScheme, func() runtime.Object { return &networkingv1.IngressList{} }),
		Trim: kube.TrimOf(func(s kube.Scope, obj *networkingv1.Ingress) (*AddressedIngress, []kube.Problem) {
			var p kube.Problems
			kept := &AddressedIngress{Key: Key{Namespace: s.Intern(obj.Namespace), Name: obj.Name}}
			for _, entry := range CutIn(&p, obj.Status.LoadBalancer.Ingress, AddressLimit, "status.loadBalancer.ingress") {
				kept.Addresses = AppendAddress(kept.Addresses, entry.IP, entry.Hostname)
			}
			return kept, p.List()
		}),
	}
}

// AddressedService is the part of a Service from which other objects take their targets.
type AddressedService struct {
	Key Key
	// LoadBalancer is true for a Service of that type.
	LoadBalancer bool
	// Addresses are all IPs and hostnames of the load balancer.
	Addresses []string
	// ExternalIPs are spec.externalIPs.
	ExternalIPs []string
}

// AddressedServices returns the kind Service for sources whose objects refer to one.
func AddressedServices() kube.Kind[AddressedService] {
	return kube.Retrim(kinds.Services(), kube.TrimOf(func(s kube.Scope, svc *corev1.Service) (*AddressedService, []kube.Problem) {
		var p kube.Problems
		kept := &AddressedService{
			Key:          Key{Namespace: s.Intern(svc.Namespace), Name: svc.Name},
			LoadBalancer: svc.Spec.Type == corev1.ServiceTypeLoadBalancer,
		}
		kept.ExternalIPs = slices.Clone(CutIn(&p, svc.Spec.ExternalIPs, AddressLimit, "spec.externalIPs"))
		var found Found
		AddBalancer(&found, svc.Status.LoadBalancer.Ingress, ServiceAddress)
		kept.Addresses = found.Targets
		return kept, append(p.List(), found.Reported()...)
	}))
}

// ServiceAddress returns the IP and the hostname of a load balancer entry of a Service.
func ServiceAddress(entry corev1.LoadBalancerIngress) (ip, hostname string) {
	return entry.IP, entry.Hostname
}

// AppendAddress appends the address of a load balancer: the IP, else the hostname.
func AppendAddress(list []string, ip, hostname string) []string {
	switch {
	case ip != "":
		return append(list, ip)
	case hostname != "":
		return append(list, hostname)
	}
	return list
}

// IngressKey returns the key of the Ingress in the annotation ingress of an object, which is
// written as "Gateway a/b". The error says what is wrong with the annotation.
func IngressKey(annotation, namespace, object string) (Key, error) {
	of, name, qualified := strings.Cut(annotation, "/")
	if !qualified {
		of, name = namespace, annotation
	}
	if of == "" || name == "" || strings.Contains(name, "/") {
		return Key{}, fmt.Errorf("targets of %s: the annotation ingress is %s; use the name of an Ingress, or namespace/name", object, Quoted(annotation))
	}
	return Key{Namespace: of, Name: name}, nil
}

// IngressKeys returns the key of that Ingress for an index, or none if the annotation is empty or invalid.
func IngressKeys(annotation, namespace string) []string {
	key, err := IngressKey(annotation, namespace, "")
	if err != nil {
		return nil
	}
	return []string{key.String()}
}
