package cloudflaretest

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// mostCombined is the largest number of characters in all records of a name and type
	// (dns/manage-dns-records/reference/dns-record-types).
	mostCombined = 8192
	mostTTL      = 86400
	mostLabel    = 63
	mostName     = 253
)

// invalid returns the fault for an invalid record.
func invalid(code int, cause string) *Fault {
	return &Fault{Status: 400, Code: 1004, Message: "DNS Validation Error", Cause: cause, CauseCode: code}
}

// check validates a record and normalizes it.
func (b *batching) check(r *Record) *Fault {
	r.Proxable = r.Type == "A" || r.Type == "AAAA" || r.Type == "CNAME"
	if !validName(r.Name) {
		return invalid(9000, "DNS name is invalid.")
	}
	if fault := content(r); fault != nil {
		return fault
	}
	if fault := b.attributes(r); fault != nil {
		return fault
	}
	return b.conflicts(r)
}

// attributes checks everything but the value of a record (dns/manage-dns-records/reference/record-attributes,
// dns/manage-dns-records/reference/ttl).
func (b *batching) attributes(r *Record) *Fault {
	least, comment, tags := int64(60), 500, 20
	switch b.zone.Plan {
	case Free:
		comment, tags = 100, 0
	case Enterprise:
		least = 30
	}
	switch {
	case r.Proxied && !r.Proxable:
		return invalid(9004, "This record type cannot be proxied.")
	case r.TTL != 1 && (r.TTL < least || r.TTL > mostTTL):
		return invalid(9021, "Invalid TTL. Must be between 60 and 86400 seconds, or 1 for Automatic.")
	case r.Comment != nil && (utf8.RuneCountInString(*r.Comment) > comment || strings.ContainsAny(*r.Comment, "\r\n")):
		return invalid(9313, fmt.Sprintf("The comment must have at most %d characters, and no line breaks.", comment))
	case len(r.Tags) > tags:
		return invalid(9300, fmt.Sprintf("DNS record has too many tags. The maximum is %d.", tags))
	}
	for _, tag := range r.Tags {
		name, _, _ := strings.Cut(tag, ":")
		if name == "" || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return invalid(9301, "A tag name can only have letters, numbers, - and _.")
		}
	}
	if r.Proxied {
		r.TTL = 1
	}
	return nil
}

// content checks the value of a record (dns/manage-dns-records/reference/dns-record-types).
func content(r *Record) *Fault {
	address, err := netip.ParseAddr(r.Content)
	switch r.Type {
	case "A":
		if err != nil || !address.Is4() {
			return invalid(9005, "Content for A record must be a valid IPv4 address.")
		}
	case "AAAA":
		if err != nil || !address.Is6() || address.Zone() != "" {
			return invalid(9006, "Content for AAAA record must be a valid IPv6 address.")
		}
		r.Content = address.String()
	case "CNAME", "NS", "PTR", "MX":
		return host(r)
	case "TXT":
		if r.Content == "" {
			return invalid(9011, "Content for TXT record is invalid.")
		}
	case "SRV":
		return service(r)
	default:
		return invalid(9003, "DNS record type "+r.Type+" is invalid.")
	}
	return nil
}

// host checks a record whose content is a host name.
func host(r *Record) *Fault {
	r.Content = strings.ToLower(strings.TrimSuffix(r.Content, "."))
	if r.Type == "MX" {
		if r.Priority == nil || *r.Priority < 0 || *r.Priority > 65535 {
			return invalid(9008, "MX records need a priority from 0 to 65535.")
		}
		if r.Content == "" {
			r.Content = "."
			return nil
		}
	}
	if !validName(r.Content) {
		return invalid(9007, "Content for "+r.Type+" record is invalid.")
	}
	return nil
}

// service checks an SRV record. Its value is in data, from which content is derived.
func service(r *Record) *Fault {
	d := r.Data
	if d == nil || d.Priority == nil || d.Weight == nil || d.Port == nil || d.Target == "" {
		return invalid(9101, "SRV records need data with priority, weight, port and target.")
	}
	for _, n := range []int{*d.Priority, *d.Weight, *d.Port} {
		if n < 0 || n > 65535 {
			return invalid(9102, "Numbers of SRV records are from 0 to 65535.")
		}
	}
	if d.Target != "." {
		d.Target = strings.ToLower(strings.TrimSuffix(d.Target, "."))
	}
	r.Content = fmt.Sprintf("%d %d %s", *d.Weight, *d.Port, d.Target)
	priority := float64(*d.Priority)
	r.Priority = &priority
	return nil
}

// validName reports whether a name is valid.
func validName(name string) bool {
	if len(name) > mostName {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > mostLabel || strings.ContainsAny(label, " \t\n\"\\") {
			return false
		}
	}
	return true
}

// conflicts checks a record against the other records of its name (API reference, notes on creating a
// record).
func (b *batching) conflicts(r *Record) *Fault {
	combined := len(r.Content)
	for _, id := range slices.Compact(slices.Sorted(slices.Values(b.byName[r.Name]))) {
		o := b.next[id]
		if o == nil || o.ID == r.ID || o.Name != r.Name {
			continue
		}
		addresses := []string{"A", "AAAA", "CNAME"}
		switch {
		case o.Type == r.Type && o.Content == r.Content && samePriority(o, r):
			return &Fault{Status: 400, Code: 81058, Message: "An identical record already exists."}
		case r.Type == "CNAME" && slices.Contains(addresses, o.Type):
			return &Fault{Status: 400, Code: 81053, Message: "An A, AAAA, or CNAME record with that host already exists."}
		case o.Type == "CNAME" && slices.Contains(addresses, r.Type):
			return &Fault{Status: 400, Code: 81054, Message: "A CNAME record with that host already exists."}
		case (o.Type == "NS") != (r.Type == "NS") && r.Name != b.zone.Name:
			return &Fault{Status: 400, Code: 81056, Message: "NS records can't be with others on a name."}
		case o.Type == r.Type:
			combined += len(o.Content)
		}
	}
	if combined > mostCombined {
		return invalid(9012, fmt.Sprintf("All records of a name and type can have %d characters together.", mostCombined))
	}
	return nil
}

func samePriority(a, b *Record) bool {
	if a.Priority == nil || b.Priority == nil {
		return a.Priority == b.Priority
	}
	return *a.Priority == *b.Priority
}
