package owner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/signpostd/signpost/dns"
)

// TXTOptions are the flags of --registry=txt.
type TXTOptions struct {
	// OwnerID is --txt-owner-id. It must not be empty, and can have no comma and no quote.
	OwnerID string
	// OldOwnerID is --migrate-from-txt-owner: record sets of that owner become ours when
	// they are updated. Empty is none.
	OldOwnerID string
	// Prefix and Suffix are --txt-prefix and --txt-suffix, of which one can be given:
	// what is put before or after the first label of a marker. %{record_type} in them is
	// the type of the record set.
	Prefix, Suffix string
	// WildcardReplacement is --txt-wildcard-replacement: what is written for the label *.
	WildcardReplacement string
	// EncryptEnabled is --txt-encrypt-enabled, AESKey --txt-encrypt-aes-key: 32 bytes or the
	// standard base64 of 32 bytes. A key is used for reading whenever there is one.
	EncryptEnabled bool
	AESKey         string
	// Managed says which types of record sets are managed; nil is A, AAAA and CNAME.
	Managed func(recordType string) bool
	// Problems takes what keeps record sets from being created or from being owned. It
	// is called by Before, and must not block. Nil drops it.
	Problems func(dns.Problem)
}

// TXT keeps ownership in TXT record sets beside the record sets that they describe, in
// the format of ExternalDNS (spec/dns.md §4.2), which can be exchanged with it at any time.
// Such a set is a marker here. All its methods may be called from any goroutine.
//
// A marker may have several texts, of several owners and of no owner at all. Only those
// of ours are ever changed or taken away: a marker is replaced by one with the other
// texts as they are.
type TXT struct {
	id, oldID string
	names     *names
	// seal is nil without a key; encrypt is for what is written.
	seal     *sealer
	encrypt  bool
	managed  func(string) bool
	problems func(dns.Problem)
}

var _ Owner = (*TXT)(nil)

// NewTXT returns an owner that keeps TXT records. The error says which option is wrong.
func NewTXT(o TXTOptions) (*TXT, error) {
	if err := checkOwner(o.OwnerID); err != nil {
		return nil, err
	}
	if o.OldOwnerID == o.OwnerID {
		o.OldOwnerID = ""
	}
	n, err := newNames(o.Prefix, o.Suffix, o.WildcardReplacement)
	if err != nil {
		return nil, err
	}
	t := &TXT{id: o.OwnerID, oldID: o.OldOwnerID, names: n, encrypt: o.EncryptEnabled, managed: o.Managed, problems: o.Problems}
	if o.EncryptEnabled && o.AESKey == "" {
		return nil, errors.New("encryption of TXT records is on without a key: give --txt-encrypt-aes-key")
	}
	if o.AESKey != "" {
		if t.seal, err = newSealer(o.AESKey); err != nil {
			return nil, fmt.Errorf("encryption of TXT records: %w", err)
		}
	}
	if t.managed == nil {
		t.managed = func(recordType string) bool {
			return recordType == dns.TypeA || recordType == dns.TypeAAAA || recordType == dns.TypeCNAME
		}
	}
	if t.problems == nil {
		t.problems = func(dns.Problem) {}
	}
	return t, nil
}

// ID implements [Owner].
func (t *TXT) ID() string { return t.id }

// OldID returns the owner whose record sets become ours when they are updated; empty for
// none.
func (t *TXT) OldID() string { return t.oldID }

// Load implements [Owner]; all that there is to read is in the zones.
func (t *TXT) Load(context.Context) error { return nil }

// After implements [Owner]; what there is to write was among the changes.
func (t *TXT) After(context.Context, []dns.Change) error { return nil }

// MarkerName returns the name of the marker of a record set, as it is written today. It
// is empty if there can't be one, because a label of it would have more than 63 bytes: such
// a record set can't be owned. A marker may be outside of the zone of its record set: that
// of an apex is, unless the prefix ends in a dot. Before can't know, as it knows no zones;
// who applies its changes has to.
func (t *TXT) MarkerName(name, recordType string) string {
	return t.names.marker(dns.Canonical(name), recordType)
}

