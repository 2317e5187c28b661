package istio

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

// service is a Service with addresses; without any it is empty.
type service struct {
	key       source.Key
	selector  objectmeta.Labels
	addresses []string
}

// serviceKind returns the kind core/v1 Service. Services of excluded namespaces count as Services
// without addresses.
func serviceKind(settings source.Settings) kube.Kind[service] {
	return kube.Retrim(kinds.Services(), kube.TrimOf(func(s kube.Scope, svc *corev1.Service) (*service, []kube.Problem) {
		kept := &service{key: source.Key{Namespace: s.Intern(svc.Namespace), Name: svc.Name}}
		if !settings.Includes(svc.Namespace) {
			return kept, nil
		}
		var p kube.Problems
		if kept.addresses = addressesOf(&p, svc); len(kept.addresses) > 0 {
			kept.selector = objectmeta.NewLabels(svc.Spec.Selector)
		}
		return kept, p.List()
	}))
}

// addressesOf returns the external IPs of a Service, or the addresses of its load balancer if it
// has none.
func addressesOf(p *kube.Problems, svc *corev1.Service) []string {
	if ips := svc.Spec.ExternalIPs; len(ips) > 0 {
		return slices.Clone(source.CutIn(p, ips, source.AddressLimit, "spec.externalIPs"))
	}
	var addresses []string
	for _, entry := range source.CutIn(p, svc.Status.LoadBalancer.Ingress, source.AddressLimit, "status.loadBalancer.ingress") {
		addresses = source.AppendAddress(addresses, entry.IP, entry.Hostname)
	}
	return addresses
}
