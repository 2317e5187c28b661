package xds

import (
	"encoding/binary"
	"sync/atomic"
	"time"

	"github.com/signpostd/signpost/internal/clientlimits"
	"github.com/signpostd/signpost/xds/resource"
)

// view is one resource as all clients with the same viewKey get it. Their subscriptions share it.
type view struct {
	viewKey
	current atomic.Pointer[frame] // what streams send; never nil once it has subscribers

	// The lock of the topic guards the fields below. latest is the newest version. While it is
	// delayed, it differs from the current one, since is the time of the first delayed change, and
	// urgent that of the first one that removes endpoints.
	latest *frame
	since  time.Time
	urgent time.Time
	// changed is when the current version became current.
	changed     time.Time
	subscribers map[*subscription]struct{}
	memory      clientlimits.Memory // that of the newest version
}

// update makes f the newest version, unless it equals the current one. The caller holds the lock of
// the topic.
func (v *view) update(f *frame) {
	if f.same(v.current.Load()) {
		v.latest, v.since, v.urgent = v.current.Load(), time.Time{}, time.Time{}
		return
	}
	v.latest = f
	if v.since.IsZero() {
		v.since = f.made
	}
	if v.urgent.IsZero() {
		if gone, _ := without(v.current.Load().usable, f.usable); len(gone) > 0 {
			v.urgent = f.made
		}
	}
}

// publish makes f the current version and marks all subscriptions. The caller holds the lock of the
// topic.
func (v *view) publish(f *frame, now time.Time) {
	v.latest, v.since, v.urgent, v.changed = f, time.Time{}, time.Time{}, now
	lane := laneOf(len(v.subscribers))
	v.current.Store(f)
	for sub := range v.subscribers {
		sub.stream.wake(lane, sub)
	}
}

// same reports whether two frames are equal for all clients of a view. Equal Clusters have equal plain
// variants, which are the beginning of them.
func (f *frame) same(g *frame) bool {
	return f == g || f.missing == g.missing && f.Version == g.Version && f.filters.Same(g.filters) && f.visibleTo == g.visibleTo
}

// versionOf returns the version of a response with these resources, which are sorted by name.
func versionOf(items []item) string {
	var content []byte
	for _, i := range items {
		for _, text := range []string{i.frame.Name, i.frame.Version} {
			content = append(binary.AppendUvarint(content, uint64(len(text))), text...)
		}
	}
	return resource.VersionOf(content)
}
