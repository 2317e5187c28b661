package owner

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"

	"github.com/signpostd/signpost/dns"
)

// Before implements [Owner]. It decides by the ownership records in the zone, not by the labels of
// the changes.
//
//   - It refuses to update or delete a record set that isn't ours.
//   - It refuses to create a record set whose ownership record can't be written, because another
//     owner's ownership text or a CNAME has the name of the ownership record. Then it also refuses
//     the deletion of what the record set was to replace.
//   - A record set of the old owner may be updated, which makes it ours. It can't be deleted,
//     because it may belong to somebody else who had that owner ID.
//
// The reasons are passed to [TXTOptions].Problems.
//
// Before creates a missing ownership record and replaces one with other content. With a record set,
// its ownership records in all formats are deleted, except those that also describe another record
// set. In the change of an ownership record, Old is the record of the listing.
func (t *TXT) Before(_ context.Context, zone Lookup, changes []dns.Change) (apply, refused []dns.Change, err error) {
	b := &batch{
		TXT: t, zone: zone, changes: changes, refused: make([]bool, len(changes)), ownershipChanges: make([][]dns.Change, len(changes)),
		after: map[string][]*dns.RecordSet{}, written: map[dns.Key]struct{}{},
	}
	b.decideRefusals()
	for i, c := range changes {
		if !b.refused[i] {
			b.put(c)
		}
	}
	for i, c := range changes {
		if !b.refused[i] && c.New != nil {
			if err := b.writeOwnership(i); err != nil {
				return nil, nil, err
			}
		}
	}
	// Deletions come last, because only now it is known which ownership records are still needed. They go
	// backwards, so that one that several record sets have is deleted after the last of these.
	for i, c := range slices.Backward(changes) {
		if !b.refused[i] && c.New == nil {
			b.deleteOwnership(i)
		}
	}
	apply, refused = b.result()
	return apply, refused, nil
}

// OwnershipDeletions returns the deletions of our ownership records, in all formats, that describe
// only r.
func (t *TXT) OwnershipDeletions(zone Lookup, r *dns.RecordSet) []dns.Change {
	b := &batch{
		TXT: t, zone: zone, changes: []dns.Change{{Old: r}}, ownershipChanges: make([][]dns.Change, 1),
		after: map[string][]*dns.RecordSet{}, written: map[dns.Key]struct{}{},
	}
	b.put(b.changes[0])
	b.deleteOwnership(0)
	return b.ownershipChanges[0]
}

func (t *TXT) isOwnershipRecord(r *dns.RecordSet) bool {
	_, ownership := t.OwnershipRecord(r)
	return ownership
}

// batch is a set of changes that are applied together.
type batch struct {
	*TXT
	zone    Lookup
	changes []dns.Change
	// refused says for each change whether it is refused. ownershipChanges has the changes of
	// ownership records that follow it.
	refused          []bool
	ownershipChanges [][]dns.Change
	// after has the record sets of all changed names, after the changes.
	after map[string][]*dns.RecordSet
	// written are the keys of the ownership records that the batch creates or replaces.
	written map[dns.Key]struct{}
}

// lookup returns the record sets under a name after the changes.
func (b *batch) lookup(name string) []*dns.RecordSet {
	if sets, changed := b.after[name]; changed {
		return sets
	}
	return b.zone(name)
}

// put applies a change to after.
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

// Objections returns, for each change, why Before refuses it, or "".
func (t *TXT) Objections(zone Lookup, changes []dns.Change) []string {
	b := &batch{TXT: t, zone: zone, changes: changes}
	reasons := make([]string, len(changes))
	for i, c := range changes {
		reasons[i] = b.objection(c)
	}
	KeepReplaced(changes, reasons)
	return reasons
}

// decideRefusals decides which changes are refused.
func (b *batch) decideRefusals() {
	for i, reason := range b.Objections(b.zone, b.changes) {
		if reason != "" {
			b.refused[i] = true
			b.problems(Refusal(b.changes[i].RecordSet(), reason))
		}
	}
}

