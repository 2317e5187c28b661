package contouringressroute

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

const name = "contour-ingressroute"

var routeKind = schema.GroupVersionKind{Group: "contour.heptio.com", Version: "v1beta1", Kind: "IngressRoute"}

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: name, Summary: "The virtual hosts of Contour IngressRoutes, at the addresses of Contour's Service", Category: "ingress controllers",
		Filters: []string{"annotation", "label"}, Namespaces: "all,single,multiple",
		Annotations: source.CommonAnnotations,
		Templates:   true, Properties: true,
		New: func() source.Config { return NewConfig() },
	}
}

// Config is the settings of the source. [NewConfig] creates it.
type Config struct {
	// LoadBalancer is the namespace/name of the Service with the addresses.
	LoadBalancer string
}

// NewConfig returns a config with the defaults.
func NewConfig() *Config { return &Config{LoadBalancer: "heptio-contour/contour"} }

const loadBalancerFlag = "contour-load-balancer"

// Flags implements [source.Config].
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.StringVar(&c.LoadBalancer, loadBalancerFlag, c.LoadBalancer, "namespace/name of the Service of Contour, whose addresses are the targets of IngressRoutes")
}

// Resources implements [source.Config].
func (*Config) Resources() []source.Resource {
	return []source.Resource{
		{Kind: routeKind, Plural: "ingressroutes", Optional: true},
		{Kind: corev1.SchemeGroupVersion.WithKind("Service"), Plural: "services", Scope: source.InAllNamespaces, Dependency: true},
	}
}

// Open implements [source.Config].
func (c *Config) Open(in source.Input) (source.Source, error) {
	namespace, service, _ := strings.Cut(c.LoadBalancer, "/")
	if namespace == "" || service == "" || strings.Contains(service, "/") {
		return source.Source{}, fmt.Errorf("--%s %q: use namespace/name of a Service, such as %s", loadBalancerFlag, c.LoadBalancer, NewConfig().LoadBalancer)
	}
	s := &routes{
		service: source.Key{Namespace: namespace, Name: service},
		reader:  source.NewReader(in, source.Subject{Kind: routeKind, Label: "ingressroute", Names: []string{"spec.virtualhost"}, NameFields: []string{"spec.virtualhost.fqdn"}, Targets: "Service " + c.LoadBalancer}),
	}
	s.table = source.Custom(s.reader, "ingressroute", "ingressroutes", s.read).Table(source.Notify[source.Named](in.Changed), kube.WithIndex(following, followKeys))
	s.services = source.AddressedServices().Table(kube.WithHandler(func(old, new *source.AddressedService) {
		if cmp.Or(new, old).Key == s.service {
			source.NotifyAll(in.Changed, s.table.ByIndex(following, ""))
		}
	}))
	return source.Of(s.reader, s.table, s.evaluate, s.services), nil
}

type routes struct {
	service  source.Key
	reader   *source.Reader
	table    *kube.Table[source.Named]
	services *kube.Table[source.AddressedService]
}

// following is the index of the IngressRoutes that use the Service. All have the same key.
const following = "following"

func followKeys(r *source.Named) []string {
	if !r.Selected || len(r.Annotations.Targets) > 0 {
		return nil
	}
	return []string{""}
}

// fields are the fields of an IngressRoute that are read.
type fields struct {
	Spec struct {
		VirtualHost struct {
			FQDN string `json:"fqdn"`
		} `json:"virtualhost"`
	} `json:"spec"`
	Status struct {
		CurrentStatus string `json:"currentStatus"`
	} `json:"status"`
}

// read reads an IngressRoute. An invalid one is treated as excluded.
func (s *routes) read(_ kube.Scope, kept *source.Named, f *fields, _ *unstructured.Unstructured) {
	if f.Status.CurrentStatus != "valid" {
		kept.Exclude(notValid)
		return
	}
	kept.Found.AddName("spec.virtualhost.fqdn", f.Spec.VirtualHost.FQDN)
	kept.Found.AddNames("hostname", s.reader.Hosts(&kept.Object))
}

// notValid is the reason of all IngressRoutes that Contour considers invalid.
var notValid = &source.Skip{
	Reason: source.SkipNotAccepted, Subject: "status.currentStatus",
	Message: "Contour considers it invalid: see status.description of the IngressRoute",
}

func (s *routes) evaluate(r *source.Named) source.Result {
	if len(r.Annotations.Targets) > 0 {
		return s.reader.PublishNamed(r)
	}
	if err := s.reader.Waiting.For(r.Key, s.services); err != nil {
		return s.reader.Result(&r.Object, nil, err)
	}
	service := s.services.Get(s.service.Namespace, s.service.Name)
	if service == nil {
		found := r.Found.With("", nil)
		found.Problem("--"+loadBalancerFlag, s.service.String(), "there is no such Service, so there are no targets; give the name of Contour's Service")
		return s.reader.Publish(&r.Object, found)
	}
	return s.reader.Publish(&r.Object, r.Found.With("Service "+s.service.String(), service.Addresses))
}
