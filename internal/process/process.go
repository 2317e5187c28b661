package process

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"google.golang.org/grpc"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/internal/admin"
	"github.com/signpostd/signpost/internal/object"
	"github.com/signpostd/signpost/internal/report"
	"github.com/signpostd/signpost/internal/run"
	"github.com/signpostd/signpost/internal/settings"
	"github.com/signpostd/signpost/internal/version"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

// roleInput is what roles are made from.
type roleInput struct {
	// REST says where the API server is.
	REST *rest.Config
	// Namespaces are the only ones that are read; none is all.
	Namespaces []string
	Log        *slog.Logger
	Registerer prometheus.Registerer
	// Report takes the problems of objects.
	Report object.Report
	// Metrics are those of all controllers of the process; nil when none runs.
	Metrics *reconcile.Metrics
}

// role is what a role adds to the process.
type role struct {
	// Name is that of the role, for errors.
	Name string
	// Tables are those that the cluster has to fill.
	Tables []kube.AnyTable
	// ServerOptions and Register are for the gRPC server, which isn't there when no role
	// has a Register.
	ServerOptions []grpc.ServerOption
	Register      func(grpc.ServiceRegistrar)
	// Actors returns what runs until the process ends; one without a Grace gets that of the
	// options. Settled is closed when the tables have been filled. When their context
	// ends, open streams have to end too: the gRPC server waits for them.
	Actors func(settled <-chan struct{}) []run.Actor
	// Ready is whether the role does its work. Nil is when the tables have been filled.
	Ready func() bool
	// Details are lines for /ready about what the role does; nil is none.
	Details func() []string
	// Handlers are more paths of the admin server.
	Handlers map[string]http.Handler
	// Report also takes the problems of objects; nil is when nobody wants them.
	Report object.Report
}

// process is what runs: the roles, over one cluster.
type process struct {
	ServerOptions []grpc.ServerOption
	// Services are what the gRPC server serves. Without any there is no gRPC server.
	Services services
	Actors   []run.Actor
	// Ready is what /ready answers.
	Ready func() (ready bool, details []string)
	// Handlers are more paths of the admin server.
	Handlers map[string]http.Handler
}

// New makes the roles that a config has. It starts nothing and doesn't wait for
// the API server. What roles open lives until ctx ends.
func New(ctx context.Context, c settings.Config, log *slog.Logger, registerer prometheus.Registerer, report object.Report) (process, error) {
	restConfig, err := c.RESTConfig()
	if err != nil && c.NeedsCluster() {
		return process{}, err
	}
	in := roleInput{REST: restConfig, Namespaces: c.OnlyNamespaces(), Log: log, Registerer: registerer, Report: report}
	writer := c.DestinationWrites()
	if writer || c.RunsControllers {
		var queues prometheus.Registerer
		if c.RunsControllers || c.Destination.ExportQueueMetrics {
			queues = registerer
		}
		in.Metrics = reconcile.NewMetrics(registerer, queues)
	}
	var roles []role
	if c.RunsDestination {
		r, err := newDestinationRole(in, c.Destination)
		if err != nil {
			return process{}, err
		}
		roles = append(roles, r)
	}
	if writer {
		r, err := newDestinationWriter(in, c.Destination)
		if err != nil {
			return process{}, err
		}
		roles = append(roles, r)
	}
	if c.RunsControllers {
		r, err := newControllersRole(in, c.Controllers)
		if err != nil {
			return process{}, err
		}
		roles = append(roles, r)
	}
	if c.RunsDNS {
		r, err := newDNSRole(ctx, in, c.DNS)
		if err != nil {
			return process{}, err
		}
		roles = append(roles, r.role())
	}
	return joinRoles(in, roles)
}

// joinRoles makes the cluster that fills the tables of all roles.
func joinRoles(in roleInput, roles []role) (process, error) {
	p := process{Handlers: map[string]http.Handler{}}
	var tables []kube.AnyTable
	for _, r := range roles {
		tables = append(tables, r.Tables...)
		p.ServerOptions = append(p.ServerOptions, r.ServerOptions...)
		if err := p.serve(r); err != nil {
			return process{}, err
		}
	}
	if len(tables) == 0 {
		return p.withoutCluster(roles), nil
	}
	cluster, err := kube.New(kube.Options{Config: in.REST, Namespaces: in.Namespaces, Registerer: in.Registerer, Logger: in.Log, Report: kinds.ReportTo(reportTo(in.Report, roles), "")}, tables...)
	if err != nil {
		return process{}, err
	}
	p.Actors = []run.Actor{{Name: "cluster", Run: cluster.Run}}
	for _, r := range roles {
		p.Actors = append(p.Actors, r.Actors(cluster.Settled())...)
	}
	p.Ready = func() (bool, []string) { return readiness(cluster, roles) }
	return p, nil
}

// serve adds what a role serves. All roles share one gRPC server and one admin server, so no
// role may take what another one has.
func (p *process) serve(r role) error {
	if r.Register != nil {
		var own services
		r.Register(&own)
		for _, s := range own {
			if p.Services.has(s.description.ServiceName) {
				return fmt.Errorf("serve the role %s: another role serves %s: run one of them in another process", r.Name, s.description.ServiceName)
			}
		}
		p.Services = append(p.Services, own...)
	}
	for path, handler := range r.Handlers {
		if p.Handlers[path] != nil {
			return fmt.Errorf("serve the role %s: another role has the path %s of the admin server: give one of them another path", r.Name, path)
		}
		p.Handlers[path] = handler
	}
	return nil
}

