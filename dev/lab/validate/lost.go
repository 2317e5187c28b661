package validate

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dev/lab/model"
)

// ready returns the targets that are ready in any slice, each with one of its groups.
func (t *track) ready() map[string]string {
	out := map[string]string{}
	for _, w := range t.objects {
		for _, e := range w.entries {
			if e.Ready && e.Target != "" {
				out[e.Target] = e.Group
			}
		}
	}
	return out
}

// lost reports a pod or ExternalWorkload that was ready in a slice and is in no slice now, although it was
// selected and ready, with the same ports, in each state since the last write. If its ports change, it moves
// from one slice to another, and the two writes may come in any order.
func (c *sliceCheck) lost(at time.Duration, subject string, key trackKey, t *track, served map[string]string, earliest map[int]int64, revision int64) {
	for _, w := range t.objects {
		for _, e := range w.entries {
			delete(served, e.Target)
		}
	}
	for _, target := range slices.Sorted(maps.Keys(served)) {
		if c.alwaysWanted(key, t, model.Entry{Target: target, Group: served[target]}, earliest, revision) {
			c.report(at, subject, "%s is in no slice any more, although it was selected and ready all the time.", target)
		}
	}
}

// alwaysWanted reports whether a target had to be served in a group in all states that the writer may have
// read since the last write. That write may have been made from the states in earliest.
func (c *sliceCheck) alwaysWanted(key trackKey, t *track, served model.Entry, earliest map[int]int64, end int64) bool {
	_, rest, _ := strings.Cut(served.Target, "/")
	name, _, _ := strings.Cut(rest, " ")
	own := t.byName[name]
	if later := slices.IndexFunc(own, func(m memberVersion) bool { return m.revision >= end }); later >= 0 {
		own = own[:later]
	}
	reached, lowest := false, int64(0)
	for n, v := range t.versions {
		if v.revision >= end {
			break
		}
		if from, ok := earliest[n]; ok && (!reached || from < lowest) {
			reached, lowest = true, from
		}
		if !reached {
			continue
		}
		if !c.wantedSince(key.writer, v.service, own, served, lowest) {
			return false
		}
	}
	return reached
}

// wantedSince reports whether a version of a Service required a target in a group since a revision, in all
// versions of its member.
func (c *sliceCheck) wantedSince(w model.Writer, service *corev1.Service, own []memberVersion, served model.Entry, from int64) bool {
	for n, m := range own {
		if n+1 < len(own) && own[n+1].revision <= from {
			continue
		}
		entries := c.cluster.entries(w, service, m)
		if m.revision > from && n == 0 || !slices.ContainsFunc(entries, func(e model.Entry) bool { return e.Target == served.Target && e.Group == served.Group && e.Ready }) {
			return false
		}
	}
	return len(own) > 0
}
