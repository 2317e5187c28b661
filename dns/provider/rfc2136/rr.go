package rfc2136

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// maxTTL is the maximum TTL in seconds (RFC 2181 8).
const maxTTL = 1<<31 - 1

// rrTypes are the record types that are listed and can be created.
var rrTypes = map[string]uint16{
	dns.TypeA: mdns.TypeA, dns.TypeAAAA: mdns.TypeAAAA, dns.TypeCNAME: mdns.TypeCNAME, dns.TypeDNAME: mdns.TypeDNAME,
	dns.TypeNS: mdns.TypeNS, dns.TypePTR: mdns.TypePTR, dns.TypeMX: mdns.TypeMX, dns.TypeSRV: mdns.TypeSRV,
	dns.TypeNAPTR: mdns.TypeNAPTR, dns.TypeTXT: mdns.TypeTXT,
}

// newRR returns a record with a target.
func newRR(h mdns.RR_Header, target string) (mdns.RR, error) {
	switch h.Rrtype {
	case mdns.TypeA, mdns.TypeAAAA:
		return addressRR(h, target)
	case mdns.TypeTXT:
		return textRR(h, target)
	case mdns.TypeMX, mdns.TypeSRV:
		return numbersRR(h, target)
	case mdns.TypeNAPTR:
		return naptrRR(h, target)
	}
	name, err := targetName(target)
	if err != nil {
		return nil, err
	}
	switch h.Rrtype {
	case mdns.TypeCNAME:
		return &mdns.CNAME{Hdr: h, Target: name}, nil
	case mdns.TypeDNAME:
		return &mdns.DNAME{Hdr: h, Target: name}, nil
	case mdns.TypeNS:
		return &mdns.NS{Hdr: h, Ns: name}, nil
	case mdns.TypePTR:
		return &mdns.PTR{Hdr: h, Ptr: name}, nil
	}
	return nil, fmt.Errorf("the type %s is not supported", mdns.TypeToString[h.Rrtype])
}

func addressRR(h mdns.RR_Header, target string) (mdns.RR, error) {
	addr, err := netip.ParseAddr(strings.TrimSpace(target))
	switch {
	case err != nil || addr.Zone() != "":
		return nil, fmt.Errorf("%q is not an IP address", target)
	case h.Rrtype == mdns.TypeA && addr.Is4():
		return &mdns.A{Hdr: h, A: addr.AsSlice()}, nil
	case h.Rrtype == mdns.TypeAAAA && addr.Is6():
		return &mdns.AAAA{Hdr: h, AAAA: addr.AsSlice()}, nil
	}
	return nil, fmt.Errorf("%s is an address of the other IP version", addr)
}

func textRR(h mdns.RR_Header, target string) (mdns.RR, error) {
	all, err := textStrings(target)
	if err != nil {
		return nil, err
	}
	txt := &mdns.TXT{Hdr: h}
	for _, s := range all {
		txt.Txt = append(txt.Txt, dns.EscapeString(s))
	}
	return txt, nil
}

// numbersRR returns a record whose target consists of numbers and a name.
func numbersRR(h mdns.RR_Header, target string) (mdns.RR, error) {
	fields, err := dns.Words(target)
	if err != nil {
		return nil, err
	}
	names := map[uint16][]string{mdns.TypeMX: {"preference"}, mdns.TypeSRV: {"priority", "weight", "port"}}[h.Rrtype]
	if len(fields) != len(names)+1 {
		return nil, fmt.Errorf("%q must be %s and a name", target, strings.Join(names, ", "))
	}
	numbers := make([]uint16, len(names))
	for i := range names {
		n, err := strconv.ParseUint(fields[i].Raw, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("the %s in %q must be a number from 0 to 65535", names[i], target)
		}
		numbers[i] = uint16(n)
	}
	name, err := targetName(fields[len(names)].Raw)
	if err != nil {
		return nil, err
	}
	if h.Rrtype == mdns.TypeMX {
		return &mdns.MX{Hdr: h, Preference: numbers[0], Mx: name}, nil
	}
	return &mdns.SRV{Hdr: h, Priority: numbers[0], Weight: numbers[1], Port: numbers[2], Target: name}, nil
}