// objection returns why a single change is refused, or "".
func (b *batch) objection(c dns.Change) string {
	switch {
	case c.New != nil && b.Forges(c.New):
		return "the text is an ownership record, which only Signpost itself may write: change the text"
	case c.Old == nil:
		return b.creation(c.New)
	case b.isOwnershipRecord(c.Old):
		return "it is an ownership record"
	}
	m := b.find(b.zone, dns.Canonical(c.Old.Name), c.Old)
	switch {
	case m.rank == ours, m.rank == oldOwners && c.New != nil:
		return ""
	case m.labels == nil:
		return "it has no owner, so this program didn't create it"
	default:
		return fmt.Sprintf("it belongs to owner %q%s", m.labels[dns.LabelOwner], b.otherInstance(m.labels))
	}
}

// creation returns why a record set can't be created, or "".
func (b *batch) creation(r *dns.RecordSet) string {
	name := dns.Canonical(r.Name)
	if r.Type == dns.TypeTXT && b.read(b.zone, name, r.SetIdentifier).labels != nil {
		return "the zone has an ownership record under this name, which would be overwritten: use another name"
	}
	ownershipName := b.names.ownershipRecordName(name, r.Type)
	if m := b.read(b.zone, ownershipName, r.SetIdentifier); m.labels != nil && m.own == 0 {
		return fmt.Sprintf("owner %q%s has a TXT record under %s, the name of its ownership record: remove that record, or give another --txt-prefix or --txt-suffix",
			m.labels[dns.LabelOwner], b.otherInstance(m.labels), ownershipName)
	}
	for _, other := range b.zone(ownershipName) {
		if other.Type == dns.TypeCNAME && !b.removes(other.Key()) {
			return fmt.Sprintf("%s, the name of its ownership record, has a CNAME: remove that CNAME, or give another --txt-prefix or --txt-suffix", ownershipName)
		}
	}
	if other := b.claims(b.zone, ownershipName, r); other != nil {
		return fmt.Sprintf("its ownership record %s would also claim %s %s, which isn't ours: give another --txt-prefix, --txt-suffix or --txt-wildcard-replacement",
			ownershipName, other.Type, other.Name)
	}
	return ""
}

// claims returns a record set of another owner that the ownership record of r would make ours, or
// nil. That is only possible if two names have the same ownership record.
func (t *TXT) claims(zone Lookup, ownershipName string, r *dns.RecordSet) *dns.RecordSet {
	key := r.Key()
	made := &dns.RecordSet{Name: ownershipName, Type: dns.TypeTXT, SetIdentifier: r.SetIdentifier, Targets: []string{FormatText(map[string]string{dns.LabelOwner: t.id})}}
	with := func(name string) []*dns.RecordSet {
		if name == ownershipName {
			return []*dns.RecordSet{made}
		}
		return zone(name)
	}
	for _, s := range t.names.subjects(ownershipName) {
		for _, other := range zone(s.name) {
			if other.Key() == key || other.SetIdentifier != r.SetIdentifier || t.isOwnershipRecord(other) {
				continue
			}
			if before, after := t.find(zone, s.name, other), t.find(with, s.name, other); before.rank != ours && after.rank == ours {
				return other
			}
		}
	}
	return nil
}

// removes reports whether the batch deletes the record set with a key.
func (b *batch) removes(key dns.Key) bool {
	return slices.ContainsFunc(b.changes, func(c dns.Change) bool { return c.New == nil && c.Old.Key() == key })
}

// writeOwnership adds the change that makes the ownership record of a record set ours.
func (b *batch) writeOwnership(i int) error {
	c := b.changes[i]
	name := b.OwnershipRecordName(c.New.Name, c.New.Type)
	if name == "" {
		if c.Old == nil {
			b.problems(Refusal(c.New, fmt.Sprintf("it is created, but it can't be changed later, because its ownership record can't be written: "+
				"the name of that would have a label of more than %d bytes", dns.MaxLabel)))
		}
		return nil
	}
	key := dns.Key{Name: name, Type: dns.TypeTXT, SetIdentifier: c.New.SetIdentifier}
	if _, done := b.written[key]; done {
		return nil
	}
	m := b.read(b.lookup, name, c.New.SetIdentifier)
	if m.own == 0 && b.claims(b.zone, name, c.New) != nil {
		// The record set keeps its ownership record in an old format, which doesn't describe the other
		// one.
		return nil
	}
	target, err := b.text(&m, c.New.Labels)
	if err != nil {
		return fmt.Errorf("write the ownership record of %s %s: %w", c.New.Type, c.New.Name, err)
	}
	// Some providers require the same properties, such as a routing policy, on the ownership record.
	same := c.Old == nil || dns.SameProperties(c.Old.Properties, c.New.Properties)
	if same && m.own == 1 && m.set.Targets[m.chosen] == target {
		return nil
	}
	b.written[key] = struct{}{}
	b.emit(i, m.set, b.with(c.New, name, m.set, target))
	return nil
}

