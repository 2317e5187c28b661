package validate

import (
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/dev/lab/history"
)

const (
	// witnessDelay is how much later than a client the witness may see a change.
	witnessDelay = 2 * time.Second
	// maxStaleness is how old an update may be while no fault is active.
	maxStaleness = 10 * time.Second
	// recovery is how long a replica may be stale after a fault: it notices a half-open connection within 15
	// s, and its next attempt to connect may hang for another 10 s.
	recovery = 30 * time.Second
	// restoreRecovery is recovery after an etcd restore, which ends when the API server is ready.
	restoreRecovery = 10 * time.Second
)

// harmless are the kinds of faults that don't delay a replica's watches or its streams.
var harmless = []string{"etcd-copy", "dns-drop", "provider-storm", "bind-pause", "bind-restart", "steal-lease"}

// troubles are the times in which a replica may be stale: faults, and the recovery after each. They
// are in the order of time and without overlaps.
type troubles []interval

// troublesOf returns the troubles of a replica: all faults whose target isn't another replica or its link.
func troublesOf(h history.History, replica string, replicas []string) troubles {
	return merged(faultIntervals(h, func(f *history.Fault) bool { return touches(f, replica, replicas) }, recoveryOf))
}

func recoveryOf(kind string) time.Duration {
	if kind == restoreKind {
		return restoreRecovery
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

// since returns the time of the oldest state that a replica may report at a later time.
func (all troubles) since(now time.Duration) time.Duration { return all.sinceWithin(now, maxStaleness) }

// sinceWithin is since with another bound than maxStaleness.
func (all troubles) sinceWithin(now, within time.Duration) time.Duration {
	for _, t := range all {
		if t.from <= now && now <= t.to {
			return t.from - within
		}
	}
	return now - within
}

// ends returns the beginnings of troubles that follow a quiet time long enough for a change to arrive.
func (all troubles) ends() []time.Duration {
	var out []time.Duration
	for _, t := range all {
		out = append(out, t.from)
	}
	return out
}
