package clouddnstest

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// setValues is the largest number of values of a record set, and delegationValues that of an NS record
	// set (quotas).
	setValues        = 100
	delegationValues = 8
	maxTTL           = 2147483647
	maxLabel         = 63
	maxName          = 253
)

// recordTypes are the valid record types (records-overview).
var recordTypes = []string{
	"A", "AAAA", "ALIAS", "CAA", "CNAME", "DNSKEY", "DS", "HTTPS", "IPSECKEY", "MX", "NAPTR", "NS", "PTR", "SOA", "SPF", "SRV", "SSHFP", "SVCB", "TLSA", "TXT",
}

// shape checks an addition on its own (reference, resourceRecordSets).
func shape(z *zone, r *RecordSet) *Fault {
	invalid := func(field, value string) *Fault {
		return &Fault{Status: 400, Reason: "invalid", Message: fmt.Sprintf("Invalid value for '%s.%s': '%s'", entity("additions", r), field, value)}
	}
	switch {
	case !strings.HasSuffix(r.Name, ".") || !isName(r.Name) || !within(canonical(r.Name), z.DNSName):
		return invalid("name", r.Name)
	case !slices.Contains(recordTypes, r.Type):
		return invalid("type", r.Type)
	case r.TTL < 0 || r.TTL > maxTTL:
		return invalid("ttl", fmt.Sprint(r.TTL))
	case len(r.Policy) > 0 && len(r.Datas) > 0:
		return invalid("routingPolicy", "<not empty>")
	case len(r.Policy) > 0:
		return nil
	case len(r.Datas) == 0:
		return invalid("rrdata", "<empty>")
	case len(r.Datas) > setValues, r.Type == "NS" && len(r.Datas) > delegationValues:
		return quota("ResourceRecordsPerRrset for "+entity("additions", r), setValues)
	case r.Type == "CNAME" && len(r.Datas) > 1:
		return invalid("rrdata", "<too many>")
	}
	seen := map[string]bool{}
	for i, data := range r.Datas {
		if seen[data] || !valid(r.Type, data) {
			return invalid(fmt.Sprintf("rrdata[%d]", i), data)
		}
		seen[data] = true
	}
	return nil
}

// beside checks the zone after a change: a CNAME is alone and not at the apex (RFC 1034, 3.6.2), and the apex
// has its NS and its SOA.
func beside(z *zone, next map[setKey]*RecordSet, c Change) []*Fault {
	var faults []*Fault
	for _, recordType := range []string{"NS", "SOA"} {
		if apex := (RecordSet{Name: z.DNSName, Type: recordType}); next[apex.key()] == nil {
			faults = append(faults, &Fault{Status: 400, Reason: "invalidZoneApex", Message: fmt.Sprintf("The resource record set '%s' is invalid because a zone must contain exactly one resource record set of type '%s' at the apex.", entity("deletions", &apex), recordType)})
		}
	}
	types := map[string][]string{}
	for k := range next {
		types[k.name] = append(types[k.name], k.recordType)
	}
	for i := range c.Additions {
		r := c.Additions[i]
		for _, other := range types[canonical(r.Name)] {
			if other != r.Type && (other == "CNAME" || r.Type == "CNAME") {
				faults = append(faults, &Fault{Status: 400, Reason: "cnameResourceRecordSetConflict", Message: fmt.Sprintf(
					"The resource record set '%s' is invalid because the DNS name '%s' has a resource record set of the type '%s'. A DNS name may have either one CNAME resource record set or resource record sets of other types, but not both.",
					entity("additions", &r), r.Name, other,
				)})
				break
			}
		}
	}
	return faults
}

// isName reports whether a name is valid. An asterisk that isn't the whole first label is allowed, because no
// page says that it is refused.
func isName(name string) bool {
	name = strings.TrimSuffix(name, ".")
	if len(name) > maxName {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > maxLabel || strings.Trim(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789-_/*") != "" {
			return false
		}
	}
	return true
}

// within reports whether a name is domain or below it.
func within(name, domain string) bool { return name == domain || strings.HasSuffix(name, "."+domain) }
