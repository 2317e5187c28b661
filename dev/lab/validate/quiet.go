package validate

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
)

const (
	// witnessDelay is how much later than a client the witness may see a change.
	witnessDelay = 2 * time.Second
	// fresh is how old an answer may be while nothing is broken.
	fresh = 10 * time.Second
	// recovery is how long after a fault a replica may still be behind: it notices a half-open connection within 15 s, and
	// its next attempt to connect may hang for another 10 s.
	recovery = 30 * time.Second
	// restored is the same after a restore of etcd, which ends when the API server is ready.
	restored = 10 * time.Second
)

// trouble is a time in which a replica may be behind, with the recovery at its end.
type trouble struct{ from, to time.Duration }

// harmless are the kinds of faults that don't keep a replica from what the API server says, nor a client from the replica.
var harmless = []string{"etcd-copy", "dns-drop", "provider-storm", "bind-pause", "bind-restart", "steal-lease"}

// troubles are those of one replica, in the order of time; none overlaps another.
type troubles []trouble

// troublesOf returns those that faults make for a replica: all faults whose target isn't another replica or its link.
func troublesOf(h history.History, replica string, replicas []string) troubles {
	open := map[int]time.Duration{}
	var all troubles
	for i := range h.Entries {
		e := &h.Entries[i]
		if e.Fault == nil || !touches(e.Fault, replica, replicas) {
			continue
		}
		if !e.Fault.Ended {
			open[e.Fault.ID] = e.At
			continue
		}
		if from, ok := open[e.Fault.ID]; ok {
			all = append(all, trouble{from, e.At + recoveryOf(e.Fault.Kind)})
			delete(open, e.Fault.ID)
		}
	}
	for _, from := range open {
		all = append(all, trouble{from, math.MaxInt64})
	}
	return all.merged()
}

func recoveryOf(kind string) time.Duration {
	if kind == restoreKind {
		return restored
	}
	return recovery
}

func touches(f *history.Fault, replica string, replicas []string) bool {
	if slices.Contains(harmless, f.Kind) {
		return false
	}
	if strings.Contains(f.Target, replica) {
		return true
	}
	return !slices.ContainsFunc(replicas, func(other string) bool { return strings.Contains(f.Target, other) })
}

func (all troubles) merged() troubles {
	slices.SortFunc(all, func(a, b trouble) int { return int(a.from - b.from) })
	var out troubles
	for _, t := range all {
		if n := len(out); n > 0 && t.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, t.to)
			continue
		}
		out = append(out, t)
	}
	return out
}

// since returns the time whose state a replica must have known at a later time.
func (all troubles) since(now time.Duration) time.Duration { return all.sinceWithin(now, fresh) }

// sinceWithin is since for what may be so old while nothing is broken.
func (all troubles) sinceWithin(now, within time.Duration) time.Duration {
	for _, t := range all {
		if t.from <= now && now <= t.to {
			return t.from - within
		}
	}
	return now - within
}

// ends returns when quiet times end that are long enough for a change to arrive: the beginnings of troubles.
func (all troubles) ends() []time.Duration {
	var out []time.Duration
	for _, t := range all {
		out = append(out, t.from)
	}
	return out
}
