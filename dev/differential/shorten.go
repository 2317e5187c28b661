package main

import "slices"

// shorten returns a short history that shows the same as a long one, and whether even the long one
// shows it again. again plays a history and says whether it shows it; once it says no to
// everything, shorten ends. concerned says of an operation whether it has to do with what is shown.
func shorten(history []step, concerned func(operation) bool, again func([]step) bool) ([]step, bool) {
	last := history[len(history)-1]
	earlier := history[:len(history)-1]
	// All that was before in one step is the quickest to play, and often enough.
	for _, short := range [][]step{{last}, {slices.Concat(only(earlier, concerned)...), last}, {slices.Concat(earlier...), last}, history} {
		if short = withoutEmpty(short); again(short) {
			return withoutOperations(short, again), true
		}
	}
	return history, false
}

// withoutOperations leaves out operations that aren't needed: many at once, then fewer.
func withoutOperations(history []step, again func([]step) bool) []step {
	for size := operations(history) / 2; size > 0; size /= 2 {
		for from := 0; from < operations(history); {
			shorter := without(history, from, from+size)
			if len(shorter) > 0 && again(shorter) {
				history = shorter
			} else {
				from += size
			}
		}
	}
	return history
}

func operations(history []step) int {
	n := 0
	for _, s := range history {
		n += len(s)
	}
	return n
}

// without returns the history without the operations of these indexes, counted through all steps.
func without(history []step, from, to int) []step {
	var rest []step
	i := 0
	for _, s := range history {
		var kept step
		for _, o := range s {
			if i < from || i >= to {
				kept = append(kept, o)
			}
			i++
		}
		rest = append(rest, kept)
	}
	return withoutEmpty(rest)
}

// only returns the history with the operations that are wanted.
func only(history []step, wanted func(operation) bool) []step {
	rest := make([]step, len(history))
	for i, s := range history {
		rest[i] = slices.DeleteFunc(slices.Clone(s), func(o operation) bool { return !wanted(o) })
	}
	return rest
}

func withoutEmpty(history []step) []step {
	return slices.DeleteFunc(slices.Clone(history), func(s step) bool { return len(s) == 0 })
}
