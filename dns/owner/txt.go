package owner

import (
	"errors"
	"fmt"
	"slices"

	"github.com/signpostd/signpost/dns"
)

// TXTOptions are the flags of --registry=txt.
type TXTOptions struct {
	// OwnerID is --txt-owner-id. It must not be empty, nor contain a comma or a quote.
	OwnerID string
	// OldOwnerID is --migrate-from-txt-owner. Record sets of that owner, which may be empty, become
	// ours when they are updated.
	OldOwnerID string
	// Prefix and Suffix are --txt-prefix and --txt-suffix: texts before or after the first label of an
	// ownership record's name. Only one may be set. In them, %{record_type} stands for the type of the
	// record set.
	Prefix, Suffix string
	// WildcardReplacement is --txt-wildcard-replacement: it replaces the label * in the names of
	// ownership records.
	WildcardReplacement string
	// EncryptEnabled is --txt-encrypt-enabled, and AESKey --txt-encrypt-aes-key: 32 bytes, or their
	// standard base64. With a key, encrypted texts are read even if EncryptEnabled is false.
	EncryptEnabled bool
	AESKey         string
	// Managed reports whether a record type is managed. Nil means A, AAAA and CNAME.
	Managed func(recordType string) bool
	// Problems is called by Before with the reasons why record sets aren't created or owned. It must
	// not block. It may be nil.
	Problems func(dns.Problem)
}

