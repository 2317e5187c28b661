package pod

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

const name = "pod"

// byNode is the index of the Pods that depend on their node, by its name.
const byNode = "node"

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: name, Summary: "Names from the annotations of Pods, at their addresses or those of their nodes", Category: "kubernetes core",
		Filters: []string{"annotation", "label"}, Namespaces: "all,single,multiple", Templates: true, PairTemplates: true,
		Annotations: append([]string{source.AnnotationInternalHostname}, source.CommonAnnotations...),
		New:         func() source.Config { return &Config{} },
	}
}

// Config is the settings of the source.
type Config struct {
	// Domain is the domain in which each Pod gets a name; empty for none.
	Domain string
	// HostNetworkOnly excludes Pods that don't use the network of their node.
	HostNetworkOnly bool
}

// Flags implements [source.Config].
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.StringVar(&c.Domain, "pod-source-domain", c.Domain, "domain in which each Pod gets the name <pod>.<domain>")
	flags.BoolVar(&c.HostNetworkOnly, "ignore-non-host-network-pods", c.HostNetworkOnly, "leave out Pods that don't use the network of their node")
}

// Resources implements [source.Config].
func (*Config) Resources() []source.Resource {
	return []source.Resource{
		{Kind: corev1.SchemeGroupVersion.WithKind("Pod"), Plural: "pods"},
		{Kind: corev1.SchemeGroupVersion.WithKind("Node"), Plural: "nodes", Scope: source.InNone, Dependency: true},
	}
}

// Open implements [source.Config].
func (c *Config) Open(in source.Input) (source.Source, error) {
	s := &pods{config: *c, reader: source.NewReader(in, source.Subject{
		Kind: corev1.SchemeGroupVersion.WithKind("Pod"), NamedByAnnotation: true,
	})}
	s.skips = s.sharedSkips()
	s.table = s.podKind().Table(source.Notify[pod](in.Changed), kube.WithIndex(byNode, func(p *pod) []string {
		if !p.atNode() {
			return nil
		}
		return []string{p.node}
	}))
	s.nodes = nodeKind().Table(kube.WithHandler(func(old, new *node) {
		changed := new
		if changed == nil {
			changed = old
		}
		source.NotifyAll(in.Changed, s.table.ByIndex(byNode, changed.name))
	}))
	return source.Of(s.reader, s.table, s.evaluate, s.nodes), nil
}

type pods struct {
	config Config
	reader *source.Reader
	table  *kube.Table[pod]
	nodes  *kube.Table[node]
	skips  sharedSkips
}

func (s *pods) evaluate(obj *pod) source.Result {
	findings := &source.Findings{}
	records, err := s.records(findings, obj)
	result := s.reader.Result(&obj.Object, records, err)
	if err == nil {
		s.addMissing(&result, obj)
	}
	findings.Into(&result, s.reader.Ref(&obj.Object))
	return result
}

func (s *pods) records(findings *source.Findings, obj *pod) ([]*dns.RecordSet, error) {
	origin := s.reader.Origin(&obj.Object)
	own, nodes := obj.own(), s.nodeAddresses(obj)
	annotated := source.Cut(findings, obj.Annotations.Targets, source.AddressLimit, "target")
	named := func(field string, names, targets []string) []*dns.RecordSet {
		return origin.All(source.Cut(findings, names, source.NameLimit, field), targets)
	}
	found := slices.Concat(
		named("internal-hostname", obj.Annotations.InternalHostnames, orElse(annotated, own)),
		named("hostname", obj.Annotations.Hostnames, orElse(annotated, nodes)),
		named(kopsInternal, obj.kopsInternal, own),
		named(kopsExternal, obj.kopsExternal, nodes),
	)
	if domain := strings.Trim(s.config.Domain, "."); domain != "" {
		found = append(found, origin.Records(obj.Key.Name+"."+domain, orElse(annotated, own))...)
	}
	found, err := s.reader.AddPairs(&obj.Object, findings, found)
	if err != nil {
		return nil, err
	}
	return s.reader.AddNames(&obj.Object, findings, found, obj.ips)
}

// nodeAddresses returns the addresses of a Pod's node that are reachable from outside of the
// cluster; none if the node doesn't exist.
func (s *pods) nodeAddresses(obj *pod) []string {
	on := s.nodes.Get("", obj.node)
	if on == nil {
		return nil
	}
	return slices.Concat(on.addresses.External, on.addresses.InternalIPv6())
}

func orElse(targets, others []string) []string {
	if len(targets) > 0 {
		return targets
	}
	return others
}
