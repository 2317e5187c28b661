package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

// kind is a kind of objects that a role reads.
type kind struct {
	schema.GroupVersionResource
	// readers are the tables and sources that read the kind. required is true if one of them was
	// configured explicitly, or requires the kind.
	readers  []string
	required bool
}

// readKinds returns the kinds that the tables and sources of the roles read, each once.
func (a checker) readKinds() []*kind {
	var all []*kind
	add := func(r schema.GroupVersionResource, reader string, required bool) {
		i := slices.IndexFunc(all, func(k *kind) bool { return k.GroupVersionResource == r })
		if i < 0 {
			i = len(all)
			all = append(all, &kind{GroupVersionResource: r})
		}
		if !slices.Contains(all[i].readers, reader) {
			all[i].readers = append(all[i].readers, reader)
		}
		all[i].required = all[i].required || required
	}
	tables := func(list []kube.AnyTable, reader string) {
		for _, t := range list {
			add(t.Resource(), reader, t.Status().Required)
		}
	}
	if a.Config.RunsDestination {
		tables(kinds.CatalogTables(nil, a.Config.Destination.EndpointsFrom()), settings.DestinationSection)
	}
	if a.Config.RunsXDS {
		tables(kinds.CatalogTables(nil, kinds.FromEndpointSlices), settings.XDSSection)
	}
	if a.Config.RunsControllers {
		if names, err := a.Config.Controllers.Names(); err == nil {
			tables(controllers.Reads(names...), settings.ControllersSection)
		}
	}
	if a.Config.RunsDNS {
		for _, p := range a.Config.DNS.Publishers {
			for _, read := range p.Reads() {
				// A configured source is wanted.
				add(read.Kind.GroupVersion().WithResource(read.Plural), "--source="+read.Source, true)
			}
			if p.OwnsByObjects() {
				add(p.OwnerResource(), "--registry=crd", true)
			}
		}
	}
	return all
}

// kinds checks which of the required kinds the cluster has.
func (a checker) kinds(ctx context.Context) []Result {
	groups, lists, err := a.own.ServerGroupsAndResourcesWithContext(ctx)
	failed, partly := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partly {
		return []Result{{State: Unknown, Text: "which kinds the cluster has: " + reason(err)}}
	}
	served := servedKinds{groups: groups, lists: lists}
	read := a.readKinds()
	var results []Result
	present := 0
	for _, k := range read {
		if err := failed[k.GroupVersion()]; err != nil {
			results = append(results, Result{State: Unknown, Text: fmt.Sprintf("which kinds of %s the cluster has: %s", k.GroupVersion(), reason(err))})
		} else if served.has(k, k.Version) {
			present++
		} else {
			results = append(results, served.missing(k))
		}
	}
	if present > 0 {
		results = append([]Result{{State: OK, Text: fmt.Sprintf("the cluster has %d of the %d kinds that are read", present, len(read))}}, results...)
	}
	return results
}

type servedKinds struct {
	groups []*metav1.APIGroup
	lists  []*metav1.APIResourceList
}

// has reports whether the cluster has a kind in a version.
func (s servedKinds) has(k *kind, version string) bool {
	gv := schema.GroupVersion{Group: k.Group, Version: version}.String()
	return slices.ContainsFunc(s.lists, func(l *metav1.APIResourceList) bool {
		return l.GroupVersion == gv && slices.ContainsFunc(l.APIResources, func(r metav1.APIResource) bool { return r.Name == k.Resource })
	})
}

// missing describes the consequences of a missing kind.
func (s servedKinds) missing(k *kind) Result {
	var versions, others []string // of the group, the preferred one first, and those with the kind
	for _, g := range s.groups {
		for _, v := range g.Versions {
			if g.Name == k.Group {
				versions = append(versions, v.Version)
			}
			if g.Name == k.Group && s.has(k, v.Version) {
				others = append(others, v.Version)
			}
		}
	}
	if len(others) > 0 {
		return Result{
			State: Failed,
			Text: fmt.Sprintf("the cluster has %s in %s, and not in %s, which %s would read: the objects exist and can't be read",
				k.GroupResource(), strings.Join(others, ", "), k.Version, strings.Join(k.readers, ", ")),
			Hint: fmt.Sprintf("serve %s in %s too (spec.versions of its CustomResourceDefinition), or run a Signpost that reads what is served", k.GroupResource(), k.Version),
		}
	}
	result := Result{State: Note, Text: fmt.Sprintf("the cluster has no %s (%s), which %s would read", k.GroupResource(), k.Version, strings.Join(k.readers, ", "))}
	if len(versions) > 0 {
		result.Text += fmt.Sprintf("; of this group it has %s", strings.Join(versions, ", "))
	}
	if k.required {
		result.State = Failed
		result.Hint = "install the definition of this kind in a version that has it, or leave out what reads it"
	}
	return result
}
