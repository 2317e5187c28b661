package azure

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// The limits of Azure for a record set (spec/clouds.md §4.8).
const (
	maxRecords = 20
	maxTTL     = 1<<31 - 1
	defaultTTL = 300
)

// apex is the name of the apex of a zone.
const apex = "@"

// Record types of the two kinds of zones. Public zones also have CAA, which can't have ownership records.
var (
	publicTypes  = []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeMX, dns.TypeNS, dns.TypePTR, dns.TypeSRV, dns.TypeTXT}
	privateTypes = []string{dns.TypeA, dns.TypeAAAA, dns.TypeCNAME, dns.TypeMX, dns.TypePTR, dns.TypeSRV, dns.TypeTXT}
)

// allTypes are the types that a zone of either kind may have, without the DNSSEC types, which can be beside a
// CNAME.
var allTypes = []string{dns.TypeA, dns.TypeAAAA, "CAA", dns.TypeCNAME, "DS", dns.TypeMX, dns.TypeNS, dns.TypePTR, "SOA", dns.TypeSRV, "TLSA", dns.TypeTXT}

// key identifies a record set within a zone.
type key struct {
	// name is relative to the zone, in lower case. The apex is @.
	name, recordType string
}

// newKey returns the key for a name and a resource type such as Microsoft.Network/dnszones/A.
func newKey(name, resourceType string) key {
	return key{name: strings.ToLower(name), recordType: strings.ToUpper(resourceType[strings.LastIndexByte(resourceType, '/')+1:])}
}

// stored is a record set at Azure. It never changes.
type stored struct {
	key key
	// etag changes with each write. It is empty until the record set is stored.
	etag     string
	ttl      int64
	records  []record
	metadata map[string]string
	// resource is the ID of the Azure resource of an alias, or "".
	resource string
	// registered is true if Azure created the record set for a machine of a virtual network.
	registered bool
}

// record is one record. text is an address or a name, and strings are those of a TXT record.
type record struct {
	text    string
	numbers []int32
	strings []string
}

// mapping converts the record sets of a zone.
type mapping struct {
	dns.Zone
	// types are the record types of the zone.
	types []string
}

// wire returns the record set to store, or why Azure can't store it.
func (m mapping) wire(r *dns.RecordSet) (*stored, error) {
	r = r.Normal()
	if !slices.Contains(m.types, r.Type) {
		return nil, fmt.Errorf("a zone of this kind has no records of the type %s, only %s", r.Type, strings.Join(m.types, ", "))
	}
	plain := *r
	plain.Properties = nil
	if err := plain.Check(); err != nil {
		return nil, err
	}
	name, err := m.relative(r)
	if err != nil {
		return nil, err
	}
	s := &stored{key: key{name: name, recordType: r.Type}, ttl: r.TTL}
	if s.ttl == 0 {
		s.ttl = defaultTTL
	}
	if s.ttl > maxTTL {
		return nil, fmt.Errorf("the TTL is %d, and may be %d", s.ttl, maxTTL)
	}
	if s.metadata, err = wireMetadata(r.Properties); err != nil {
		return nil, err
	}
	s.records, err = wireRecords(r)
	return s, err
}

// relative returns the name of a record set at Azure.
func (m mapping) relative(r *dns.RecordSet) (string, error) {
	zone := dns.Canonical(m.Name)
	if r.Name == zone {
		switch r.Type {
		case dns.TypeCNAME:
			return "", errors.New("a CNAME can't be at the apex of a zone: publish addresses, or another name")
		case dns.TypeNS:
			return "", errors.New("the NS records of the apex are Azure's own: choose another name")
		}
		return apex, nil
	}
	name, below := strings.CutSuffix(r.Name, "."+zone)
	if !below {
		return "", fmt.Errorf("%s is not in the zone %s", r.Name, zone)
	}
	rest := name
	if first, others, _ := strings.Cut(name, "."); first == "*" {
		if r.Type == dns.TypeNS {
			return "", errors.New("a wildcard can't have NS records")
		}
		rest = others
	}
	if strings.Contains(rest, "*") {
		return "", fmt.Errorf("%s: an asterisk has to be the first label, and alone in it; for the ownership record of a wildcard give --txt-wildcard-replacement", r.Name)
	}
	if i := strings.IndexFunc(rest, invalidCharacter); i >= 0 {
		return "", fmt.Errorf("%s: names have letters, digits, - and _, and not %q", r.Name, rest[i])
	}
	return name, nil
}

// invalidCharacter reports whether a name can't have a character. The SDK doesn't escape names in URLs.
func invalidCharacter(c rune) bool {
	return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.'
}

func wireRecords(r *dns.RecordSet) ([]record, error) {
	var records []record
	for _, target := range r.Targets {
		v, err := wireRecord(r, target)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(records, func(other record) bool { return sameRecord(v, other) }) {
			records = append(records, v)
		}
	}
	switch {
	case len(records) > maxRecords:
		return nil, fmt.Errorf("it has %d targets, and a record set of Azure has %d or fewer", len(records), maxRecords)
	case r.Type == dns.TypeCNAME && len(records) > 1:
		return nil, fmt.Errorf("it has the targets %q, and a CNAME has one", r.Targets)
	}
	return records, nil
}

func sameRecord(a, b record) bool {
	return strings.EqualFold(a.text, b.text) && slices.Equal(a.numbers, b.numbers) && slices.Equal(a.strings, b.strings)
}
