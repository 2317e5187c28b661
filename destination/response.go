package destination

import (
	"bytes"
	"slices"
	"sync"
	"time"
	"weak"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// entry is one encoded endpoint.
type entry struct {
	endpoint catalog.Endpoint
	wire     []byte // the encoded WeightedAddr
	labels   *labels
}

// labels are the metric labels of a set of endpoints, equal for endpoints of one source.
type labels struct {
	wire []byte // the encoded metric_labels of a WeightedAddrSet
	err  error  // if they can't be encoded, their endpoints are left out
}

// ringSize is the number of steps that a stream may be behind. A stream that is further behind gets one
// merged difference.
const ringSize = 16

// smallSteps is the size of steps that are always kept, in bytes.
const smallSteps = 64 << 10

// entryOverhead is the memory of an entry without its encoded address, in bytes.
const entryOverhead = 88

// response is the response of a view at one time. It is immutable. The full frames are encoded on first use.
type response struct {
	entries []*entry // sorted by address
	exists  bool
	// pending is true if clusters that are not synced yet may have more endpoints. A pending response without
	// entries is unknown, not empty.
	pending bool
	filters *catalog.Filters
	at      time.Time

	version uint64
	steps   []step // the last steps to this response, oldest first; at most ringSize

	// ended is true for the last response of the view, after which streams end with the status of err.
	ended bool
	err   error
	stale chan struct{} // closed when the view has a newer response

	mu sync.Mutex
	// full is weak, because most responses are sent in full only once, and the frames are a copy of the
	// entries.
	full weak.Pointer[[]*frame]
}

// step is the encoded difference between a response and the one before.
type step []*frame

// fullFrames returns the messages with all endpoints, for a new stream. Streams that open at the same time
// share them.
func (a *response) fullFrames() []*frame {
	a.mu.Lock()
	defer a.mu.Unlock()
	if full := a.full.Value(); full != nil {
		return *full
	}
	full := addFrames(a.entries)
	if len(a.entries) == 0 {
		full = []*frame{noEndpointsFrame(a.exists)}
	}
	a.full = weak.Make(&full)
	return full
}

// keptSteps returns the steps to a new response with entries of this size: the new one, and earlier ones.
// Together they have no more bytes than the entries, because a merged difference would have less.
func keptSteps(earlier []step, last step, entries int) []step {
	size, at := last.size(), len(earlier)
	for at > max(0, len(earlier)-ringSize+1) && size+earlier[at-1].size() <= max(entries, smallSteps) {
		at--
		size += earlier[at].size()
	}
	return append(slices.Clip(earlier[at:]), last)
}

func (s step) size() (bytes int) {
	for _, f := range s {
		bytes += f.bytes.Len()
	}
	return bytes
}

// size returns the memory of the response in bytes.
func (a *response) size() int {
	size := sizeOfEntries(a.entries)
	for _, s := range a.steps {
		size += s.size()
	}
	return size
}

func sizeOfEntries(entries []*entry) (bytes int) {
	for _, e := range entries {
		bytes += entryOverhead + len(e.wire)
	}
	return bytes
}

// unknown reports whether nothing can be sent to a new stream yet.
func (a *response) unknown() bool { return a.pending && len(a.entries) == 0 }

// since returns the steps from the response of an earlier version to this one. ok is false if that version is
// too old.
func (a *response) since(version uint64) (steps []step, ok bool) {
	behind := a.version - version
	if behind > uint64(len(a.steps)) {
		return nil, false
	}
	return a.steps[uint64(len(a.steps))-behind:], true
}

// difference is the difference between two sets of entries. Added are the entries to send. Those of them that
// replace an entry of the same address are also in replaced.
type difference struct{ added, replaced, removed []*entry }

// changes returns the messages that change one set of entries into another.
func changes(from, to []*entry) []*frame { return compare(from, to).frames() }

// frames returns the messages: first adds, then removes. No entry of the new set is removed.
func (d difference) frames() []*frame {
	return append(addFrames(d.added), removeFrames(d.removed)...)
}

func compare(from, to []*entry) (d difference) {
	i, j := 0, 0
	for i < len(from) || j < len(to) {
		switch order := compareAt(from, to, i, j); {
		case order < 0:
			d.removed = append(d.removed, from[i])
			i++
		case order > 0:
			d.added = append(d.added, to[j])
			j++
		default:
			if !sameWire(from[i], to[j]) {
				d.added = append(d.added, to[j])
				d.replaced = append(d.replaced, to[j])
			}
			i++
			j++
		}
	}
	return d
}

func compareAt(from, to []*entry, i, j int) int {
	switch {
	case i == len(from):
		return 1
	case j == len(to):
		return -1
	default:
		return from[i].endpoint.Addr.Compare(to[j].endpoint.Addr)
	}
}

func sameWire(a, b *entry) bool {
	return a == b || bytes.Equal(a.wire, b.wire) && a.labels.same(b.labels)
}

func (l *labels) same(other *labels) bool { return l == other || bytes.Equal(l.wire, other.wire) }

// encoder encodes endpoints as entries, for one response.
type encoder struct {
	query   addressQuery
	builder *addrBuilder
	labels  labelSet
}

func newEncoder(c *Config, q addressQuery) *encoder {
	return &encoder{query: q, builder: newAddrBuilder(c)}
}

// entries encodes a set. It keeps the previous entries of unchanged endpoints; both lists are sorted.
// Endpoints that can't be encoded are reported and left out.
func (x *encoder) entries(set []catalog.Endpoint, previous []*entry) []*entry {
	list := make([]*entry, 0, len(set))
	at := 0
	for _, e := range set {
		for at < len(previous) && previous[at].endpoint.Addr.Compare(e.Addr) < 0 {
			at++
		}
		var old *entry
		if at < len(previous) && previous[at].endpoint.Addr == e.Addr {
			old = previous[at]
		}
		if n := x.entry(e, old); n != nil {
			list = append(list, n)
		}
	}
	return list
}

func (x *encoder) entry(e catalog.Endpoint, old *entry) *entry {
	labels := x.labels.of(e.Source)
	if labels.err != nil {
		x.builder.report(sourceProblem(e.Source, "labels of endpoints", labels.err))
		return nil
	}
	if old != nil && old.endpoint.Address == e.Address && *old.endpoint.Source == *e.Source {
		return old
	}
	wire, err := x.encode(e)
	if err != nil {
		x.builder.report(endpointProblem(e, err))
		return nil
	}
	if old != nil && bytes.Equal(old.wire, wire) {
		wire = old.wire
	}
	return &entry{e, wire, labels}
}

func (x *encoder) encode(e catalog.Endpoint) ([]byte, error) {
	w, err := x.builder.weightedAddr(e, x.query)
	if err != nil {
		return nil, err
	}
	return marshalAddr(w)
}

// endpointProblem returns the problem of an endpoint that is left out. The object is its workload or, without
// one, the Service. The field has no port, because clients can choose any port and each would be a separate
// problem.
func endpointProblem(e catalog.Endpoint, err error) objectmeta.Problem {
	field := "address " + e.Addr.Addr().String()
	if e.Target == nil {
		return sourceProblem(e.Source, field, err)
	}
	return e.Target.Key.Problem(field, err.Error())
}

// sourceProblem is a problem of the Service that endpoints come from.
func sourceProblem(s *catalog.Source, field string, err error) objectmeta.Problem {
	of := s.Service
	return objectmeta.Problem{Cluster: of.LinkedCluster(), Kind: "Service", Namespace: of.Namespace, Name: of.Name, Field: field, Reason: err.Error()}
}

// labelSet has the labels of the sources of the endpoints of a response. Most responses have one source.
type labelSet struct {
	last       *catalog.Source
	lastLabels *labels
	earlier    map[catalog.Source]*labels
}

func (s *labelSet) of(source *catalog.Source) *labels {
	if s.last != nil && (source == s.last || *source == *s.last) {
		return s.lastLabels
	}
	l := s.earlier[*source]
	if l == nil {
		l = encodeLabels(setLabels(source.Service, source.Mirror))
	}
	if s.last != nil {
		if s.earlier == nil {
			s.earlier = map[catalog.Source]*labels{}
		}
		s.earlier[*s.last] = s.lastLabels
	}
	s.last, s.lastLabels = source, l
	return l
}

// encodeLabels encodes the metric_labels of a WeightedAddrSet.
func encodeLabels(m map[string]string) *labels {
	wire, err := appendLabels(make([]byte, 0, sizeOfLabels(m)), fieldSetLabels, m)
	return &labels{wire: wire, err: err}
}
