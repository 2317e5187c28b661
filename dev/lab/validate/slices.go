package validate

//lint:file-ignore SA1019 Endpoints are deprecated, and one of the things that Signpost writes.

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/model"
)

// sliceOrder returns V5.
func sliceOrder() Validator {
	return Validator{
		Name: "V5",
		Rule: "Slices and Endpoints say what the model says of a state, and never go back to an earlier one; none of their endpoints is doubled or lost, and those of others aren't touched.",
		Check: func(h history.History) []Finding {
			c := newCluster(h, "V5")
			check := &sliceCheck{cluster: c, tracks: map[trackKey]*track{}}
			for _, e := range h.Entries {
				if e.Object != nil && e.Object.Namespace == h.Setup.Namespace {
					check.readChange(e.At, *e.Object)
				}
			}
			out := slices.Concat(c.findings, check.findings, unownedSlices(h, c))
			if at, ok := calmEnd(h); ok {
				out = append(out, orphanedSlices(h, c, at)...)
			}
			return out
		},
	}
}

// trackKey identifies the slices, or the Endpoints, that a writer writes for a Service.
type trackKey struct {
	writer  model.Writer
	service string
}

// track has the slices of a Service of one writer, or its Endpoints, and the states from which they may have
// been made. The writer reads Services and members by different watches, so its Service may be newer than its
// pods, or older.
type track struct {
	objects   map[string]written  // by name
	versions  []serviceVersion    // only those that require different objects, in order
	timelines map[string]timeline // by the key of a version
	members   []memberVersion
	byName    map[string][]memberVersion // the same members
	// earliest is the earliest revision of the members from which the last write may have been made, by the
	// index of the Service version.
	earliest map[int]int64
	reported map[string]bool // duplicate endpoints that were reported
}

// written is a slice, or Endpoints.
type written struct {
	owner   string // UID of the Service; empty for Endpoints and mirrored slices
	entries []model.Entry
}

// sliceCheck checks the changes of objects in their order.
type sliceCheck struct {
	cluster  *cluster
	tracks   map[trackKey]*track
	findings []Finding
}

// readChange checks a change of a slice or of Endpoints.
func (c *sliceCheck) readChange(at time.Duration, o history.Object) {
	switch o.Resource {
	case "endpointslices":
		c.slice(at, o)
	case "endpoints":
		c.endpoints(at, o)
	}
}

func (c *sliceCheck) slice(at time.Duration, o history.Object) {
	if o.Deleted {
		for key, t := range c.tracks {
			if _, ok := t.objects[o.Name]; ok && key.writer != model.EndpointsWriter {
				c.change(at, o, key, nil)
			}
		}
		return
	}
	slice, err := model.Decode[discoveryv1.EndpointSlice](model.NewVersion(o))
	if err != nil {
		c.cluster.findings = append(c.cluster.findings, Finding{"V5", at, "slice " + o.Name, fmt.Sprintf("it can't be read: %v.", err)})
		return
	}
	writer, ours := model.WriterOf(slice)
	if !ours {
		return
	}
	w := written{entries: model.SliceEntries(slice)}
	if owner := metav1.GetControllerOf(slice); owner != nil && owner.Kind == "Service" {
		w.owner = string(owner.UID)
	}
	c.change(at, o, trackKey{writer, slice.Labels[discoveryv1.LabelServiceName]}, &w)
}

func (c *sliceCheck) endpoints(at time.Duration, o history.Object) {
	key := trackKey{model.EndpointsWriter, o.Name}
	if o.Deleted {
		if _, ok := c.tracks[key]; ok {
			c.change(at, o, key, nil)
		}
		return
	}
	endpoints, err := model.Decode[corev1.Endpoints](model.NewVersion(o))
	if err != nil || endpoints.Labels["endpoints.kubernetes.io/managed-by"] != string(model.EndpointsWriter) {
		return
	}
	c.change(at, o, key, &written{entries: model.EndpointsEntries(endpoints)})
}

func (c *sliceCheck) track(key trackKey) *track {
	t := c.tracks[key]
	if t == nil {
		t = &track{
			objects: map[string]written{}, timelines: map[string]timeline{}, earliest: map[int]int64{}, reported: map[string]bool{},
			members: c.cluster.members(key.writer, key.service), byName: map[string][]memberVersion{},
		}
		for _, m := range t.members {
			t.byName[m.name] = append(t.byName[m.name], m)
		}
		for _, v := range c.cluster.services[key.service] {
			if n := len(t.versions); n == 0 || t.versions[n-1].key != v.key {
				t.versions = append(t.versions, v)
			}
		}
		c.tracks[key] = t
	}
	return t
}

// change checks a change of a slice or of Endpoints. w is nil after a deletion.
func (c *sliceCheck) change(at time.Duration, o history.Object, key trackKey, w *written) {
	t := c.track(key)
	before := t.objects[o.Name]
	changed := changedGroups(key.writer, before.entries, w)
	served := t.ready()
	if w == nil {
		delete(t.objects, o.Name)
	} else {
		t.objects[o.Name] = *w
	}
	if len(changed) == 0 || o.Restored { // an etcd restore is not a write
		return
	}
	owner := before.owner
	if w != nil {
		owner = w.owner
	}
	subject := subjectOf(key, o)
	earliest := t.earliest
	if w != nil || c.cluster.owns(key, owner, o.Revision) {
		c.content(at, subject, key, t, o.Name, owner, changed, o.Revision)
	}
	c.duplicates(at, subject, key, t, owner)
	c.lost(at, subject, key, t, served, earliest, o.Revision)
}

