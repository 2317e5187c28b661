package owner

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"

	"github.com/signpostd/signpost/dns"
)

// Before implements [Owner]. What it decides depends on the markers that the zone has, not
// on the labels of the changes: an update or a deletion of what isn't ours is refused.
//
// So is the creation of a record set whose marker can't be written, as somebody else has an
// ownership text, or a CNAME, under its name; a deletion is refused with the creation
// that replaces it. A record set of the old owner is updated, which makes it ours, but not
// deleted: it may belong to others who had that owner. [TXTOptions].Problems is told why.
//
// A marker is created if there is none, replaced if it says something else, and left alone
// otherwise. With a record set go its marker in every format, unless another record set has
// its labels from it. The Old of a marker's change is what the zone lists.
func (t *TXT) Before(_ context.Context, zone Lookup, changes []dns.Change) (apply, refused []dns.Change, err error) {
	b := &batch{
		TXT: t, zone: zone, changes: changes, refused: make([]bool, len(changes)), markers: make([][]dns.Change, len(changes)),
		after: map[string][]*dns.RecordSet{}, written: map[dns.Key]struct{}{},
	}
	b.judge()
	for i, c := range changes {
		if !b.refused[i] {
			b.put(c)
		}
	}
	for i, c := range changes {
		if !b.refused[i] && c.New != nil {
			if err := b.mark(i); err != nil {
				return nil, nil, err
			}
		}
	}
	for i, c := range changes {
		// Last, as only now it is known which markers are of use.
		if !b.refused[i] && c.New == nil {
			b.unmark(i)
		}
	}
	apply, refused = b.result()
	return apply, refused, nil
}

// Unmark returns the changes that take away the markers of ours that describe a record set
// and nothing else, in every format.
func (t *TXT) Unmark(zone Lookup, r *dns.RecordSet) []dns.Change {
	b := &batch{
		TXT: t, zone: zone, changes: []dns.Change{{Old: r}}, markers: make([][]dns.Change, 1),
		after: map[string][]*dns.RecordSet{}, written: map[dns.Key]struct{}{},
	}
	b.put(b.changes[0])
	b.unmark(0)
	return b.markers[0]
}

func (t *TXT) isMarker(r *dns.RecordSet) bool {
	_, marker := t.Mark(r)
	return marker
}

// batch is the changes that are applied together.
type batch struct {
	*TXT
	zone    Lookup
	changes []dns.Change
	// refused and markers say for each change that it is refused, and what comes after it.
	refused []bool
	markers [][]dns.Change
	// after has what will be under the names where something is changed.
	after map[string][]*dns.RecordSet
	// written are the markers that the batch creates or replaces.
	written map[dns.Key]struct{}
}

// lookup is what the zone will have under a name.
func (b *batch) lookup(name string) []*dns.RecordSet {
	if sets, changed := b.after[name]; changed {
		return sets
	}
	return b.zone(name)
}

// put has a change made in what the zone will have.
func (b *batch) put(c dns.Change) {
	key := c.RecordSet().Key()
	sets := make([]*dns.RecordSet, 0, 4)
	for _, r := range b.lookup(key.Name) {
		if r.Key() != key {
			sets = append(sets, r)
		}
	}
	if c.New != nil {
		sets = append(sets, c.New)
	}
	b.after[key.Name] = sets
}

// judge decides which changes are refused.
func (b *batch) judge() {
	// stuck are the names under which something can't be as it is to be.
	stuck := map[string]bool{}
	for i, c := range b.changes {
		reason := b.objection(c)
		if reason == "" {
			continue
		}
		b.refuse(i, reason)
		if c.New != nil {
			stuck[c.RecordSet().Key().Name] = true
		}
	}
	if len(stuck) == 0 {
		return
	}
	for i, c := range b.changes {
		if c.New == nil && !b.refused[i] && stuck[c.Old.Key().Name] {
			b.refuse(i, "what is to replace it can't be created")
		}
	}
}

