package dns

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// InvalidError is the error for a record set that can't be published.
type InvalidError struct {
	// Name and Type are those of the record set.
	Name, Type string
	// Subject is the faulty part: "name", "type", "targets", "target" or "property alias".
	Subject string
	// Value is the faulty value.
	Value string
	// Reason says what is wrong with it.
	Reason string
}

// Error implements error.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("invalid %s record set %q: %s %q: %s", e.Type, e.Name, e.Subject, e.Value, e.Reason)
}

// Check returns an [InvalidError] for the first fault of a record set in the form of
// [RecordSet.Normal]: a bad name, no targets, or a target that doesn't fit the type. It returns nil
// if the record set can be published (spec/dns.md §1.9, §17).
func (r *RecordSet) Check() error { return r.CheckWith("") }

// CheckWith is Check for a provider that also supports some of [EscapedCharacters] in names.
func (r *RecordSet) CheckWith(characters string) error {
	if err := CheckNameWith(r.Name, characters); err != nil {
		return r.invalid("name", r.Name, err.Error())
	}
	if reason := mistakenName(r.Name); reason != "" {
		return r.invalid("name", r.Name, reason)
	}
	if r.Type == "" {
		return r.invalid("type", r.Type, "empty: say A, AAAA, CNAME or another one")
	}
	if alias, ok := r.Property(PropertyAlias); ok && !slices.Contains([]string{TypeA, TypeAAAA, TypeCNAME}, r.Type) {
		return r.invalid("property alias", alias, "only record sets of the types A, AAAA and CNAME can be aliases")
	}
	if r.Type == TypePTR && !IsReverseName(r.Name) {
		return r.invalid("name", r.Name, "the name of a PTR record set ends with ."+reverse4+" or ."+reverse6)
	}
	if len(r.Targets) == 0 {
		return r.invalid("targets", "", "there are none, and no default targets are configured")
	}
	for _, target := range r.Targets {
		if reason := r.checkTarget(target); reason != "" {
			return r.invalid("target", target, reason)
		}
	}
	return nil
}

func (r *RecordSet) invalid(subject, value, reason string) error {
	return &InvalidError{Name: r.Name, Type: r.Type, Subject: subject, Value: value, Reason: reason}
}

// checkTarget returns what is wrong with a target, or "".
func (r *RecordSet) checkTarget(target string) string {
	if strings.TrimSpace(target) == "" {
		return "empty"
	}
	switch r.Type {
	case TypeA, TypeAAAA:
		return r.checkAddress(target)
	case TypeMX:
		return checkFields(target, []string{"preference"})
	case TypeSRV:
		if !strings.HasSuffix(target, ".") {
			return "the host of an SRV record ends with a dot"
		}
		return checkFields(target, []string{"priority", "weight", "port"})
	case TypePTR:
		if _, err := netip.ParseAddr(target); err == nil {
			return "an IP address, but the target of a PTR record is a name"
		}
		return checkHost(target)
	case TypeCNAME, TypeDNAME, TypeNS:
		return checkHost(target)
	default:
		return ""
	}
}

func (r *RecordSet) checkAddress(target string) string {
	addr, err := netip.ParseAddr(target)
	switch {
	case err != nil && r.Alias().For(r.Type):
		return checkHost(target)
	case err == nil && addr.Zone() == "" && addr.Is4() == (r.Type == TypeA):
		return ""
	case r.Type == TypeA:
		return "not an IPv4 address, as an A record has"
	default:
		return "not an IPv6 address, as an AAAA record has"
	}
}

// checkFields checks a target that consists of 16-bit numbers and a host.
func checkFields(target string, numbers []string) string {
	fields := strings.Fields(target)
	if len(fields) != len(numbers)+1 {
		return fmt.Sprintf("it has %d fields, and must have %d: %s and host",
			len(fields), len(numbers)+1, strings.Join(numbers, ", "))
	}
	for i, number := range numbers {
		if _, err := strconv.ParseUint(fields[i], 10, 16); err != nil {
			return fmt.Sprintf("the %s is %q: it must be a number from 0 to 65535", number, fields[i])
		}
	}
	host := fields[len(numbers)]
	if host == "." {
		// The host "." says that there is no such service (RFC 2782, RFC 7505).
		return ""
	}
	return checkHost(host)
}

func checkHost(host string) string {
	if err := CheckName(strings.TrimSuffix(host, ".")); err != nil {
		return err.Error()
	}
	return mistakenHost(host)
}
