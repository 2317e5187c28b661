package rfc2136

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// A TXT record is a list of character-strings of at most 255 octets (RFC 1035 3.3.14). Most lists
// are one text that was split for its length; the target is then the whole text in quotes. For any
// other list, the target has each string in quotes, because the exact form is needed to delete it.

// textStrings returns the character-strings of a target: those of its quoted texts, or of the whole
// target if it isn't quoted.
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

// textTarget returns the target for a list of character-strings.
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