// objection returns why a change must not be made, looked at by itself.
func (b *batch) objection(c dns.Change) string {
	switch {
	case c.New != nil && c.New.Type == dns.TypeTXT && slices.ContainsFunc(c.New.Targets, b.owns):
		return "it is an ownership text, which only the owner of a record may write"
	case c.Old == nil:
		return b.creation(c.New)
	case b.isMarker(c.Old):
		return "it says who owns a record"
	}
	m := b.find(b.zone, dns.Canonical(c.Old.Name), c.Old)
	switch {
	case m.rank == ours, m.rank == oldOwners && c.New != nil:
		return ""
	case m.labels == nil:
		return "nobody owns it: it was not made by this program"
	default:
		return fmt.Sprintf("it belongs to owner %q", m.labels[dns.LabelOwner])
	}
}

// creation returns why a record set can't be created.
func (b *batch) creation(r *dns.RecordSet) string {
	name := dns.Canonical(r.Name)
	if r.Type == dns.TypeTXT && b.read(b.zone, name, r.SetIdentifier).labels != nil {
		return "its name has an ownership text, beside which no other is written"
	}
	marker := b.names.marker(name, r.Type)
	if m := b.read(b.zone, marker, r.SetIdentifier); m.labels != nil && m.own == 0 {
		return fmt.Sprintf("owner %q has a TXT record under the name %s that is to tell who owns it: remove that, or have another prefix or suffix",
			m.labels[dns.LabelOwner], marker)
	}
	for _, other := range b.zone(marker) {
		if other.Type == dns.TypeCNAME && !b.removes(other.Key()) {
			return fmt.Sprintf("the name %s, where a TXT record is to tell who owns it, has a CNAME: remove that, or have another prefix or suffix", marker)
		}
	}
	if other := b.claims(marker, r); other != nil {
		return fmt.Sprintf("the TXT record %s, which is to tell that we own it, would say the same of %s %s, which isn't ours: have another prefix, suffix or wildcard replacement",
			marker, other.Type, other.Name)
	}
	return ""
}

// claims returns a record set that isn't ours and would be if r had its marker. There is
// one only where the names of two record sets make the same marker.
func (b *batch) claims(marker string, r *dns.RecordSet) *dns.RecordSet {
	key := r.Key()
	made := &dns.RecordSet{Name: marker, Type: dns.TypeTXT, SetIdentifier: r.SetIdentifier, Targets: []string{FormatText(map[string]string{dns.LabelOwner: b.id})}}
	with := func(name string) []*dns.RecordSet {
		if name == marker {
			return []*dns.RecordSet{made}
		}
		return b.zone(name)
	}
	for _, s := range b.names.subjects(marker) {
		for _, other := range b.zone(s.name) {
			if other.Key() == key || other.SetIdentifier != r.SetIdentifier || b.isMarker(other) {
				continue
			}
			if before, after := b.find(b.zone, s.name, other), b.find(with, s.name, other); before.rank != ours && after.rank == ours {
				return other
			}
		}
	}
	return nil
}

// removes reports whether a record set is one that the batch is to delete.
func (b *batch) removes(key dns.Key) bool {
	return slices.ContainsFunc(b.changes, func(c dns.Change) bool { return c.New == nil && c.Old.Key() == key })
}

func (b *batch) refuse(i int, reason string) {
	b.refused[i] = true
	b.problem(b.changes[i].RecordSet(), reason)
}

func (t *TXT) problem(r *dns.RecordSet, reason string) {
	p := dns.Problem{Subject: r.Type + " record", Value: r.Name, Reason: reason}
	if len(r.Objects) > 0 {
		p.Object = r.Objects[0]
	}
	t.problems(p)
}

// mark adds what makes the marker of a record set that will be there say that it is ours.
func (b *batch) mark(i int) error {
	c := b.changes[i]
	name := b.MarkerName(c.New.Name, c.New.Type)
	if name == "" {
		if c.Old == nil {
			b.problem(c.New, fmt.Sprintf("is created, but can't be owned, and so not be changed later: "+
				"the name of the TXT record for that would have a label of more than %d bytes", dns.MaxLabel))
		}
		return nil
	}
	key := dns.Key{Name: name, Type: dns.TypeTXT, SetIdentifier: c.New.SetIdentifier}
	if _, done := b.written[key]; done {
		return nil
	}
	m := b.read(b.lookup, name, c.New.SetIdentifier)
	if c.Old != nil && m.own == 0 && b.claims(name, c.New) != nil {
		// It keeps its historic marker, which says nothing of others.
		return nil
	}
	target, err := b.text(&m, c.New.Labels)
	if err != nil {
		return fmt.Errorf("mark %s %s: %w", c.New.Type, c.New.Name, err)
	}
	// A provider may want a marker under the same policy as the record set.
	same := c.Old == nil || dns.SameProperties(c.Old.Properties, c.New.Properties)
	if same && m.own == 1 && m.set.Targets[m.chosen] == target {
		return nil
	}
	b.written[key] = struct{}{}
	b.emit(i, m.set, b.with(c.New, name, m.set, target))
	return nil
}

