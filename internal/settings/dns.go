package settings

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/kube"
)

// DNS are the settings of the dns role.
type DNS struct {
	Publishers []*configure.Options
	Leader     Leader
}

// defaultDNSOptions are the defaults of config files. On the command line there is no
// election unless somebody asks for it: who only ever ran one ExternalDNS has no right to
// Leases.
func defaultDNSOptions() DNS {
	return DNS{Leader: defaultLeaderOptions("signpost-dns", "kube-system")}
}

// Settings implements [Section].
func (o *DNS) Settings() []Setting {
	return append(o.Leader.Settings(DNSSection, "`namespace` of the Lease"),
		Setting{Path: "dns.publishers", Value: &publishersValue{o}, Usage: "what to publish where: a list, each with a name and the flags of `signpost dns` as fields, lists for those that may be repeated"})
}

// Validate implements section. Publishers are checked as they are read.
func (o *DNS) Validate() []Problem { return o.Leader.validate() }

// NeedsCluster reports whether anything that runs reads a cluster or writes to it.
func (c *Config) NeedsCluster() bool {
	if c.RunsDestination || c.RunsControllers || (c.RunsDNS && c.DNS.Leader.Elect) {
		return true
	}
	return c.RunsDNS && slices.ContainsFunc(c.DNS.Publishers, (*configure.Options).NeedsCluster)
}

// publishersValue is the list of publishers of a config file.
type publishersValue struct{ target *DNS }

func (v *publishersValue) String() string {
	return fmt.Sprintf("%d publishers", len(v.target.Publishers))
}
func (v *publishersValue) Type() string { return "publishers" }

// Set implements pflag.Value; there is no flag.
func (v *publishersValue) Set(string) error {
	return errors.New("publishers are described in a config file only")
}

func (v *publishersValue) decode(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return fmt.Errorf("must be a list of publishers, not %s", describeNode(n))
	}
	if len(n.Content) == 0 {
		return errors.New("is empty: say what to publish where")
	}
	var errs []error
	names := map[string]bool{}
	for i, item := range n.Content {
		o, found := decodePublisher(resolveAlias(item))
		if len(found) == 0 && names[o.Name] {
			found = []*nodeError{{node: item, reason: fmt.Sprintf("another publisher has the name %q: give each its own", o.Name)}}
		}
		for _, e := range found {
			e.field = fmt.Sprintf("[%d]%s", i, e.field)
			errs = append(errs, e)
		}
		if o != nil {
			names[o.Name] = true
			v.target.Publishers = append(v.target.Publishers, o)
		}
	}
	if n := len(namespacesOf(v.target.Publishers)); len(errs) == 0 && n > kube.MaxNamespaces {
		errs = append(errs, fmt.Errorf("name %d namespaces together: name at most %d, or have one publisher read all, without namespace", n, kube.MaxNamespaces))
	}
	return errors.Join(errs...)
}

// decodePublisher reads a publisher: its fields are flags.
func decodePublisher(n *yaml.Node) (*configure.Options, []*nodeError) {
	if n.Kind != yaml.MappingNode {
		return nil, []*nodeError{{node: n, reason: "must be a mapping, not " + describeNode(n)}}
	}
	o := configure.New()
	flags := pflag.NewFlagSet("publisher", pflag.ContinueOnError)
	o.Flags(flags)
	var found []*nodeError
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], resolveAlias(n.Content[i+1])
		field := "." + key.Value
		if seen[key.Value] {
			found = append(found, &nodeError{node: key, field: field, reason: "is here twice: remove one"})
			continue
		}
		seen[key.Value] = true
		if err := setPublisherField(o, flags, key.Value, value); err != nil {
			found = append(found, &nodeError{node: value, field: field, reason: err.Error()})
		}
	}
	if len(found) > 0 {
		return o, found
	}
	for _, err := range Leaves(o.Validate()) {
		found = append(found, &nodeError{node: n, reason: err.Error()})
	}
	return o, found
}

// PerProcess are flags that a publisher of a config file can't have.
var PerProcess = []string{"once", "events-emit", "webhook-server"}

func setPublisherField(o *configure.Options, flags *pflag.FlagSet, name string, value *yaml.Node) error {
	if name == "name" {
		return textValue{&o.Name}.decode(value)
	}
	f := flags.Lookup(name)
	switch {
	case f == nil:
		return unknownPublisherField(flags, name)
	case slices.Contains(PerProcess, name):
		return errors.New("is for signpost dns only: a process with a config file can't do that for one publisher")
	}
	items := []*yaml.Node{value}
	if _, list := f.Value.(pflag.SliceValue); list && value.Kind == yaml.SequenceNode {
		items = value.Content
	}
	for _, item := range items {
		if item.Kind != yaml.ScalarNode || item.ShortTag() == "!!null" {
			return fmt.Errorf("must be a %s, not %s", f.Value.Type(), describeNode(item))
		}
		if err := flags.Set(name, item.Value); err != nil {
			var invalid *pflag.InvalidValueError
			if errors.As(err, &invalid) {
				return errors.Unwrap(invalid)
			}
			return err
		}
	}
	return nil
}

func unknownPublisherField(flags *pflag.FlagSet, name string) error {
	names := map[string]bool{"name": true}
	flags.VisitAll(func(f *pflag.Flag) { names[f.Name] = true })
	if near, ok := Nearest(name, slices.Sorted(maps.Keys(names))); ok {
		return fmt.Errorf("unknown field: did you mean %s?", near)
	}
	return errors.New("unknown field: it must be name or a flag of signpost dns, without dashes before it")
}

// textFormat is the format of the log as ExternalDNS has it: text or json.
type textFormat struct{ target *string }

func (v textFormat) String() string {
	if *v.target == "plain" {
		return "text"
	}
	return *v.target
}

func (v textFormat) Type() string { return "string" }

func (v textFormat) Set(s string) error {
	switch strings.ToLower(s) {
	case "text", "plain":
		*v.target = "plain"
	case "json":
		*v.target = "json"
	default:
		return errors.New("must be text or json")
	}
	return nil
}

// crossNamespace are the sources that look at objects of other namespaces than --namespace.
var crossNamespace = []string{"istio-gateway", "contour-ingressroute"}

// OnlyNamespaces returns the namespaces that have everything which the process reads, nil if
// those are all: who was given some may not be allowed to read others.
func (c *Config) OnlyNamespaces() []string {
	if c.RunsDestination || c.RunsControllers || !c.RunsDNS {
		return nil
	}
	return namespacesOf(c.DNS.Publishers)
}

// namespacesOf returns the namespaces that publishers read together, nil if those are all.
func namespacesOf(publishers []*configure.Options) []string {
	var all []string
	for _, p := range publishers {
		kinds := p.Resources()
		if !slices.ContainsFunc(kinds, func(kind string) bool { return kind != "Node" }) {
			continue // Nodes are in no namespace
		}
		own := p.Source.OnlyNamespaces()
		if len(own) == 0 || slices.ContainsFunc(p.Sources, func(s string) bool { return slices.Contains(crossNamespace, s) }) {
			return nil
		}
		for _, namespace := range own {
			if !slices.Contains(all, namespace) {
				all = append(all, namespace)
			}
		}
	}
	return all
}
