package pdns

import (
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// textContent returns a TXT target as PowerDNS accepts it: quoted strings of at most 255 bytes
// each.
func textContent(target string) string {
	var quoted []string
	for _, s := range textStrings(target) {
		for _, part := range dns.SplitString(s) {
			quoted = append(quoted, dns.QuoteString(part))
		}
	}
	return strings.Join(quoted, " ")
}

// textTarget returns the content of a TXT record in the form in which it is listed. Strings
// that were only split for their length are joined again, because some backends of PowerDNS
// split them too.
func textTarget(content string) string {
	var quoted []string
	for _, s := range textStrings(content) {
		quoted = append(quoted, dns.QuoteString(s))
	}
	return strings.Join(quoted, " ")
}

// textStrings returns the strings of a text: those in quotes, or the whole text if it isn't a
// list of quoted strings. A string of a multiple of 255 bytes continues with the next one.
func textStrings(text string) []string {
	words, err := dns.Words(strings.TrimSpace(text))
	if err != nil || len(words) == 0 || slices.ContainsFunc(words, func(w dns.Word) bool { return !w.Quoted }) {
		return []string{text}
	}
	joined := []string{words[0].Text}
	size := len(words[0].Text)
	for _, w := range words[1:] {
		// size is the size of the last piece. A piece that isn't full ends its string.
		if size == dns.MaxString {
			joined[len(joined)-1] += w.Text
		} else {
			joined = append(joined, w.Text)
		}
		size = len(w.Text)
	}
	return joined
}
