package dns

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
)

// Normal returns r in canonical form, in which record sets are compared and published. The name is
// canonical, the type in upper case, and the TTL not negative. Targets have no final dot; names
// among them are canonical, and addresses have their canonical spelling. In targets of TXT, NAPTR
// and SRV records only internationalised names change. If nothing changes, Normal returns r itself.
func (r *RecordSet) Normal() *RecordSet {
	n := *r
	n.Name = Canonical(r.Name)
	n.Type = strings.ToUpper(strings.TrimSpace(r.Type))
	n.TTL = max(r.TTL, 0)
	changed := n.Name != r.Name || n.Type != r.Type || n.TTL != r.TTL
	for i, t := range r.Targets {
		normal := normalTarget(n.Type, t)
		if normal == t {
			continue
		}
		if &n.Targets[0] == &r.Targets[0] {
			n.Targets = slices.Clone(r.Targets)
		}
		n.Targets[i], changed = normal, true
	}
	if !changed {
		return r
	}
	return &n
}

func normalTarget(recordType, target string) string {
	switch recordType {
	case TypeTXT, TypeNAPTR:
		return target
	case TypeSRV:
		return asciiHost(target)
	case TypeMX:
		target = asciiHost(strings.TrimSpace(target))
		if strings.HasSuffix(target, " .") {
			// The target "." says that the domain accepts no mail (RFC 7505).
			return target
		}
		return strings.TrimSuffix(target, ".")
	case TypeA, TypeAAAA:
		return normalAddress(Canonical(target))
	case TypeCNAME, TypeDNAME, TypeNS, TypePTR:
		return Canonical(target)
	default:
		return strings.TrimSuffix(target, ".")
	}
}

// asciiHost converts the last field of a target, a host name, to ASCII.
func asciiHost(target string) string {
	if isASCII(target) {
		return target
	}
	i := strings.LastIndexAny(target, " \t") + 1
	host := Canonical(target[i:])
	if strings.HasSuffix(target, ".") {
		host += "."
	}
	return target[:i] + host
}

// normalAddress returns an address in its canonical spelling, and anything else unchanged.
func normalAddress(target string) string {
	addr, err := netip.ParseAddr(target)
	if err != nil {
		return target
	}
	var buf [64]byte
	if text := addr.AppendTo(buf[:0]); string(text) != target {
		return string(text)
	}
	return target
}

// PerType returns up to three record sets like r, for A, AAAA and CNAME in this order, each with the
// targets of its type in their order (spec/dns.md §1.3). They are in the form of [RecordSet.Normal],
// but not checked. Their labels are not nil.
func (r *RecordSet) PerType(targets []string) []*RecordSet {
	var sets []*RecordSet
	for _, recordType := range []string{TypeA, TypeAAAA, TypeCNAME} {
		of := *r
		of.Type, of.Targets = recordType, nil
		for _, t := range targets {
			if t = Canonical(t); TypeOfTarget(t) == recordType {
				of.Targets = append(of.Targets, t)
			}
		}
		if len(of.Targets) == 0 {
			continue
		}
		of.Properties, of.Labels = slices.Clone(r.Properties), map[string]string{}
		maps.Copy(of.Labels, r.Labels)
		sets = append(sets, of.Normal())
	}
	return sets
}
