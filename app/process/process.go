package process

import (
	"context"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/controllers/reconcile"
	"github.com/signpostd/signpost/internal/history"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/internal/run"
	"github.com/signpostd/signpost/internal/tracing"
	"github.com/signpostd/signpost/internal/version"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/linked"
)

// roleInput is the common input of roles.
type roleInput struct {
	// REST is the connection to the API server.
	REST *rest.Config
	// NamespacesOf restricts the namespaces in which kinds are read; nil means all.
	NamespacesOf map[schema.GroupResource][]string
	Log          *slog.Logger
	Registerer   prometheus.Registerer
	// Report receives the problems of objects, and Fixed the objects whose problems are fixed;
	// Fixed may be nil.
	Report objectmeta.Report
	Fixed  objectmeta.Fixed
	// Tracer begins spans; nil disables traces.
	Tracer *tracing.Tracer
	// History records the responses and writes of all roles; nil records nothing.
	History *history.Log
	// Metrics are those of all controllers of the process; nil without controllers.
	Metrics *reconcile.Metrics
}

// of returns the input of one role. Its User-Agent names this role only.
func (in roleInput) of(roleName string) roleInput {
	if in.REST != nil {
		in.REST = rest.CopyConfig(in.REST)
		in.REST.UserAgent = version.UserAgent(roleName)
	}
	return in
}

// role is a role's part of the process.
type role struct {
	// Name is for errors.
	Name string
	// Tables have to be filled by the cluster.
	Tables []kube.AnyTable
	// Server is the role's own gRPC server; nil for a role without services.
	Server *grpcServer
	// Actors returns the actors that run until the process ends. An actor without a Grace gets the
	// grace period of the settings. settled is closed when the tables are filled. When the context
	// of the actors ends, open streams must end too, because the gRPC server waits for them.
	Actors func(settled <-chan struct{}) []run.Actor
	// Ready reports whether the role does its work. If Ready is nil, the role is ready when the
	// tables are filled.
	Ready func() bool
	// Details returns lines for /ready; it may be nil.
	Details func() []string
	// Report also receives the problems of objects; it may be nil.
	Report objectmeta.Report
	// Offer is the role's part of the inspection API. Its Role is Name.
	Offer inspect.Offer
	// Leading returns the state of the role's election, and Clusters the linked clusters, which one role
	// of a process has. Each may be nil.
	Leading  func() inspect.Leading
	Clusters func() []linked.Status
	// Problems returns the problems of the role as a whole; it may be nil.
	Problems func() []inspect.Problem
	// Replicas returns the pods of this installation; nil if the role reads no pods.
	Replicas func() []inspect.Replica
	// SendWarning sends Events about the process; nil if the role may not send Events.
	SendWarning sendWarning
}

// process has the roles and their common cluster. It isn't started.
type process struct {
	// Servers are the gRPC servers: one for each role that serves.
	Servers []grpcServer
	Actors  []run.Actor
	// Ready answers /ready.
	Ready func() (ready bool, details []string)
	// Reasons are shown by /ready to clients who may not read the details.
	Reasons func() []string
	// Clusters returns the linked clusters; nil if no role reads them.
	Clusters func() []linked.Status
	// Inspection is the inspection API, which isn't created without a Status.
	Inspection inspect.Config
	// Tracer begins the spans of the roles, and must be closed after they have ended. It is nil
	// without traces.
	Tracer *tracing.Tracer
}

// newProcess creates the roles of a config. It starts nothing and doesn't contact the API server.
// Everything that the roles open stays open until ctx ends.
func newProcess(ctx context.Context, c settings.Config, log *slog.Logger, registerer prometheus.Registerer, report objectmeta.Report, fixed objectmeta.Fixed) (process, error) {
	// roleInput.of sets a User-Agent for each role.
	restConfig, err := c.RESTConfig(strings.Join(c.Roles(), ","))
	if err != nil && c.NeedsCluster() {
		return process{}, err
	}
	if err := registerClientMetrics(registerer); err != nil {
		return process{}, err
	}
	if err := registerBuild(registerer); err != nil {
		return process{}, err
	}
	tracer, err := tracing.Open(tracing.Config{Collector: c.Process.Collector(), Roles: strings.Join(c.Roles(), ","), Log: log, Registerer: registerer})
	if err != nil {
		return process{}, err
	}
	p, err := makeProcess(ctx, c, roleInput{
		REST: restConfig, NamespacesOf: c.NamespacesOf(), Log: log, Registerer: registerer, Report: report, Fixed: fixed, Tracer: tracer,
		History: history.New(c.Process.HistoryBytes, nil),
	})
	if err != nil {
		tracer.Close()
		return process{}, err
	}
	p.Tracer = tracer
	return p, nil
}

