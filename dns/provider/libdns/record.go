package libdns

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	lib "github.com/libdns/libdns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
)

// defaultTTL is the default TTL in seconds.
const defaultTTL = 300

// normal returns the listed form of a record set. Each text is one quoted string, because libdns
// has no others.
func normal(r *dns.RecordSet) *dns.RecordSet {
	n := r.Normal().Clone()
	for i, t := range n.Targets {
		switch n.Type {
		case dns.TypeTXT:
			n.Targets[i] = dns.QuoteString(textOf(t))
		case dns.TypeMX, dns.TypeSRV:
			n.Targets[i] = strings.ToLower(strings.Join(strings.Fields(t), " "))
		}
	}
	n.Targets = dns.UniqueSorted(n.Targets)
	return n
}

// textOf returns the text of a TXT target: its joined strings, or the target itself if it isn't a
// list of quoted strings.
func textOf(target string) string {
	if texts, ok := dns.QuotedTexts(target); ok {
		return strings.Join(texts, "")
	}
	return target
}

// relative returns the name of a record set in libdns' form.
func relative(name, zone string) string {
	if name == zone {
		return "@"
	}
	return strings.TrimSuffix(name, "."+zone)
}

// absolute returns the canonical name of a module's record.
func absolute(name, zone string) string {
	switch {
	case name == "" || name == "@":
		return zone
	case strings.HasSuffix(name, "."):
		return dns.Canonical(name)
	default:
		return dns.Canonical(name + "." + zone)
	}
}

// records returns the module's records for a record set in normal form.
func (a *adapter) records(zone dns.Zone, r *dns.RecordSet, targets []string) ([]lib.Record, error) {
	list := make([]lib.Record, 0, len(targets))
	for _, target := range targets {
		rr := lib.RR{
			Name: relative(r.Name, zone.Name), Type: r.Type,
			TTL: time.Duration(cmp.Or(r.TTL, defaultTTL)) * time.Second, Data: a.data(r.Type, target),
		}
		record, err := rr.Parse()
		if err != nil {
			return nil, fmt.Errorf("%w: libdns doesn't accept %s %s %q: %w", provider.ErrRejected, r.Name, r.Type, target, err)
		}
		list = append(list, record)
	}
	return list, nil
}

// data returns a target in the module's form.
func (a *adapter) data(recordType, target string) string {
	switch recordType {
	case dns.TypeTXT:
		if a.module.Texts == module.PlainTexts {
			return textOf(target)
		}
		var quoted []string
		for _, part := range dns.SplitString(textOf(target)) {
			quoted = append(quoted, dns.QuoteString(part))
		}
		return strings.Join(quoted, " ")
	case dns.TypeCNAME, dns.TypeDNAME, dns.TypeNS, dns.TypePTR, dns.TypeMX, dns.TypeSRV:
		target = strings.TrimSuffix(target, ".")
		if a.module.Hosts == module.DottedHosts || target == "" || strings.HasSuffix(target, " ") {
			target += "."
		}
	}
	return target
}

// target returns the data of a module's record as a target.
func (a *adapter) target(rr lib.RR) string {
	switch rr.Type {
	case dns.TypeTXT:
		if a.module.Texts == module.PlainTexts {
			return dns.QuoteString(rr.Data)
		}
		return `"` + rr.Data + `"`
	case dns.TypeSRV:
		return provider.Absolute(rr.Data)
	}
	return rr.Data
}

// refused returns why the module doesn't support a record set in normal form, or nil.
func (a *adapter) refused(zone dns.Zone, r *dns.RecordSet) error {
	if !slices.Contains(a.module.Types, r.Type) {
		return fmt.Errorf("%w: the libdns module %s isn't known to have records of the type %s; it has %s",
			provider.ErrRejected, a.module.Name, r.Type, strings.Join(a.module.Types, ", "))
	}
	if err := r.Check(); err != nil {
		return fmt.Errorf("%w: %w", provider.ErrRejected, err)
	}
	if r.Type == dns.TypeCNAME && (r.Name == zone.Name || len(r.Targets) > 1) {
		return fmt.Errorf("%w: %s: a CNAME has one target, and isn't at the apex of a zone", provider.ErrRejected, r.Name)
	}
	if r.Type == dns.TypeSRV && !serviceName(relative(r.Name, zone.Name)) {
		return fmt.Errorf("%w: %s: libdns has SRV records only at names that begin with _service._protocol", provider.ErrRejected, r.Name)
	}
	if r.Type != dns.TypeTXT {
		return nil
	}
	for _, t := range r.Targets {
		if text := textOf(t); a.module.Texts == module.QuotedTexts && strings.Trim(text, `"`) != text {
			return fmt.Errorf("%w: %s: the libdns module %s loses quotes at the ends of texts: %s", provider.ErrRejected, r.Name, a.module.Name, t)
		}
	}
	return nil
}

// serviceName reports whether a name begins with a service and a protocol (RFC 2782). libdns has
// them as separate fields without underscores.
func serviceName(name string) bool {
	labels := strings.SplitN(name, ".", 3)
	return len(labels) > 1 && strings.HasPrefix(labels[0], "_") && strings.HasPrefix(labels[1], "_")
}
