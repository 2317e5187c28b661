package route53test

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	// setValues is the largest number of values of a record set (Developer Guide, DNSLimitations).
	setValues = 400
	maxTTL    = 2147483647
	// maxWeight is from API_ResourceRecordSet, and maxString the longest string of a TXT record (Developer
	// Guide, ResourceRecordTypes).
	maxWeight = 255
	maxString = 255
	maxText   = 4000
)

// recordTypes are the valid record types (Developer Guide, ResourceRecordTypes).
var recordTypes = []string{"A", "AAAA", "CAA", "CNAME", "DS", "HTTPS", "MX", "NAPTR", "NS", "PTR", "SOA", "SPF", "SRV", "SSHFP", "SVCB", "TLSA", "TXT"}

// check returns the errors in the record sets that a batch leaves in a zone.
func (s *Server) check(z *zone, next map[key]*RecordSet, changes []Change) []string {
	var messages []string
	names := map[string][]*RecordSet{}
	for _, c := range changes {
		names[c.Set.Name] = nil
		if c.Action == Delete && c.Set.Name == z.Name && (c.Set.Type == "NS" || c.Set.Type == "SOA") && next[c.Set.key()] == nil {
			messages = append(messages, fmt.Sprintf("A HostedZone must contain at least one NS record for the zone itself, and exactly one SOA record: %v", c.Set.key()))
		}
	}
	for k, r := range next {
		if _, changed := names[k.name]; changed {
			names[k.name] = append(names[k.name], r)
		}
	}
	for _, c := range changes {
		r := next[c.Set.key()]
		if r == nil || c.Action == Delete {
			continue
		}
		for _, message := range []string{place(z, r), shape(r), s.alias(z, next, r), beside(z, names[r.Name], r), routing(names[r.Name], r)} {
			if message != "" {
				messages = append(messages, message)
			}
		}
	}
	for _, c := range changes {
		// The target of an alias must not be deleted.
		if c.Action == Delete {
			messages = append(messages, orphans(z, next, c.Set)...)
		}
	}
	return slices.Compact(messages)
}

// place checks the name and the type (Developer Guide, DomainNameFormat).
func place(z *zone, r *RecordSet) string {
	switch {
	case !within(r.Name, z.Name):
		return fmt.Sprintf("RRSet with DNS name %s is not permitted in zone %s", r.Name, z.Name)
	case !slices.Contains(recordTypes, r.Type):
		return fmt.Sprintf("Value '%s' at 'type' failed to satisfy constraint: Member must satisfy enum value set", r.Type)
	case r.Name == z.Name && r.Type == "CNAME":
		return fmt.Sprintf("RRSet of type CNAME with DNS name %s is not permitted at apex in zone %s", r.Name, z.Name)
	case len(plain(r.Name)) > 255:
		return fmt.Sprintf("FATAL problem: DomainNameTooLong (Domain name is too long) encountered with '%s'", r.Name)
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(r.Name, "."), ".") {
		if label = plain(label); label == "" || len(label) > 63 {
			return fmt.Sprintf("FATAL problem: DomainLabelTooLong (Domain label is too long) or DomainLabelEmpty encountered with '%s'", r.Name)
		}
	}
	return ""
}

var octal = regexp.MustCompile(`\\[0-3][0-7][0-7]`)

// plain returns a text with each escape as one character.
func plain(name string) string { return octal.ReplaceAllString(name, "?") }

