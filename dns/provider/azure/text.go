package azure

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/signpostd/signpost/dns"
)

// maxText limits the text of a TXT record in bytes (spec/clouds.md §4.8).
const maxText = 4096

// ownershipPrefix begins the text of an unencrypted ownership record.
const ownershipPrefix = `"heritage=`

// wireText returns the TXT record of a target. The quotes of its strings are removed, because they are no
// part of the text for a DNS client. Ownership records keep their quotes, as with ExternalDNS, which sends
// every target unchanged.
func wireText(r *dns.RecordSet, target string) (record, error) {
	texts := []string{target}
	if !keepsQuotes(r, target) {
		texts = unquoted(target)
	}
	var v record
	size := 0
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return record{}, fmt.Errorf("%q: the API of Azure only takes texts in UTF-8", target)
		}
		size += len(text)
		v.strings = append(v.strings, split(text)...)
	}
	if size > maxText {
		return record{}, fmt.Errorf("the text has %d bytes, and a TXT record of Azure has %d or fewer", size, maxText)
	}
	return v, nil
}

func keepsQuotes(r *dns.RecordSet, target string) bool {
	return strings.HasPrefix(target, ownershipPrefix) || r.IsOwnershipRecord() && verbatim(target)
}

// verbatim reports whether a text is itself a quoted string.
func verbatim(text string) bool {
	words, err := dns.Words(text)
	return err == nil && len(words) == 1 && words[0].Quoted && words[0].Raw == text
}

// unquoted returns the strings of a target. A target that isn't a list of quoted strings is one string.
func unquoted(target string) []string {
	if texts, ok := dns.QuotedTexts(target); ok {
		return texts
	}
	return []string{target}
}

// split splits a text into strings of at most 255 bytes, and never within a character.
func split(text string) []string {
	var parts []string
	for len(text) > dns.MaxString {
		end := dns.MaxString
		for !utf8.RuneStart(text[end]) {
			end--
		}
		parts, text = append(parts, text[:end]), text[end:]
	}
	return append(parts, text)
}

// listedText returns the strings of a TXT record as a target. Strings that were only split because of their
// length are joined.
func listedText(parts []string) string {
	var joined []string
	before := 0
	for i, part := range parts {
		_, next := utf8.DecodeRuneInString(part)
		// If the first character of this part doesn't fit into the part before, the text was split there.
		if i > 0 && before+next > dns.MaxString {
			joined[len(joined)-1] += part
		} else {
			joined = append(joined, part)
		}
		before = len(part)
	}
	if len(joined) == 1 && verbatim(joined[0]) {
		return joined[0]
	}
	quoted := make([]string, len(joined))
	for i, text := range joined {
		quoted[i] = dns.QuoteString(text)
	}
	return strings.Join(quoted, " ")
}
