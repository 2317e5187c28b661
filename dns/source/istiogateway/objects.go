package istiogateway

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

// gateway is what is kept of a Gateway.
type gateway struct {
	source.Object
	// hosts are the hosts of all servers, without namespaces.
	hosts    []string
	selector map[string]string
}

// fields are the fields of a Gateway that matter.
type fields struct {
	Spec struct {
		Selector map[string]string `json:"selector"`
		Servers  []struct {
			Hosts []string `json:"hosts"`
		} `json:"servers"`
	} `json:"spec"`
}

func (s *gateways) kind() kube.Kind[gateway] {
	return kube.Kind[gateway]{
		Name: "istiogateway", Resource: gatewayKind.GroupVersion().WithResource("gateways"), Optional: true,
		Form: kube.Unstructured(),
		Trim: kube.TrimOf(s.trim),
	}
}

func (s *gateways) trim(scope kube.Scope, obj *unstructured.Unstructured) (*gateway, []kube.Problem) {
	var f fields
	kept := &gateway{Object: s.reader.ReadFields(scope, obj, &f)}
	if kept.Unreadable != "" {
		return kept, nil
	}
	kept.selector = f.Spec.Selector
	for _, server := range f.Spec.Servers {
		for _, host := range server.Hosts {
			if _, name, qualified := strings.Cut(host, "/"); qualified {
				host = name
			}
			if host != "" && host != "*" {
				kept.hosts = append(kept.hosts, host)
			}
		}
	}
	return kept, nil
}

// service is what is kept of a Service. One without addresses is empty.
type service struct {
	key       source.Key
	selector  map[string]string
	addresses []string
}

// serviceKind is core/v1 Service. Those of namespaces whose objects aren't used count as
// Services without addresses.
func serviceKind(settings source.Settings) kube.Kind[service] {
	return kube.Retrim(kinds.Services(), kube.TrimOf(func(s kube.Scope, svc *corev1.Service) (*service, []kube.Problem) {
		kept := &service{key: source.Key{Namespace: s.Intern(svc.Namespace), Name: svc.Name}}
		if !settings.Includes(svc.Namespace) {
			return kept, nil
		}
		if kept.addresses = addressesOf(svc); len(kept.addresses) > 0 {
			kept.selector = maps.Clone(svc.Spec.Selector)
		}
		return kept, nil
	}))
}

// addressesOf returns the external IPs of a Service, or the addresses of its load balancer if
// it has none.
func addressesOf(svc *corev1.Service) []string {
	if len(svc.Spec.ExternalIPs) > 0 {
		return append([]string(nil), svc.Spec.ExternalIPs...)
	}
	var addresses []string
	for _, entry := range svc.Status.LoadBalancer.Ingress {
		addresses = appendAddress(addresses, entry.IP, entry.Hostname)
	}
	return addresses
}

// ingress is what is kept of an Ingress.
type ingress struct {
	key       source.Key
	addresses []string
}

// ingressKind returns the kind Ingress.
func ingressKind() kube.Kind[ingress] {
	return kube.Kind[ingress]{
		Name: "ingress", Resource: networkingv1.SchemeGroupVersion.WithResource("ingresses"),
		Form: kube.Protobuf(networkingv1.AddToScheme, func() runtime.Object { return &networkingv1.IngressList{} }),
		Trim: kube.TrimOf(func(s kube.Scope, obj *networkingv1.Ingress) (*ingress, []kube.Problem) {
			kept := &ingress{key: source.Key{Namespace: s.Intern(obj.Namespace), Name: obj.Name}}
			for _, entry := range obj.Status.LoadBalancer.Ingress {
				kept.addresses = appendAddress(kept.addresses, entry.IP, entry.Hostname)
			}
			return kept, nil
		}),
	}
}

// appendAddress appends the address of a load balancer: its IP, or its name if it has no IP.
func appendAddress(list []string, ip, hostname string) []string {
	switch {
	case ip != "":
		return append(list, ip)
	case hostname != "":
		return append(list, hostname)
	}
	return list
}