func subjectOf(key trackKey, o history.Object) string {
	if key.writer == model.EndpointsWriter {
		return "endpoints " + o.Name
	}
	return fmt.Sprintf("slice %s of %s", o.Name, key.service)
}

// owns reports whether the objects of an owner belong to the Service that exists at a revision. Objects of a
// deleted Service are deleted whatever its pods are: the API server deletes the Endpoints at once, and the
// slices go when another Service of the same name is created. Mirrored slices go with their Endpoints.
func (c *cluster) owns(key trackKey, owner string, revision int64) bool {
	service := c.serviceAt(key.service, revision)
	return key.writer == model.MirrorWriter || service != nil && (owner == "" || string(service.UID) == owner)
}

func (c *cluster) serviceAt(name string, revision int64) *corev1.Service {
	var out *corev1.Service
	for _, v := range c.services[name] {
		if v.revision <= revision {
			out = v.service
		}
	}
	return out
}

// changedGroups returns the groups whose entries differ from those before.
func changedGroups(w model.Writer, before []model.Entry, after *written) map[string]bool {
	sums := map[string]uint64{}
	counts := map[string]int{}
	for _, e := range before {
		sums[groupOf(w, e)] -= hashOf(e)
		counts[groupOf(w, e)]--
	}
	if after != nil {
		for _, e := range after.entries {
			sums[groupOf(w, e)] += hashOf(e)
			counts[groupOf(w, e)]++
		}
	}
	out := map[string]bool{}
	for group, sum := range sums {
		if sum != 0 || counts[group] != 0 {
			out[group] = true
		}
	}
	return out
}

// content reports a change if no state, at or after that of the last write, requires this content.
//
// A slice is compared alone, and together with the others of the same group. If all pods of two groups are
// replaced at once, the writer may exchange the content of two slices in two writes. So an update isn't
// checked for the group that it removes. A deletion is, because the deletion comes last.
func (c *sliceCheck) content(at time.Duration, subject string, key trackKey, t *track, name, owner string, changed map[string]bool, revision int64) {
	alone, together := map[string]uint64{}, map[string]uint64{}
	w, exists := t.objects[name]
	for _, e := range w.entries {
		alone[groupOf(key.writer, e)] += hashOf(e)
	}
	for group := range changed {
		if _, has := alone[group]; has || !exists || key.writer == model.EndpointsWriter {
			together[group] = 0
		}
	}
	if len(together) == 0 {
		return
	}
	for _, w := range t.objects {
		for _, e := range w.entries {
			if group := groupOf(key.writer, e); changed[group] && w.owner == owner {
				together[group] += hashOf(e)
			}
		}
	}
	explanations := []map[string]uint64{together}
	if len(alone) > 0 {
		explanations = append(explanations, alone)
	}
	for _, sums := range explanations {
		if next := c.states(key, t, sums, t.earliest, revision); len(next) > 0 {
			t.earliest = next
			return
		}
	}
	message := "what it says now is nothing that the model says of any state"
	for _, sums := range explanations {
		if len(c.states(key, t, sums, nil, revision)) > 0 {
			message = "what it says now is what the model says of a state that is older than that of the write before"
		}
	}
	c.report(at, subject, "%s: %s.", message, t.shown(key.writer, changed, owner))
}

// states returns the earliest states from which the sums may have been made, none before those in from. A nil
// from is the beginning.
func (c *sliceCheck) states(key trackKey, t *track, sums map[string]uint64, from map[int]int64, end int64) map[int]int64 {
	out := map[int]int64{}
	reached, lowest := len(from) == 0, int64(0)
	for n, v := range t.versions {
		if v.revision >= end {
			break
		}
		if earliest, ok := from[n]; ok && (!reached || earliest < lowest) {
			reached, lowest = true, earliest
		}
		if !reached || v.service != nil && key.writer != model.MirrorWriter && !model.HasSelector(v.service) {
			continue
		}
		line, ok := t.timelines[v.key]
		if !ok {
			line = c.cluster.timeline(key.writer, v.service, t.members)
			t.timelines[v.key] = line
		}
		if found, ok := line.findAll(sums, lowest, end); ok {
			out[n] = found
		}
	}
	return out
}

func (c *sliceCheck) report(at time.Duration, subject, format string, args ...any) {
	c.findings = append(c.findings, Finding{"V5", at, subject, fmt.Sprintf(format, args...)})
}

// shown quotes the entries of some groups.
func (t *track) shown(w model.Writer, groups map[string]bool, owner string) string {
	var texts []string
	for _, object := range t.objects {
		for _, e := range object.entries {
			if groups[groupOf(w, e)] && object.owner == owner {
				texts = append(texts, quoted(e.String()))
			}
		}
	}
	if len(texts) == 0 {
		return "nothing in " + strings.Join(slices.Sorted(maps.Keys(groups)), " and ")
	}
	slices.Sort(texts)
	return some(texts)
}

// duplicates reports an endpoint that is twice in the slices of a Service with the same ports. While a
// Service is replaced by another one of its name, each of the two has its own slices.
func (c *sliceCheck) duplicates(at time.Duration, subject string, key trackKey, t *track, owner string) {
	count := map[string]int{}
	for _, w := range t.objects {
		for _, e := range w.entries {
			if w.owner == owner {
				name := e.Address + " " + e.Target + " in " + e.Group
				if key.writer == model.EndpointsWriter {
					name += " " + e.State
				}
				count[name]++
			}
		}
	}
	for name, n := range count {
		if n > 1 && !t.reported[name] {
			c.report(at, subject, "the Service has %s %d times.", quoted(name), n)
			t.reported[name] = true
		} else if n == 1 {
			delete(t.reported, name)
		}
	}
}
