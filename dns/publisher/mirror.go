package publisher

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"weak"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/internal/sanitize"
)

// mirror is our copy of a zone. Only the loop changes it. Any goroutine may look up names and
// compare.
type mirror struct {
	mu sync.RWMutex
	// names has the record sets of each canonical name.
	names map[string]*node
	// listed is the first record set of the last listing. If the next listing is the same slice,
	// nothing needs to be compared. The pointer is weak, so that the mirror doesn't keep a listing
	// alive.
	listed weak.Pointer[*dns.RecordSet]
	// written are the names that were written while the zone is being listed: the listing may be
	// older. It is nil at other times.
	written map[string]struct{}
	// records counts the record sets by type, without ownership records. owned counts ours among them.
	records map[string]int
	owned   int
	// namesByHolder counts the names of each namespace.
	namesByHolder map[tenantID]int
	// otherInstances counts the record sets with our owner ID that another instance wrote.
	otherInstances int
	// changed is called with each name before its records change.
	changed func(name string)
}

// node is the state of one name. A node in the map is never changed, only replaced.
type node struct {
	// raw is the listing of the provider.
	raw []*dns.RecordSet
	// ownership are the ownership records that describe this name, whatever their own names are.
	ownership []*dns.RecordSet
	holdings
	// allWanted is true if evaluated objects ask for all record sets of the name. Targets from before
	// this process or from another writer may belong to other objects.
	allWanted bool
}

// holdings says who has the record sets of a name.
type holdings struct {
	// plain counts the record sets without ownership records, owned those of them that are ours, and
	// otherInstances those that another instance with our owner ID wrote.
	plain, owned, otherInstances int32
	// holder is the namespace of the object in the labels of these record sets, or nobody.
	holder tenantID
}

func newMirror() *mirror {
	return &mirror{names: map[string]*node{}, records: map[string]int{}, namesByHolder: map[tenantID]int{}, changed: unnoticed}
}

// unnoticed ignores changes.
func unnoticed(string) {}

// lookup returns the listed record sets under a canonical name.
func (m *mirror) lookup(name string) []*dns.RecordSet {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if n := m.names[name]; n != nil {
		return n.raw
	}
	return nil
}

func (m *mirror) node(name string) node {
	if n := m.names[name]; n != nil {
		return *n
	}
	return node{}
}

// difference is what a listing shows for the names at which it differs from the mirror.
type difference struct {
	names map[string][]*dns.RecordSet
	first weak.Pointer[*dns.RecordSet]
	// err says why the listing can't be used; nil if it can.
	err error
}

// maxListedSets limits the record sets that a listing may have of one name, by type and set identifier.
// Objects can get maxRecordSets. Comparing those of a name takes the square of their number.
const maxListedSets = 2 * maxRecordSets

// compare compares the mirror with a listing. It is slow for a large listing, so it is called in a
// job, not in the loop.
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
		if len(byName[name]) > maxListedSets {
			d.err = fmt.Errorf("the zone has more than %d record sets of the name %s: delete those that are not needed", maxListedSets, sanitize.Name(name))
			return d
		}
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

// withListed adds a record set to those listed under its name. If a key is listed twice, the last
// one counts (spec/dns.md §3.2), as in [provider.Unchanged].
func withListed(list []*dns.RecordSet, r *dns.RecordSet) []*dns.RecordSet {
	for i, other := range list {
		if other.Type == r.Type && other.SetIdentifier == r.SetIdentifier {
			list[i] = r
			return list
		}
	}
	return append(list, r)
}

// unlabelled returns a listed record set without the labels that only a registry may set.
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

// relist applies a listing to the mirror, except for names that were written since it began. It
// returns the changed names with their former record sets.
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

// markAllWanted sets allWanted: evaluated objects ask for all record sets of a name.
func (m *mirror) markAllWanted(name string) {
	if n, known := m.names[name]; known && !n.allWanted {
		fresh := *n
		fresh.allWanted = true
		m.set(name, fresh)
	}
}

// write applies a change to the mirror, and returns the former record sets of the name.
func (m *mirror) write(c dns.Change) (name string, before []*dns.RecordSet) {
	key := c.RecordSet().Key()
	before = m.node(key.Name).raw
	raw := slices.DeleteFunc(slices.Clone(before), func(r *dns.RecordSet) bool { return r.Key() == key })
	if c.New != nil {
		// The zone keeps one label only. The registry computes the others from its records.
		listed := *c.New
		listed.Labels, listed.Objects = dns.StoredLabels(c.New.Labels), nil
		raw = append(raw, &listed)
	}
	// The mirror differs from the last listing now.
	m.mu.Lock()
	m.listed = weak.Pointer[*dns.RecordSet]{}
	m.mu.Unlock()
	if m.written != nil {
		m.written[key.Name] = struct{}{}
	}
	m.setRaw(key.Name, raw)
	// A planned name has only what objects ask for.
	m.markAllWanted(key.Name)
	return key.Name, before
}

func (m *mirror) setRaw(name string, raw []*dns.RecordSet) {
	n := m.node(name)
	n.raw, n.allWanted = raw, false
	m.set(name, n)
}

func (m *mirror) set(name string, n node) {
	m.changed(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(n.raw) == 0 && len(n.ownership) == 0 && n.owned == 0 && n.otherInstances == 0 {
		delete(m.names, name)
		return
	}
	m.names[name] = &n
}

func (m *mirror) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.names, m.records, m.owned, m.namesByHolder = map[string]*node{}, map[string]int{}, 0, map[tenantID]int{}
	m.otherInstances = 0
	m.listed = weak.Pointer[*dns.RecordSet]{}
}

// setOwnership replaces ownership records that describe a name.
func (m *mirror) setOwnership(describes string, removed, added []*dns.RecordSet) {
	n := m.node(describes)
	kept := make([]*dns.RecordSet, 0, len(n.ownership)+len(added))
	for _, r := range n.ownership {
		if !slices.Contains(removed, r) && !slices.Contains(added, r) {
			kept = append(kept, r)
		}
	}
	n.ownership = append(kept, added...)
	m.set(describes, n)
}

// setHoldings replaces the holdings of a node.
func (m *mirror) setHoldings(name string, h holdings) {
	n := m.node(name)
	if n.holdings == h {
		return
	}
	if n.holder != h.holder {
		m.count(n.holder, -1)
		m.count(h.holder, +1)
	}
	m.owned += int(h.owned - n.owned)
	m.otherInstances += int(h.otherInstances - n.otherInstances)
	n.holdings = h
	m.set(name, n)
}

// count adds to the number of names of a namespace.
func (m *mirror) count(namespace tenantID, names int) {
	if namespace == nobody {
		return
	}
	if m.namesByHolder[namespace] += names; m.namesByHolder[namespace] == 0 {
		delete(m.namesByHolder, namespace)
	}
}

// withLabels returns r with additional labels from the registry.
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

// sameTexts compares two lists in any order, but case-sensitively: to delete a text, the registry
// needs its exact form.
func sameTexts(a, b []string) bool {
	if slices.Equal(a, b) {
		return true
	}
	return len(a) == len(b) && slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}
