package gateway

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/internal/sharedflags"
)

// group is the API group of the Gateway API.
const group = "gateway.networking.k8s.io"

// Kinds that routes depend on, in the version that is read.
var (
	gatewayKind     = schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Gateway"}
	listenerSetKind = schema.GroupVersionKind{Group: group, Version: "v1", Kind: "ListenerSet"}
	namespaceKind   = corev1.SchemeGroupVersion.WithKind("Namespace")
)

type routeKind struct {
	// name is the first part of the source's name, and of the label resource.
	name, kind, plural string
	// versions are the API versions with the kind. The first one is read unless the user names
	// another.
	versions []string
	// protocols are those of the listeners that admit such routes.
	protocols []string
	// hostnames is true if the routes have spec.hostnames.
	hostnames bool
}

var (
	httpRoute = routeKind{name: "httproute", kind: "HTTPRoute", plural: "httproutes", versions: []string{"v1"}, protocols: []string{"HTTP", "HTTPS"}, hostnames: true}
	grpcRoute = routeKind{name: "grpcroute", kind: "GRPCRoute", plural: "grpcroutes", versions: []string{"v1"}, protocols: []string{"HTTP", "HTTPS"}, hostnames: true}
	tlsRoute  = routeKind{name: "tlsroute", kind: "TLSRoute", plural: "tlsroutes", versions: []string{"v1", "v1alpha2", "v1alpha3"}, protocols: []string{"TLS"}, hostnames: true}
	tcpRoute  = routeKind{name: "tcproute", kind: "TCPRoute", plural: "tcproutes", versions: []string{"v1alpha2", "v1"}, protocols: []string{"TCP", "TLS"}}
	udpRoute  = routeKind{name: "udproute", kind: "UDPRoute", plural: "udproutes", versions: []string{"v1alpha2", "v1"}, protocols: []string{"UDP"}}
)

func (k routeKind) source() string { return "gateway-" + k.name }

func (k routeKind) versionFlag() string { return "gateway-" + k.name + "-version" }

// HTTPRoute returns the source "gateway-httproute".
func HTTPRoute() source.Plugin { return plugin(httpRoute) }

// GRPCRoute returns the source "gateway-grpcroute".
func GRPCRoute() source.Plugin { return plugin(grpcRoute) }

// TLSRoute returns the source "gateway-tlsroute".
func TLSRoute() source.Plugin { return plugin(tlsRoute) }

// TCPRoute returns the source "gateway-tcproute".
func TCPRoute() source.Plugin { return plugin(tcpRoute) }

// UDPRoute returns the source "gateway-udproute".
func UDPRoute() source.Plugin { return plugin(udpRoute) }

func plugin(kind routeKind) source.Plugin {
	names := "The hosts of " + kind.kind + "s and of their listeners"
	if !kind.hostnames {
		names = "The names in an annotation of " + kind.kind + "s, and the hosts of their listeners"
	}
	return source.Plugin{
		Name: kind.source(), Summary: names + ", at the addresses of the Gateways", Category: "gateway api",
		Filters: []string{"annotation", "label"}, Namespaces: "all,single,multiple", Templates: true, Properties: true,
		Annotations: []string{
			source.AnnotationHostname, source.AnnotationTTL, source.AnnotationController, source.AnnotationGatewayHostnameSource,
		},
		New: func() source.Config {
			return &Config{Gateways: &Gateways{}, Version: kind.versions[0], kind: kind}
		},
	}
}

// Config is the settings of one of the sources.
type Config struct {
	*Gateways
	// Version is the API version in which the routes are read.
	Version string

	kind routeKind
}

// Gateways are common settings of the five sources: which Gateways they use.
type Gateways struct {
	// Name and Namespace are those of the Gateways, and LabelFilter is a label selector. Empty means
	// any.
	Name, Namespace, LabelFilter string
	// ListenerSets enables ListenerSets.
	ListenerSets bool
}

// Take implements [sharedflags.Taker].
func (c *Config) Take(from *sharedflags.Set) { c.Gateways = sharedflags.Of(from, c.Gateways) }

