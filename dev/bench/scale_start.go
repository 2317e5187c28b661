package main

import (
	"context"
	"fmt"
	"time"
)

// measureScaledStart measures a start beside a reader that throws everything away, and with an
// API server that doesn't stream lists.
func measureScaledStart(ctx context.Context, r *report, c choice) error {
	s := scaledCluster(c)
	r.titleBeside("", "%s: start", s)
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

func measureOneStart(ctx context.Context, r *report, s simulated, name string, args []string) error {
	k, err := startSimulated(ctx, s, args...)
	if err != nil {
		return err
	}
	defer k.stop()
	if len(args) == 0 {
		begun := time.Now()
		bytes, err := k.readAll(ctx)
		if err != nil {
			return err
		}
		alone, err := k.usage()
		if err != nil {
			return err
		}
		r.note("%.0f MiB in all; a reader that throws them away takes %.1f s, in which the API server uses %.1f s of CPU",
			float64(bytes)/mebibyte, time.Since(begun).Seconds(), alone.cpu.Seconds())
	}
	run, err := startScaled(ctx, k)
	if err != nil {
		return err
	}
	defer run.server.stop()
	peak, err := run.server.peakMemory()
	if err != nil {
		return err
	}
	r.atMost(name+": from the start until ready", "s", run.ready.Seconds(), 60)
	r.note("%s: %.1f s of CPU, peak %.0f MiB", name, run.begun.cpu.Seconds(), peak/mebibyte)
	return nil
}