// makeProcess creates the roles of a config from their common input.
func makeProcess(ctx context.Context, c settings.Config, in roleInput) (process, error) {
	in.Metrics = writerMetrics(c, in.Registerer)
	var roles []role
	var shared *discovery // nil without the destination role
	for _, part := range []struct {
		runs   bool
		name   string
		create func(in roleInput) (role, error)
	}{
		{c.RunsDestination, settings.DestinationSection, func(in roleInput) (r role, err error) {
			r, shared, err = newDestinationRole(in, c.Destination)
			return r, err
		}},
		{c.DestinationWrites(), settings.DestinationSection, func(in roleInput) (role, error) { return newDestinationWriter(in, c.Destination) }},
		{c.RunsControllers, settings.ControllersSection, func(in roleInput) (role, error) { return newControllersRole(in, c.Controllers, !c.RunsDestination) }},
		{c.RunsDNS, settings.DNSSection, func(in roleInput) (role, error) {
			r, err := newDNSRole(ctx, in, c.DNS)
			if err != nil {
				return role{}, err
			}
			return r.role(), nil
		}},
		{c.RunsXDS, settings.XDSSection, func(in roleInput) (role, error) { return newXDSRole(in, c.XDS, shared) }},
	} {
		if !part.runs {
			continue
		}
		r, err := part.create(in.of(part.name))
		if err != nil {
			return process{}, err
		}
		roles = append(roles, r)
	}
	p, err := joinRoles(in, roles)
	if err != nil {
		return process{}, err
	}
	if err := registerReady(in.Registerer, p.Ready); err != nil {
		return process{}, err
	}
	return p, p.openInspection(in)
}

// writerMetrics returns the metrics of all controllers of a process; nil without controllers.
func writerMetrics(c settings.Config, r prometheus.Registerer) *reconcile.Metrics {
	switch {
	case c.RunsControllers, c.DestinationWrites() && c.Destination.ExportQueueMetrics:
		return reconcile.NewMetrics(r, r)
	case c.DestinationWrites():
		return reconcile.NewMetrics(r, nil)
	}
	return nil
}

// joinRoles makes a process of roles, with one cluster that fills the tables of all of them. If they
// have no tables, there is no cluster, and nothing to wait for.
func joinRoles(in roleInput, roles []role) (process, error) {
	p := process{}
	p.Inspection.History = in.History
	var tables []kube.AnyTable
	for _, r := range roles {
		tables = append(tables, r.Tables...)
		if r.Server != nil {
			p.Servers = append(p.Servers, *r.Server)
		}
	}
	var cluster *kube.Cluster
	none := make(chan struct{})
	close(none)
	var settled <-chan struct{} = none
	if len(tables) > 0 {
		var err error
		cluster, err = kube.New(kube.Options{Config: in.REST, NamespacesOf: in.NamespacesOf, Registerer: in.Registerer, Logger: in.Log, Report: reportTo(in.Report, roles), Fixed: in.Fixed, Rewound: warnOfRewind(roles)}, tables...)
		if err != nil {
			return process{}, err
		}
		settled = cluster.Settled()
		p.Actors = []run.Actor{
			{Name: "cluster", Run: cluster.Run},
			{Name: "memory of the first sync", Run: func(ctx context.Context) error {
				return releaseAfter(ctx, settled, releaseDelay, debug.FreeOSMemory)
			}},
		}
	}
	for _, r := range roles {
		p.Actors = append(p.Actors, r.Actors(settled)...)
	}
	p.inspected(roles, cluster)
	return p, nil
}

// reportTo returns a function that passes problems to first and to the roles with a Report.
func reportTo(first objectmeta.Report, roles []role) objectmeta.Report {
	return func(p objectmeta.Problem) {
		first(p)
		for _, r := range roles {
			if r.Report != nil {
				r.Report(p)
			}
		}
	}
}
