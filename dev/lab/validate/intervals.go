package validate

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
)

// interval is a part of the run. An interval that hasn't ended has the largest value as its end.
type interval struct{ from, to time.Duration }

// faultIntervals returns when the faults that are meant were active, and for some time after each,
// by its kind. They are in the order in which they began.
func faultIntervals(h history.History, meant func(*history.Fault) bool, after func(kind string) time.Duration) []interval {
	var all []interval
	active := map[int]int{} // the index in all by the ID of the fault
	for i := range h.Entries {
		e := &h.Entries[i]
		if e.Fault == nil || !meant(e.Fault) {
			continue
		}
		if !e.Fault.Ended {
			active[e.Fault.ID] = len(all)
			all = append(all, interval{e.At, math.MaxInt64})
		} else if n, ok := active[e.Fault.ID]; ok {
			all[n].to = e.At + after(e.Fault.Kind)
			delete(active, e.Fault.ID)
		}
	}
	slices.SortStableFunc(all, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	return all
}

// merged joins intervals that overlap. They are in the order in which they begin.
func merged(all []interval) []interval {
	var out []interval
	for _, i := range all {
		if n := len(out); n > 0 && i.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, i.to)
			continue
		}
		out = append(out, i)
	}
	return out
}
