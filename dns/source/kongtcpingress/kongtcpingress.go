package kongtcpingress

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns/source"
)

const name = "kong-tcpingress"

var ingressKind = schema.GroupVersionKind{Group: "configuration.konghq.com", Version: "v1beta1", Kind: "TCPIngress"}

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: name, Summary: "The hosts of Kong's TCPIngresses, at the addresses of Kong's proxies", Category: "ingress controllers",
		Filters: []string{"annotation", "label"}, Namespaces: "all,single,multiple", Properties: true,
		Annotations: source.CommonAnnotations,
		New:         source.Fixed(open, source.Resource{Kind: ingressKind, Plural: "tcpingresses", Optional: true}),
	}
}

func open(in source.Input) source.Source {
	return source.OpenNamed(in, source.Subject{
		Kind: ingressKind, Label: "tcpingress", Names: []string{"spec.rules"}, Targets: "status.loadBalancer",
	}, "tcpingress", "tcpingresses", func(found *source.Found, f *fields) {
		for _, rule := range source.Cut(&found.Findings, f.Spec.Rules, rulesLimit, "spec.rules") {
			found.AddName("spec.rules", rule.Host)
		}
		source.AddBalancer(found, f.Status.LoadBalancer.Ingress, source.BalancerAddress.Addresses)
	})
}

// rulesLimit limits the rules that are read: several may have one host, with different ports.
const rulesLimit = 4 * source.NameLimit

// fields are the fields of a TCPIngress that are read.
type fields struct {
	Spec struct {
		Rules []struct {
			Host string `json:"host"`
		} `json:"rules"`
	} `json:"spec"`
	Status struct {
		LoadBalancer source.LoadBalancer `json:"loadBalancer"`
	} `json:"status"`
}
