package measure

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Bench is one thing to measure.
type Bench struct {
	// Name is what --only selects, shows what the figures are about, and must what they have to reach.
	Name, Shows, Must string
	// Halves can be selected one by one, as name:half.
	Halves []Half
	// Run measures what the halves without a run of their own share; nil if there is nothing.
	Run func(context.Context, *Report, Options) error
}

// Half is a part of a bench.
type Half struct {
	Name, Shows, Must string
	Run               func(context.Context, *Report, Options) error
}

// Measure runs the halves that were asked for, and then what the others share.
func (b Bench) Measure(ctx context.Context, r *Report, c Options) error {
	for _, h := range b.Halves {
		if h.Run == nil || !c.Wants(h.Name) {
			continue
		}
		if err := h.Run(ctx, r, c); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
	if b.Run == nil {
		return nil
	}
	return b.Run(ctx, r, c)
}

// Options is what the command line says about how to measure a part.
type Options struct {
	// Halves are the halves of the part to measure; nil for the whole part.
	Halves []string
	// Scale is the share of the objects and repetitions; less than 1 is for trying things out.
	Scale float64
	// Rounds is how often each competitor is measured.
	Rounds int
	// Rehearse puts the Kubernetes controllers in Signpost's place too, which shows
	// what differs by chance.
	Rehearse bool
	// Other is the binary of the second replica in failover, if it is to be another version of Signpost.
	Other string
}

// Wants reports whether a half is to be measured.
func (c Options) Wants(half string) bool { return c.Halves == nil || slices.Contains(c.Halves, half) }

// Scaled returns the share of n that was asked for, and at least least.
func (c Options) Scaled(n, least int) int { return max(least, int(float64(n)*c.Scale)) }

// Share returns the share of a duration that was asked for.
func (c Options) Share(d time.Duration) time.Duration {
	return max(200*time.Millisecond, time.Duration(min(c.Scale, 1)*float64(d)))
}