// TXT keeps ownership in ownership records: TXT record sets beside the record sets that they
// describe, in the format of ExternalDNS (spec/dns.md §4.2), so that either program can take over
// from the other. All methods may be called from any goroutine.
//
// An ownership record may have several texts, of several owners or without any relation to
// ownership. Only our own texts are ever changed or deleted. The others are kept in the record that
// replaces it.
type TXT struct {
	inZone
	id, oldID, instance string
	names               *names
	// seal is nil without a key. encrypt is true if texts are written encrypted.
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

// OldID returns the owner whose record sets become ours when they are updated, or "".
func (t *TXT) OldID() string { return t.oldID }

// OwnershipRecordName returns the name of the ownership record of a record set in the current
// format. It is empty if a label would exceed 63 bytes: such a record set can't be owned. An
// ownership record may be outside of the zone of its record set; for an apex it is, unless the
// prefix ends with a dot. Before doesn't know the zones, so its caller has to check that.
func (t *TXT) OwnershipRecordName(name, recordType string) string {
	return t.names.ownershipRecordName(dns.Canonical(name), recordType)
}

// Describes returns the canonical names whose record sets an ownership record with a name could
// describe, whether or not it exists.
func (t *TXT) Describes(ownershipName string) []string {
	var names []string
	for _, s := range t.names.subjects(dns.Canonical(ownershipName)) {
		if !slices.Contains(names, s.name) {
			names = append(names, s.name)
		}
	}
	return names
}

// OwnershipRecord implements [Owner]. An ownership record is a TXT record set with at least one
// ownership text, of any owner. It describes nothing if its name doesn't have our prefix or suffix.
// A TXT record set without any text also counts, so that the plan ignores it.
func (t *TXT) OwnershipRecord(r *dns.RecordSet) (describes []string, ownership bool) {
	if r.Type != dns.TypeTXT {
		return nil, false
	}
	if len(r.Targets) > 0 && !slices.ContainsFunc(r.Targets, t.owns) {
		return nil, false
	}
	return t.Describes(r.Name), true
}

// Labels implements [Owner]. The labels are those of the ownership record in the current format,
// else of one in a historic format (spec/dns.md §4.2.4, §4.2.6). A record set of the old owner has
// that owner in its labels; the plan makes it ours if an object asks for it.
//
// rewrite is true for one of our record sets, of a managed type, that has no ownership record in
// the current format, or whose ownership record has several texts of ours or of the old owner. It
// is false if the ownership record in the current format would claim a record set of another owner:
// Before then doesn't write it.
func (t *TXT) Labels(zone Lookup, r *dns.RecordSet) (labels map[string]string, rewrite bool) {
	name := dns.Canonical(r.Name)
	m := t.find(zone, name, r)
	ownershipName := t.names.ownershipRecordName(name, r.Type)
	rewrite = m.rank == ours && (!m.current || m.own > 1) && t.managed(r.Type) && ownershipName != "" && (m.current || t.claims(zone, ownershipName, r) == nil)
	return m.labels, rewrite
}

// Twin returns the other name with the same ownership records as a canonical name: with a
// replacement for wildcards, *.example.org and the replacement.example.org share them. It is empty
// for other names.
func (t *TXT) Twin(name string) string { return t.names.twin(name) }

// Orphan reports whether an ownership record is in the current format, has only texts of ours, and
// describes no record set of the zone. One in a historic format may belong to an owner with another
// prefix.
func (t *TXT) Orphan(zone Lookup, ownership *dns.RecordSet) bool {
	if ownership.Type != dns.TypeTXT || len(ownership.Targets) == 0 {
		return false
	}
	for _, target := range ownership.Targets {
		if labels, _ := t.parse(target); labels == nil || t.rank(labels) != ours {
			return false
		}
	}
	name := dns.Canonical(ownership.Name)
	subjects := t.names.subjects(name)
	if len(subjects) == 0 || subjects[0].recordType == "" || t.names.ownershipRecordName(subjects[0].name, subjects[0].recordType) != name {
		return false
	}
	if t.isNeeded(zone, name, ownership.SetIdentifier) {
		return false
	}
	// A name such as a-www is the current ownership record of www, or the historic one of a record
	// called a-www.
	return !slices.ContainsFunc(zone(t.names.untyped.strip(name)), func(r *dns.RecordSet) bool {
		return r.SetIdentifier == ownership.SetIdentifier && !t.isOwnershipRecord(r)
	})
}

// isNeeded reports whether a record set has its labels from the ownership record with a name.
func (t *TXT) isNeeded(zone Lookup, ownershipName, setIdentifier string) bool {
	for _, s := range t.names.subjects(ownershipName) {
		for _, r := range zone(s.name) {
			if r.SetIdentifier != setIdentifier || (r.Type == dns.TypeNS && !t.managed(r.Type)) || t.isOwnershipRecord(r) {
				continue
			}
			if m := t.find(zone, s.name, r); m.set != nil && dns.Canonical(m.set.Name) == ownershipName {
				return true
			}
		}
	}
	return false
}

// ownershipState is the content of an ownership record for one record set.
type ownershipState struct {
	// set is the ownership record as listed, or nil.
	set *dns.RecordSet
	// labels are those of the text that counts; nil if there is no ownership text. chosen is the index
	// of that text, and sealed says whether it is encrypted.
	labels map[string]string
	chosen int
	sealed bool
	// own is the number of texts of ours and of the old owner.
	own int
	// rank says which owner's text counts.
	rank rank
	// current is true for the current format.
	current bool
}

// rank is the precedence of the texts of an ownership record: a text of ours counts first.
type rank int

const (
	others rank = iota
	oldOwners
	ours
)

// find returns the ownership of a record set according to the zone. name is its canonical name.
func (t *TXT) find(zone Lookup, name string, r *dns.RecordSet) ownershipState {
	current := t.names.ownershipRecordName(name, r.Type)
	if m := t.read(zone, current, r.SetIdentifier); m.labels != nil {
		m.current = true
		return m
	}
	for _, h := range t.historic(name, r) {
		if h.name == current {
			continue
		}
		if m := t.read(zone, h.name, r.SetIdentifier); m.labels != nil && t.names.mayDescribe(h.name, t.names.plain(name), h.recordType) {
			return m
		}
	}
	return ownershipState{}
}

// historic returns the names and types of the ownership records that older versions wrote for a
// record set, in order of precedence.
func (t *TXT) historic(name string, r *dns.RecordSet) []described {
	found := t.names.withType(nil, name, r.Type)
	if aliased(r) {
		// Older versions wrote the ownership records of aliases as for CNAMEs.
		found = t.names.withType(found, name, dns.TypeCNAME)
	}
	if r.Type != dns.TypeAAAA {
		// The format without a type is older than support for AAAA.
		found = t.names.withoutType(found, name)
	}
	return found
}

// allFormats returns the names of all ownership records that may have been written for a record set
// of a name and type, with any properties.
func (t *TXT) allFormats(name, recordType string) []described {
	found := t.names.withType(nil, name, recordType)
	if recordType == dns.TypeA {
		found = t.names.withType(found, name, dns.TypeCNAME)
	}
	return t.names.withoutType(found, name)
}

func aliased(r *dns.RecordSet) bool {
	alias, _ := r.Property(dns.PropertyAlias)
	return r.Type == dns.TypeA && (alias == "true" || alias == dns.TypeA)
}

func (t *TXT) rank(labels map[string]string) rank {
	switch owner := labels[dns.LabelOwner]; {
	case owner == t.id && dns.OtherInstance(labels, t.instance) != "":
		return others
	case owner == t.id:
		return ours
	case t.oldID != "" && owner == t.oldID:
		return oldOwners
	}
	return others
}

// read returns the content of the ownership record with a name.
func (t *TXT) read(zone Lookup, ownershipName, setIdentifier string) ownershipState {
	if ownershipName == "" {
		return ownershipState{}
	}
	for _, r := range zone(ownershipName) {
		if r.Type == dns.TypeTXT && r.SetIdentifier == setIdentifier {
			return t.readSet(r)
		}
	}
	return ownershipState{}
}

// readSet reads all texts of an ownership record, because their order has no meaning. A text of
// ours counts first, then one of the old owner, then any other.
func (t *TXT) readSet(r *dns.RecordSet) ownershipState {
	m := ownershipState{set: r}
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

// owns reports whether a text is an ownership text, of any owner.
func (t *TXT) owns(target string) bool {
	labels, _ := t.parse(target)
	return labels != nil
}

// Forges reports whether a wanted TXT record set would be taken for an ownership record, in
// whatever form its texts are written: a server presents h\eritage as heritage.
func (t *TXT) Forges(r *dns.RecordSet) bool {
	return r.Type == dns.TypeTXT && (len(r.Targets) == 0 || slices.ContainsFunc(r.Targets, t.forges))
}

func (t *TXT) forges(target string) bool {
	if t.owns(target) {
		return true
	}
	if text, err := dns.UnescapeString(target); err == nil && t.owns(text) {
		return true
	}
	words, err := dns.Words(target)
	if err != nil {
		return false
	}
	text := ""
	for _, w := range words {
		text += w.Text
	}
	return t.owns(text)
}

// parse returns the labels of an ownership text, and whether it was encrypted. labels is nil for
// any other text.
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
