package configure

import (
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/dns/source/crd"
)

// Resources returns the kinds of objects that the sources read, as Kind.group. The options
// must be valid.
func (o *Options) Resources() []string {
	var kinds []string
	for _, p := range o.sourcePlugins {
		if !slices.Contains(o.Sources, p.Name) {
			continue
		}
		if c, ok := o.sourceConfigs[p.Name].(*crd.Config); ok {
			group, _, _ := strings.Cut(c.APIVersion, "/")
			kinds = append(kinds, c.Kind+"."+group)
			continue
		}
		kinds = append(kinds, p.Resources...)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// CrossesNamespaces reports whether one of the sources reads objects in other namespaces than
// those of --namespace.
func (o *Options) CrossesNamespaces() bool {
	return slices.ContainsFunc(o.sourcePlugins, func(p source.Plugin) bool {
		return p.CrossesNamespaces && slices.Contains(o.Sources, p.Name)
	})
}

// NeedsCluster reports whether the publisher reads or writes objects other than Events.
func (o *Options) NeedsCluster() bool {
	return o.Registry.Kind == registryCRD || len(o.Resources()) > 0
}
