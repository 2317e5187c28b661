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

// serving has the settings for serving a process.
type serving struct {
	options settings.Process
	// origin is [settings.Config.Origin].
	origin   func(path string) string
	log      *slog.Logger
	registry *prometheus.Registry
	// panicked is called when a gRPC call has panicked. Tests fail then; otherwise it is nil.
	panicked func(value any, stack []byte)
	// bound is called with the addresses once all are bound: those of the gRPC servers in the order of
	// the roles. inspection is nil without a server of its own. bound itself may be nil.
	bound func(grpc []net.Addr, admin, inspection net.Addr)
}

// serveProcess binds all addresses before it starts anything, so that an address in use is found at
// once. Then it serves until ctx ends.
func serveProcess(ctx context.Context, p process, s serving) error {
	var addresses []net.Addr
	servers, listeners, err := listenGRPC(ctx, p, s)
	for _, l := range listeners {
		// The server closes its listener too. Closing it twice does no harm.
		defer l.Close()
		addresses = append(addresses, l.Addr())
	}
	if err != nil {
		return err
	}
	l, err := s.listen(ctx, settings.AdminAddress, s.options.MetricsAddr)
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
		s.bound(addresses, l.Addr(), inspectAddr)
	}
	s.logServing(p.Servers, addresses, l.Addr(), inspectAddr)
	err = runAll(ctx, p, s, servers...)
	s.log.Info("Stopped")
	return err
}

// listenGRPC binds the addresses of the gRPC servers. It returns the listeners that it opened also
// with an error.
func listenGRPC(ctx context.Context, p process, s serving) (actors []run.Actor, listeners []net.Listener, err error) {
	if len(p.Servers) == 0 {
		return nil, nil, nil
	}
	shared := newInterceptors(s)
	for _, server := range p.Servers {
		l, err := s.listen(ctx, server.Setting, server.Addr)
		if err != nil {
			return nil, listeners, err
		}
		listeners = append(listeners, l)
		actors = append(actors, server.actor(shared, s, l))
	}
	return actors, listeners, nil
}

// logServing logs the addresses, those of gRPC servers in their order. Without a server of its own for the
// inspection API, that address is nil.
func (s *serving) logServing(servers []grpcServer, grpcAddrs []net.Addr, adminAddr, inspectAddr net.Addr) {
	addresses := []any{"version", version.Current()}
	for i, a := range grpcAddrs {
		addresses = append(addresses, servers[i].LogKey, a.String())
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
		a.Grace = cmp.Or(a.Grace, s.options.ShutdownGrace)
		group.Add(a)
	}
	return group.Run(ctx)
}

// listen listens on the address that the user gave with a setting.
func (s *serving) listen(ctx context.Context, setting, address string) (net.Listener, error) {
	origin := func() string { return s.origin(setting) }
	l, err := listen(ctx, origin, address, "choose one that is free on this host")
	if err != nil {
		return nil, err
	}
	return logAccept(l, s.log), nil
}

// listen listens on an address. origin says how the user gave it, and advice what to do after an error.
func listen(ctx context.Context, origin func() string, address, advice string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on the address of %s: %w: %s", origin(), err, advice)
	}
	return l, nil
}

// newProcessRegistry returns a registry with the metrics of the runtime and the process.
func newProcessRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}