// Mark implements [Owner]: a marker is a TXT record set with an ownership text of anybody
// that can be read, wherever it stands among other texts. It describes nothing when its
// name doesn't have our prefix or suffix. A TXT record set without any text is one too,
// so that nothing is made of it.
func (t *TXT) Mark(r *dns.RecordSet) (describes []string, marker bool) {
	if r.Type != dns.TypeTXT {
		return nil, false
	}
	if len(r.Targets) > 0 && !slices.ContainsFunc(r.Targets, t.owns) {
		return nil, false
	}
	for _, s := range t.names.subjects(dns.Canonical(r.Name)) {
		if !slices.Contains(describes, s.name) {
			describes = append(describes, s.name)
		}
	}
	return describes, true
}

// Labels implements [Owner]: those of the marker in today's format, or else in one of the
// historic ones (spec/dns.md §4.2.4, §4.2.6). A record set of the old owner has that one: it
// becomes ours when something asks for it, which the plan knows.
//
// Heal is true for record sets of ours, of managed types, that lack a marker of today's
// format, or whose marker has several texts of ours or of the old owner. That there are
// markers at all in the zone, without which ExternalDNS heals nothing, needs no look:
// without one, nothing is ours.
func (t *TXT) Labels(zone Lookup, r *dns.RecordSet) (labels map[string]string, heal bool) {
	name := dns.Canonical(r.Name)
	m := t.find(zone, name, r)
	heal = m.rank == ours && (!m.current || m.own > 1) && t.managed(r.Type) && t.names.marker(name, r.Type) != ""
	return m.labels, heal
}

// Orphan reports whether a marker is ours alone, of today's format, and describes nothing
// that the zone has. One of a historic format may be that of somebody with another prefix.
func (t *TXT) Orphan(zone func(name string) []*dns.RecordSet, marker *dns.RecordSet) bool {
	if marker.Type != dns.TypeTXT || len(marker.Targets) == 0 {
		return false
	}
	for _, target := range marker.Targets {
		if labels, _ := t.parse(target); labels == nil || labels[dns.LabelOwner] != t.id {
			return false
		}
	}
	name := dns.Canonical(marker.Name)
	subjects := t.names.subjects(name)
	if len(subjects) == 0 || subjects[0].recordType == "" || t.names.marker(subjects[0].name, subjects[0].recordType) != name {
		return false
	}
	if t.relied(zone, name, marker.SetIdentifier) {
		return false
	}
	// What looks like today's a- for www may be the historic one of a record called a-www.
	return !slices.ContainsFunc(zone(t.names.untyped.strip(name)), func(r *dns.RecordSet) bool {
		return r.SetIdentifier == marker.SetIdentifier && !t.isMarker(r)
	})
}

// relied reports whether a record set has its labels from the marker of a name.
func (t *TXT) relied(zone Lookup, marker, setIdentifier string) bool {
	for _, s := range t.names.subjects(marker) {
		for _, r := range zone(s.name) {
			if r.SetIdentifier != setIdentifier || (r.Type == dns.TypeNS && !t.managed(r.Type)) {
				continue
			}
			if _, isMarker := t.Mark(r); isMarker {
				continue
			}
			if m := t.find(zone, s.name, r); m.set != nil && dns.Canonical(m.set.Name) == marker {
				return true
			}
		}
	}
	return false
}

// marking is what is known of a record set from a marker.
type marking struct {
	// set is the marker as it is listed; nil for none.
	set *dns.RecordSet
	// labels are those of the text that counts; nil if there is no ownership text. That one
	// is target number chosen, and sealed if it is encrypted.
	labels map[string]string
	chosen int
	sealed bool
	// own counts the texts of ours, of the new and of the old owner.
	own int
	// rank tells whose the text is that counts.
	rank rank
	// current is true for today's format.
	current bool
}

