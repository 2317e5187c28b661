package publisher

import (
	"maps"
	"slices"
	"sync"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/plan"
)

// mirror is our copy of a zone. Only the loop changes it; any goroutine may look up names.
type mirror struct {
	mu sync.RWMutex
	// names has what is under each canonical name.
	names map[string]*node
	// listed is the last listing. If the next one is the same slice, nothing needs to be
	// compared.
	listed []*dns.RecordSet
	// records counts the record sets that aren't markers by type; owned counts those of them
	// that are ours.
	records map[string]int
	owned   int
}

// node is what is under one name. Nodes in the map are never changed, only replaced.
type node struct {
	// raw is what the provider lists; current is the same without markers.
	raw     []*dns.RecordSet
	current []plan.Current
	// markers are the markers that describe this name, wherever they are.
	markers []*dns.RecordSet
	// explained is true when all that is there is asked for by objects that were evaluated. What
	// somebody else put there, or this process before its last start, may be of others.
	explained bool
}

func newMirror() *mirror { return &mirror{names: map[string]*node{}, records: map[string]int{}} }

// lookup returns what the provider lists under a canonical name.
func (m *mirror) lookup(name string) []*dns.RecordSet {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if n := m.names[name]; n != nil {
		return n.raw
	}
	return nil
}

// node returns the node of a name. It is empty if there is nothing.
func (m *mirror) node(name string) node {
	if n := m.names[name]; n != nil {
		return *n
	}
	return node{}
}

// relist replaces the contents of the mirror by a listing. It returns the names under which
// something differs, with the record sets that were there before.
func (m *mirror) relist(sets []*dns.RecordSet) map[string][]*dns.RecordSet {
	if len(sets) > 0 && len(sets) == len(m.listed) && &sets[0] == &m.listed[0] {
		return nil
	}
	m.listed = sets
	byName := make(map[string][]*dns.RecordSet, len(m.names))
	for _, r := range sets {
		name := dns.Canonical(r.Name)
		byName[name] = append(byName[name], r)
	}
	before := map[string][]*dns.RecordSet{}
	for name, n := range m.names {
		if len(n.raw) > 0 && byName[name] == nil {
			before[name] = n.raw
		}
	}
	for name, raw := range byName {
		if old := m.node(name).raw; !sameSets(old, raw) {
			before[name] = old
		}
	}
	for name := range before {
		m.setRaw(name, byName[name])
	}
	return before
}

// explain notes that all that is under a name is asked for by objects that were evaluated.
func (m *mirror) explain(name string) {
	if n, known := m.names[name]; known && !n.explained {
		fresh := *n
		fresh.explained = true
		m.set(name, fresh)
	}
}

// write makes an applied change in the mirror, and returns what was under the name before.
func (m *mirror) write(c dns.Change) (name string, before []*dns.RecordSet) {
	key := c.RecordSet().Key()
	before = m.node(key.Name).raw
	raw := slices.DeleteFunc(slices.Clone(before), func(r *dns.RecordSet) bool { return r.Key() == key })
	if c.New != nil {
		// The zone doesn't keep labels; the owner works them out from what it has.
		listed := *c.New
		listed.Labels, listed.Objects = nil, nil
		raw = append(raw, &listed)
	}
	// The mirror doesn't have what was listed any more.
	m.listed = nil
	m.setRaw(key.Name, raw)
	// What is planned leaves nothing that objects don't ask for.
	m.explain(key.Name)
	return key.Name, before
}

func (m *mirror) setRaw(name string, raw []*dns.RecordSet) {
	n := m.node(name)
	n.raw, n.explained = raw, false
	m.set(name, n)
}

func (m *mirror) set(name string, n node) {
	m.mu.Lock()
	defer m.mu.Unlock()
	// The node is still needed while n.current has record sets that have to be subtracted from
	// the counters.
	if len(n.raw) == 0 && len(n.markers) == 0 && len(n.current) == 0 {
		delete(m.names, name)
		return
	}
	m.names[name] = &n
}

// mark replaces markers of a name that they describe, if that is in this mirror.
func (m *mirror) mark(describes string, gone, come []*dns.RecordSet) {
	n := m.node(describes)
	markers := make([]*dns.RecordSet, 0, len(n.markers)+len(come))
	for _, r := range n.markers {
		if !slices.Contains(gone, r) && !slices.Contains(come, r) {
			markers = append(markers, r)
		}
	}
	n.markers = append(markers, come...)
	m.set(describes, n)
}

// label works out again who owns the record sets of a name.
func (m *mirror) label(name string, o owner.Owner, look owner.Lookup) {
	n, known := m.names[name]
	if !known {
		return
	}
	current := make([]plan.Current, 0, len(n.raw))
	for _, r := range n.raw {
		if _, marker := o.Mark(r); marker {
			continue
		}
		labels, heal := o.Labels(look, r)
		current = append(current, plan.Current{Set: withLabels(r, labels), Heal: heal})
	}
	fresh := *n
	fresh.current = slices.Clip(current)
	m.set(name, fresh)
}

// count adds the record sets of a name to the counters, or subtracts them.
func (m *mirror) count(name, ownerID string, sign int) {
	for _, c := range m.node(name).current {
		m.records[c.Set.Type] += sign
		if ownerID == "" || c.Set.Labels[dns.LabelOwner] == ownerID {
			m.owned += sign
		}
	}
}

// withLabels returns r with the labels of its owner in addition to its own.
func withLabels(r *dns.RecordSet, labels map[string]string) *dns.RecordSet {
	if len(labels) == 0 {
		return r
	}
	labelled := *r
	if len(r.Labels) > 0 {
		merged := maps.Clone(r.Labels)
		maps.Copy(merged, labels)
		labels = merged
	}
	labelled.Labels = labels
	return &labelled
}

// sameSets reports whether two lists of record sets of one name are equal.
func sameSets(a, b []*dns.RecordSet) bool {
	if len(a) != len(b) {
		return false
	}
	for _, r := range a {
		key := r.Key()
		i := slices.IndexFunc(b, func(o *dns.RecordSet) bool { return o.Key() == key })
		if i < 0 || !sameSet(r, b[i]) {
			return false
		}
	}
	return true
}

func sameSet(a, b *dns.RecordSet) bool {
	return a.Name == b.Name && a.TTL == b.TTL && sameTexts(a.Targets, b.Targets) &&
		maps.Equal(a.Labels, b.Labels) && dns.SameProperties(a.Properties, b.Properties)
}

// sameTexts compares two lists without regard to order, but letter by letter: to delete a
// text, an owner needs its exact form.
func sameTexts(a, b []string) bool {
	if slices.Equal(a, b) {
		return true
	}
	return len(a) == len(b) && slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
