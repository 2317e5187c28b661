package validate

//lint:file-ignore SA1019 Endpoints are deprecated, and one of the things that Signpost writes.

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"sort"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dev/lab/history"
	"github.com/signpostd/signpost/dev/lab/model"
)

// memberVersion is a pod, an ExternalWorkload or Endpoints from one revision on.
type memberVersion struct {
	revision int64
	name     string
	object   any // nil if it was deleted
}

// serviceVersion is a Service from one revision on.
type serviceVersion struct {
	revision int64
	service  *corev1.Service // nil if it doesn't exist
	key      string          // equal for versions that require the same slices and Endpoints
}

// cluster has, at all revisions, the objects of a namespace from which slices and Endpoints are made.
type cluster struct {
	services  map[string][]serviceVersion // by name, in the order of revisions
	pods      []memberVersion             // in the order of revisions
	workloads []memberVersion
	endpoints map[string][]memberVersion // by name
	zones     model.Zones                // of the lab's nodes, which don't change
	findings  []Finding                  // unreadable objects
}

func newCluster(h history.History, validator string) *cluster {
	c := &cluster{services: map[string][]serviceVersion{}, endpoints: map[string][]memberVersion{}, zones: model.Zones{}}
	for _, e := range h.Entries {
		o := e.Object
		if o == nil || o.Namespace != h.Setup.Namespace && o.Resource != "nodes" {
			continue
		}
		if err := c.read(*o); err != nil {
			c.findings = append(c.findings, Finding{validator, e.At, o.Resource + " " + o.Name, fmt.Sprintf("it can't be read: %v.", err)})
		}
	}
	for _, versions := range c.services {
		slices.SortStableFunc(versions, func(a, b serviceVersion) int { return int(a.revision - b.revision) })
	}
	sortMembers(c.pods)
	sortMembers(c.workloads)
	for _, versions := range c.endpoints {
		sortMembers(versions)
	}
	return c
}

func sortMembers(m []memberVersion) {
	slices.SortStableFunc(m, func(a, b memberVersion) int { return int(a.revision - b.revision) })
}

func (c *cluster) read(o history.Object) error {
	v := model.NewVersion(o)
	switch o.Resource {
	case "pods":
		return readMember[corev1.Pod](v, &c.pods)
	case "externalworkloads":
		return readMember[model.ExternalWorkload](v, &c.workloads)
	case "endpoints":
		versions := c.endpoints[o.Name]
		err := readMember[corev1.Endpoints](v, &versions)
		c.endpoints[o.Name] = versions
		return err
	case "services":
		version := serviceVersion{revision: o.Revision}
		if !o.Deleted {
			service, err := model.Decode[corev1.Service](v)
			if err != nil {
				return err
			}
			spec := service.Spec
			version.service = service
			key, err := json.Marshal([]any{spec.Selector, spec.Ports, spec.Type, spec.ClusterIP, spec.IPFamilies, spec.PublishNotReadyAddresses})
			if err != nil {
				return err
			}
			version.key = string(key)
		}
		c.services[o.Name] = append(c.services[o.Name], version)
	case "nodes":
		if !o.Deleted {
			node, err := model.Decode[corev1.Node](v)
			if err != nil {
				return err
			}
			c.zones[node.Name] = node.Labels[corev1.LabelTopologyZone]
		}
	}
	return nil
}

func readMember[T any](v *model.Version, into *[]memberVersion) error {
	m := memberVersion{revision: v.Revision, name: v.Name}
	if !v.Deleted {
		object, err := model.Decode[T](v)
		if err != nil {
			return err
		}
		m.object = object
	}
	*into = append(*into, m)
	return nil
}

