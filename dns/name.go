package dns

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Maximum lengths of a name and of a label, in bytes. A name is measured without its final dot (RFC
// 1035, 2.3.4).
const (
	MaxName  = 253
	MaxLabel = 63
)

// acePrefix is the prefix of an internationalised label in its ASCII form (RFC 5890, 2.3.2.1).
const acePrefix = "xn--"

// lookup is the IDNA profile of spec/dns.md §1.10. It accepts underscores and asterisks.
var lookup = idna.New(idna.MapForLookup(), idna.Transitional(true), idna.StrictDomainName(false))

// ToASCII returns a name with its internationalised labels in ASCII form, as in queries
// (spec/dns.md §1.10). It fails for a name without such a form.
func ToASCII(name string) (string, error) { return lookup.ToASCII(name) }

// Canonical returns the canonical form of a name: lower case, internationalised labels in ASCII,
// without surrounding spaces and without a final dot (spec/dns.md §1.10). An invalid name is only
// converted to lower case; [CheckName] says what is wrong with it. If only a dot and spaces have to
// be removed, Canonical doesn't allocate.
func Canonical(name string) string {
	name = strings.TrimSpace(name)
	// Canonical must be idempotent.
	if cut := strings.TrimSuffix(name, "."); cut == "" || !endsInSpaceOrDot(cut) {
		name = cut
	}
	lower := true
	for i := range len(name) {
		switch c := name[i]; {
		case c >= utf8.RuneSelf:
			return canonicalIDN(name)
		case 'A' <= c && c <= 'Z':
			lower = false
		}
	}
	if lower {
		return name
	}
	return strings.ToLower(name)
}

// fullStops replaces the characters that IDNA treats as dots (UTS #46, 2.3).
var fullStops = strings.NewReplacer("。", ".", "．", ".", "｡", ".")

func canonicalIDN(name string) string {
	if !utf8.ValidString(name) {
		// IDNA would map all invalid bytes to one character, so that different names became equal.
		return lowerASCII(name)
	}
	if ascii, err := ToASCII(name); err == nil {
		return strings.TrimSuffix(ascii, ".")
	}
	// A label that can't be converted must not prevent the conversion of others.
	labels := strings.Split(strings.TrimSuffix(fullStops.Replace(name), "."), ".")
	for i, label := range labels {
		labels[i] = strings.ToLower(label)
		if isASCII(label) {
			continue
		}
		if ascii, err := ToASCII(label); err == nil {
			labels[i] = ascii
		}
	}
	return strings.Join(labels, ".")
}

func endsInSpaceOrDot(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r == '.' || unicode.IsSpace(r)
}

// lowerASCII converts the letters A to Z to lower case and keeps all other bytes.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Unicode returns the form of a name for users: canonical, with internationalised labels in
// Unicode. If its Unicode form isn't converted back to the same label, a label stays in ASCII.
func Unicode(name string) string {
	name = Canonical(name)
	if !strings.Contains(name, acePrefix) {
		return name
	}
	labels := strings.Split(name, ".")
	for i, label := range labels {
		if !strings.HasPrefix(label, acePrefix) {
			continue
		}
		if letters, err := lookup.ToUnicode(label); err == nil && Canonical(letters) == label {
			labels[i] = letters
		}
	}
	return strings.Join(labels, ".")
}

// CheckName returns an error, without the name, unless a canonical name can be published: labels of
// 1 to [MaxLabel] bytes, at most [MaxName] bytes in all, and only printable ASCII characters that
// need no escape in a zone file.
func CheckName(name string) error { return CheckNameWith(name, "") }

// EscapedCharacters are the printable ASCII characters that need an escape in a zone file (RFC 1035, 5.1).
const EscapedCharacters = `"$();@\,`

// CheckNameWith is [CheckName] for a provider that also supports some of [EscapedCharacters].
func CheckNameWith(name, characters string) error {
	if err := checkLengths(name); err != nil {
		return err
	}
	for _, c := range name {
		if !inName(c) && !(strings.ContainsRune(EscapedCharacters, c) && strings.ContainsRune(characters, c)) {
			return fmt.Errorf("the character %q can't be in a name", c)
		}
	}
	return nil
}

// CanBeName reports whether a zone can have a name: its labels are neither empty nor too long. Any
// characters are allowed.
func CanBeName(name string) bool { return checkLengths(name) == nil }

func checkLengths(name string) error {
	if name == "" {
		return errors.New("empty: give a domain name")
	}
	if len(name) > MaxName {
		return fmt.Errorf("%d bytes long: a name may have %d", len(name), MaxName)
	}
	for label := range strings.SplitSeq(name, ".") {
		switch {
		case label == "":
			return errors.New("a label is empty: remove the dot beside it")
		case len(label) > MaxLabel:
			return fmt.Errorf("the label %q is %d bytes long: a label may have %d", label, len(label), MaxLabel)
		}
	}
	return nil
}

// inName reports whether a name can have a character without an escape (RFC 1035, 5.1).
func inName(c rune) bool {
	return c > ' ' && c < 0x7f && !strings.ContainsRune(EscapedCharacters, c)
}

// ParentDomain returns a name without its first label. A name with at most two labels is returned
// unchanged.
func ParentDomain(name string) string {
	_, parent, _ := strings.Cut(name, ".")
	if !strings.Contains(parent, ".") {
		return name
	}
	return parent
}
