package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// recordSet identifies the records of a name and a type.
type recordSet struct {
	name string // absolute, in lower case
	kind uint16
}

func (s recordSet) String() string { return s.name + " " + dns.TypeToString[s.kind] }

// zoneRecord is one record of a zone.
type zoneRecord struct {
	set  recordSet
	ttl  uint32
	data string // in the presentation format
	text string // the joined strings of a TXT record
}

// heritage is the prefix of every ownership record, a TXT record with the owner of a record (spec/dns.md
// §4.2.1).
const heritage = "heritage=external-dns"

// owner returns the owner that an ownership record names; false if r isn't an ownership record.
func (r zoneRecord) owner() (string, bool) {
	if r.set.kind != dns.TypeTXT || !strings.HasPrefix(r.text, heritage) {
		return "", false
	}
	for token := range strings.SplitSeq(r.text, ",") {
		if owner, ok := strings.CutPrefix(token, "external-dns/owner="); ok {
			return owner, true
		}
	}
	return "", true
}

// parseRecord reads the presentation format.
func parseRecord(text string) (zoneRecord, error) {
	rr, err := dns.NewRR(text)
	if err != nil {
		return zoneRecord{}, fmt.Errorf("read the record %q: %w", text, err)
	}
	if rr == nil {
		return zoneRecord{}, fmt.Errorf("read the record %q: it is empty", text)
	}
	return recordOf(rr), nil
}

func recordOf(rr dns.RR) zoneRecord {
	header := rr.Header()
	r := zoneRecord{set: recordSet{strings.ToLower(dns.Fqdn(header.Name)), header.Rrtype}, ttl: header.Ttl}
	r.data = strings.TrimPrefix(rr.String(), header.String())
	switch rr := rr.(type) {
	case *dns.TXT:
		r.text = strings.Trim(strings.Join(rr.Txt, ""), `"`)
	case *dns.CNAME, *dns.MX, *dns.NS, *dns.SRV, *dns.PTR, *dns.DNAME:
		r.data = strings.ToLower(r.data)
	}
	return r
}

// zoneState is a zone at a serial: for each set its records by their data.
type zoneState map[recordSet]map[string]zoneRecord

func (z zoneState) add(r zoneRecord) {
	records := z[r.set]
	if records == nil {
		records = map[string]zoneRecord{}
		z[r.set] = records
	}
	records[r.data] = r
}

func (z zoneState) remove(r zoneRecord) {
	records := z[r.set]
	if delete(records, r.data); len(records) == 0 {
		delete(z, r.set)
	}
}

// owned reports whether a set has an ownership record of the owner.
func (z zoneState) owned(s recordSet, owner string) bool {
	for _, name := range ownershipNames(s) {
		for _, r := range z[recordSet{name, dns.TypeTXT}] {
			if o, ok := r.owner(); ok && o == owner {
				return true
			}
		}
	}
	return false
}

// ownershipNames returns the names at which the ownership record of a set may be: the name with the type, and
// the name without type of versions before 0.12 (spec/dns.md §4.2.3 and §4.2.6). Those versions had no AAAA
// and no TXT records. The lab has no prefix and no suffix.
func ownershipNames(s recordSet) []string {
	typed := strings.ToLower(dns.TypeToString[s.kind]) + "-" + s.name
	if s.kind == dns.TypeAAAA || s.kind == dns.TypeTXT {
		return []string{typed}
	}
	return []string{typed, s.name}
}

// ownershipTypes are the types that the name of an ownership record may begin with.
var ownershipTypes = []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeNS, dns.TypeMX, dns.TypePTR, dns.TypeSRV, dns.TypeNAPTR, dns.TypeTXT, dns.TypeDNAME}

// describedSet returns the set that an ownership record at this name describes. It is false if the name has
// no type; the record may then be one without type.
func describedSet(name string) (recordSet, bool) {
	for _, kind := range ownershipTypes {
		if rest, ok := strings.CutPrefix(name, strings.ToLower(dns.TypeToString[kind])+"-"); ok {
			return recordSet{rest, kind}, true
		}
	}
	return recordSet{}, false
}

// describes returns the sets of z that an ownership record at this name belongs to.
func (z zoneState) describes(name string) []recordSet {
	var out []recordSet
	if s, ok := describedSet(name); ok && len(z[s]) > 0 {
		out = append(out, s)
	}
	for _, kind := range ownershipTypes {
		s := recordSet{name, kind}
		if slices.Contains(ownershipNames(s), name) && len(z[s]) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// part returns a copy of the sets of z that have one of the names.
func (z zoneState) part(names map[string]bool) zoneState {
	out := zoneState{}
	for name := range names {
		for _, kind := range append([]uint16{dns.TypeHINFO, dns.TypeCAA, dns.TypeHTTPS, dns.TypeSVCB}, ownershipTypes...) {
			if records := z[recordSet{name, kind}]; len(records) > 0 {
				out[recordSet{name, kind}] = maps.Clone(records)
			}
		}
	}
	return out
}

// zoneDelta is the change of a zone by a serial or an update.
type zoneDelta struct{ removed, added []zoneRecord }

func (d zoneDelta) empty() bool { return len(d.removed)+len(d.added) == 0 }

// names returns the names that a delta changes.
func (d zoneDelta) names() map[string]bool {
	out := map[string]bool{}
	for _, list := range [][]zoneRecord{d.removed, d.added} {
		for _, r := range list {
			out[r.set.name] = true
		}
	}
	return out
}

// equal reports whether two deltas are the same in any order.
func (d zoneDelta) equal(other zoneDelta) bool {
	return sameRecords(d.removed, other.removed) && sameRecords(d.added, other.added)
}

func sameRecords(a, b []zoneRecord) bool {
	if len(a) != len(b) {
		return false
	}
	count := map[zoneRecord]int{}
	for _, r := range a {
		count[r]++
	}
	for _, r := range b {
		if count[r]--; count[r] < 0 {
			return false
		}
	}
	return true
}

// apply changes z by d.
func (z zoneState) apply(d zoneDelta) {
	for _, r := range d.removed {
		z.remove(r)
	}
	for _, r := range d.added {
		z.add(r)
	}
}

// difference returns the delta from z to other.
func (z zoneState) difference(other zoneState) zoneDelta {
	var d zoneDelta
	for s, records := range z {
		for data, r := range records {
			if other[s][data] != r {
				d.removed = append(d.removed, r)
			}
		}
	}
	for s, records := range other {
		for data, r := range records {
			if z[s][data] != r {
				d.added = append(d.added, r)
			}
		}
	}
	return d
}
