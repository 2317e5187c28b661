package main

import (
	"context"
	"os"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/destination"
	"github.com/signpostd/signpost/internal/run"
	"github.com/signpostd/signpost/kube"
)

// newDestinationRole makes the role that serves the Destination API from the catalog.
func newDestinationRole(in roleInput, o destinationOptions) (role, error) {
	config, err := o.destinationConfig(in.Report)
	if err != nil {
		return role{}, err
	}
	opaque, _ := catalog.ParsePortList(o.DefaultOpaquePorts, nil) // checked with the options
	known := catalog.New(catalog.Options{DefaultOpaquePorts: opaque, Report: in.Report})
	from := kube.FromEndpointSlices
	if !o.EnableEndpointSlices {
		from = kube.FromEndpoints
	}
	server := destination.NewServer(known, config, in.Registerer, in.Log)
	return role{
		Tables:        kube.CatalogTables(known, from),
		ServerOptions: server.ServerOptions(),
		Register:      server.Register,
		Actors: func(settled <-chan struct{}) []run.Actor {
			return []run.Actor{
				{Name: "catalog", Run: known.Run},
				{Name: "first sync", Run: func(ctx context.Context) error { return markSynced(ctx, settled, known) }},
				{Name: "destination", Run: server.Run},
			}
		},
		Ready: func() bool { return isClosed(known.Synced()) },
	}, nil
}

// destinationConfig returns what answers depend on.
func (o *destinationOptions) destinationConfig(report catalog.Report) (destination.Config, error) {
	http2, err := parseHTTP2Params(o.MeshedHTTP2ClientParams)
	return destination.Config{
		ControllerNamespace:  o.ControllerNamespace,
		TrustDomain:          o.IdentityTrustDomain,
		ClusterDomain:        o.ClusterDomain,
		ForceOpaqueTransport: o.ForceOpaqueTransport(),
		EnableH2Upgrade:      o.EnableH2Upgrade,
		EnableIPv6:           o.EnableIPv6,
		ZoneWeights:          o.ExtEndpointZoneWeights,
		HTTP2:                http2,
		NodeMetrics:          o.EndpointMetricsPerNode,
		Report:               report,
	}, err
}

// markSynced tells the catalog once it has been given everything, and then waits
// for the end: an actor that returns stops the process.
func markSynced(ctx context.Context, settled <-chan struct{}, known *catalog.Catalog) error {
	select {
	case <-settled:
		known.MarkSynced()
		<-ctx.Done()
	case <-ctx.Done():
	}
	return nil
}

// destinationWrites reports whether the destination role writes EndpointSlices: one
// writer in a process will do, and the controllers role is asked for it by name.
func (c *config) destinationWrites() bool {
	return c.RunsDestination && c.Destination.writes() && !(c.RunsControllers && c.Controllers.runs(controllers.ExternalWorkloads))
}

// newDestinationWriter makes the part of the role that writes EndpointSlices for
// ExternalWorkloads, as Linkerd's controller does (spec/destination.md §8).
func newDestinationWriter(in roleInput, o destinationOptions) (role, error) {
	w, err := newWriter(in, writerConfig{
		set:      controllers.Config{Controllers: []controllers.Name{controllers.ExternalWorkloads}, ExternalWorkloads: controllers.Loop{Workers: 1}},
		leader:   o.Leader,
		identity: os.Getenv("HOSTNAME"),
	})
	if err != nil {
		return role{}, err
	}
	return role{
		Tables: w.set.Tables(),
		Actors: func(settled <-chan struct{}) []run.Actor {
			return []run.Actor{{Name: "writer", Run: func(ctx context.Context) error {
				if err := w.run(ctx, settled); err != nil && ctx.Err() == nil {
					in.Log.Error("Writing EndpointSlices for ExternalWorkloads has ended, serving goes on", "error", err)
				}
				<-ctx.Done()
				return nil
			}}}
		},
	}, nil
}
