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

// proxy is what is kept of an HTTPProxy.
type proxy struct {
	source.Object
	// host is empty for a proxy that others include.
	host string
	// addresses are the addresses and names of the load balancer.
	addresses []string
}

// fields are the fields of an HTTPProxy that matter.
type fields struct {
	Spec struct {
		VirtualHost struct {
			FQDN string `json:"fqdn"`
		} `json:"virtualhost"`
	} `json:"spec"`
	Status struct {
		LoadBalancer struct {
			Ingress []struct {
				IP       string `json:"ip"`
				Hostname string `json:"hostname"`
			} `json:"ingress"`
		} `json:"loadBalancer"`
	} `json:"status"`
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
	if kept.Unreadable != "" {
		return kept, nil
	}
	kept.host = f.Spec.VirtualHost.FQDN
	for _, entry := range f.Status.LoadBalancer.Ingress {
		kept.addresses = source.AppendSet(kept.addresses, entry.IP, entry.Hostname)
	}
	return kept, nil
}

func (s *proxies) evaluate(key source.Key) source.Result {
	p := s.table.Get(key.Namespace, key.Name)
	if p == nil {
		return source.Result{}
	}
	if !p.Selected {
		return p.Excluded()
	}
	targets := p.Annotations.Targets
	if len(targets) == 0 {
		targets = p.addresses
	}
	return s.reader.ResultOf(&p.Object, s.reader.Hosts(&p.Object, p.host), targets)
}
