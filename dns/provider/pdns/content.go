package pdns

import (
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

// typeAlias is PowerDNS' own type for a name that the server resolves.
const typeAlias = "ALIAS"

// typeLUA is PowerDNS' own type for records whose content is a type and code that computes the answer.
const typeLUA = "LUA"

// content returns a normalised target in the form that PowerDNS accepts and prints. Names end with
// a dot.
func content(recordType, target string) string {
	switch recordType {
	case dns.TypeCNAME, dns.TypeDNAME, dns.TypeNS, dns.TypePTR, typeAlias:
		return provider.Absolute(target)
	case dns.TypeMX, dns.TypeSRV:
		fields := strings.Fields(target)
		if len(fields) == 0 {
			return target
		}
		last := len(fields) - 1
		fields[last] = provider.Absolute(fields[last])
		return strings.Join(fields, " ")
	case dns.TypeTXT:
		return dns.QuoteText(target)
	}
	return target
}

// normal returns a record set as it is listed, or r itself if that is equal.
func normal(r *dns.RecordSet) *dns.RecordSet {
	n := r.Normal()
	var one func(string) string
	switch n.Type {
	case dns.TypeTXT:
		one = textTarget
	case dns.TypeMX, dns.TypeSRV:
		one = func(t string) string { return strings.Join(strings.Fields(t), " ") }
	default:
		return n
	}
	targets := make([]string, len(n.Targets))
	for i, t := range n.Targets {
		targets[i] = one(t)
	}
	if slices.Equal(targets, n.Targets) {
		return n
	}
	c := *n
	c.Targets = targets
	return &c
}
