package main

import (
	"slices"
	"testing"
)

// needs returns a function that shows the fault in histories that have these operations in this
// order, and counts how often it is called.
func needs(calls *int, wanted ...string) func([]step) bool {
	return func(history []step) bool {
		*calls++
		left := wanted
		for _, o := range slices.Concat(history...) {
			if len(left) > 0 && o.String() == left[0] {
				left = left[1:]
			}
		}
		return len(left) == 0
	}
}

func TestShorten(t *testing.T) {
	var history []step
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		history = append(history, step{deleteService{onService{name}}, deleteSlices{onService{name}}})
	}
	concerned := func(operation) bool { return true }
	for name, wanted := range map[string][]string{
		"one":                  {"delete service h"},
		"an early one":         {"delete service a"},
		"two that are far off": {"delete service b", "delete the slices of h"},
		"three":                {"delete service a", "delete the slices of c", "delete service h"},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			short, again := shorten(history, concerned, needs(&calls, wanted...))
			var got []string
			for _, o := range slices.Concat(short...) {
				got = append(got, o.String())
			}
			if !again || !slices.Equal(got, wanted) {
				t.Errorf("got %q (%t), want %q", got, again, wanted)
			}
			if calls > 60 {
				t.Errorf("it took %d plays", calls)
			}
		})
	}
	t.Run("never again", func(t *testing.T) {
		calls := 0
		short, again := shorten(history, concerned, needs(&calls, "delete service z"))
		if again || len(short) != len(history) || calls > 4 {
			t.Errorf("got %d steps (%t) after %d plays, want all after the first few", len(short), again, calls)
		}
	})
}
