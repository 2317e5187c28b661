package azuretest

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
)

// The limits (azure-subscription-service-limits, "Azure DNS limits"; REST reference,
// record-sets; dns-zones-records).
const (
	publicSets    = 10000
	privateSets   = 25000
	mostRecords   = 20
	mostTTL       = 1<<31 - 1
	mostString    = 255
	mostText      = 4096
	mostPairs     = 10
	mostPairKey   = 512
	mostPairValue = 256
)

// The types of the two services (dns-zones-records; dns-private-records, "Record types").
const (
	publicTypes  = "A AAAA CAA CNAME MX NS PTR SOA SRV TXT"
	privateTypes = "A AAAA CNAME MX PTR SOA SRV TXT"
)

// label matches a label of a name. A wildcard is the leftmost label, and only an asterisk (dns-zones-records,
// "Wildcard records").
var label = regexp.MustCompile(`^[A-Za-z0-9_-]{1,63}$`)

// check returns why a record set is invalid, or "".
func (z *zone) check(r *RecordSet) string {
	types, most := publicTypes, publicSets
	if z.kind == private {
		types, most = privateTypes, privateSets
	}
	there := z.Now()[setKey{r.Name, r.Type}]
	switch {
	case !contains(types, r.Type):
		return fmt.Sprintf("The record type '%s' is not supported.", r.Type)
	case there == nil && len(z.Now()) >= most:
		return fmt.Sprintf("The maximum number of record sets in the zone, %d, is reached.", most)
	case r.Type == "SOA" && there == nil:
		return "Record sets of type SOA cannot be created."
	case r.TTL == nil || *r.TTL < 1 || *r.TTL > mostTTL:
		return "The TTL has to be from 1 to 2147483647."
	}
	if message := z.checkName(r); message != "" {
		return message
	}
	if message := metadata(r.Metadata); message != "" {
		return message
	}
	return values(r)
}

// checkName checks the name of a record set.
func (z *zone) checkName(r *RecordSet) string {
	if r.Name == "@" {
		if r.Type == "CNAME" {
			return "A CNAME record can't be at the apex of a zone."
		}
		return ""
	}
	rest := r.Name
	if first, others, more := strings.Cut(r.Name, "."); first == "*" && r.Type != "NS" {
		if !more {
			return ""
		}
		rest = others
	}
	for part := range strings.SplitSeq(rest, ".") {
		if !label.MatchString(part) {
			return fmt.Sprintf("The domain name '%s' is invalid. The provided record set relative name '%[1]s' is invalid.", r.Name)
		}
	}
	if len(z.fqdn(r.Name)) > 254 {
		return "The name is too long."
	}
	return ""
}

func metadata(m map[string]string) string {
	if len(m) > mostPairs {
		return fmt.Sprintf("There are more than %d metadata pairs.", mostPairs)
	}
	for k, v := range m {
		if k == "" || len(k) > mostPairKey || len(v) > mostPairValue {
			return "A metadata key or value is too long, or empty."
		}
	}
	return ""
}

// beside checks the other record sets of the name (dns-zones-records, "CNAME records"). Azure responds with
// 409 to a conflict (external-dns issues 4855 and 5358).
func (z *zone) beside(r *RecordSet) string {
	for k := range z.Now() {
		if k.name == r.Name && k.recordType != r.Type && (k.recordType == "CNAME" || r.Type == "CNAME") {
			return fmt.Sprintf("The record could not be created because a CNAME record with the same name already exists in this zone, or the record is a CNAME and others exist: %s and %s.", k.recordType, r.Type)
		}
	}
	return ""
}

// values checks the records.
func values(r *RecordSet) string {
	seen := map[string]bool{}
	for _, v := range each(&r.Properties) {
		key := strings.ToLower(v.text)
		switch {
		case v.recordType != r.Type:
			return fmt.Sprintf("The record set is of type %s and has records of type %s.", r.Type, v.recordType)
		case v.wrong:
			return fmt.Sprintf("The record '%s' of type %s is invalid.", v.text, r.Type)
		case seen[key]:
			return fmt.Sprintf("The record '%s' is there twice.", v.text)
		}
		seen[key] = true
	}
	if len(seen) > mostRecords {
		return fmt.Sprintf("The number of records in the record set is %d, and the limit is %d.", len(seen), mostRecords)
	}
	return ""
}

// one is one record.
type one struct {
	recordType, text string
	wrong            bool
}

// each returns the records, of any type.
func each(p *Properties) []one {
	var list []one
	add := func(recordType, text string, right bool) { list = append(list, one{recordType, text, !right}) }
	for _, v := range p.A {
		add("A", v.Address, family(v.Address, netip.Addr.Is4))
	}
	for _, v := range p.AAAA {
		add("AAAA", v.Address, family(v.Address, netip.Addr.Is6))
	}
	for _, v := range p.CAA {
		add("CAA", fmt.Sprint(v.Flags, v.Tag, v.Value), v.Flags >= 0 && v.Flags <= 255 && v.Tag != "")
	}
	if p.CNAME != nil {
		add("CNAME", p.CNAME.Name, isHost(p.CNAME.Name))
	}
	for _, v := range p.MX {
		add("MX", fmt.Sprint(v.Preference, v.Exchange), isHost(v.Exchange) && isNumber(v.Preference))
	}
	for _, v := range p.NS {
		add("NS", v.Name, isHost(v.Name))
	}
	for _, v := range p.PTR {
		add("PTR", v.Name, isHost(v.Name))
	}
	if p.SOA != nil {
		add("SOA", p.SOA.Host, true)
	}
	for _, v := range p.SRV {
		add("SRV", fmt.Sprint(v.Priority, v.Weight, v.Port, v.Target), isHost(v.Target) && isNumber(v.Priority) && isNumber(v.Weight) && isNumber(v.Port))
	}
	for _, v := range p.TXT {
		add("TXT", fmt.Sprintf("%q", v.Strings), isText(v.Strings))
	}
	return list
}

func family(address string, is func(netip.Addr) bool) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && is(a)
}

func isNumber(n int) bool { return n >= 0 && n <= 65535 }

func isHost(name string) bool {
	if name == "." {
		return true
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if !label.MatchString(part) {
			return false
		}
	}
	return true
}

// isText checks a TXT record: strings of up to 255 bytes (dns-zones-records, "TXT records").
func isText(parts []string) bool {
	size := 0
	for _, part := range parts {
		if len(part) > mostString {
			return false
		}
		size += len(part)
	}
	return len(parts) > 0 && size <= mostText
}
