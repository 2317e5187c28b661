package pdns

import (
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// textContent returns a TXT target as PowerDNS takes it: quoted strings of at most 255
// bytes each.
func textContent(target string) string {
	var quoted []string
	for _, s := range textStrings(target) {
		for _, part := range dns.SplitString(s) {
			quoted = append(quoted, dns.QuoteString(part))
		}
	}
	return strings.Join(quoted, " ")
}

// textTarget returns the one form of the content of a TXT record by which it is known.
// What was split for its length only is one string again: some backends of PowerDNS split
// by themselves.
func textTarget(content string) string {
	var quoted []string
	for _, s := range textStrings(content) {
		quoted = append(quoted, dns.QuoteString(s))
	}
	return strings.Join(quoted, " ")
}

// textStrings returns the strings that a text consists of: those in quotes, or else all of
// it. A string that has a multiple of 255 bytes goes on with the next one.
func textStrings(text string) []string {
	words, err := dns.Words(strings.TrimSpace(text))
	if err != nil || len(words) == 0 || slices.ContainsFunc(words, func(w dns.Word) bool { return !w.Quoted }) {
		return []string{text}
	}
	joined := []string{words[0].Text}
	size := len(words[0].Text)
	for _, w := range words[1:] {
		// size is that of the last piece: a piece that isn't full ends its string.
		if size == dns.MaxString {
			joined[len(joined)-1] += w.Text
		} else {
			joined = append(joined, w.Text)
		}
		size = len(w.Text)
	}
	return joined
}
