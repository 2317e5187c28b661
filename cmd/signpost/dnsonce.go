package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/internal/object"
	"github.com/signpostd/signpost/kube"
	"github.com/signpostd/signpost/kube/kinds"
)

// flushTime is how long the Events of a run may take that ends.
const flushTime = 10 * time.Second

// runOnce brings the zones of the only publisher up to date once, and returns what a dry
// run would have changed.
func runOnce(ctx context.Context, c config, log *slog.Logger) ([]publisher.ZonePlan, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	restConfig, err := c.restConfig()
	if err != nil && c.needsCluster() {
		return nil, err
	}
	in := roleInput{REST: restConfig, Log: log, Registerer: prometheus.NewRegistry(), Report: func(p object.Problem) {
		log.Warn("Problem of an object", "kind", p.Kind, "namespace", p.Namespace, "name", p.Name, "field", p.Field, "reason", p.Reason)
	}}
	r, err := newDNSRole(ctx, in, c.DNS)
	if err != nil {
		return nil, err
	}
	defer r.close()
	var sending errgroup.Group
	if r.sender != nil {
		sending.Go(func() error { return r.sender.Run(ctx) })
	}
	plans, err := publishOnce(ctx, r.opened[0], kube.Options{
		Config: restConfig, Namespace: c.onlyNamespace(), Registerer: in.Registerer, Logger: log, Report: kinds.ReportTo(in.Report, ""),
	})
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

// writeStatusOnce writes into objects that they were looked at.
func (r *dnsRole) writeStatusOnce(ctx context.Context) error {
	for _, w := range r.opened[0].Statuses {
		if err := w.WriteStatusOnce(ctx, r.objects); err != nil {
			return err
		}
	}
	return nil
}

// publishOnce runs a publisher until it has nothing left to do, over a cluster unless its
// sources read none.
func publishOnce(ctx context.Context, opened *configure.Opened, o kube.Options) ([]publisher.ZonePlan, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var beside errgroup.Group
	settled := closed()
	if len(opened.Tables) > 0 {
		cluster, err := kube.New(o, opened.Tables...)
		if err != nil {
			return nil, err
		}
		beside.Go(func() error { return cluster.Run(ctx) })
		settled = settledOrLate(ctx, cluster.Settled())
	}
	for _, background := range opened.Background {
		beside.Go(func() error { return background(ctx) })
	}
	zones, err := opened.Publisher.Once(ctx, settled)
	cancel()
	return zones, errors.Join(err, beside.Wait())
}

// closed returns a channel that is closed.
func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// settledOrLate is closed when the tables have been filled, or it has been too long.
func settledOrLate(ctx context.Context, settled <-chan struct{}) <-chan struct{} {
	const late = time.Minute
	either := make(chan struct{})
	go func() {
		defer close(either)
		select {
		case <-settled:
		case <-time.After(late):
		case <-ctx.Done():
		}
	}()
	return either
}
