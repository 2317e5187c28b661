package google

import (
	"strings"

	"github.com/signpostd/signpost/dns"
)

// listedText returns the value of a TXT record as a target. In Cloud DNS, words without quotes are strings,
// too. Strings that were only split because of their length are joined. A value that isn't a list of strings
// stays unchanged.
func listedText(value string) string {
	words, err := dns.Words(strings.TrimSpace(value))
	if err != nil || len(words) == 0 {
		return value
	}
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = w.Text
	}
	return dns.TextTarget(parts)
}
