package process

import (
	"context"
	"net/http"
	"os"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/inspect/whyserved"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/destination"
	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/internal/run"
	"github.com/signpostd/signpost/kube/kinds"
	"github.com/signpostd/signpost/kube/linked"
)

// newDestinationRole creates the role that serves the Destination API from a catalog.
func newDestinationRole(in roleInput, o settings.Destination) (role, error) {
	config, err := destinationConfig(&o, in.Report)
	if err != nil {
		return role{}, err
	}
	opaque, _ := catalog.ParsePortList(o.DefaultOpaquePorts) // checked with the options
	known := catalog.New(catalog.Options{DefaultOpaquePorts: opaque, Log: in.Log})
	from := kinds.FromEndpointSlices
	if !o.EnableEndpointSlices {
		from = kinds.FromEndpoints
	}
	config.Tracer = in.Tracer
	inspected := &inspectedDestination{known: known}
	config.Outdated, config.UnusableLink = inspected.outdated, inspected.unusable
	server := destination.NewServer(known, config, in.Registerer, in.Log)
	detours := linked.DetoursRefused
	if o.LinkedClustersThroughProxies {
		detours = linked.DetoursAllowed
	}
	links, err := newLinks(in, linked.Options{Namespace: o.LinkNamespace, Catalog: known, From: from, Detours: detours})
	if err != nil {
		return role{}, err
	}
	// Its connections are closed with those of the links.
	live, err := links.made.client(in.REST, clientConfig{timeout: requestTimeout, qps: lookRate, burst: lookBurst, wrap: whyserved.Bounded})
	if err != nil {
		return role{}, err
	}
	explainer := &whyserved.Explainer{Catalog: known, Server: server, Client: live, IPv6: o.EnableIPv6}
	inspected.server, inspected.stateOf = server, explainer.StateOf
	inspected.links, inspected.secrets = links.set.Status, links.set.Secrets
	return role{
		Name:          settings.DestinationSection,
		Tables:        kinds.CatalogTables(known, from),
		ServerOptions: server.ServerOptions(),
		Listener:      server.Listener,
		Register:      server.Register,
		Actors: func(settled <-chan struct{}) []run.Actor {
			return []run.Actor{
				{Name: "catalog", Run: known.Run},
				{Name: "linked clusters", Run: links.run},
				{Name: "first sync", Run: func(ctx context.Context) error { return markSynced(ctx, known, settled, links.set.Settled()) }},
				{Name: "destination", Run: server.Run},
				{Name: "garbage of herds", Run: func(ctx context.Context) error { return whileLimited(ctx, in.Log, server.Opened) }},
			}
		},
		Ready:    func() bool { return channel.IsClosed(known.Synced()) },
		Details:  func() []string { return missing(links.set.Secrets()) },
		Handlers: map[string]http.Handler{linked.StatusPath: links.handler()},
		Report:   links.report,
		Tell:     tellOfPod(links.client.CoreV1(), "signpost-destination", in.Log),
		Clusters: func() []inspect.Cluster { return clustersOf(links.set.Status()) },
		Offer: inspect.Offer{
			Streams: inspected, Services: inspected,
			Explains: explainer,
		},

		UseTables: inspected.useTables,
	}, nil
}

// destinationConfig returns the settings that responses depend on.
func destinationConfig(o *settings.Destination, report objectmeta.Report) (destination.Config, error) {
	http2, err := settings.ParseHTTP2Params(o.MeshedHTTP2ClientParams)
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
		Limits:               o.Limits,
		Report:               report,
	}, err
}

// linksWait limits how long serving our own cluster waits for the links to others, because an API
// server that can't return Secrets must not block everything else.
const linksWait = 5 * time.Second

// markSynced tells the catalog when it is complete: when the tables are filled and the links are
// known. Then it waits for the end of ctx, because an actor that returns stops the process.
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

// newDestinationWriter creates the part of the destination role that writes EndpointSlices for
// ExternalWorkloads, as Linkerd's controller does (spec/destination.md §8).
func newDestinationWriter(in roleInput, o settings.Destination) (role, error) {
	w, err := newWriter(in, writerConfig{
		set:      controllers.Config{Controllers: []controllers.Name{controllers.ExternalWorkloads}, ExternalWorkloads: controllers.Loop{Workers: 1}},
		leader:   o.Leader,
		identity: os.Getenv("HOSTNAME"),
	})
	if err != nil {
		return role{}, err
	}
	return role{
		Name:   settings.DestinationSection,
		Tables: w.set.Tables(),
		Actors: func(settled <-chan struct{}) []run.Actor {
			return []run.Actor{{Name: "writer", Run: func(ctx context.Context) error {
				if err := w.run(ctx, settled); err != nil && ctx.Err() == nil {
					in.Log.Error("Stopped writing EndpointSlices for ExternalWorkloads; serving continues", "err", err)
				}
				<-ctx.Done()
				return nil
			}}}
		},
		Leading:  func() inspect.Leading { return w.leadership.leading(settings.DestinationSection) },
		Problems: w.leadership.problems,
	}, nil
}
