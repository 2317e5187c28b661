package azure

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/signpostd/signpost/dns"
)

// mostText is the most bytes of a TXT record (spec/clouds.md §4.8).
const mostText = 4096

// ownership begins the texts that say who owns a record set, if they aren't encrypted.
const ownership = `"heritage=`

// wireText returns a TXT record. ExternalDNS sends a target as it is, also the quotes around it.
// For texts that mean something to a DNS client that is wrong, so a target is sent without the
// quotes of its strings. The texts of ownership keep them, so that both programs write the same.
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
	if size > mostText {
		return record{}, fmt.Errorf("the text has %d bytes, and a TXT record of Azure has %d or fewer", size, mostText)
	}
	return v, nil
}

func keepsQuotes(r *dns.RecordSet, target string) bool {
	return strings.HasPrefix(target, ownership) || r.IsOwnershipRecord() && verbatim(target)
}

// verbatim reports whether a text looks like a quoted string itself.
func verbatim(text string) bool {
	words, err := dns.Words(text)
	return err == nil && len(words) == 1 && words[0].Quoted && words[0].Raw == text
}

// unquoted returns the texts of a target. One that isn't a list of quoted strings is the text
// itself.
func unquoted(target string) []string {
	if texts, ok := dns.QuotedTexts(target); ok {
		return texts
	}
	return []string{target}
}

// split cuts a text into strings of at most 255 bytes, none of which ends within a character.
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

// listedText returns the strings of a TXT record as a target. Strings that were only cut for
// their length are joined again.
func listedText(parts []string) string {
	var joined []string
	before := 0
	for i, part := range parts {
		_, next := utf8.DecodeRuneInString(part)
		// Before is the size of the part before. If the next character has no room in it, it was
		// cut there.
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
