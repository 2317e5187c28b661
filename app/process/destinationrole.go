package process

import (
	"context"
	"os"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/inspect/whyserved"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/destination"
	"github.com/signpostd/signpost/internal/channel"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/internal/run"
)

// newDestinationRole creates the role that serves the Destination API, and its catalog, which other
// roles can share.
func newDestinationRole(in roleInput, o settings.Destination) (role, *discovery, error) {
	config, err := destinationConfig(&o, in.Report, in.Fixed)
	if err != nil {
		return role{}, nil, err
	}
	opaque, _ := catalog.ParsePortList(o.DefaultOpaquePorts) // checked with the options
	found, err := newDiscovery(in, discoveryConfig{
		opaque: opaque, from: o.EndpointsFrom(), linkNamespace: o.LinkNamespace, throughProxies: o.LinkedClustersThroughProxies,
	})
	if err != nil {
		return role{}, nil, err
	}
	config.Tracer, config.History = in.Tracer, in.History
	inspected := &inspectedDestination{known: found.known, links: found.links.set.Status, freshness: found.freshness}
	config.Outdated, config.UnusableLink = inspected.outdated, inspected.unusable
	server := destination.NewServer(found.known, config, in.Registerer, in.Log)
	// The connections of this client are closed with those of the links.
	live, err := found.links.connections.client(in.REST, clientConfig{timeout: requestTimeout, qps: explainRate, burst: explainBurst, wrap: whyserved.Bounded})
	if err != nil {
		return role{}, nil, err
	}
	explainer := &whyserved.Explainer{Catalog: found.known, Server: server, Client: live, IPv6: o.EnableIPv6, Unreadable: inspected.unreadable}
	inspected.server, inspected.stateOf = server, explainer.StateOf
	r := role{
		Name: settings.DestinationSection,
		Server: &grpcServer{
			Setting: settings.DestinationAddress, LogKey: "grpc", Addr: o.Addr,
			Options:  server.ServerOptions(),
			Register: server.Register, Listener: server.Listener,
		},
		Actors: func(<-chan struct{}) []run.Actor {
			return []run.Actor{
				{Name: "destination", Run: server.Run},
				{Name: "garbage collection in reconnect storms", Run: func(ctx context.Context) error { return delayCollectionInStorms(ctx, in.Log, server.Opened) }},
			}
		},
		Ready:       func() bool { return channel.IsClosed(found.known.Synced()) },
		SendWarning: podWarnings(found.links.client.CoreV1(), "signpost-destination", in.Log),
		Offer:       inspect.Offer{Streams: inspected, Services: inspected, Explains: explainer},
	}
	found.addTo(&r)
	return r, found, nil
}

// destinationConfig returns the settings that responses depend on.
func destinationConfig(o *settings.Destination, report objectmeta.Report, fixed objectmeta.Fixed) (destination.Config, error) {
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
		Fixed:                fixed,
	}, err
}

// newDestinationWriter makes the part of the destination role that writes EndpointSlices for
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
