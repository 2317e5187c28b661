package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"google.golang.org/grpc"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/destination"
	"github.com/signpostd/signpost/internal/admin"
	"github.com/signpostd/signpost/internal/report"
	"github.com/signpostd/signpost/internal/run"
	"github.com/signpostd/signpost/kube"
)

// roleInput is what the destination role is made from.
type roleInput struct {
	Options    destinationOptions
	Log        *slog.Logger
	Registerer prometheus.Registerer
	// Report takes the problems of objects.
	Report catalog.Report
}

// role is what a role adds to the process.
type role struct {
	// ServerOptions and Register are for the gRPC server.
	ServerOptions []grpc.ServerOption
	Register      func(grpc.ServiceRegistrar)
	// Actors run until the process ends; one without a Grace gets that of the options.
	// When their context ends, open streams have to end too: the gRPC server waits for
	// them.
	Actors []run.Actor
	// Ready is what /ready answers.
	Ready func() (ready bool, details []string)
}

// newDestinationRole makes the role from the cluster, the catalog and the server. It
// starts nothing and doesn't wait for the API server.
func newDestinationRole(in roleInput) (role, error) {
	o := in.Options
	config, err := o.destinationConfig(in.Report)
	if err != nil {
		return role{}, err
	}
	restConfig, err := kube.LoadConfig(o.Process.Kubeconfig)
	if err != nil {
		return role{}, err
	}
	opaque, _ := catalog.ParsePortList(o.DefaultOpaquePorts, nil) // checked with the options
	known := catalog.New(catalog.Options{DefaultOpaquePorts: opaque, Report: in.Report})
	from := kube.FromEndpointSlices
	if !o.EnableEndpointSlices {
		from = kube.FromEndpoints
	}
	cluster, err := kube.New(kube.Options{Config: restConfig, Registerer: in.Registerer, Logger: in.Log, Report: in.Report},
		kube.CatalogTables(known, from)...)
	if err != nil {
		return role{}, err
	}
	server := destination.NewServer(known, config, in.Registerer, in.Log)
	return role{
		ServerOptions: server.ServerOptions(),
		Register:      server.Register,
		Actors: []run.Actor{
			{Name: "cluster", Run: cluster.Run},
			{Name: "catalog", Run: known.Run},
			{Name: "first sync", Run: func(ctx context.Context) error { return markSynced(ctx, cluster, known) }},
			{Name: "destination", Run: server.Run},
		},
		Ready: func() (bool, []string) { return readiness(cluster, known) },
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
func markSynced(ctx context.Context, cluster *kube.Cluster, known *catalog.Catalog) error {
	select {
	case <-cluster.Settled():
		known.MarkSynced()
		<-ctx.Done()
	case <-ctx.Done():
	}
	return nil
}

// readiness answers /ready: whether streams are answered, and which kinds of object
// are missing. Once ready it stays ready, as Linkerd's controller does: what is known
// is served while the API server is away.
func readiness(cluster *kube.Cluster, known *catalog.Catalog) (bool, []string) {
	var details []string
	for _, t := range cluster.Status() {
		if t.State != kube.Synced {
			details = append(details, strings.TrimSpace(fmt.Sprint(t.Kind, ": ", t.State, " ", t.Reason)))
		}
	}
	select {
	case <-known.Synced():
		return true, details
	default:
		return false, details
	}
}

// serveDestination runs the destination role until ctx ends.
func serveDestination(ctx context.Context, o destinationOptions, log *slog.Logger) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reporter, err := report.New(report.Config{Registerer: registry, Log: log})
	if err != nil {
		return err
	}
	r, err := newDestinationRole(roleInput{Options: o, Log: log, Registerer: registry, Report: reporter.Report})
	if err != nil {
		return err
	}
	return serveRole(ctx, r, serving{options: o, log: log, registry: registry})
}

// serving is what a role is served with.
type serving struct {
	options  destinationOptions
	log      *slog.Logger
	registry *prometheus.Registry
	// bound is told the addresses once both are bound; it may be nil.
	bound func(grpc, admin net.Addr)
}

// serveRole binds both addresses, so that neither is found taken later, and serves
// until ctx ends.
func serveRole(ctx context.Context, r role, s serving) error {
	grpcListener, err := listen(ctx, "addr", s.options.Addr)
	if err != nil {
		return err
	}
	// The servers close their listeners; what is closed twice here stays closed.
	defer grpcListener.Close()
	adminListener, err := listen(ctx, "metrics-addr", s.options.Process.MetricsAddr)
	if err != nil {
		return err
	}
	defer adminListener.Close()
	adminServer, err := admin.New(admin.Config{
		Listener:   adminListener,
		Gatherer:   s.registry,
		Registerer: s.registry,
		Ready:      r.Ready,
		PProf:      s.options.Process.EnablePProf,
		Log:        s.log,
	})
	if err != nil {
		return err
	}
	grpcActor, err := newGRPCActor(r, s, grpcListener)
	if err != nil {
		return err
	}
	if s.bound != nil {
		s.bound(grpcListener.Addr(), adminListener.Addr())
	}
	s.log.Info("Serving", "version", version, "grpc", grpcListener.Addr().String(), "admin", adminListener.Addr().String())
	err = runAll(ctx, r, s, run.Actor{Name: "admin server", Run: adminServer.Run}, grpcActor)
	s.log.Info("Stopped")
	return err
}

func runAll(ctx context.Context, r role, s serving, servers ...run.Actor) error {
	var group run.Group
	for _, a := range servers {
		group.Add(a)
	}
	for _, a := range r.Actors {
		if a.Grace == 0 {
			a.Grace = s.options.Process.ShutdownGrace
		}
		group.Add(a)
	}
	return group.Run(ctx)
}

func listen(ctx context.Context, flag, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on the address of --%s: %w: choose one that is free on this host", flag, err)
	}
	return l, nil
}
