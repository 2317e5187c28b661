package provider

import (
	"strings"

	"github.com/signpostd/signpost/dns"
)

// Absolute returns a name with a dot at its end.
func Absolute(name string) string { return strings.TrimSuffix(name, ".") + "." }

// ListedValue returns the value of a record at a server as a target. text converts the value of a TXT record.
// Names in SRV and NAPTR records end with a dot, and those in other records don't.
func ListedValue(recordType, value string, text func(string) string) string {
	switch recordType {
	case dns.TypeTXT:
		return text(value)
	case dns.TypeSRV:
		return Absolute(strings.Join(strings.Fields(value), " "))
	case dns.TypeNAPTR:
		return Absolute(strings.TrimSpace(value))
	case dns.TypeMX:
		return strings.Join(strings.Fields(value), " ")
	}
	return value
}

// WireValue returns a target as the value of a record at a server, in which all names end with a dot. text
// converts the target of a TXT record.
func WireValue(recordType, target string, text func(string) string) string {
	switch recordType {
	case dns.TypeTXT:
		return text(target)
	case dns.TypeA, dns.TypeAAAA:
		return target
	case dns.TypeNAPTR:
		return Absolute(strings.TrimSpace(target))
	}
	return Absolute(strings.Join(strings.Fields(target), " "))
}
