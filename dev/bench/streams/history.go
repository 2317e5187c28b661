package streams

import (
	"context"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/workload"
)

// historyRounds is how often the server is measured with and without a history, in turns. The limit is close to what
// differs by chance, so there are more rounds than elsewhere.
const historyRounds = 7

// measureHistory measures what it costs the fan-out to keep a history: the same server with the default and with
// --history-bytes=0, in turns.
func measureHistory(ctx context.Context, r *measure.Report, c measure.Options) error {
	load := fanoutCase{streams: c.Scaled(1000, 20), endpoints: c.Scaled(1000, 20)}
	k, err := workload.StartLoadedCluster(ctx, time.Second, load.endpoints)
	if err != nil {
		return err
	}
	defer k.Stop()
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
		r.Ratio(name, unit, measure.Figures{Base: measure.Median(all[0], of), Signpost: measure.Median(all[1], of), Limit: limit})
	}
	r.TitleBeside("no history", "%d streams, %d endpoints, %d changes of one pod, without and with a history, medians of %d", load.streams, load.endpoints, updates, historyRounds)
	figure("CPU per delivered update", "µs", 1.02, func(f fanned) float64 { return f.perUpdate })
	figure("p50 from API write to a stream", "ms", 0, func(f fanned) float64 { return f.p50 })
	figure("p99 from API write to a stream", "ms", 0, func(f fanned) float64 { return f.p99 })
	return nil
}

// startWithHistory starts Signpost with the default history, or with none.
func startWithHistory(history bool) func(context.Context, *measure.Cluster) (*measure.Server, error) {
	return func(ctx context.Context, k *measure.Cluster) (*measure.Server, error) {
		var more []string
		if !history {
			more = append(more, "-history-bytes=0")
		}
		return measure.StartDestinationWith(ctx, k.Dir, k.Kubeconfig, more)
	}
}
