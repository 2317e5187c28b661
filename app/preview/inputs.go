package preview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/rfc2136"
	manifests "github.com/signpostd/signpost/internal/manifest"
	"github.com/signpostd/signpost/internal/objectserver"
)

// Check refuses inputs that can't replace the cluster or the provider of this publisher.
func (i *Inputs) Check(publisher *configure.Options) error {
	var errs []error
	if r := publisher.RegistryKind(); len(i.Manifests) > 0 && (r == "crd" || r == "dynamodb") {
		errs = append(errs, fmt.Errorf("--registry=%s: manifests don't have the owners of records: leave out -f to read the cluster", r))
	}
	if len(i.ZoneFiles) > 0 && publisher.RegistryKind() == "aws-sd" {
		errs = append(errs, errors.New("--zone-file: zone files have no descriptions, in which --provider=aws-sd keeps who owns which record: leave out --zone-file"))
	}
	if len(i.ZoneFiles) > 0 && len(publisher.Providers) > 1 {
		errs = append(errs, errors.New("--zone-file: replaces one provider only: make a plan for each provider"))
	}
	if len(i.ZoneFiles) > 0 {
		for _, name := range publisher.AdjustCallsServer() {
			errs = append(errs, fmt.Errorf("--provider=%[1]s: only the %[1]s itself can say how it adjusts records: leave out --zone-file or --provider", name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return settings.AsUsage(err)
	}
	return nil
}

func (i *Inputs) readManifests() ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, path := range i.Manifests {
		found, err := manifests.ReadPath(path, i.Stdin, maxManifest)
		if err != nil {
			return nil, settings.Usagef("-f %s: %w", path, err)
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// serveManifests returns the config of an object server that serves copies of the objects that a
// publisher reads, and the kinds that it doesn't read. Addresses that only a cluster knows are unknown
// ([addUnknownAddresses]).
func serveManifests(publisher *configure.Options, objects []*unstructured.Unstructured) (*rest.Config, map[schema.GroupKind]Unread, error) {
	read, named := map[schema.GroupKind]schema.GroupVersion{}, map[schema.GroupResource]schema.GroupVersion{}
	for _, r := range publisher.Reads() {
		if r.Kind.Kind == "" {
			named[r.GroupResource()] = r.Kind.GroupVersion()
			continue
		}
		read[r.Kind.GroupKind()] = r.Kind.GroupVersion()
	}
	server := objectserver.New(slices.Collect(maps.Keys(read))...)
	server.ServeResources(slices.Collect(maps.Keys(named))...)
	unread, namespaces := map[schema.GroupKind]Unread{}, map[string]bool{}
	for _, obj := range objects {
		if err := checkName(obj); err != nil {
			return nil, nil, err
		}
		obj = obj.DeepCopy() // each publisher changes its own copy
		// A cluster serves a custom resource in each version of its definition, also in other
		// versions than that of the manifest.
		kind := obj.GroupVersionKind()
		version, ok := read[kind.GroupKind()]
		if !ok {
			version, ok = named[objectserver.ResourceOf(kind).GroupResource()]
		}
		if ok && !scheme.Scheme.Recognizes(version.WithKind(kind.Kind)) {
			obj.SetAPIVersion(version.String())
		}
		_, isRead := read[kind.GroupKind()]
		_, isNamed := named[objectserver.ResourceOf(kind).GroupResource()]
		if !isRead && !isNamed || !server.Serves(obj.GroupVersionKind()) {
			u := unread[kind.GroupKind()]
			unread[kind.GroupKind()] = Unread{Kind: kind.Kind, Group: kind.Group, Count: u.Count + 1, Sources: publisher.SourcesOf(kind.GroupKind())}
			continue
		}
		if obj.GetName() == "" {
			return nil, nil, settings.Usagef("-f: a %s has no name: give each object one, as a cluster would", obj.GetKind())
		}
		addUnknownAddresses(obj)
		if err := server.Put(obj); err != nil {
			return nil, nil, settings.Usagef("-f: %w", err)
		}
		if !objectserver.ClusterScoped(obj.GetKind()) {
			namespaces[cmp.Or(obj.GetNamespace(), objectserver.DefaultNamespace)] = true
		}
	}
	return server.Config(), unread, checkNamespaces(publisher.Source.OnlyNamespaces(), slices.Sorted(maps.Keys(namespaces)))
}

// checkNamespaces refuses namespaces that no object has: with a mistyped one, all records would be
// deleted.
func checkNamespaces(wanted, existing []string) error {
	if len(wanted) == 0 || len(existing) == 0 || slices.ContainsFunc(wanted, func(name string) bool { return slices.Contains(existing, name) }) {
		return nil
	}
	return settings.Usagef("--namespace=%s: no object of -f is in this namespace: they are in %s", strings.Join(wanted, ","), strings.Join(existing, ", "))
}

// checkName refuses a template that wasn't rendered.
func checkName(obj *unstructured.Unstructured) error {
	for _, name := range []string{obj.GetName(), obj.GetNamespace()} {
		if strings.Contains(name, "{{") {
			return settings.Usagef("-f: a %s has the name %q, which is a template: render it first, as with `helm template`", obj.GetKind(), name)
		}
	}
	return nil
}

// maxManifest limits a file of manifests in bytes, above the objects of a large cluster in one file.
const maxManifest = 256 << 20

// zoneFiles is a provider whose zones come from files. It adjusts records as the provider of the
// command line does.
type zoneFiles struct {
	*rfc2136.Files
	adjuster     provider.Adjuster
	capabilities provider.Capabilities
}

// Capabilities implements [provider.Provider].
func (z zoneFiles) Capabilities() provider.Capabilities { return z.capabilities }

// Adjust implements [provider.Adjuster].
func (z zoneFiles) Adjust(ctx context.Context, zone dns.Zone, wanted []*dns.RecordSet) ([]provider.Adjusted, error) {
	return z.adjuster.Adjust(ctx, zone, wanted)
}

func (i *Inputs) openZoneFiles(ctx context.Context, publisher *configure.Options, in configure.Input) (provider.Provider, error) {
	files, err := rfc2136.OpenFiles(i.ZoneFiles)
	if err != nil {
		return nil, fmt.Errorf("--zone-file: %w", err)
	}
	files.Keep(publisher.ZoneIDs)
	files.Keep(publisher.ZoneNames)
	z := zoneFiles{Files: files, adjuster: files}
	opened, err := publisher.OpenProvider(ctx, in)
	if err != nil {
		return nil, err
	}
	z.capabilities = opened.Capabilities()
	if adjuster, ok := opened.(provider.Adjuster); ok {
		z.adjuster = adjuster
	}
	return z, nil
}
