package configure

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/api/externaldns"
	"github.com/signpostd/signpost/dns/source"
)

// Read is a kind of objects that a source reads.
type Read struct {
	Source string
	source.Resource
}

// Reads returns the kinds of objects that the sources read, in the order of the plugins, with one
// entry for each source. The first entry also stands for --namespace-domains. The options must be
// valid.
func (o *Options) Reads() []Read {
	var reads []Read
	for _, p := range o.sourcePlugins {
		if !slices.Contains(o.Sources, p.Name) {
			continue
		}
		for _, r := range o.sourceConfigs[p.Name].Resources() {
			reads = append(reads, Read{Source: p.Name, Resource: r})
		}
	}
	if o.readsNamespaces() && len(reads) > 0 {
		reads = append(reads, Read{Source: reads[0].Source, Resource: namespaceResource()})
	}
	return reads
}

// NamespacesOf returns the namespaces in which the sources read each kind of objects. An empty list
// means all, also for cluster-scoped kinds.
func (o *Options) NamespacesOf() map[schema.GroupResource][]string {
	of := map[schema.GroupResource][]string{}
	for _, read := range o.Reads() {
		Widen(of, map[schema.GroupResource][]string{read.GroupResource(): read.In(o.Source.OnlyNamespaces())})
	}
	return of
}

// Widen adds namespaces per kind to those of another map. An empty list means all namespaces.
func Widen(of, more map[schema.GroupResource][]string) {
	for resource, names := range more {
		before, known := of[resource]
		switch {
		case !known:
			of[resource] = names
		case len(before) == 0 || len(names) == 0:
			of[resource] = nil
		default:
			all := slices.Concat(before, names)
			slices.Sort(all)
			of[resource] = slices.Compact(all)
		}
	}
}

// NeedsCluster reports whether the publisher reads or writes objects other than Events.
func (o *Options) NeedsCluster() bool { return o.OwnsByObjects() || len(o.Reads()) > 0 }

// OwnsByObjects reports whether ownership is kept in DNSRecords.
func (o *Options) OwnsByObjects() bool { return o.RegistryKind() == registryCRD }

// OwnerResource returns the resource of DNSRecords.
func (o *Options) OwnerResource() schema.GroupVersionResource {
	return externaldns.SchemeGroupVersion.WithResource("dnsrecords")
}

// AdjustCallsServer returns the providers that ask their server how records are adjusted.
func (o *Options) AdjustCallsServer() []string {
	var names []string
	for _, name := range o.Providers {
		if o.providerPlugin(name).AdjustCallsServer {
			names = append(names, name)
		}
	}
	return names
}

// SourcesOf returns the sources that make records of objects of a kind, whether or not the publisher has
// them.
func (o *Options) SourcesOf(kind schema.GroupKind) []string {
	var names []string
	for _, p := range o.sourcePlugins {
		for _, r := range o.sourceConfigs[p.Name].Resources() {
			if r.Kind.GroupKind() == kind && !r.Dependency && !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

// Kinds are the kinds of the objects that records are made of, sorted.
func (o *Opened) Kinds() []string {
	var kinds []string
	for _, read := range o.options.Reads() {
		if !read.Dependency {
			kinds = append(kinds, read.Kind.Kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// Namespaces are those whose objects the sources read (--namespace); nil means all.
func (o *Opened) Namespaces() []string { return o.options.Source.OnlyNamespaces() }
