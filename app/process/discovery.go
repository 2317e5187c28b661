package process

import (
	"context"
	"time"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/run"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
	"github.com/signpostd/signpost/kube/linked"
)

// discovery is a catalog with what fills it: the tables of our own cluster and the links to others. The roles of a
// process that answer from a catalog share one.
type discovery struct {
	known  *catalog.Catalog
	links  *links
	tables []kube.AnyTable
}

// newDiscovery makes the catalog that the settings of the destination role describe.
func newDiscovery(in roleInput, o settings.Destination) (*discovery, error) {
	opaque, _ := catalog.ParsePortList(o.DefaultOpaquePorts) // checked with the options
	known := catalog.New(catalog.Options{DefaultOpaquePorts: opaque, Log: in.Log})
	from := kinds.FromEndpointSlices
	if !o.EnableEndpointSlices {
		from = kinds.FromEndpoints
	}
	detours := linked.DetoursRefused
	if o.LinkedClustersThroughProxies {
		detours = linked.DetoursAllowed
	}
	links, err := newLinks(in, linked.Options{Namespace: o.LinkNamespace, Catalog: known, From: from, Detours: detours})
	if err != nil {
		return nil, err
	}
	return &discovery{known: known, links: links, tables: kinds.CatalogTables(known, from)}, nil
}

// actors returns what keeps the catalog up to date. settled is closed when the tables are filled.
func (d *discovery) actors(settled <-chan struct{}) []run.Actor {
	return []run.Actor{
		{Name: "catalog", Run: d.known.Run},
		{Name: "linked clusters", Run: d.links.run},
		{Name: "first sync", Run: func(ctx context.Context) error { return markSynced(ctx, d.known, settled, d.links.set.Settled()) }},
	}
}

// linksWait is how long serving our own cluster may wait for the links to others. An API
// server that can't return Secrets must not hold up everything else.
const linksWait = 5 * time.Second

// markSynced tells the catalog when it has everything: when the tables are filled and the
// links are known. Then it waits for the end of ctx, because an actor that returns stops the
// process.
func markSynced(ctx context.Context, known *catalog.Catalog, settled, links <-chan struct{}) error {
	select {
	case <-settled:
	case <-ctx.Done():
		return nil
	}
	limit := time.NewTimer(linksWait)
	defer limit.Stop()
	select {
	case <-links:
	case <-limit.C:
	case <-ctx.Done():
		return nil
	}
	known.MarkSynced()
	<-ctx.Done()
	return nil
}