// Flags implements [source.Config].
func (c *Config) Flags(flags *pflag.FlagSet) {
	if len(c.kind.versions) > 1 {
		flags.StringVar(&c.Version, c.kind.versionFlag(), c.Version,
			"version of the Gateway API's "+c.kind.kind+" that the cluster serves: "+strings.Join(c.kind.versions, ", "))
	}
}

// Flags implements [sharedflags.Settings].
func (g *Gateways) Flags(flags *pflag.FlagSet) {
	flags.StringVar(&g.Name, "gateway-name", g.Name, "use Gateways of this name only, for routes")
	flags.StringVar(&g.Namespace, "gateway-namespace", g.Namespace, "use Gateways of this namespace only, for routes (default all)")
	flags.StringVar(&g.LabelFilter, "gateway-label-filter", g.LabelFilter, "use Gateways whose labels match this label selector only, for routes")
	flags.BoolVar(&g.ListenerSets, "gateway-listener-sets", g.ListenerSets, "also use the listeners of ListenerSets, for routes")
}

// routes returns the kind of the routes in the version that is read.
func (c *Config) routes() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: c.Version, Kind: c.kind.kind}
}

// Resources implements [source.Config].
func (c *Config) Resources() []source.Resource {
	resources := []source.Resource{
		{Kind: c.routes(), Plural: c.kind.plural, Optional: true},
		c.gateways(),
		{Kind: namespaceKind, Plural: "namespaces", Scope: source.InNone, Dependency: true},
	}
	if c.ListenerSets {
		resources = append(resources, source.Resource{
			Kind: listenerSetKind, Plural: "listenersets", Scope: source.InAllNamespaces, Optional: true, Dependency: true,
		})
	}
	return resources
}

// gateways is the resource of the Gateways. With --gateway-namespace Gateways of other namespaces
// aren't even read, so that a process needs no right to (spec/dns.md §6.5).
func (c *Config) gateways() source.Resource {
	r := source.Resource{Kind: gatewayKind, Plural: "gateways", Scope: source.InAllNamespaces, Optional: true, Dependency: true}
	if c.Namespace != "" {
		r.Scope, r.Only = source.InNamed, []string{c.Namespace}
	}
	return r
}

// scopes select Gateways and ListenerSets. They have their own namespaces, labels and annotations
// (spec/dns.md §6.5).
type scopes struct {
	gateways, listenerSets source.Settings
}

// scopes returns how the settings select objects. The error names each faulty flag.
func (c *Config) scopes(settings source.Settings) (scopes, error) {
	s := scopes{gateways: settings, listenerSets: settings}
	s.listenerSets.Namespaces, s.listenerSets.Labels = nil, nil
	s.gateways.Namespaces, s.gateways.Labels, s.gateways.Annotations = nil, nil, nil
	var errs []error
	if c.Namespace != "" {
		s.gateways.Namespaces = []string{c.Namespace}
		if len(validation.IsDNS1123Label(c.Namespace)) > 0 {
			errs = append(errs, fmt.Errorf("--gateway-namespace %q: no namespace has such a name; use lower-case letters, digits and dashes between them, 63 at most", c.Namespace))
		}
	}
	if len(validation.IsDNS1123Subdomain(c.Name)) > 0 && c.Name != "" {
		errs = append(errs, fmt.Errorf("--gateway-name %q: no Gateway has such a name; use lower-case letters, digits, dashes and dots, 253 at most", c.Name))
	}
	if c.LabelFilter != "" {
		selector, err := labels.Parse(c.LabelFilter)
		if err != nil {
			errs = append(errs, fmt.Errorf("--gateway-label-filter %q: %w; use a label selector, such as app=shop,tier in (a,b)", c.LabelFilter, err))
		}
		s.gateways.Labels = selector
	}
	if !slices.Contains(c.kind.versions, c.Version) {
		errs = append(errs, fmt.Errorf("--%s %q: use %s", c.kind.versionFlag(), c.Version, strings.Join(c.kind.versions, " or ")))
	}
	return s, errors.Join(errs...)
}
