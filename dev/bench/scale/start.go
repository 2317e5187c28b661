package scale

import (
	"context"
	"fmt"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/simulation"
)

// measureStart measures a start beside a reader that throws everything away, and with an
// API server that doesn't stream lists.
func measureStart(ctx context.Context, r *measure.Report, c measure.Options) error {
	s := sizeOf(c)
	r.TitleBeside("", "%s: start", s)
	for _, way := range []struct {
		name string
		args []string
	}{{"lists as streams", nil}, {"lists as pages", []string{"--lists"}}} {
		if err := measureOneStart(ctx, r, s, way.name, way.args); err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
	}
	return nil
}

func measureOneStart(ctx context.Context, r *measure.Report, s simulation.Size, name string, args []string) error {
	k, err := simulation.Start(ctx, s, args...)
	if err != nil {
		return err
	}
	defer k.Stop()
	if len(args) == 0 {
		begun := time.Now()
		bytes, err := k.ReadAll(ctx)
		if err != nil {
			return err
		}
		alone, err := k.Usage()
		if err != nil {
			return err
		}
		r.Note("%.0f MiB in all; a reader that throws them away takes %.1f s, in which the API server uses %.1f s of CPU",
			float64(bytes)/measure.Mebibyte, time.Since(begun).Seconds(), alone.Cpu.Seconds())
	}
	run, err := startBeside(ctx, k)
	if err != nil {
		return err
	}
	defer run.server.Stop()
	peak, err := run.server.PeakMemory()
	if err != nil {
		return err
	}
	r.AtMost(name+": from the start until ready", "s", run.ready.Seconds(), 60)
	r.Note("%s: %.1f s of CPU, peak %.0f MiB", name, run.begun.Cpu.Seconds(), peak/measure.Mebibyte)
	return nil
}
