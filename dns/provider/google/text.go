package google

import (
	"strings"

	"github.com/signpostd/signpost/dns"
)

// listedText returns a value of a TXT record set as a target: a list of quoted strings. In Cloud
// DNS, words without quotes are strings, too. Strings that were only split for their length are
// joined again. A value that is no list of strings stays as it is.
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