// text returns the ownership text for a record set with these labels. If the ownership record has
// an equivalent text, that one is returned.
func (b *batch) text(m *ownershipState, labels map[string]string) (string, error) {
	wanted := maps.Clone(labels)
	if wanted == nil {
		wanted = map[string]string{}
	}
	text := FormatText(b.signed(wanted, m.labels))
	if m.sealed == b.encrypt && FormatText(m.labels) == text {
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

// ownershipTTL is the TTL of ownership TXT records in seconds; zero means the provider's default. A
// record that also has texts of other owners keeps its TTL.
const ownershipTTL = 0

// with returns the ownership record of r with target as our only text. Texts of other owners in
// old, the listed record, stay.
func (b *batch) with(r *dns.RecordSet, name string, old *dns.RecordSet, target string) *dns.RecordSet {
	ownership := &dns.RecordSet{
		Name: name, Type: dns.TypeTXT, SetIdentifier: r.SetIdentifier, TTL: ownershipTTL,
		Properties: slices.Clone(r.Properties),
	}
	if old != nil {
		ownership.Name = old.Name
		ownership.Targets = b.otherTexts(old)
		if len(ownership.Targets) > 0 {
			ownership.TTL = old.TTL
		}
	}
	ownership.Targets = append(ownership.Targets, target)
	return ownership
}

// otherTexts returns the texts of an ownership record that aren't ours.
func (t *TXT) otherTexts(r *dns.RecordSet) []string {
	var texts []string
	for _, target := range r.Targets {
		if labels, _ := t.parse(target); t.rank(labels) == others {
			texts = append(texts, target)
		}
	}
	return texts
}

// deleteOwnership adds the deletions of the ownership records of a deleted record set, except those
// that another record set needs.
func (b *batch) deleteOwnership(i int) {
	r := b.changes[i].Old
	for _, s := range b.allFormats(dns.Canonical(r.Name), r.Type) {
		m := b.read(b.lookup, s.name, r.SetIdentifier)
		if m.own == 0 || !b.names.mayDescribe(s.name, b.names.plain(dns.Canonical(r.Name)), s.recordType) || b.isNeeded(b.lookup, s.name, r.SetIdentifier) {
			continue
		}
		var rest *dns.RecordSet
		if texts := b.otherTexts(m.set); len(texts) > 0 {
			rest = m.set.Clone()
			rest.Targets = texts
		}
		b.emit(i, m.set, rest)
	}
}

// emit adds the change of an ownership record after change number i.
func (b *batch) emit(i int, old, ownership *dns.RecordSet) {
	describes := b.changes[i].RecordSet().Name
	c := dns.Change{Old: describing(old, describes), New: describing(ownership, describes)}
	b.ownershipChanges[i] = append(b.ownershipChanges[i], c)
	b.put(c)
}

// describing returns an ownership record with [dns.LabelOwnedRecord], which keeps it in one batch
// with the record set that it describes.
func describing(ownership *dns.RecordSet, name string) *dns.RecordSet {
	if ownership == nil {
		return nil
	}
	labelled := *ownership
	labelled.Labels = map[string]string{dns.LabelOwnedRecord: name}
	return &labelled
}

// result returns the changes with those of their ownership records, and the refused changes.
func (b *batch) result() (apply, refused []dns.Change) {
	for i, c := range b.changes {
		if b.refused[i] {
			refused = append(refused, c)
			continue
		}
		if !LabelsOnly(c) {
			apply = append(apply, Claim(c, b.id))
		}
		apply = append(apply, b.ownershipChanges[i]...)
	}
	return apply, refused
}
