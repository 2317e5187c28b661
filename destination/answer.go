package destination

import (
	"bytes"
	"sync"
	"time"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"

	"github.com/signpostd/signpost/catalog"
)

// entry is one endpoint as the wire has it.
type entry struct {
	endpoint catalog.Endpoint
	wire     []byte // the encoded WeightedAddr
}

// ringSize is how many steps a stream may fall behind before it gets them merged
// into one difference.
const ringSize = 16

// answer is what a view has to say at one time: immutable, but for the full
// frames, which are made when first asked for.
type answer struct {
	entries []*entry // sorted by address
	labels  []byte   // encoded metric_labels of a WeightedAddrSet
	exists  bool
	kind    catalog.FilterKind
	at      time.Time

	version uint64
	steps   []step // the last ones that led here, oldest first; at most ringSize

	// ended is true for the last answer, which tells streams to end.
	ended bool
	stale chan struct{} // closed once the view has a newer answer

	once sync.Once
	full []*frame
}

// step is an encoded difference: it makes an answer from the one before.
type step []*frame

// fullFrames returns the messages that tell a new stream everything.
func (a *answer) fullFrames() []*frame {
	a.once.Do(func() {
		if len(a.entries) == 0 {
			a.full = []*frame{noEndpointsFrame(a.exists)}
			return
		}
		a.full = addFrames(a.entries, a.labels)
	})
	return a.full
}

// since returns the steps that lead from the answer of an earlier version to
// this one; ok is false when the ring doesn't reach back that far.
func (a *answer) since(version uint64) (steps []step, ok bool) {
	behind := a.version - version
	if behind > uint64(len(a.steps)) {
		return nil, false
	}
	return a.steps[uint64(len(a.steps))-behind:], true
}

// changes returns the messages that make one set of entries the other: at most
// an add, then at most a remove. Nothing is removed that is in the new set.
func changes(from, to sent) []*frame {
	relabelled := !bytes.Equal(from.labels, to.labels)
	var added, removed []*entry
	i, j := 0, 0
	for i < len(from.entries) || j < len(to.entries) {
		switch order := compareAt(from.entries, to.entries, i, j); {
		case order < 0:
			removed = append(removed, from.entries[i])
			i++
		case order > 0:
			added = append(added, to.entries[j])
			j++
		default:
			if relabelled || !sameWire(from.entries[i], to.entries[j]) {
				added = append(added, to.entries[j])
			}
			i++
			j++
		}
	}
	return append(addFrames(added, to.labels), removeFrames(removed)...)
}

// sent is what a stream has been told: all that a difference depends on.
type sent struct {
	entries []*entry
	labels  []byte
}

func (a *answer) sent() sent { return sent{a.entries, a.labels} }

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

func sameWire(a, b *entry) bool { return a == b || bytes.Equal(a.wire, b.wire) }

// encoder turns endpoint sets into entries.
type encoder struct {
	config *Config
	asked  asked
}

// entries encodes a set, taking over from the previous entries, which are sorted
// too, whatever did not change. Endpoints that can't be encoded are reported
// and left out.
func (x encoder) entries(set []catalog.Endpoint, previous []*entry) []*entry {
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

func (x encoder) entry(e catalog.Endpoint, old *entry) *entry {
	if old != nil && old.endpoint.Address == e.Address {
		return old
	}
	w, err := x.config.weightedAddr(e, x.asked)
	if err != nil {
		x.config.report(catalog.Problem{
			Kind: string(e.Target.Key.Kind), Namespace: e.Target.Key.Namespace, Name: e.Target.Key.Name,
			Field: "address " + e.Addr.String(), Reason: err.Error(),
		})
		return nil
	}
	wire := marshal(w)
	if old != nil && bytes.Equal(old.wire, wire) {
		wire = old.wire
	}
	return &entry{e, wire}
}

// labels encodes the metric_labels of a WeightedAddrSet.
func encodeLabels(labels map[string]string) []byte {
	return marshal(&pb.WeightedAddrSet{MetricLabels: labels})
}
