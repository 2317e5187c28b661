package publisher

import (
	"maps"
	"slices"
	"sync"
	"weak"

	"github.com/signpostd/signpost/dns"
)

// mirror is our copy of a zone. Only the loop changes it; any goroutine may look up names and
// compare.
type mirror struct {
	mu sync.RWMutex
	// names has what is under each canonical name.
	names map[string]*node
	// listed is the first of the last listing. If the next one is the same slice, nothing
	// needs to be compared. A provider that keeps its listing keeps it alive, not the mirror.
	listed weak.Pointer[*dns.RecordSet]
	// written are the names that were written while the zone was being listed: the listing may
	// be older. It is nil while the zone isn't being listed.
	written map[string]struct{}
	// records counts the record sets that aren't markers by type; owned counts those of them
	// that are ours.
	records map[string]int
	owned   int
	// heldBy counts the names that each namespace has.
	heldBy map[tenantID]int
	// others counts those that have our owner ID and were written by another instance.
	others int
	// changed is called with each name before what is under it changes.
	changed func(name string)
}

// node is what is under one name. Nodes in the map are never changed, only replaced.
type node struct {
	// raw is what the provider lists.
	raw []*dns.RecordSet
	// markers are the markers that describe this name, wherever they are.
	markers []*dns.RecordSet
	// plain is how many of the record sets are no markers, owned how many of these are ours, and
	// others how many have our owner ID and another instance.
	plain, owned, others int32
	// holder is the namespace of the object that the labels of these name, or nobody.
	holder tenantID
	// explained is true when all that is there is asked for by objects that were evaluated. What
	// somebody else put there, or this process before its last start, may be of others.
	explained bool
}

func newMirror() *mirror {
	return &mirror{names: map[string]*node{}, records: map[string]int{}, heldBy: map[tenantID]int{}, changed: unnoticed}
}

// unnoticed is for changes that nobody has to be told of.
func unnoticed(string) {}

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

// difference is what a listing says about the names at which it isn't as the mirror was.
type difference struct {
	names map[string][]*dns.RecordSet
	first weak.Pointer[*dns.RecordSet]
}

// compare compares the mirror with a listing. It takes long for a large one, so a job calls it,
// and not the loop.
func (m *mirror) compare(sets []*dns.RecordSet) difference {
	d := difference{names: map[string][]*dns.RecordSet{}}
	if len(sets) > 0 {
		d.first = weak.Make(&sets[0])
		m.mu.RLock()
		same := m.listed == d.first
		m.mu.RUnlock()
		if same {
			return d
		}
	}
	byName := make(map[string][]*dns.RecordSet, len(sets))
	for _, r := range sets {
		name := dns.Canonical(r.Name)
		byName[name] = withListed(byName[name], unlabelled(r))
	}
	m.mu.RLock()
	for name, n := range m.names {
		if len(n.raw) > 0 && byName[name] == nil {
			d.names[name] = nil
		}
	}
	m.mu.RUnlock()
	for name, raw := range byName {
		if !sameSets(m.lookup(name), raw) {
			d.names[name] = slices.Clip(raw)
		}
	}
	return d
}

// withListed adds a record set to those that were listed under its name. Of several with one key the last
// one counts (spec/dns.md §3.2), as it does for [provider.Unchanged].
func withListed(list []*dns.RecordSet, r *dns.RecordSet) []*dns.RecordSet {
	for i, other := range list {
		if other.Type == r.Type && other.SetIdentifier == r.SetIdentifier {
			list[i] = r
			return list
		}
	}
	return append(list, r)
}

// unlabelled returns a listed record set without the labels that only an owner may give it.
func unlabelled(r *dns.RecordSet) *dns.RecordSet {
	stored := dns.StoredLabels(r.Labels)
	if len(stored) == len(r.Labels) {
		return r
	}
	bare := *r
	bare.Labels = stored
	return &bare
}

// begin is called before the zone is listed.
func (m *mirror) begin() { m.written = map[string]struct{}{} }

// relist makes the mirror have what a listing says, except what was written since. It returns
// the names at which something has changed, with what was there.
func (m *mirror) relist(d difference) map[string][]*dns.RecordSet {
	before := make(map[string][]*dns.RecordSet, len(d.names))
	for name, raw := range d.names {
		if _, later := m.written[name]; later {
			continue
		}
		before[name] = m.node(name).raw
		m.setRaw(name, raw)
	}
	m.mu.Lock()
	m.listed = d.first
	if len(m.written) > 0 {
		m.listed = weak.Pointer[*dns.RecordSet]{}
	}
	m.mu.Unlock()
	m.written = nil
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
		// The zone keeps no labels but one; the owner works them out from what it has.
		listed := *c.New
		listed.Labels, listed.Objects = dns.StoredLabels(c.New.Labels), nil
		raw = append(raw, &listed)
	}
	// The mirror doesn't have what was listed any more.
	m.mu.Lock()
	m.listed = weak.Pointer[*dns.RecordSet]{}
	m.mu.Unlock()
	if m.written != nil {
		m.written[key.Name] = struct{}{}
	}
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
	m.changed(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(n.raw) == 0 && len(n.markers) == 0 && n.owned == 0 && n.others == 0 {
		delete(m.names, name)
		return
	}
	m.names[name] = &n
}

// clear empties the mirror.
func (m *mirror) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.names, m.records, m.owned, m.heldBy = map[string]*node{}, map[string]int{}, 0, map[tenantID]int{}
	m.others = 0
	m.listed = weak.Pointer[*dns.RecordSet]{}
}

// mark replaces markers of a name that they describe.
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

// own notes how many record sets of a name are no markers, how many of these are ours, how many of another
// instance with our owner ID, and which namespace has them.
func (m *mirror) own(name string, plain, owned, others int32, holder tenantID) {
	n := m.node(name)
	if n.holder != holder {
		m.count(n.holder, -1)
		m.count(holder, +1)
	}
	m.owned += int(owned - n.owned)
	m.others += int(others - n.others)
	if n.owned != owned || n.plain != plain || n.others != others || n.holder != holder {
		n.plain, n.owned, n.others, n.holder = plain, owned, others, holder
		m.set(name, n)
	}
}

// count adds to how many names a namespace has.
func (m *mirror) count(namespace tenantID, names int) {
	if namespace == nobody {
		return
	}
	if m.heldBy[namespace] += names; m.heldBy[namespace] == 0 {
		delete(m.heldBy, namespace)
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
		i := slices.IndexFunc(b, func(o *dns.RecordSet) bool { return o.Type == r.Type && o.SetIdentifier == r.SetIdentifier })
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
