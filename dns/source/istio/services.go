package istio

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

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
		var p kube.Problems
		if kept.addresses = addressesOf(&p, svc); len(kept.addresses) > 0 {
			kept.selector = maps.Clone(svc.Spec.Selector)
		}
		return kept, p.List()
	}))
}

// addressesOf returns the external IPs of a Service, or the addresses of its load balancer if
// it has none.
func addressesOf(p *kube.Problems, svc *corev1.Service) []string {
	const limit = source.AddressLimit
	if ips := svc.Spec.ExternalIPs; len(ips) > 0 {
		if len(ips) > limit {
			p.Add(source.TooMany(len(ips), limit), "spec.externalIPs")
			ips = ips[:limit]
		}
		return append([]string(nil), ips...)
	}
	var addresses []string
	for i, entry := range svc.Status.LoadBalancer.Ingress {
		if i == limit {
			p.Add(source.TooMany(len(svc.Status.LoadBalancer.Ingress), limit), "status.loadBalancer.ingress")
			break
		}
		addresses = source.AppendAddress(addresses, entry.IP, entry.Hostname)
	}
	return addresses
}
