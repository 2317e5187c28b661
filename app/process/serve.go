package process

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/signpostd/signpost/app/admin"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/internal/run"
	"github.com/signpostd/signpost/internal/version"
)

// serving says how a process is served.
type serving struct {
	options settings.Process
	// metricsFlag is as in [settings.Config].
	metricsFlag string
	// addr is the address of the gRPC server, if there is one.
	addr     string
	log      *slog.Logger
	registry *prometheus.Registry
	// panicked is called when a gRPC call has panicked. It is nil except in tests, which fail then.
	panicked func(value any, stack []byte)
	// bound is called with the addresses once all are bound. grpc is nil without a gRPC server, and
	// inspection is nil without its own server. bound itself may be nil.
	bound func(grpc, admin, inspection net.Addr)
}

// serveProcess binds all addresses before it starts anything, so that an address in use is found at
// once. Then it serves until ctx ends.
func serveProcess(ctx context.Context, p process, s serving) error {
	var grpcAddr net.Addr
	var servers []run.Actor
	if len(p.Services) > 0 {
		l, err := listen(ctx, "addr", s.addr)
		if err != nil {
			return err
		}
		// The server closes its listener too. Closing it twice is harmless.
		defer l.Close()
		grpcAddr = l.Addr()
		servers = append(servers, newGRPCActor(p, s, l))
	}
	l, err := listen(ctx, cmp.Or(s.metricsFlag, "metrics-addr"), s.options.MetricsAddr)
	if err != nil {
		return err
	}
	defer l.Close()
	var inspectAddr net.Addr
	panicked, err := admin.NewPanics(s.registry, s.log)
	if err != nil {
		return err
	}
	config := admin.Config{
		Listener: l, Gatherer: s.registry, Registerer: s.registry, Ready: p.Ready, Reasons: p.Reasons,
		PProf: s.options.EnablePProf, Log: s.log, Panics: panicked,
	}
	if p.Inspection.Status != nil {
		i, err := p.openInspectionServers(ctx, s, &config)
		if err != nil {
			return err
		}
		defer i.close()
		inspectAddr, servers = i.addr, append(servers, i.actors...)
	}
	adminServer, err := admin.New(config)
	if err != nil {
		return err
	}
	servers = slices.Insert(servers, 0, run.Actor{Name: "admin server", Run: adminServer.Run})
	if s.bound != nil {
		s.bound(grpcAddr, l.Addr(), inspectAddr)
	}
	s.logServing(grpcAddr, l.Addr(), inspectAddr)
	err = runAll(ctx, p, s, servers...)
	s.log.Info("Stopped")
	return err
}

// logServing logs the addresses. grpcAddr is nil without a gRPC server, and inspectAddr is nil if
// the inspection API has no server of its own.
func (s *serving) logServing(grpcAddr, adminAddr, inspectAddr net.Addr) {
	addresses := []any{"version", version.Current()}
	if grpcAddr != nil {
		addresses = append(addresses, "grpc", grpcAddr.String())
	}
	addresses = append(addresses, "admin", adminAddr.String())
	if inspectAddr != nil {
		addresses = append(addresses, "inspection", inspectAddr.String())
	}
	s.log.Info("Serving", addresses...)
}

func runAll(ctx context.Context, p process, s serving, servers ...run.Actor) error {
	var group run.Group
	for _, a := range servers {
		group.Add(a)
	}
	for _, a := range p.Actors {
		if a.Grace == 0 {
			a.Grace = s.options.ShutdownGrace
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

// newProcessRegistry returns a registry with the metrics of the runtime and the process.
func newProcessRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}
