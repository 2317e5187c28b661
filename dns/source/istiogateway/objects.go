package istiogateway

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/istio"
	"github.com/signpostd/signpost/kube"
)

type gateway struct {
	source.Object
	istio.Exposure
	// found has the hosts of all servers, without namespaces.
	found source.Found
}

func (s *gateways) read(_ kube.Scope, kept *gateway, f *istio.GatewayFields, _ *unstructured.Unstructured) {
	kept.Exposure = f.Exposure(kept.Key, kept.Annotations)
	for _, server := range f.Spec.Servers {
		for _, host := range server.Hosts {
			if _, host = istio.CutNamespace(host); host != "*" {
				kept.found.AddName("spec.servers.hosts", host)
			}
		}
	}
	kept.found.AddNames("hostname", s.reader.Hosts(&kept.Object))
}
