package main

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/signpostd/signpost/dev/lab/overlay"
	"github.com/signpostd/signpost/dev/lab/schedule"
)

// allMutants is the value of --mutant for all mutants.
const allMutants = "all"

// buildSkewed builds a second Signpost binary, whose clock can be set, for the profiles that need it.
func buildSkewed(ctx context.Context, o options, edits ...overlay.Edit) (options, error) {
	if !slices.Contains([]string{schedule.Mixed, schedule.Skew, schedule.FastClock}, o.profile) {
		return o, nil
	}
	o.skewed = o.signpost + "-with-a-clock"
	if len(edits) == 0 {
		o.skewed = filepath.Join(o.out, "signpost-with-a-clock")
	}
	return o, overlay.BuildSignpost(ctx, o.skewed, append(overlay.ClockEdits(), edits...)...)
}

func mutantNames() (names []string) {
	for _, m := range overlay.Mutants() {
		names = append(names, m.Name)
	}
	return names
}

func profileNames() (names []string) {
	for _, p := range schedule.Profiles() {
		names = append(names, p.Name)
	}
	return names
}
