package crd

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/api/externaldns"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

const name = "crd"

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: name, Summary: "The record sets that DNSEndpoints ask for", Category: "special",
		Filters: []string{"annotation", "label"}, Namespaces: "all,single,multiple",
		Annotations: source.NoAnnotations,
		New:         func() source.Config { return NewConfig() },
	}
}

// Config is the settings of the source. [NewConfig] creates it.
type Config struct {
	// APIVersion and Kind are those of the objects, which must have the fields of a DNSEndpoint.
	APIVersion, Kind string

	// opened is set by Open.
	opened *endpoints
}

// NewConfig returns a config with the defaults.
func NewConfig() *Config {
	return &Config{APIVersion: externaldns.SchemeGroupVersion.String(), Kind: "DNSEndpoint"}
}

// Flags implements [source.Config].
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.StringVar(&c.APIVersion, "crd-source-apiversion", c.APIVersion, "group/version of the objects of the source crd")
	flags.StringVar(&c.Kind, "crd-source-kind", c.Kind, "kind of the objects of the source crd, which have the fields of a DNSEndpoint")
}

// Resources implements [source.Config].
func (c *Config) Resources() []source.Resource {
	// Open reports an invalid kind.
	kind, _ := c.kind()
	return []source.Resource{{Kind: kind, Plural: pluralOf(kind.Kind), Optional: true, More: []source.Right{
		{Verbs: []string{"get"}, Why: "to report the outcome of each object"},
		{Subresource: "status", Verbs: []string{"update"}, Why: "to report the outcome of each object"},
	}}}
}

// Open implements [source.Config].
func (c *Config) Open(in source.Input) (source.Source, error) {
	kind, err := c.kind()
	if err != nil {
		return source.Source{}, err
	}
	s := &endpoints{kind: kind, prefixes: in.Settings.Prefixes}
	// Annotations aren't used.
	in.Settings.Prefixes = nil
	s.reader = source.NewReader(in, source.Subject{Kind: kind, Label: name})
	s.table = s.tableKind().Table(
		source.Notify[endpoint](in.Changed),
		kube.WithHandler(func(_, new *endpoint) { s.status.enqueue(new) }),
	)
	c.opened = s
	return source.Of(s.reader, s.table, s.evaluate), nil
}

var kindName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

func (c *Config) kind() (schema.GroupVersionKind, error) {
	group, version, _ := strings.Cut(c.APIVersion, "/")
	var errs []error
	if group == "" || version == "" || strings.Contains(version, "/") {
		errs = append(errs, fmt.Errorf("--crd-source-apiversion %q: use group/version, such as %s", c.APIVersion, externaldns.SchemeGroupVersion))
	}
	if !kindName.MatchString(c.Kind) {
		errs = append(errs, fmt.Errorf("--crd-source-kind %q: use the name of a kind, such as DNSEndpoint", c.Kind))
	}
	return schema.GroupVersionKind{Group: group, Version: version, Kind: c.Kind}, errors.Join(errs...)
}

func (s *endpoints) resource() schema.GroupVersionResource {
	return s.kind.GroupVersion().WithResource(pluralOf(s.kind.Kind))
}

// pluralOf returns the usual plural of a kind.
func pluralOf(kind string) string {
	plural := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(plural, "s"):
		plural += "es"
	case strings.HasSuffix(plural, "y") && !strings.HasSuffix(plural, "ay"):
		plural = strings.TrimSuffix(plural, "y") + "ies"
	default:
		plural += "s"
	}
	return plural
}

func (s *endpoints) tableKind() kube.Kind[endpoint] {
	list := s.kind
	list.Kind += "List"
	addToScheme := func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypeWithName(s.kind, &externaldns.DNSEndpoint{})
		scheme.AddKnownTypeWithName(list, &externaldns.DNSEndpointList{})
		metav1.AddToGroupVersion(scheme, s.kind.GroupVersion())
		return nil
	}
	return kube.Kind[endpoint]{
		Name: strings.ToLower(s.kind.Kind), Resource: s.resource(), Optional: true,
		Form: kube.JSON(addToScheme, func() runtime.Object { return &externaldns.DNSEndpointList{} }),
		Trim: kube.TrimOf(s.trim),
	}
}
