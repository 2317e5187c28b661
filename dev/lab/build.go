package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dev/lab/overlay"
	"github.com/signpostd/signpost/dev/lab/schedule"
)

// build makes the binaries that the runs need beside bin/signpost: one with a planted fault, and one whose clock
// can be set. What has been compiled before is kept by the go command.
func build(ctx context.Context, out io.Writer, o options) (options, error) {
	if err := os.MkdirAll(o.out, 0o700); err != nil {
		return o, err
	}
	var edits []overlay.Edit
	if o.mutant != "" {
		i := slices.IndexFunc(overlay.Mutants(), func(m overlay.Mutant) bool { return m.Name == o.mutant })
		if i < 0 {
			return o, fmt.Errorf("there is no mutant %q: take one of %s", o.mutant, mutantNames())
		}
		m := overlay.Mutants()[i]
		edits = m.Edits
		fmt.Fprintf(out, "mutant %s: %s %s has to object.\n", m.Name, m.Fault, m.Validator)
		o.signpost = filepath.Join(o.out, "signpost-"+m.Name)
		if err := overlay.BuildSignpost(ctx, o.signpost, edits...); err != nil {
			return o, err
		}
	}
	if o.profile != schedule.Mixed && o.profile != "skew" {
		return o, nil
	}
	o.skewed = filepath.Join(o.out, "signpost-with-a-clock")
	return o, overlay.BuildSignpost(ctx, o.skewed, append(overlay.ClockEdits(), edits...)...)
}

func mutantNames() string {
	var names []string
	for _, m := range overlay.Mutants() {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

func profileNames() string {
	var names []string
	for _, p := range schedule.Profiles() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}