// naptrRR returns a record in the form of RFC 3403 4.1.
func naptrRR(h mdns.RR_Header, target string) (mdns.RR, error) {
	list, err := dns.Words(target)
	if err != nil {
		return nil, err
	}
	if len(list) != 6 {
		return nil, fmt.Errorf("%q must be order, preference, flags, services, regexp and replacement", target)
	}
	order, orderErr := strconv.ParseUint(list[0].Raw, 10, 16)
	preference, preferenceErr := strconv.ParseUint(list[1].Raw, 10, 16)
	if orderErr != nil || preferenceErr != nil {
		return nil, fmt.Errorf("order and preference in %q must be numbers from 0 to 65535", target)
	}
	for _, w := range list[2:5] {
		if len(w.Text) > dns.MaxString {
			return nil, fmt.Errorf("%s is longer than %d octets", w.Raw, dns.MaxString)
		}
	}
	replacement, err := targetName(list[5].Raw)
	if err != nil {
		return nil, err
	}
	return &mdns.NAPTR{
		Hdr: h, Order: uint16(order), Preference: uint16(preference),
		Flags: dns.EscapeString(list[2].Text), Service: dns.EscapeString(list[3].Text), Regexp: dns.EscapeString(list[4].Text), Replacement: replacement,
	}, nil
}

// errShort means that a server sent an incomplete record.
var errShort = errors.New("the record is cut short")

// targetOf returns the target of a record. It fails for unsupported types and incomplete records.
func targetOf(rr mdns.RR) (string, error) {
	if txt, ok := rr.(*mdns.TXT); ok {
		return textTargetOf(txt.Txt)
	}
	recordType := mdns.TypeToString[rr.Header().Rrtype]
	if _, known := rrTypes[recordType]; !known {
		return "", fmt.Errorf("the type %s is not supported", recordType)
	}
	target := strings.TrimPrefix(rr.String(), rr.Header().String())
	switch {
	case target == "" || strings.HasSuffix(target, " "):
		return "", errShort
	case recordType == dns.TypeSRV, recordType == dns.TypeNAPTR, target == ".", strings.HasSuffix(target, " ."):
		// In SRV and NAPTR the name keeps its dot (spec/dns.md §1.3), and the root is nothing but a dot.
		return target, nil
	}
	return strings.TrimSuffix(target, "."), nil
}

func textTargetOf(list []string) (string, error) {
	if len(list) == 0 {
		return "", errShort
	}
	all := make([]string, len(list))
	for i, s := range list {
		var err error
		if all[i], err = dns.UnescapeString(s); err != nil {
			return "", err
		}
	}
	return textTarget(all), nil
}

// newRRs returns the records of a record set in the order of their targets, without
// duplicates.
func newRRs(r *dns.RecordSet, h mdns.RR_Header) ([]mdns.RR, error) {
	var err error
	if h.Name, err = ownerName(r.Name); err != nil {
		return nil, err
	}
	rrtype, known := rrTypes[r.Type]
	if !known {
		return nil, fmt.Errorf("the type %q is not supported", r.Type)
	}
	h.Rrtype = rrtype
	if len(r.Targets) == 0 {
		return nil, errors.New("it has no targets")
	}
	list, seen := make([]mdns.RR, 0, len(r.Targets)), map[string]bool{}
	for _, target := range r.Targets {
		rr, err := newRR(h, target)
		if err != nil {
			return nil, err
		}
		id, err := identity(rr)
		if err != nil {
			return nil, err
		}
		if !seen[id] {
			seen[id] = true
			list = append(list, rr)
		}
	}
	if single := rrtype == mdns.TypeCNAME || rrtype == mdns.TypeDNAME; single && len(list) > 1 {
		return nil, fmt.Errorf("a %s has one target, not %d", r.Type, len(list))
	}
	return list, nil
}

// identity returns a text that is equal for records of one name and type that are equal in DNS: it
// ignores the case of names (RFC 4343).
func identity(rr mdns.RR) (string, error) {
	target, err := targetOf(rr)
	switch rr.(type) {
	case *mdns.TXT, *mdns.NAPTR:
		return target, err
	}
	return strings.ToLower(target), err
}

// adjusted returns a record set as it will be listed, or r itself if the zone can't have it.
func adjusted(r *dns.RecordSet, minTTL int64) (*dns.RecordSet, error) {
	list, err := newRRs(r, mdns.RR_Header{Class: mdns.ClassINET})
	if err != nil {
		return nil, fmt.Errorf("%w: %s %s: %w", provider.ErrRejected, r.Name, r.Type, err)
	}
	a := r.Clone()
	a.Name = withoutDot(list[0].Header().Name)
	a.TTL = max(r.TTL, minTTL, 0)
	a.SetIdentifier, a.Properties = "", nil
	a.Targets = a.Targets[:0]
	for _, rr := range list {
		// The records were made by newRRs, so they are complete.
		target, _ := targetOf(rr)
		a.Targets = append(a.Targets, target)
	}
	slices.Sort(a.Targets)
	return a, nil
}