// members returns the objects from which a writer makes the slices or Endpoints of a Service: all versions of
// each object that the Service has ever selected.
func (c *cluster) members(w model.Writer, service string) []memberVersion {
	var all []memberVersion
	switch w {
	case model.MirrorWriter:
		return c.endpoints[service]
	case model.WorkloadWriter:
		all = c.workloads
	default:
		all = c.pods
	}
	var selectors []*corev1.Service
	known := map[string]bool{}
	for _, v := range c.services[service] {
		if v.service != nil && !known[fmt.Sprint(v.service.Spec.Selector)] {
			known[fmt.Sprint(v.service.Spec.Selector)] = true
			selectors = append(selectors, v.service)
		}
	}
	selected := map[string]bool{}
	for _, m := range all {
		if !selected[m.name] && slices.ContainsFunc(selectors, func(s *corev1.Service) bool { return model.Selects(s, labelsOf(m)) }) {
			selected[m.name] = true
		}
	}
	var out []memberVersion
	for _, m := range all {
		if selected[m.name] {
			out = append(out, m)
		}
	}
	return out
}

func labelsOf(m memberVersion) map[string]string {
	switch o := m.object.(type) {
	case *corev1.Pod:
		return o.Labels
	case *model.ExternalWorkload:
		return o.Metadata.Labels
	}
	return nil
}

// entries returns the entries that a writer has to write for a member and a version of a Service.
func (c *cluster) entries(w model.Writer, service *corev1.Service, m memberVersion) []model.Entry {
	if service == nil || m.object == nil {
		return nil
	}
	switch o := m.object.(type) {
	case *corev1.Pod:
		if w == model.EndpointsWriter {
			return model.PodEndpoints(service, o)
		}
		return model.PodSlices(service, o, c.zones)
	case *model.ExternalWorkload:
		return model.WorkloadSlices(service, o)
	case *corev1.Endpoints:
		if model.IsMirrored(o, service) {
			return model.MirroredSlices(o)
		}
	}
	return nil
}

// timeline has the required content for one version of a Service while its members change: the checksum of
// each group after each revision that changed the group. The checksum of no entries is 0.
type timeline map[string][]point

type point struct {
	revision int64
	sum      uint64
}

// groupOf returns the group of an entry. All Endpoints of a Service are one group, because they are one
// object.
func groupOf(w model.Writer, e model.Entry) string {
	if w == model.EndpointsWriter {
		return ""
	}
	return e.Group
}

// hashOf returns a hash of an entry. The sum of the hashes identifies a set of entries.
func hashOf(e model.Entry) uint64 {
	h := fnv.New64a()
	h.Write([]byte(e.String()))
	return h.Sum64()
}

func (c *cluster) timeline(w model.Writer, service *corev1.Service, members []memberVersion) timeline {
	t, sums, current := timeline{}, map[string]uint64{}, map[string][]model.Entry{}
	for _, m := range members {
		before, after := current[m.name], c.entries(w, service, m)
		if len(before)+len(after) == 0 {
			continue
		}
		current[m.name] = after
		for _, e := range before {
			sums[groupOf(w, e)] -= hashOf(e)
		}
		for _, e := range after {
			sums[groupOf(w, e)] += hashOf(e)
		}
		for _, e := range slices.Concat(before, after) {
			t.add(groupOf(w, e), point{m.revision, sums[groupOf(w, e)]})
		}
	}
	return t
}

// add appends the sum of a group, if it has changed.
func (t timeline) add(group string, p point) {
	points := t[group]
	if n := len(points); n > 0 && points[n-1].sum == p.sum || n == 0 && p.sum == 0 {
		return
	}
	t[group] = append(points, p)
}

// find returns the first revision in [from, end) at which the group has this sum.
func (t timeline) find(group string, sum uint64, from, end int64) (int64, bool) {
	points := t[group]
	next := sort.Search(len(points), func(n int) bool { return points[n].revision > from })
	var at uint64
	if next > 0 {
		at = points[next-1].sum
	}
	if at == sum {
		return from, from < end
	}
	for _, p := range points[next:] {
		if p.revision >= end {
			break
		}
		if p.sum == sum {
			return p.revision, true
		}
	}
	return 0, false
}

// findAll is find for several groups at the same revision.
func (t timeline) findAll(sums map[string]uint64, from, end int64) (int64, bool) {
	for {
		at := from
		for group, sum := range sums {
			found, ok := t.find(group, sum, at, end)
			if !ok {
				return 0, false
			}
			at = found
		}
		if at == from {
			return at, true
		}
		from = at
	}
}
