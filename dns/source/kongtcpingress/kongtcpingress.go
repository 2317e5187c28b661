package kongtcpingress

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

const name = "kong-tcpingress"

var ingressKind = schema.GroupVersionKind{Group: "configuration.konghq.com", Version: "v1beta1", Kind: "TCPIngress"}

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: name, Summary: "The hosts of Kong's TCPIngresses, at the addresses of Kong's proxies", Category: "ingress controllers",
		Filters: []string{"annotation", "label"}, Namespaces: "all,single,multiple", Properties: true,
		Annotations: source.CommonAnnotations,
		New:         func() source.Config { return Config{} },
	}
}

// Config has no settings.
type Config struct{ source.NoFlags }

// Resources implements [source.Config].
func (Config) Resources() []source.Resource {
	return []source.Resource{{Kind: ingressKind, Plural: "tcpingresses", Optional: true}}
}

// Open implements [source.Config].
func (Config) Open(in source.Input) (source.Source, error) {
	in.Settings.Templates = nil
	s := &ingresses{reader: source.NewReader(in.Settings, source.Subject{Source: name, Kind: ingressKind, Label: "tcpingress", Properties: true})}
	s.table = s.kind().Table(source.Notify[ingress](in.Changed))
	return source.Source{Tables: []kube.AnyTable{s.table}, Evaluate: s.evaluate, Keys: source.Keys[ingress](s.table)}, nil
}

// ingresses is the source.
type ingresses struct {
	reader *source.Reader
	table  *kube.Table[ingress]
}

type ingress struct {
	source.Object
	found source.Found
}

// fields are the fields of a TCPIngress that are read.
type fields struct {
	Spec struct {
		Rules []struct {
			Host string `json:"host"`
		} `json:"rules"`
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

func (s *ingresses) kind() kube.Kind[ingress] {
	return kube.Kind[ingress]{
		Name: "tcpingress", Resource: ingressKind.GroupVersion().WithResource("tcpingresses"), Optional: true,
		Form: kube.Unstructured(), Trim: kube.TrimOf(s.trim),
	}
}

// rulesLimit limits the rules that are read: several may have one host, with different ports.
const rulesLimit = 4 * source.NameLimit

func (s *ingresses) trim(scope kube.Scope, obj *unstructured.Unstructured) (*ingress, []kube.Problem) {
	var f fields
	kept := &ingress{Object: s.reader.ReadFields(scope, obj, &f)}
	if !kept.Selected || kept.Unreadable != "" {
		return kept, nil
	}
	for _, rule := range source.Cut(&kept.found.Findings, f.Spec.Rules, rulesLimit, "spec.rules") {
		kept.found.AddName("spec.rules", rule.Host)
	}
	kept.found.AddNames("hostname", s.reader.Hosts(&kept.Object))
	source.AddBalancer(&kept.found, f.Status.LoadBalancer.Ingress, func(e entry) (string, string) { return e.IP, e.Hostname })
	return kept, nil
}

// missing has the advice for a TCPIngress without a name or target.
var missing = source.Missing{
	Name:   "give one of spec.rules a host, or set the annotation hostname",
	Target: "the status has no address yet: wait until Kong writes it there, or set the annotation target",
}

func (s *ingresses) evaluate(key source.Key) source.Result {
	switch i := s.table.Get(key.Namespace, key.Name); {
	case i == nil:
		return source.Result{}
	case !i.Selected:
		return i.Excluded()
	default:
		return s.reader.Publish(&i.Object, &i.found, missing)
	}
}
