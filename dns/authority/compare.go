package authority

import (
	"net/netip"
	"slices"
	"strings"

	mdns "github.com/miekg/dns"

	"github.com/signpostd/signpost/dns"
)

// Same reports whether a server returns exactly the targets that should be published.
func Same(recordType string, published, returned []string) bool {
	return slices.Equal(normal(recordType, published), normal(recordType, returned))
}

// normal returns targets in canonical form, sorted and without duplicates.
func normal(recordType string, targets []string) []string {
	forms := make([]string, 0, len(targets))
	for _, t := range targets {
		forms = append(forms, form(recordType, t))
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

func form(recordType, target string) string {
	switch recordType {
	case dns.TypeA, dns.TypeAAAA:
		if address, err := netip.ParseAddr(strings.TrimSpace(target)); err == nil {
			return address.String()
		}
		return target
	case dns.TypeTXT:
		return text(target)
	}
	return strings.TrimSuffix(strings.ToLower(strings.Join(strings.Fields(target), " ")), ".")
}

// text returns the bytes of a TXT target, which is written as quoted character-strings or without
// quotes.
func text(target string) string {
	if !strings.HasPrefix(target, `"`) {
		return target
	}
	rr, err := mdns.NewRR(". 0 IN TXT " + target)
	txt, ok := rr.(*mdns.TXT)
	if err != nil || !ok {
		return target
	}
	return strings.Join(txt.Txt, "")
}
