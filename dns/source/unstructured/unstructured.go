package unstructured

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/kube"
)

const (
	name         = "unstructured"
	resourceFlag = "unstructured-resource"
)

// Plugin returns the source of this package.
func Plugin() source.Plugin {
	return source.Plugin{
		Name: name, Summary: "Names and targets from annotations of objects of any kind, or from templates", Category: "special",
		Filters: []string{"annotation", "label"}, Namespaces: "all,single,multiple", Templates: true, TargetTemplates: true, PairTemplates: true,
		Reads:       "the kinds of --" + resourceFlag,
		Annotations: source.CommonAnnotations,
		New:         func() source.Config { return &Config{} },
	}
}

// Config is the settings of the source.
type Config struct {
	// Names are the resources, as plural.version.group. Those of the core group are plural.version.
	Names []string
}

// Flags implements [source.Config].
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&c.Names, resourceFlag, c.Names,
		"read objects of this `plural.version.group` for the source unstructured, such as virtualmachines.v1.kubevirt.io or configmaps.v1; may be repeated")
}

// Resources implements [source.Config]. Values that Open refuses are left out.
func (c *Config) Resources() []source.Resource {
	resources, _ := resourcesOf(c.Names)
	list := make([]source.Resource, 0, len(resources))
	for _, r := range resources {
		scope := source.InNamespaces
		if slices.Contains(clusterWide, r.GroupResource()) {
			scope = source.InNone
		}
		list = append(list, source.Resource{Kind: r.GroupVersion().WithKind(""), Plural: r.Resource, Scope: scope, Optional: true})
	}
	return list
}

// Open implements [source.Config].
func (c *Config) Open(in source.Input) (source.Source, error) {
	resources, err := resourcesOf(c.Names)
	if err != nil {
		return source.Source{}, err
	}
	s := &objects{}
	tables := make([]kube.AnyTable, 0, len(resources))
	for _, r := range resources {
		of := &resource{input: in, resource: r}
		of.table = of.kind().Table(source.Notify[object](in.Changed))
		s.resources, tables = append(s.resources, of), append(tables, of.table)
	}
	return source.Source{Tables: tables, Evaluate: s.evaluate, Keys: s.keys}, nil
}

type objects struct{ resources []*resource }

// resource is a resource of the flag, and its objects.
type resource struct {
	input    source.Input
	resource schema.GroupVersionResource
	table    *kube.Table[object]
	// reader is for the kind of the objects. It is nil before the first object.
	reader atomic.Pointer[reader]
}

// reader reads objects of one kind.
type reader struct {
	*source.Reader
	kind schema.GroupVersionKind
}

type object struct {
	source.Named
	reader *reader
}

func (r *resource) kind() kube.Kind[object] {
	return kube.Kind[object]{
		Resource: r.resource, Optional: true, ClusterWide: slices.Contains(clusterWide, r.resource.GroupResource()),
		Form: kube.Unstructured(),
		Trim: kube.TrimOf(r.trim),
	}
}

func (r *resource) trim(scope kube.Scope, obj *unstructured.Unstructured) (*object, []kube.Problem) {
	kept := &object{reader: r.readerFor(obj.GroupVersionKind())}
	kept.Object = kept.reader.Read(scope, obj)
	if kept.Selected {
		kept.Found.AddNames("hostname", kept.reader.Hosts(&kept.Object))
	}
	return kept, nil
}

// readerFor returns the reader for a kind. All objects of a resource have one kind, until the
// resource is redefined.
func (r *resource) readerFor(kind schema.GroupVersionKind) *reader {
	if known := r.reader.Load(); known != nil && known.kind == kind {
		return known
	}
	made := &reader{kind: kind, Reader: source.NewReader(r.input, source.Subject{
		Kind: kind, Label: strings.ToLower(kind.Kind), Conditions: true,
	})}
	r.reader.Store(made)
	return made
}

func (s *objects) evaluate(key source.Key) source.Result {
	for _, r := range s.resources {
		o := r.table.Get(key.Namespace, key.Name)
		switch {
		case o == nil || o.Key.Kind != key.Kind:
			continue
		case !o.Selected:
			return o.Excluded()
		}
		return o.reader.PublishNamed(&o.Named)
	}
	return source.Result{}
}

func (s *objects) keys() []source.Key {
	var keys []source.Key
	for _, r := range s.resources {
		keys = append(keys, source.Keys[object](r.table)()...)
	}
	return keys
}
