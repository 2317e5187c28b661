package check

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
		from := kinds.FromEndpointSlices
		if !a.Config.Destination.EnableEndpointSlices {
			from = kinds.FromEndpoints
		}
		tables(kinds.CatalogTables(nil, from), settings.DestinationSection)
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
	read := a.readKinds()
	served := map[schema.GroupVersion]map[string]bool{}
	var results []Result
	present := 0
	for _, k := range read {
		gv := k.GroupVersion()
		if _, known := served[gv]; !known {
			names, err := a.served(ctx, gv)
			if err != nil {
				return append(results, Result{State: Unknown, Text: fmt.Sprintf("which kinds of %s the cluster has: %s", gv, reason(err))})
			}
			served[gv] = names
		}
		if served[gv][k.Resource] {
			present++
			continue
		}
		result, err := a.missing(ctx, k)
		if err != nil {
			return append(results, Result{State: Unknown, Text: fmt.Sprintf("which versions of %s the cluster has: %s", k.Group, reason(err))})
		}
		results = append(results, result)
	}
	if present > 0 {
		results = append([]Result{{State: OK, Text: fmt.Sprintf("the cluster has %d of the %d kinds that are read", present, len(read))}}, results...)
	}
	return results
}

// missing describes the consequences of a missing kind.
func (a checker) missing(ctx context.Context, k *kind) (Result, error) {
	versions, err := a.versions(ctx, k.Group)
	if err != nil {
		return Result{}, err
	}
	others, err := a.othersThatServe(ctx, k, versions)
	if err != nil {
		return Result{}, err
	}
	if len(others) > 0 {
		return Result{
			State: Failed,
			Text: fmt.Sprintf("the cluster has %s in %s, and not in %s, which %s would read: the objects exist and can't be read",
				k.GroupResource(), strings.Join(others, ", "), k.Version, strings.Join(k.readers, ", ")),
			Hint: fmt.Sprintf("serve %s in %s too (spec.versions of its CustomResourceDefinition), or run a Signpost that reads what is served", k.GroupResource(), k.Version),
		}, nil
	}
	result := Result{State: Note, Text: fmt.Sprintf("the cluster has no %s (%s), which %s would read", k.GroupResource(), k.Version, strings.Join(k.readers, ", "))}
	if len(versions) > 0 {
		result.Text += fmt.Sprintf("; of this group it has %s", strings.Join(versions, ", "))
	}
	if k.required {
		result.State = Failed
		result.Hint = "install the definition of this kind in a version that has it, or leave out what reads it"
	}
	return result, nil
}

// othersThatServe returns the other versions of a group in which the cluster has a missing kind.
func (a checker) othersThatServe(ctx context.Context, k *kind, versions []string) (others []string, err error) {
	for _, version := range versions {
		names, err := a.served(ctx, schema.GroupVersion{Group: k.Group, Version: version})
		if err != nil {
			return nil, err
		}
		if names[k.Resource] {
			others = append(others, version)
		}
	}
	return others, nil
}

// served returns the resources of a group and version; none if there is no such version.
func (a checker) served(ctx context.Context, gv schema.GroupVersion) (map[string]bool, error) {
	path := "/apis/" + gv.String()
	if gv.Group == "" {
		path = "/api/" + gv.Version
	}
	var list metav1.APIResourceList
	if err := a.get(ctx, path, &list); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, r := range list.APIResources {
		names[r.Name] = true
	}
	return names, nil
}

// versions returns the versions of a group in the API server, the preferred one first.
func (a checker) versions(ctx context.Context, group string) ([]string, error) {
	var served metav1.APIGroup
	if err := a.get(ctx, "/apis/"+group, &served); err != nil {
		return nil, err
	}
	var versions []string
	for _, v := range served.Versions {
		versions = append(versions, v.Version)
	}
	return versions, nil
}

// get reads a document of the API server into a value, which stays unchanged if the document is
// missing.
func (a checker) get(ctx context.Context, path string, into any) error {
	text, err := a.own.Discovery().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").Do(ctx).Raw()
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
