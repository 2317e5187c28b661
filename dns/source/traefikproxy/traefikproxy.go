package traefikproxy

import (
	"errors"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

const name = "traefik-proxy"

// API groups of Traefik's kinds: the current one since Traefik 2.10, and the former one.
var (
	newGroup    = schema.GroupVersion{Group: "traefik.io", Version: "v1alpha1"}
	legacyGroup = schema.GroupVersion{Group: "traefik.containo.us", Version: "v1alpha1"}
)

// kinds are the kinds in each group.
var kinds = []struct{ kind, plural, label string }{
	{"IngressRoute", "ingressroutes", "ingressroute"},
	{"IngressRouteTCP", "ingressroutetcps", "ingressroutetcp"},
	{"IngressRouteUDP", "ingressrouteudps", "ingressrouteudp"},
}

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: name, Summary: "The hosts in the rules of Traefik's routes, at the targets in an annotation", Category: "ingress controllers",
		Filters: []string{"annotation", "label"}, Namespaces: "all,single,multiple", Templates: true, TargetTemplates: true, PairTemplates: true, Properties: true,
		Annotations: source.CommonAnnotations,
		New:         func() source.Config { return &Config{} },
	}
}

// Config is the settings of the source.
type Config struct {
	// Legacy enables the kinds of traefik.containo.us. DisableNew disables those of traefik.io.
	Legacy, DisableNew bool
}

// Flags implements [source.Config].
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.BoolVar(&c.Legacy, "traefik-enable-legacy", c.Legacy, "also read the routes of Traefik's older API group, traefik.containo.us")
	flags.BoolVar(&c.DisableNew, "traefik-disable-new", c.DisableNew, "don't read the routes of Traefik's API group traefik.io; needs --traefik-enable-legacy")
}

// groups returns the API groups that are read.
func (c *Config) groups() []schema.GroupVersion {
	var groups []schema.GroupVersion
	if !c.DisableNew {
		groups = append(groups, newGroup)
	}
	if c.Legacy {
		groups = append(groups, legacyGroup)
	}
	return groups
}

// Resources implements [source.Config].
func (c *Config) Resources() []source.Resource {
	var resources []source.Resource
	for _, group := range c.groups() {
		for _, k := range kinds {
			resources = append(resources, source.Resource{Kind: group.WithKind(k.kind), Plural: k.plural, Optional: true})
		}
	}
	return resources
}

// Open implements [source.Config].
func (c *Config) Open(in source.Input) (source.Source, error) {
	if len(c.groups()) == 0 {
		return source.Source{}, errors.New("--traefik-disable-new: no routes would be read; use --traefik-enable-legacy too, or leave it out")
	}
	all := routes{}
	var tables []kube.AnyTable
	for _, group := range c.groups() {
		for _, k := range kinds {
			of := &kind{reader: source.NewReader(in, source.Subject{
				Kind: group.WithKind(k.kind), Label: k.label, Names: []string{"the matches of spec.routes"},
			})}
			metric := "traefik" + k.label
			if group == legacyGroup {
				metric = "traefiklegacy" + k.label
			}
			of.table = source.Untyped(metric, group.WithResource(k.plural), of.trim).Table(source.Notify[source.Named](in.Changed))
			all[group.WithKind(k.kind).GroupKind().String()] = of
			tables = append(tables, of.table)
		}
	}
	return source.Source{Tables: tables, Evaluate: all.evaluate, Keys: all.keys}, nil
}
