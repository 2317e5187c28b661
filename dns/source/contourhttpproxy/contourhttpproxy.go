package contourhttpproxy

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
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
		New: func() source.Config { return Config{} },
	}
}

// Config has no settings.
type Config struct{ source.NoFlags }

// Resources implements [source.Config].
func (Config) Resources() []source.Resource {
	return []source.Resource{
		{Kind: proxyKind, Plural: "httpproxies", Optional: true},
	}
}

// Open implements [source.Config].
func (Config) Open(in source.Input) (source.Source, error) {
	s := &proxies{reader: source.NewReader(in.Settings, source.Subject{
		Source: name, Kind: proxyKind, Label: "HTTPProxy", Properties: true,
		Names: []string{"spec.virtualhost"}, NameFields: []string{"spec.virtualhost.fqdn"}, Targets: "status.loadBalancer",
	})}
	s.table = s.kind().Table(source.Notify[proxy](in.Changed))
	return source.Source{Tables: []kube.AnyTable{s.table}, Evaluate: s.evaluate, Keys: source.Keys(s.table)}, nil
}

// proxies is the source.
type proxies struct {
	reader *source.Reader
	table  *kube.Table[proxy]
}

type proxy struct {
	source.Object
	// found has no name for a proxy that other proxies include.
	found source.Found
}

// fields are the fields of an HTTPProxy that are read.
type fields struct {
	Spec struct {
		VirtualHost struct {
			FQDN string `json:"fqdn"`
		} `json:"virtualhost"`
	} `json:"spec"`
	Status struct {
		LoadBalancer struct {
			Ingress []entry `json:"ingress"`
		} `json:"loadBalancer"`
	} `json:"status"`
}

// entry is an entry of the load balancer.
type entry struct {
	IP       string `json:"ip"`
	Hostname string `json:"hostname"`
}

func (s *proxies) kind() kube.Kind[proxy] {
	return kube.Kind[proxy]{
		Name: "httpproxy", Resource: proxyKind.GroupVersion().WithResource("httpproxies"), Optional: true,
		Form: kube.Unstructured(),
		Trim: kube.TrimOf(s.trim),
	}
}

func (s *proxies) trim(scope kube.Scope, obj *unstructured.Unstructured) (*proxy, []kube.Problem) {
	var f fields
	kept := &proxy{Object: s.reader.ReadFields(scope, obj, &f)}
	if !kept.Selected || kept.Unreadable != "" {
		return kept, nil
	}
	kept.found.AddName("spec.virtualhost.fqdn", f.Spec.VirtualHost.FQDN)
	kept.found.AddNames("hostname", s.reader.Hosts(&kept.Object))
	source.AddBalancer(&kept.found, f.Status.LoadBalancer.Ingress, func(e entry) (string, string) { return e.IP, e.Hostname })
	return kept, nil
}

func (s *proxies) evaluate(key source.Key) source.Result {
	switch p := s.table.Get(key.Namespace, key.Name); {
	case p == nil:
		return source.Result{}
	case !p.Selected:
		return p.Excluded()
	default:
		return s.reader.Publish(&p.Object, &p.found, source.Missing{})
	}
}
