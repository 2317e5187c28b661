package configure

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/kube"
)

// Once runs the publisher until it has nothing left to do, over a cluster with these options
// unless its sources read none. It returns what a dry run would have changed.
func (opened *Opened) Once(ctx context.Context, o kube.Options) ([]publisher.ZonePlan, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var beside errgroup.Group
	var settled <-chan struct{}
	if len(opened.Tables) > 0 {
		cluster, err := kube.New(o, opened.Tables...)
		if err != nil {
			return nil, err
		}
		beside.Go(func() error { return cluster.Run(ctx) })
		settled = settledOrLate(ctx, cluster.Settled())
	} else {
		none := make(chan struct{})
		close(none)
		settled = none
	}
	for _, background := range opened.Background {
		beside.Go(func() error { return background(ctx) })
	}
	zones, err := opened.Publisher.Once(ctx, settled)
	cancel()
	return zones, errors.Join(err, beside.Wait())
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
