package workload

import (
	"context"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
)

// Loaded is Signpost with streams, beside a cluster with the objects.
type Loaded struct {
	*measure.Cluster
	Server  *measure.Server
	Streams *Clients
	Toggler *Toggler
}

// StartLoaded starts a cluster and Signpost, and opens streams.
func StartLoaded(ctx context.Context, streams, endpoints int) (*Loaded, error) {
	k, err := StartLoadedCluster(ctx, time.Second, endpoints)
	if err != nil {
		return nil, err
	}
	l := &Loaded{Cluster: k, Toggler: &Toggler{Client: k.Client, Endpoints: endpoints}}
	if l.Server, err = StartSignpost(ctx, k); err == nil {
		l.Streams, err = Open(ctx, l.Server.Addr, streams, endpoints)
	}
	if err != nil {
		l.Stop()
		return nil, err
	}
	return l, nil
}

// Stop closes the streams and ends the server and the cluster.
func (l *Loaded) Stop() {
	if l.Streams != nil {
		l.Streams.Close()
	}
	if l.Server != nil {
		l.Server.Stop()
	}
	l.Cluster.Stop()
}

// StartSignpost starts a destination server beside a cluster.
func StartSignpost(ctx context.Context, k *measure.Cluster) (*measure.Server, error) {
	return measure.StartDestination(ctx, k.Dir, k.Kubeconfig)
}
