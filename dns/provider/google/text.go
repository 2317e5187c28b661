package google

import (
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// wireText returns a TXT target as Cloud DNS accepts it: quoted strings of at most 255 bytes. A
// target that isn't a list of quoted strings is one string.
func wireText(target string) string {
	words, err := dns.Words(strings.TrimSpace(target))
	if err != nil || len(words) == 0 || slices.ContainsFunc(words, func(w dns.Word) bool { return !w.Quoted }) {
		words = []dns.Word{{Text: target}}
	}
	var quoted []string
	for _, w := range words {
		for _, part := range dns.SplitString(w.Text) {
			quoted = append(quoted, dns.QuoteString(part))
		}
	}
	return strings.Join(quoted, " ")
}

// listedText returns a value of a TXT record set as a target: a list of quoted strings. In Cloud
// DNS, words without quotes are strings, too. Strings that were only split for their length are
// joined again. A value that is no list of strings stays as it is.
func listedText(value string) string {
	words, err := dns.Words(strings.TrimSpace(value))
	if err != nil || len(words) == 0 {
		return value
	}
	joined := []string{words[0].Text}
	size := len(words[0].Text)
	for _, w := range words[1:] {
		// Size is that of the last part. One that isn't full ends its string.
		if size == dns.MaxString {
			joined[len(joined)-1] += w.Text
		} else {
			joined = append(joined, w.Text)
		}
		size = len(w.Text)
	}
	for i, text := range joined {
		joined[i] = dns.QuoteString(text)
	}
	return strings.Join(joined, " ")
}
