package skipperroutegroup

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/signpostd/signpost/dns/source"
)

const (
	name        = "skipper-routegroup"
	versionFlag = "skipper-routegroup-groupversion"
	kindName    = "RouteGroup"
	plural      = "routegroups"
)

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: name, Summary: "The hosts of Skipper's RouteGroups, at the addresses of their load balancers", Category: "ingress controllers",
		Filters: []string{"annotation", "label"}, Namespaces: "all,single,multiple", Templates: true, Properties: true,
		Annotations: source.CommonAnnotations,
		New:         func() source.Config { return &Config{GroupVersion: "zalando.org/v1"} },
	}
}

// Config is the settings of the source.
type Config struct {
	// GroupVersion is the API group and version of RouteGroups.
	GroupVersion string
}

// Flags implements [source.Config].
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.StringVar(&c.GroupVersion, versionFlag, c.GroupVersion, "`group/version` of the RouteGroups of Skipper")
}

// version returns the group and version; the error names the flag.
func (c *Config) version() (schema.GroupVersion, error) {
	v, err := schema.ParseGroupVersion(c.GroupVersion)
	if err != nil || len(validation.IsDNS1123Subdomain(v.Group)) > 0 || len(validation.IsDNS1035Label(v.Version)) > 0 {
		return schema.GroupVersion{}, fmt.Errorf("--%s %q: use a group and a version with a slash between them, such as zalando.org/v1", versionFlag, c.GroupVersion)
	}
	return v, nil
}

// Resources implements [source.Config]. It returns none for a flag that Open refuses.
func (c *Config) Resources() []source.Resource {
	v, err := c.version()
	if err != nil {
		return nil
	}
	return []source.Resource{{Kind: v.WithKind(kindName), Plural: plural, Optional: true}}
}

// Open implements [source.Config].
func (c *Config) Open(in source.Input) (source.Source, error) {
	v, err := c.version()
	if err != nil {
		return source.Source{}, err
	}
	return source.OpenNamed(in, source.Subject{
		Kind: v.WithKind(kindName), Label: "routegroup",
		Names: []string{"spec.hosts"}, NameFields: []string{"spec.hosts"}, Targets: "status.loadBalancer",
	}, "routegroup", plural, func(found *source.Found, f *fields) {
		found.AddNames("spec.hosts", f.Spec.Hosts)
		for _, list := range [][]source.BalancerAddress{f.Status.LoadBalancer.RouteGroup, f.Status.LoadBalancer.Lower} {
			for _, entry := range source.Cut(&found.Findings, list, source.AddressLimit, "status.loadBalancer.routegroup") {
				found.AddTarget("status.loadBalancer.routegroup", entry.IP)
				found.AddTarget("status.loadBalancer.routegroup", entry.Hostname)
			}
		}
	}), nil
}

// fields are the fields of a RouteGroup that are read.
type fields struct {
	Spec struct {
		Hosts []string `json:"hosts"`
	} `json:"spec"`
	Status struct {
		LoadBalancer struct {
			// Skipper calls the list routegroup, and spec/dns.md §6.2 routeGroup. Both are read.
			RouteGroup []source.BalancerAddress `json:"routeGroup"`
			Lower      []source.BalancerAddress `json:"routegroup"`
		} `json:"loadBalancer"`
	} `json:"status"`
}
