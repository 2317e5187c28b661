package main

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/signpostd/signpost/dev/clienttest"
)

// rollout replaces all four pods (cases 15 and 16).
func rollout(ctx context.Context, _ *stage, s *shop) error {
	for range 4 {
		if err := s.replace(ctx); err != nil {
			return err
		}
	}
	return nil
}

// backWithin is how long all streams may take to come back (case 52), from when the replicas are
// ready, on a busy machine. gRPC clients wait before they connect again, each time 1.6 times as
// long.
const backWithin = 40 * time.Second

// restart stops all replicas and starts them after three seconds (case 52). Then a pod is replaced.
func restart(ctx context.Context, st *stage, s *shop) error {
	before, err := st.metric(ctx, "xds_streams")
	if err != nil {
		return err
	}
	for i := range replicas {
		if err := st.endReplica(i, syscall.SIGTERM); err != nil {
			return err
		}
	}
	if err := clienttest.Pause(ctx, 3*time.Second); err != nil {
		return err
	}
	if err := st.startReplicas(ctx); err != nil {
		return err
	}
	begun := time.Now()
	var now float64
	err = clienttest.Await(ctx, backWithin, fmt.Sprintf("all %g streams are back", before), func() bool {
		now, err = st.metric(ctx, "xds_streams")
		return err == nil && now >= before
	})
	if err != nil {
		return fmt.Errorf("%w: %g are", err, now)
	}
	st.say("all %g streams were back %.1f s after the replicas were ready", before, time.Since(begun).Seconds())
	return s.replace(ctx)
}

// killed kills one replica in the middle of a rollout, and starts another one after the end of it.
// There is no leader: each replica serves.
func killed(ctx context.Context, st *stage, s *shop) error {
	for round := range 3 {
		if round == 1 {
			if err := st.endReplica(0, syscall.SIGKILL); err != nil {
				return err
			}
		}
		if err := s.replace(ctx); err != nil {
			return err
		}
	}
	if err := st.startReplica(0); err != nil {
		return err
	}
	return st.awaitReplicas(ctx)
}

// apiServerAway kills the API server, which comes back after a minute (case 53). Then a pod is replaced.
func apiServerAway(ctx context.Context, st *stage, s *shop) error {
	if err := clienttest.KillAPIServer(filepath.Join(st.Dir, "cluster")); err != nil {
		return err
	}
	begun := time.Now()
	if err := clienttest.Pause(ctx, time.Second); err != nil {
		return err
	}
	if clienttest.Serves(ctx, st.client) {
		return fmt.Errorf("the API server serves although it was killed")
	}
	if err := st.Await(ctx, "the API server is back", func() bool { return clienttest.Serves(ctx, st.client) }); err != nil {
		return err
	}
	st.say("the API server was away for %.0f s", time.Since(begun).Seconds())
	return s.replace(ctx)
}

// say adds a line below the table.
func (st *stage) say(format string, args ...any) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.table.details = append(st.table.details, st.scene.name+": "+fmt.Sprintf(format, args...))
}
