package process

import (
	"context"
	"time"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/run"
	"github.com/signpostd/signpost/kube/kinds"
	"github.com/signpostd/signpost/kube/linked"
)

// discovery is a catalog with its inputs: the tables of our own cluster and the links to others.
// The roles of a process that serve from a catalog share one.
type discovery struct {
	known *catalog.Catalog
	links *links
	*freshness
}

// discoveryConfig has the settings of a catalog and its inputs.
type discoveryConfig struct {
	// opaque are the ports that are opaque unless an annotation says otherwise.
	opaque catalog.PortSet
	// from is the kind that endpoints are read from.
	from kinds.EndpointsFrom
	// linkNamespace is the namespace of the Secrets of linked clusters, and throughProxies allows
	// kubeconfigs that name a proxy.
	linkNamespace  string
	throughProxies bool
}

// newDiscovery creates the catalog and its inputs.
func newDiscovery(in roleInput, c discoveryConfig) (*discovery, error) {
	known := catalog.New(catalog.Options{DefaultOpaquePorts: c.opaque, Log: in.Log})
	detours := linked.DetoursRefused
	if c.throughProxies {
		detours = linked.DetoursAllowed
	}
	links, err := newLinks(in, linked.Options{Namespace: c.linkNamespace, Catalog: known, From: c.from, Detours: detours})
	if err != nil {
		return nil, err
	}
	return &discovery{known: known, links: links, freshness: &freshness{kinds.CatalogTables(known, c.from), links.set.Secrets}}, nil
}

// actors returns the actors that keep the catalog up to date. settled is closed when the tables are
// filled.
func (d *discovery) actors(settled <-chan struct{}) []run.Actor {
	return []run.Actor{
		{Name: "catalog", Run: d.known.Run},
		{Name: "linked clusters", Run: d.links.run},
		{Name: "first sync", Run: func(ctx context.Context) error { return markSynced(ctx, d.known, settled, d.links.set.Settled()) }},
	}
}

// addTo adds what keeps the catalog up to date, and what is known about it, to the role that owns it.
func (d *discovery) addTo(r *role) {
	own := r.Actors
	r.Tables = d.tables
	r.Actors = func(settled <-chan struct{}) []run.Actor { return append(d.actors(settled), own(settled)...) }
	r.Details = func() []string { return missing(d.links.set.Secrets()) }
	r.Report = d.links.report
	r.Clusters = d.links.set.Status
	r.Replicas = d.replicas
}

// linksWait limits how long serving our own cluster waits for the links to others, because an API
// server that can't return Secrets must not block everything else.
const linksWait = 5 * time.Second

// markSynced marks the catalog as synced when the tables are filled and the links are known. Then
// it waits for the end of ctx, because an actor that returns stops the process.
func markSynced(ctx context.Context, known *catalog.Catalog, settled, links <-chan struct{}) error {
	select {
	case <-settled:
	case <-ctx.Done():
		return nil
	}
	select {
	case <-links:
	case <-time.After(linksWait):
	case <-ctx.Done():
		return nil
	}
	known.MarkSynced()
	<-ctx.Done()
	return nil
}
