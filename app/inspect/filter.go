package inspect

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

// States that can be queried.
var (
	streamStates  = []StreamState{StreamSynced, StreamBehind, StreamStale}
	serviceStates = []ServiceState{ServiceUnserved, ServiceEmpty, ServicePartly, ServicePortless, ServiceExternal, ServiceServed}
	recordStates  = []RecordState{RecordPublished, RecordPending, RecordHeld, RecordConflict, RecordNoZone, RecordFailing, RecordForeign, RecordUnwanted}
)

// contains reports whether one of the texts contains part, which is in lower case.
func contains(part string, texts ...string) bool {
	return part == "" || slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(strings.ToLower(s), part) })
}

// streamFilter selects streams. Empty fields select all.
type streamFilter struct {
	service        string
	namespace, pod string
	node           string
	states         []StreamState
	search         string
}

func newStreamFilter(p parameters) (f streamFilter, err error) {
	if _, _, err = p.namespaced("service"); err != nil {
		return f, err
	}
	f.service = p["service"]
	if f.namespace, f.pod, err = p.namespaced("pod"); err != nil {
		return f, err
	}
	f.node, f.search = p["node"], strings.ToLower(p["search"])
	f.states, err = choices(p, "state", streamStates)
	return f, err
}

func (f *streamFilter) match(s *Stream) bool {
	return (f.service == "" || s.Service == f.service) &&
		(f.pod == "" || s.Namespace == f.namespace && s.Pod == f.pod) &&
		(f.node == "" || s.Node == f.node) &&
		(len(f.states) == 0 || slices.Contains(f.states, s.State)) &&
		contains(f.search, s.Target, s.Service, s.Peer, s.Pod, s.Namespace, s.Node)
}

func compareStreams(a, b Stream) int {
	return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod),
		cmp.Compare(a.Peer, b.Peer), cmp.Compare(a.ID, b.ID))
}

// RecordFilter selects records. Empty fields select all.
type RecordFilter struct {
	Publisher, Zone string
	States          []RecordState
	// Search is a part of the name, a target or an object, in lower case.
	Search string
	// Object asks for the record.
	Object *ObjectRef
	// Offset and Limit are the page: 0 ≤ Offset, and 0 < Limit ≤ PageSize.
	Offset, Limit int
}

// Match reports whether a record passes the filter, regardless of the page.
func (f *RecordFilter) Match(r *Record) bool {
	if f.Publisher != "" && r.Publisher != f.Publisher || f.Zone != "" && r.Zone != f.Zone ||
		len(f.States) > 0 && !slices.Contains(f.States, r.State) {
		return false
	}
	if f.Object != nil && !slices.ContainsFunc(r.Objects, f.Object.names) {
		return false
	}
	return contains(f.Search, r.Name) || contains(f.Search, r.Wanted...) || contains(f.Search, r.Targets...) ||
		slices.ContainsFunc(r.Objects, func(o ObjectRef) bool { return contains(f.Search, o.String()) })
}

// Page returns the page of the records that pass the filter, and copies no others. The records are
// sorted.
func (f *RecordFilter) Page(all iter.Seq[*Record]) RecordList {
	list := RecordList{Records: []Record{}}
	for r := range all {
		if !f.Match(r) {
			continue
		}
		if list.Total >= f.Offset && len(list.Records) < f.Limit {
			list.Records = append(list.Records, *r)
		}
		list.Total++
	}
	if end := f.Offset + f.Limit; end < list.Total {
		list.Next = end
	}
	return list
}

// names reports whether both name the same object. Kinds are compared case-insensitively, and a
// group only if it is given.
func (o *ObjectRef) names(other ObjectRef) bool {
	return strings.EqualFold(o.Kind, other.Kind) && o.Namespace == other.Namespace && o.Name == other.Name &&
		(o.Group == "" || o.Group == other.Group) && o.Cluster == other.Cluster
}

// String returns KIND/NAMESPACE/NAME, or KIND/NAME for an object without a namespace.
func (o ObjectRef) String() string {
	if o.Namespace == "" {
		return o.Kind + "/" + o.Name
	}
	return o.Kind + "/" + o.Namespace + "/" + o.Name
}
