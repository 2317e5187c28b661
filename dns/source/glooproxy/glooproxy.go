package glooproxy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

const name = "gloo-proxy"

var (
	proxyKind          = schema.GroupVersionKind{Group: "gloo.solo.io", Version: "v1", Kind: "Proxy"}
	gatewayGroup       = schema.GroupVersion{Group: "gateway.solo.io", Version: "v1"}
	virtualServiceKind = gatewayGroup.WithKind("VirtualService")
	gatewayKind        = gatewayGroup.WithKind("Gateway")
)

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: name, Summary: "The domains of Gloo Proxies, at the addresses of their Services or Ingresses", Category: "ingress controllers",
		Filters: []string{"annotation", "label"}, Namespaces: "all", Templates: true, TargetTemplates: true, PairTemplates: true, Properties: true,
		// These are of Proxies, of their VirtualServices and of their Gateways.
		Annotations: []string{source.AnnotationTarget, source.AnnotationTTL, source.AnnotationController, source.AnnotationIngress},
		New:         func() source.Config { return NewConfig() },
	}
}

// Config is the settings of the source. [NewConfig] creates it.
type Config struct {
	// Namespaces are those of Proxies; a single empty one means all.
	Namespaces []string
}

// NewConfig returns a config with the defaults.
func NewConfig() *Config { return &Config{Namespaces: []string{"gloo-system"}} }

const namespaceFlag = "gloo-namespace"

// Flags implements [source.Config].
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&c.Namespaces, namespaceFlag, c.Namespaces, "`namespace` of Gloo, whose Proxies are published; --namespace doesn't apply to them")
}

// Resources implements [source.Config].
func (*Config) Resources() []source.Resource {
	in := source.InAllNamespaces
	return []source.Resource{
		{Kind: proxyKind, Plural: "proxies", Scope: in, Optional: true},
		{Kind: virtualServiceKind, Plural: "virtualservices", Scope: in, Optional: true, Dependency: true},
		{Kind: gatewayKind, Plural: "gateways", Scope: in, Optional: true, Dependency: true},
		{Kind: corev1.SchemeGroupVersion.WithKind("Service"), Plural: "services", Scope: in, Dependency: true},
		{Kind: networkingv1.SchemeGroupVersion.WithKind("Ingress"), Plural: "ingresses", Scope: in, Dependency: true},
	}
}

// namespaces returns those of Proxies; nil means all.
func (c *Config) namespaces() ([]string, error) {
	if slices.Equal(c.Namespaces, []string{""}) {
		return nil, nil
	}
	var errs []error
	for _, namespace := range c.Namespaces {
		if len(validation.IsDNS1123Label(namespace)) > 0 {
			errs = append(errs, fmt.Errorf("--%s %q: no namespace has such a name; use lower-case letters, digits and dashes between them, 63 at most", namespaceFlag, namespace))
		}
	}
	return c.Namespaces, errors.Join(errs...)
}

// Open implements [source.Config].
func (c *Config) Open(in source.Input) (source.Source, error) {
	namespaces, err := c.namespaces()
	if err != nil {
		return source.Source{}, err
	}
	in.Settings.Namespaces = nil // those of --gloo-namespace count
	in.Plugin.Properties = false // those of VirtualServices count
	s := &proxies{
		namespaces: namespaces,
		reader:     source.NewReader(in, source.Subject{Kind: proxyKind, NameFields: []string{"spec.listeners.httpListener.virtualHosts.domains"}}),
	}
	s.table = source.Untyped("glooproxy", proxyKind.GroupVersion().WithResource("proxies"), s.trim).Table(source.Notify[proxy](in.Changed),
		kube.WithIndex(byVirtualService, (*proxy).virtualServiceKeys), kube.WithIndex(byGateway, (*proxy).gatewayKeys))
	s.virtualServices = source.Untyped("gloovirtualservice", gatewayGroup.WithResource("virtualservices"), s.trimVirtualService).Table(kube.WithHandler(func(old, new *virtualService) {
		source.NotifyAll(in.Changed, s.table.ByIndex(byVirtualService, cmp.Or(new, old).key.String()))
	}))
	s.gateways = source.Untyped("gloogateway", gatewayGroup.WithResource("gateways"), s.trimGateway).Table(
		kube.WithIndex(byIngress, func(g *gateway) []string { return source.IngressKeys(g.ingress, g.key.Namespace) }),
		kube.WithHandler(func(old, new *gateway) { s.gatewayChanged(cmp.Or(new, old)) }),
	)
	s.services = source.AddressedServices().Table(kube.WithHandler(func(old, new *source.AddressedService) { s.serviceChanged(cmp.Or(new, old)) }))
	s.ingresses = source.AddressedIngresses().Table(kube.WithHandler(func(old, new *source.AddressedIngress) {
		for _, g := range s.gateways.ByIndex(byIngress, cmp.Or(new, old).Key.String()) {
			s.gatewayChanged(g)
		}
	}))
	return source.Of(s.reader, s.table, s.evaluate, s.dependencies()...), nil
}

type proxies struct {
	// namespaces are those of Proxies; nil means all.
	namespaces []string
	reader     *source.Reader

	table           *kube.Table[proxy]
	virtualServices *kube.Table[virtualService]
	gateways        *kube.Table[gateway]
	services        *kube.Table[source.AddressedService]
	ingresses       *kube.Table[source.AddressedIngress]
}

func (s *proxies) dependencies() []kube.AnyTable {
	return []kube.AnyTable{s.virtualServices, s.gateways, s.services, s.ingresses}
}

// Indexes of Proxies by their dependencies, and of Gateways by their Ingress.
const (
	byVirtualService = "virtual service"
	byGateway        = "gateway"
	byIngress        = "ingress"
)

func (s *proxies) gatewayChanged(g *gateway) {
	source.NotifyAll(s.reader.Changed, s.table.ByIndex(byGateway, g.key.String()))
}

// serviceChanged evaluates the Proxy with the name of a Service again.
func (s *proxies) serviceChanged(svc *source.AddressedService) {
	if p := s.table.Get(svc.Key.Namespace, svc.Key.Name); p != nil {
		source.NotifyAll(s.reader.Changed, []*proxy{p})
	}
}
