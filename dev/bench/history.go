package main

import (
	"context"
	"time"
)

// historyRounds is how often the server is measured with and without a history, in turns. The limit is close to what
// differs by chance, so there are more rounds than elsewhere.
const historyRounds = 7

// measureHistory measures what it costs the fan-out to keep a history: the same server with the default and with
// --history-bytes=0, in turns.
func measureHistory(ctx context.Context, r *report, c choice) error {
	load := fanoutCase{streams: c.scaled(1000, 20), endpoints: c.scaled(1000, 20)}
	k, err := startLoadedCluster(ctx, time.Second, load.endpoints)
	if err != nil {
		return err
	}
	defer k.stop()
	var all [2][]fanned
	for round := range historyRounds {
		for i := range all {
			// Which one comes first alternates, because the API server grows.
			which := (i + round) % len(all)
			f, err := measureServer(ctx, k, load, startWithHistory(which == 1))
			if err != nil {
				return err
			}
			all[which] = append(all[which], f)
		}
	}
	figure := func(name, unit string, limit float64, of func(fanned) float64) {
		r.ratio(name, unit, figures{median(all[0], of), median(all[1], of), limit})
	}
	r.titleBeside("no history", "%d streams, %d endpoints, %d changes of one pod, without and with a history, medians of %d", load.streams, load.endpoints, updates, historyRounds)
	figure("CPU per delivered update", "µs", 1.02, func(f fanned) float64 { return f.perUpdate })
	figure("p50 from API write to a stream", "ms", 0, func(f fanned) float64 { return f.p50 })
	figure("p99 from API write to a stream", "ms", 0, func(f fanned) float64 { return f.p99 })
	return nil
}

// startWithHistory starts Signpost with the default history, or with none.
func startWithHistory(history bool) func(context.Context, *cluster) (*server, error) {
	return func(ctx context.Context, k *cluster) (*server, error) {
		var more []string
		if !history {
			more = append(more, "-history-bytes=0")
		}
		return startDestinationWith(ctx, k.dir, k.kubeconfig, more)
	}
}
