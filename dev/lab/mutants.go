package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dev/lab/overlay"
)

// mutantSeeds is the number of seeds that are tried for a mutant.
const mutantSeeds = 3

// runMutants runs each mutant until its validator finds it. It returns how many were not found.
func runMutants(ctx context.Context, out io.Writer, o options) (missed int, err error) {
	for _, m := range overlay.Mutants() {
		if o.mutant != allMutants && !slices.Contains(strings.Split(o.mutant, ","), m.Name) {
			continue
		}
		found, err := runMutant(ctx, out, o, m)
		if err != nil {
			return missed, fmt.Errorf("mutant %s: %w", m.Name, err)
		}
		if !found {
			missed++
		}
	}
	return missed, nil
}

// runMutant reports whether the validator of a mutant finds it.
func runMutant(ctx context.Context, out io.Writer, o options, m overlay.Mutant) (bool, error) {
	if o.profile == "" {
		o.profile = m.Profile
	}
	o.signpost = filepath.Join(o.out, "signpost-"+m.Name)
	o.out = filepath.Join(o.out, m.Name)
	if err := overlay.BuildSignpost(ctx, o.signpost, m.Edits...); err != nil {
		return false, err
	}
	o, err := buildSkewed(ctx, o, m.Edits...)
	if err != nil {
		return false, err
	}
	for i := range uint64(mutantSeeds) {
		r, err := run(ctx, o, o.seed+i)
		if err != nil {
			return false, err
		}
		counts := map[string]int{}
		for _, f := range r.findings {
			counts[f.Validator]++
		}
		if counts[m.Validator] > 0 {
			fmt.Fprintf(out, "mutant %s (%s): found by %s in seed %d of %s: findings %v\n", m.Name, m.Fault, m.Validator, o.seed+i, o.profile, counts)
			return true, nil
		}
		if len(r.findings) > 0 {
			fmt.Fprintf(out, "mutant %s: seed %d of %s: not by %s: findings %v\n", m.Name, o.seed+i, o.profile, m.Validator, counts)
		}
	}
	fmt.Fprintf(out, "mutant %s (%s): MISSED by %s in %d seeds of %s\n", m.Name, m.Fault, m.Validator, mutantSeeds, o.profile)
	return false, nil
}
