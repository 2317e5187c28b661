package rfc2136

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// A TXT record is a list of character-strings of at most 255 octets (RFC 1035 3.3.14).
// Most are one text that was cut because it is longer, so a target is the whole text in
// quotes. A list that was cut otherwise is one quoted text for each string; then a target
// says exactly what is in the zone, and can be deleted.

// textStrings returns the character-strings of a target: of its quoted texts, or else of the
// target as it is.
func textStrings(target string) ([]string, error) {
	if !strings.HasPrefix(target, `"`) {
		return dns.SplitString(target), nil
	}
	words, err := dns.Words(target)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, w := range words {
		if !w.Quoted {
			return nil, fmt.Errorf("%q has something outside of quotes", target)
		}
		all = append(all, dns.SplitString(w.Text)...)
	}
	return all, nil
}

// textTarget returns the target for character-strings.
func textTarget(all []string) string {
	whole := strings.Join(all, "")
	if slices.Equal(dns.SplitString(whole), all) {
		return dns.QuoteString(whole)
	}
	quoted := make([]string, len(all))
	for i, s := range all {
		quoted[i] = dns.QuoteString(s)
	}
	return strings.Join(quoted, " ")
}