// rank orders the texts of a marker: one of ours is what counts if there is one.
type rank int

const (
	others rank = iota
	oldOwners
	ours
)

// find returns what a zone has about a record set; name is its canonical name.
func (t *TXT) find(zone Lookup, name string, r *dns.RecordSet) marking {
	current := t.names.marker(name, r.Type)
	if m := t.read(zone, current, r.SetIdentifier); m.labels != nil {
		m.current = true
		return m
	}
	for _, h := range t.historic(name, r) {
		if h.name == current {
			continue
		}
		if m := t.read(zone, h.name, r.SetIdentifier); m.labels != nil && t.names.tells(h.name, t.names.plain(name), h.recordType) {
			return m
		}
	}
	return marking{}
}

// historic returns the names of the markers that older versions have made for a record
// set, and the type that they tell, in the order in which they count.
func (t *TXT) historic(name string, r *dns.RecordSet) []subject {
	found := t.names.told(nil, name, r.Type)
	if aliased(r) {
		// Aliases used to be marked as what they are like.
		found = t.names.told(found, name, dns.TypeCNAME)
	}
	if r.Type != dns.TypeAAAA {
		// Nothing had AAAA when markers didn't tell the type.
		found = t.names.untold(found, name)
	}
	return found
}

// everything returns the names of all markers that may have been made for a record set of
// a name and type, whatever its properties were.
func (t *TXT) everything(name, recordType string) []subject {
	found := t.names.told(nil, name, recordType)
	if recordType == dns.TypeA {
		found = t.names.told(found, name, dns.TypeCNAME)
	}
	return t.names.untold(found, name)
}

func aliased(r *dns.RecordSet) bool {
	alias, _ := r.Property(dns.PropertyAlias)
	return r.Type == dns.TypeA && (alias == "true" || alias == dns.TypeA)
}

// mine reports whether labels are ours, or of the owner whose record sets become ours.
func (t *TXT) mine(labels map[string]string) bool { return t.rank(labels) != others }

func (t *TXT) rank(labels map[string]string) rank {
	switch owner := labels[dns.LabelOwner]; {
	case owner == t.id:
		return ours
	case t.oldID != "" && owner == t.oldID:
		return oldOwners
	}
	return others
}

// read returns what the marker of a name says.
func (t *TXT) read(zone Lookup, marker, setIdentifier string) marking {
	if marker == "" {
		return marking{}
	}
	for _, r := range zone(marker) {
		if r.Type == dns.TypeTXT && r.SetIdentifier == setIdentifier {
			return t.readSet(r)
		}
	}
	return marking{}
}

// readSet looks at all texts of a marker, because their order means nothing: that of ours
// counts, or of the old owner, or that of anybody.
func (t *TXT) readSet(r *dns.RecordSet) marking {
	m := marking{set: r}
	for i, target := range r.Targets {
		labels, sealed := t.parse(target)
		if labels == nil {
			continue
		}
		rank := t.rank(labels)
		if rank != others {
			m.own++
		}
		better := m.labels == nil || rank > m.rank
		if !better && rank == m.rank {
			better = FormatText(labels) < FormatText(m.labels)
		}
		if better {
			m.labels, m.chosen, m.sealed, m.rank = labels, i, sealed, rank
		}
	}
	return m
}

// owns reports whether a text is one of ownership, of anybody.
func (t *TXT) owns(target string) bool {
	labels, _ := t.parse(target)
	return labels != nil
}

// parse returns the labels of an ownership text, nil if it is none, and whether it was
// encrypted.
func (t *TXT) parse(target string) (labels map[string]string, sealed bool) {
	if labels, err := ParseText(target); err == nil {
		return labels, false
	}
	if t.seal == nil {
		return nil, false
	}
	plain, _, err := t.seal.open(unquote(target))
	if err != nil {
		return nil, false
	}
	if labels, err = ParseText(plain); err != nil {
		return nil, false
	}
	return labels, true
}
