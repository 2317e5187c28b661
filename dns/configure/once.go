package configure

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/signpostd/signpost/dns/publisher"
	"github.com/signpostd/signpost/kube"
)

// Once runs the publisher until nothing is left to do, or until the limit. If its sources read
// objects, it reads a cluster with the given options. It returns what a dry run would change. The
// error says what could not be done and why.
func (opened *Opened) Once(ctx context.Context, o kube.Options, limit publisher.TimeLimit) ([]publisher.ZonePlan, error) {
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
		settled = settledOrUnreadable(ctx, cluster)
	} else {
		none := make(chan struct{})
		close(none)
		settled = none
	}
	for _, background := range opened.Background {
		beside.Go(func() error { return background(ctx) })
	}
	zones, err := opened.Publisher.Once(ctx, settled, limit)
	cancel()
	return zones, errors.Join(err, beside.Wait())
}

// unreadableTimeout is how long unreadable tables are retried.
const unreadableTimeout = 10 * time.Second

// settledOrUnreadable returns a channel that is closed when all tables have been filled, or when
// the unfilled ones could not be read for unreadableTimeout. A table that is being read is awaited.
func settledOrUnreadable(ctx context.Context, cluster *kube.Cluster) <-chan struct{} {
	either := make(chan struct{})
	go func() {
		defer close(either)
		look := time.NewTicker(unreadableTimeout / 10)
		defer look.Stop()
		unreadableSince := time.Time{}
		for {
			select {
			case <-cluster.Settled():
				return
			case <-ctx.Done():
				return
			case now := <-look.C:
				if reading(cluster) {
					unreadableSince = time.Time{}
				} else if unreadableSince.IsZero() {
					unreadableSince = now
				} else if now.Sub(unreadableSince) >= unreadableTimeout {
					return
				}
			}
		}
	}()
	return either
}

// reading reports whether a table is being filled.
func reading(cluster *kube.Cluster) bool {
	return slices.ContainsFunc(cluster.Status(), func(t kube.TableStatus) bool { return t.State != kube.Waiting && t.State != kube.Synced })
}
