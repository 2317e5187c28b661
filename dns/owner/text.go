package owner

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/signpostd/signpost/dns"
)

// ErrHeritage is the error for a text that is not an ownership text.
var ErrHeritage = errors.New("the text is no ownership record: it has no heritage=external-dns, or another heritage")

const (
	heritageKey = "heritage"
	heritage    = "external-dns"
	labelPrefix = heritage + "/"
)

// FormatText returns the ownership text for labels, without quotes: the heritage, then each label
// by name (spec/dns.md §4.2.1). It leaves out labels that are never written, and those that
// wouldn't be read back unchanged ([dns.CheckLabel]).
func FormatText(labels map[string]string) string {
	var b strings.Builder
	b.WriteString(heritageKey + "=" + heritage)
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		value := labels[key]
		if transient(key) || !writable(key, value) {
			continue
		}
		b.WriteString("," + labelPrefix + key + "=" + value)
	}
	return b.String()
}

// transient reports whether a label is never written.
func transient(label string) bool {
	return label == dns.LabelOwnedRecord || label == dns.LabelDescription || label == dns.LabelNonce
}

// writable reports whether a label may be in a text. The owner ID was checked before
// ([checkOwner]), and may have letters of any language.
func writable(key, value string) bool {
	return key == dns.LabelOwner && !ambiguous(value) || dns.CheckLabel(key, value) == nil
}

// ambiguous reports whether a value has a character that ends it in an ownership text, or that
// servers present as an escape.
func ambiguous(value string) bool {
	return strings.ContainsAny(value, `,"\`) || strings.ContainsFunc(value, unicode.IsControl)
}

// ParseText returns the labels of an ownership text. It accepts quotes around the text or around
// parts of it. For any other text the error is [ErrHeritage].
func ParseText(text string) (map[string]string, error) {
	// Most TXT records of a zone may be no ownership records. This check doesn't allocate.
	if !strings.Contains(text, heritageKey+"="+heritage) {
		return nil, ErrHeritage
	}
	text = unquote(text)
	labels := make(map[string]string, strings.Count(text, ","))
	found := false
	for token := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(token, "=")
		switch {
		case !ok:
		case key == heritageKey && value != heritage:
			return nil, ErrHeritage
		case key == heritageKey:
			found = true
		case strings.HasPrefix(key, heritage):
			labels[strings.TrimPrefix(key, labelPrefix)] = value
		}
	}
	if !found {
		return nil, ErrHeritage
	}
	return labels, nil
}

// unquote removes the quotes of a text. A text of more than 255 octets consists of several strings
// (RFC 1035, 3.3.14), which are joined. Like ExternalDNS, it knows no escapes, because ownership
// texts need none.
func unquote(text string) string {
	return strings.ReplaceAll(strings.Trim(text, `"`), `" "`, "")
}

// quote returns a text as the target of a record set. [FormatText] writes no character that needs
// an escape.
func quote(text string) string { return `"` + text + `"` }
