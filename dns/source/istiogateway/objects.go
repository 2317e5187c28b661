package istiogateway

import (
	"strings"

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

// fields are the fields of a Gateway that are read.
type fields struct {
	Spec struct {
		Selector map[string]string `json:"selector"`
		Servers  []struct {
			Hosts []string `json:"hosts"`
		} `json:"servers"`
	} `json:"spec"`
}

func (s *gateways) read(_ kube.Scope, kept *gateway, f *fields, _ *unstructured.Unstructured) {
	kept.Exposure = istio.Exposure{
		Gateway: kept.Key, Targets: kept.Annotations.Targets, Ingress: kept.Annotations.Ingress, Selector: f.Spec.Selector,
	}
	for _, server := range f.Spec.Servers {
		for _, host := range server.Hosts {
			if _, name, qualified := strings.Cut(host, "/"); qualified {
				host = name
			}
			if host != "*" {
				kept.found.AddName("spec.servers.hosts", host)
			}
		}
	}
	kept.found.AddNames("hostname", s.reader.Hosts(&kept.Object))
}