// shape checks TTL and values (API Reference, API_ResourceRecordSet).
func shape(r *RecordSet) string {
	switch {
	case r.AliasTarget != nil && (r.TTL != nil || len(r.ResourceRecords) > 0):
		return fmt.Sprintf("Invalid request: Expected exactly one of [AliasTarget, all of [TTL, and ResourceRecords], or TrafficPolicyInstanceId], but found more than one in Change with [Action=CREATE, Name=%s, Type=%s]", r.Name, r.Type)
	case r.AliasTarget != nil:
		return ""
	case r.TTL == nil || *r.TTL < 0 || *r.TTL > maxTTL || len(r.ResourceRecords) == 0:
		return fmt.Sprintf("Invalid request: Missing field 'TTL' or 'ResourceRecords' in Change with [Action=CREATE, Name=%s, Type=%s]", r.Name, r.Type)
	case len(r.ResourceRecords) > setValues:
		return fmt.Sprintf("Resource record set %v contains more than %d records", r.key(), setValues)
	case r.Type == "CNAME" && len(r.ResourceRecords) > 1:
		return fmt.Sprintf("RRSet of type CNAME with DNS name %s has more than one value", r.Name)
	}
	seen := map[string]bool{}
	for _, v := range r.ResourceRecords {
		if seen[v.Value] {
			return fmt.Sprintf("Duplicate Resource Record: '%s'", v.Value)
		}
		seen[v.Value] = true
		if problem := value(r.Type, v.Value); problem != "" {
			// Route 53 doesn't name the record set here.
			return fmt.Sprintf("Invalid Resource Record: 'FATAL problem: %s encountered with '%s''", problem, v.Value)
		}
	}
	return ""
}