// withoutCluster is for roles that read no objects, such as DNS records from elsewhere.
func (p process) withoutCluster(roles []role) process {
	for _, r := range roles {
		p.Actors = append(p.Actors, r.Actors(closed())...)
	}
	p.Ready = func() (ready bool, details []string) {
		ready = true
		for _, r := range roles {
			ready = ready && (r.Ready == nil || r.Ready())
			if r.Details != nil {
				details = append(details, r.Details()...)
			}
		}
		return ready, details
	}
	return p
}

// reportTo returns what tells of problems to all who want them.
func reportTo(first object.Report, roles []role) object.Report {
	return func(p object.Problem) {
		first(p)
		for _, r := range roles {
			if r.Report != nil {
				r.Report(p)
			}
		}
	}
}

// readiness answers /ready: whether all roles do their work, and which kinds of object
// are missing. Once ready it stays ready, as Linkerd's controller does: what is known
// is served while the API server is away.
func readiness(cluster *kube.Cluster, roles []role) (bool, []string) {
	ready := isClosed(cluster.Settled())
	var details []string
	for _, t := range cluster.Status() {
		details = append(details, missing(t)...)
	}
	for _, r := range roles {
		ready = ready && (r.Ready == nil || r.Ready())
		if r.Details != nil {
			details = append(details, r.Details()...)
		}
	}
	return ready, details
}

// missing returns what is not in sync, in lines for /ready: those of several namespaces for
// the same reason are one.
func missing(t kube.TableStatus) []string {
	if t.State == kube.Synced {
		return nil
	}
	if len(t.Namespaces) == 0 {
		return []string{strings.TrimSpace(fmt.Sprint(t.Kind, ": ", t.State, " ", t.Reason))}
	}
	namespaces := map[string][]string{}
	for _, of := range t.Namespaces {
		if of.State != kube.Synced {
			why := strings.TrimSpace(fmt.Sprint(of.State, " ", of.Reason))
			namespaces[why] = append(namespaces[why], of.Namespace)
		}
	}
	var lines []string
	for _, why := range slices.Sorted(maps.Keys(namespaces)) {
		lines = append(lines, t.Kind+" in "+strings.Join(namespaces[why], ", ")+": "+why)
	}
	return lines
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// newProcessRegistry returns a registry with the metrics of the runtime and the process.
func newProcessRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// Serve runs the roles of a config until ctx ends.
func Serve(ctx context.Context, c settings.Config, log *slog.Logger) error {
	defer beFrugal(c)()
	registry := newProcessRegistry()
	reporter, err := report.New(report.Config{Registerer: registry, Log: log})
	if err != nil {
		return err
	}
	p, err := New(ctx, c, log, registry, reporter.Report)
	if err != nil {
		return err
	}
	return serveProcess(ctx, p, serving{options: c.Process, metricsFlag: c.MetricsFlag, addr: c.Destination.Addr, log: log, registry: registry})
}

// serving is what a process is served with.
type serving struct {
	options settings.Process
	// metricsFlag is as in [config].
	metricsFlag string
	// addr is where the gRPC server listens, if there is one.
	addr     string
	log      *slog.Logger
	registry *prometheus.Registry
	// bound is told the addresses once all are bound; it may be nil, and so is grpc without
	// a gRPC server.
	bound func(grpc, admin net.Addr)
}

// serveProcess binds its addresses, so that none is found taken later, and serves
// until ctx ends.
func serveProcess(ctx context.Context, p process, s serving) error {
	var grpcAddr net.Addr
	var servers []run.Actor
	if len(p.Services) > 0 {
		l, err := listen(ctx, "addr", s.addr)
		if err != nil {
			return err
		}
		// The servers close their listeners; what is closed twice here stays closed.
		defer l.Close()
		grpcAddr = l.Addr()
		servers = append(servers, newGRPCActor(p, s, l))
	}
	l, err := listen(ctx, cmp.Or(s.metricsFlag, "metrics-addr"), s.options.MetricsAddr)
	if err != nil {
		return err
	}
	defer l.Close()
	adminServer, err := admin.New(admin.Config{
		Listener:   l,
		Gatherer:   s.registry,
		Registerer: s.registry,
		Ready:      p.Ready,
		Handlers:   p.Handlers,
		PProf:      s.options.EnablePProf,
		Log:        s.log,
	})
	if err != nil {
		return err
	}
	servers = slices.Insert(servers, 0, run.Actor{Name: "admin server", Run: adminServer.Run})
	if s.bound != nil {
		s.bound(grpcAddr, l.Addr())
	}
	s.logServing(grpcAddr, l.Addr())
	err = runAll(ctx, p, s, servers...)
	s.log.Info("Stopped")
	return err
}

func (s *serving) logServing(grpcAddr, adminAddr net.Addr) {
	addresses := []any{"version", version.Version}
	if grpcAddr != nil {
		addresses = append(addresses, "grpc", grpcAddr.String())
	}
	s.log.Info("Serving", append(addresses, "admin", adminAddr.String())...)
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

// closed returns a channel that is closed.
func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
