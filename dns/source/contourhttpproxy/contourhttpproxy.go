package contourhttpproxy

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns/source"
)

const name = "contour-httpproxy"

var proxyKind = schema.GroupVersionKind{Group: "projectcontour.io", Version: "v1", Kind: "HTTPProxy"}

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: name, Summary: "The virtual hosts of Contour HTTPProxies, at the addresses of their load balancers", Category: "ingress controllers",
		Filters: []string{"annotation", "label"}, Namespaces: "all,single,multiple",
		Annotations: source.CommonAnnotations,
		Templates:   true, Properties: true,
		New: source.Fixed(open, source.Resource{Kind: proxyKind, Plural: "httpproxies", Optional: true}),
	}
}

func open(in source.Input) source.Source {
	return source.OpenNamed(in, source.Subject{
		Kind: proxyKind, Label: "HTTPProxy",
		Names: []string{"spec.virtualhost"}, NameFields: []string{"spec.virtualhost.fqdn"}, Targets: "status.loadBalancer",
	}, "httpproxy", "httpproxies", func(found *source.Found, f *fields) {
		found.AddName("spec.virtualhost.fqdn", f.Spec.VirtualHost.FQDN)
		source.AddBalancer(found, f.Status.LoadBalancer.Ingress, source.BalancerAddress.Addresses)
	})
}

// fields are the fields of an HTTPProxy that are read. A proxy that other proxies include has no name.
type fields struct {
	Spec struct {
		VirtualHost struct {
			FQDN string `json:"fqdn"`
		} `json:"virtualhost"`
	} `json:"spec"`
	Status struct {
		LoadBalancer source.LoadBalancer `json:"loadBalancer"`
	} `json:"status"`
}
