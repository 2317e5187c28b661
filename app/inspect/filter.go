package inspect

import (
	"cmp"
	"slices"
	"strings"
)

// States that can be queried. Those of streams and Services are the worst first.
var (
	streamStates  = []StreamState{StreamBehind, StreamStale, StreamSynced}
	serviceStates = []ServiceState{ServiceUnserved, ServiceEmpty, ServicePartly, ServicePortless, ServiceExternal, ServiceServed}
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
	f.service = p.values["service"]
	if f.namespace, f.pod, err = p.namespaced("pod"); err != nil {
		return f, err
	}
	f.node, f.search = p.values["node"], strings.ToLower(p.values["search"])
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

// compare orders streams: with several states the worst first, then by target and client.
func (f *streamFilter) compare(a, b *Stream) int {
	if len(f.states) > 1 && a.State != b.State {
		return cmp.Compare(slices.Index(streamStates, a.State), slices.Index(streamStates, b.State))
	}
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

// String returns KIND/NAMESPACE/NAME, or KIND/NAME for an object without a namespace.
func (o ObjectRef) String() string {
	if o.Namespace == "" {
		return o.Kind + "/" + o.Name
	}
	return o.Kind + "/" + o.Namespace + "/" + o.Name
}
