package process

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/internal/objectmeta"
	"github.com/signpostd/signpost/internal/tracing"
	"github.com/signpostd/signpost/kube"
)

// flushTime limits how long publishOnce waits at its end for its Events to be sent.
const flushTime = 2 * time.Second

// publishOnce brings the zones of the only publisher up to date, within the limit, and returns the
// plans of the zones.
func publishOnce(ctx context.Context, c settings.Config, limit time.Duration, log *slog.Logger) ([]publisher.ZonePlan, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	within := publisher.Within(limit)
	restConfig, err := c.RESTConfig(settings.DNSSection)
	if err != nil && c.NeedsCluster() {
		return nil, err
	}
	in := roleInput{REST: restConfig, Log: log, Registerer: prometheus.NewRegistry(), Report: func(p objectmeta.Problem) {
		log.Warn("Problem of an object", "kind", p.Kind, "namespace", p.Namespace, "name", p.Name, "field", p.Field, "reason", p.Reason)
	}}
	in.Tracer, err = tracing.Open(tracing.Config{Collector: c.Process.Collector(), Roles: settings.DNSSection, Log: log, Registerer: in.Registerer})
	if err != nil {
		return nil, err
	}
	defer in.Tracer.Close()
	r, err := newDNSRole(ctx, in, c.DNS)
	if err != nil {
		return nil, err
	}
	defer r.close()
	var sending errgroup.Group
	if r.sender != nil {
		sending.Go(func() error { return r.sender.Run(ctx) })
	}
	if err := r.identifyWithin(ctx, within); err != nil {
		return nil, err
	}
	plans, err := r.opened[0].Once(ctx, kube.Options{
		Config: restConfig, NamespacesOf: c.NamespacesOf(), Registerer: in.Registerer, Logger: log, Report: in.Report,
	}, within)
	if err == nil {
		err = r.writeStatusOnce(ctx)
	}
	if r.sender != nil {
		flushing, stop := context.WithTimeout(ctx, flushTime)
		defer stop()
		r.sender.Flush(flushing)
	}
	cancel()
	return plans, errors.Join(err, sending.Wait())
}

func (r *dnsRole) identifyWithin(ctx context.Context, limit publisher.TimeLimit) error {
	ctx, cancel := context.WithDeadline(ctx, limit.End())
	defer cancel()
	return r.identifyOnce(ctx, configure.RefusalsCount)
}

// writeStatusOnce writes the observed state into the status of objects.
func (r *dnsRole) writeStatusOnce(ctx context.Context) error {
	for _, w := range r.opened[0].Statuses {
		if err := w.WriteStatusOnce(ctx, r.objects); err != nil {
			return err
		}
	}
	return nil
}