// value checks one value (Developer Guide, ResourceRecordTypes).
func value(recordType, v string) string {
	fields := strings.Fields(v)
	switch recordType {
	case "A", "AAAA":
		if addr, err := netip.ParseAddr(v); err != nil || addr.Zone() != "" || addr.Is4() != (recordType == "A") {
			return recordType + "RRDATAIllegalAddress (Value is not a valid address)"
		}
	case "CNAME", "NS", "PTR":
		if len(fields) != 1 || !isName(v) {
			return recordType + "RRDATANotASingleField (Value is not a domain name)"
		}
	case "MX":
		if len(fields) != 2 || !isNumber(fields[0]) || !isName(fields[1]) {
			return "MXRRDATANotTwoFields (Value must be a priority and a domain name)"
		}
	case "SRV":
		if len(fields) != 4 || !isNumber(fields[0]) || !isNumber(fields[1]) || !isNumber(fields[2]) || !isName(fields[3]) {
			return "SRVRRDATANotFourFields (Value must be three numbers and a domain name)"
		}
	case "NAPTR":
		if len(fields) < 6 || !isNumber(fields[0]) || !isNumber(fields[1]) {
			return "NAPTRRRDATANotSixFields (Value must be six fields)"
		}
	case "TXT", "SPF":
		return text(v)
	}
	return ""
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

func isName(s string) bool {
	if s == "." {
		return true
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(s, "."), ".") {
		if l := len(plain(label)); l == 0 || l > 63 {
			return false
		}
	}
	return true
}

// character matches one character of a quoted string: an octal escape, an escaped character, or one that
// needs no escape.
var character = regexp.MustCompile(`^(?:\\[0-3][0-7][0-7]|\\["\\]|[^"\\\x00-\x1f\x7f-\x{10ffff}])`)

// text checks a list of quoted strings.
func text(v string) string {
	if len(v) > maxText {
		return "TXTRDATATooLong (Value is longer than 4000 characters)"
	}
	for rest := v; ; {
		if !strings.HasPrefix(rest, `"`) {
			return "InvalidCharacterString (Value should be enclosed in quotation marks)"
		}
		rest = rest[1:]
		length := 0
		for !strings.HasPrefix(rest, `"`) {
			c := character.FindString(rest)
			if c == "" {
				return "InvalidCharacterString (a character has to be escaped, or the string has no end)"
			}
			rest = rest[len(c):]
			length++
		}
		if length > maxString {
			return "CharacterStringTooLong (Value is too long)"
		}
		if rest = rest[1:]; rest == "" {
			return ""
		}
		rest = strings.TrimLeft(rest, " ")
	}
}

// alias checks the target of an alias (Developer Guide,
// resource-record-sets-choosing-alias-non-alias; API Reference, API_AliasTarget).
func (s *Server) alias(z *zone, next map[key]*RecordSet, r *RecordSet) string {
	a := r.AliasTarget
	if a == nil {
		return ""
	}
	complaint := fmt.Sprintf("Tried to create an alias that targets %s, type %s in zone %s, but ", a.DNSName, r.Type, a.HostedZoneID)
	target := s.find(a.HostedZoneID)
	switch {
	case r.Type == "NS" || r.Type == "SOA":
		return complaint + "an alias can't have this type"
	case target == nil && !ownedByAWS(a.DNSName):
		return complaint + "the alias target name does not lie within the target zone"
	case target == nil:
		return ""
	case target != z:
		return complaint + "the alias target is in another zone"
	case !within(a.DNSName, z.Name):
		return complaint + "the alias target name does not lie within the target zone"
	}
	for k := range next {
		if k.name == a.DNSName && k.recordType == r.Type && (k.name != r.Name || k.recordType != r.Type) {
			return ""
		}
	}
	return complaint + "that target was not found"
}

func ownedByAWS(name string) bool {
	for _, suffix := range []string{".amazonaws.com.", ".amazonaws.com.cn.", ".cloudfront.net.", ".awsglobalaccelerator.com."} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// orphans returns errors for aliases that lose their target.
func orphans(z *zone, next map[key]*RecordSet, gone RecordSet) []string {
	for k := range next {
		if k.name == gone.Name && k.recordType == gone.Type {
			return nil
		}
	}
	var messages []string
	for k, r := range next {
		if a := r.AliasTarget; a != nil && a.HostedZoneID == z.ID && a.DNSName == gone.Name && k.recordType == gone.Type {
			messages = append(messages, fmt.Sprintf("Tried to delete resource record set %v but it is the target of the alias %v", gone.key(), k))
		}
	}
	return messages
}

// beside checks the other record sets of the name: a CNAME is alone (RFC 1034, 3.6.2).
func beside(z *zone, others []*RecordSet, r *RecordSet) string {
	for _, o := range others {
		if o.Type != r.Type && (o.Type == "CNAME" || r.Type == "CNAME") {
			return fmt.Sprintf("RRSet of type %s with DNS name %s is not permitted as it conflicts with other records with the same DNS name in zone %s", r.Type, r.Name, z.Name)
		}
	}
	return ""
}

// routing checks that a set identifier comes with exactly one policy, and that all record sets of a name and
// type have the same policy (API Reference, API_ResourceRecordSet).
func routing(others []*RecordSet, r *RecordSet) string {
	policy := r.policy()
	about := fmt.Sprintf("RRSet with DNS name %s, type %s, SetIdentifier %s", r.Name, r.Type, r.SetIdentifier)
	switch {
	case (policy == "") != (r.SetIdentifier == "") || strings.Contains(policy, " and "):
		return about + " must have a SetIdentifier and exactly one of Weight, Region, Failover, MultiValueAnswer, GeoLocation, GeoProximityLocation and CidrRoutingConfig"
	case len(r.SetIdentifier) > 128:
		return about + " has a SetIdentifier of more than 128 characters"
	case r.Weight != nil && (*r.Weight < 0 || *r.Weight > maxWeight):
		return about + " has a weight that is not from 0 to 255"
	case r.MultiValueAnswer != nil && (r.AliasTarget != nil || r.Type == "CNAME" || r.Type == "NS" || len(r.ResourceRecords) > 1):
		return about + " can't be a multivalue answer record set"
	case r.Failover != "" && r.Failover != "PRIMARY" && r.Failover != "SECONDARY":
		return about + " has an unknown Failover"
	}
	for _, o := range others {
		if o.Type == r.Type && o.policy() != policy {
			return about + " cannot be created as other RRSets exist with the same name and type, and another routing policy"
		}
		if o != r && o.Type == r.Type && r.Failover != "" && o.Failover == r.Failover {
			return about + " cannot be created as there is another " + r.Failover + " RRSet with the same name and type"
		}
	}
	return ""
}