// text returns what is to be written of a record set with these labels: the text that is
// there already if it says just that.
func (b *batch) text(m *marking, labels map[string]string) (string, error) {
	wanted := maps.Clone(labels)
	if wanted == nil {
		wanted = map[string]string{}
	}
	wanted[dns.LabelOwner] = b.id
	text := FormatText(wanted)
	if m.own > 0 && m.sealed == b.encrypt && FormatText(m.labels) == text {
		return m.set.Targets[m.chosen], nil
	}
	if !b.encrypt {
		return quote(text), nil
	}
	nonce := make([]byte, nonceSize)
	rand.Read(nonce)
	sealed, err := b.seal.seal(text, nonce)
	if err != nil {
		return "", err
	}
	return quote(sealed), nil
}

// with returns the marker that has target as its only text of ours; old is what is there.
func (b *batch) with(r *dns.RecordSet, name string, old *dns.RecordSet, target string) *dns.RecordSet {
	marker := &dns.RecordSet{
		Name: name, Type: dns.TypeTXT, SetIdentifier: r.SetIdentifier,
		Properties: slices.Clone(r.Properties),
	}
	if old != nil {
		marker.Name = old.Name
		marker.Targets = b.foreign(old)
		if len(marker.Targets) > 0 {
			marker.TTL = old.TTL
		}
	}
	marker.Targets = append(marker.Targets, target)
	return marker
}

// foreign returns the texts of a marker that aren't ours.
func (t *TXT) foreign(r *dns.RecordSet) []string {
	var texts []string
	for _, target := range r.Targets {
		if labels, _ := t.parse(target); labels == nil || !t.mine(labels) {
			texts = append(texts, target)
		}
	}
	return texts
}

// unmark adds what takes away the markers of a record set that will be gone, as far as
// nothing else has its labels from them.
func (b *batch) unmark(i int) {
	r := b.changes[i].Old
	for _, s := range b.everything(dns.Canonical(r.Name), r.Type) {
		m := b.read(b.lookup, s.name, r.SetIdentifier)
		if m.own == 0 || !b.names.tells(s.name, b.names.plain(dns.Canonical(r.Name)), s.recordType) || b.relied(b.lookup, s.name, r.SetIdentifier) {
			continue
		}
		var rest *dns.RecordSet
		if texts := b.foreign(m.set); len(texts) > 0 {
			rest = m.set.Clone()
			rest.Targets = texts
		}
		b.emit(i, m.set, rest)
	}
}

// emit adds the change of a marker, behind change number i.
func (b *batch) emit(i int, old, marker *dns.RecordSet) {
	describes := b.changes[i].RecordSet().Name
	c := dns.Change{Old: describing(old, describes), New: describing(marker, describes)}
	b.markers[i] = append(b.markers[i], c)
	b.put(c)
}

// describing returns a marker with the label that says what it describes, by which it is
// kept together with that.
func describing(marker *dns.RecordSet, name string) *dns.RecordSet {
	if marker == nil {
		return nil
	}
	labelled := *marker
	labelled.Labels = map[string]string{dns.LabelOwnedRecord: name}
	return &labelled
}

// result returns the changes with those of their markers, and those that are refused.
func (b *batch) result() (apply, refused []dns.Change) {
	for i, c := range b.changes {
		if b.refused[i] {
			refused = append(refused, c)
			continue
		}
		if !LabelsOnly(c) {
			apply = append(apply, Claim(c, b.id))
		}
		apply = append(apply, b.markers[i]...)
	}
	return apply, refused
}
