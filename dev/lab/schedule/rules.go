package schedule

import (
	"slices"
	"time"
)

const (
	// margin is the minimum time between two faults of the same target, and between the last fault and the
	// end.
	margin = time.Second
	// restart is how long a restarted replica takes until it serves.
	restart = 3 * time.Second
	// allDead is how long all replicas may be down at once.
	allDead = 15 * time.Second
)

func (f Fault) window() window { return window{f.At, f.Until + margin} }

// sinceCopy returns the window in which an EtcdRestore needs its copy.
func (f Fault) sinceCopy() window { return window{f.At - f.Age, f.Until + margin} }

// fits reports whether a fault may be added to the schedule.
func (b *builder) fits(f Fault) bool {
	if f.Kind == EtcdRestore && (f.At-f.Age < start || !b.fits(f.copied())) {
		return false
	}
	if f.window().overlaps(b.calm) || f.Until > b.end {
		return false
	}
	for _, other := range b.faults {
		if f.window().overlaps(other.window()) && b.collide(f, other) {
			return false
		}
		// Only one copy of etcd exists at a time.
		if f.Kind == EtcdRestore && other.Kind == EtcdRestore && f.sinceCopy().overlaps(other.sinceCopy()) {
			return false
		}
	}
	return longestAllDead(append(slices.Clone(b.faults), f), b.lab.Replicas) <= allDead
}

// collide reports whether two faults affect the same thing, so that the end of one would end the other, or
// one of them couldn't begin.
func (b *builder) collide(f, other Fault) bool {
	touched := b.touches(other)
	return slices.ContainsFunc(b.touches(f), func(thing string) bool { return slices.Contains(touched, thing) })
}

// touches returns the things of which a fault needs exclusive use.
func (b *builder) touches(f Fault) []string {
	switch f.Kind {
	// A copy must not contain a change of the cluster that another fault reverts only at its end.
	case APIServerKill, EtcdKill, EtcdCompact, EtcdCopy, EtcdRestore, EtcdFull:
		return []string{Etcd, APIServer}
	case StealLease: // needs an API server that accepts writes
		return []string{f.Target, APIServer}
	case DropVersion: // needs an API server that accepts writes
		return []string{f.Target, APIServer}
	case ProviderStorm:
		return append([]string{AllDNS}, b.lab.DNS...)
	default:
		return []string{f.Target}
	}
}

// longestAllDead returns the longest time in which all replicas are killed, terminated, paused or starting.
func longestAllDead(faults []Fault, replicas []string) time.Duration {
	var edges []time.Duration
	dead := map[string][]window{}
	for _, f := range faults {
		var w window
		switch f.Kind {
		case Kill, Terminate:
			w = window{f.At, f.Until + restart}
		case Pause:
			w = window{f.At, f.Until}
		default:
			continue
		}
		dead[f.Target] = append(dead[f.Target], w)
		edges = append(edges, w.from, w.to)
	}
	slices.Sort(edges)
	var longest, current time.Duration
	for i := 1; i < len(edges); i++ {
		piece := window{edges[i-1], edges[i]}
		if allDuring(piece, dead, replicas) {
			current += piece.to - piece.from
			longest = max(longest, current)
		} else if piece.from < piece.to {
			current = 0
		}
	}
	return longest
}

// allDuring reports whether all replicas are down in a window in which nothing changes.
func allDuring(piece window, dead map[string][]window, replicas []string) bool {
	for _, r := range replicas {
		if !slices.ContainsFunc(dead[r], func(w window) bool { return w.overlaps(piece) }) {
			return false
		}
	}
	return len(replicas) > 0
}
