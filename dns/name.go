package dns

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// The lengths that a name and a label of it may have, in bytes, the name without a dot at
// its end (RFC 1035, 2.3.4).
const (
	MaxName  = 253
	MaxLabel = 63
)

// acePrefix begins a label that stands for an internationalised one (RFC 5890, 2.3.2.1).
const acePrefix = "xn--"

// lookup is the profile of spec/dns.md §1.10. Underscores and asterisks pass.
var lookup = idna.New(idna.MapForLookup(), idna.Transitional(true), idna.StrictDomainName(false))

// ToASCII returns a name with its internationalised labels in their ASCII form, in which they
// are looked up (spec/dns.md §1.10). It fails for a name that has no such form.
func ToASCII(name string) (string, error) { return lookup.ToASCII(name) }

// Canonical returns the form of a name in which two spellings of it are equal: in lower
// case, internationalised labels in their ASCII form, without spaces around it and
// without a dot at its end (spec/dns.md §1.10). What isn't a valid name stays as it is, in
// lower case; [CheckName] says what is wrong with it. It allocates nothing for a name that
// is canonical but for a dot and spaces.
func Canonical(name string) string {
	name = strings.TrimSpace(name)
	// What is left without its dot has to be a form that stays as it is.
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

// fullStops has what IDNA takes for a dot (UTS #46, 2.3).
var fullStops = strings.NewReplacer("。", ".", "．", ".", "｡", ".")

func canonicalIDN(name string) string {
	if !utf8.ValidString(name) {
		// The tables of IDNA would take each wrong byte for the same character.
		return lowerASCII(name)
	}
	if ascii, err := ToASCII(name); err == nil {
		return strings.TrimSuffix(ascii, ".")
	}
	// One label that can't be converted must not cost the others their form.
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

// lowerASCII changes no other byte than capital letters.
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

// Unicode returns a name as people write it: canonical, but with internationalised labels in
// letters. Labels whose letters would not lead back to the same name stay in ASCII.
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

// CheckName returns an error unless a name, in the form that [Canonical] returns, can be
// published: it has labels of 1 to [MaxLabel] bytes, [MaxName] in all, of the printable
// ASCII characters that mean themselves in a zone file. The error says what is wrong, but
// not with which name.
func CheckName(name string) error {
	if name == "" {
		return errors.New("empty, where a domain name has to be")
	}
	if len(name) > MaxName {
		return fmt.Errorf("%d bytes long: a name may have %d", len(name), MaxName)
	}
	for label := range strings.SplitSeq(name, ".") {
		switch {
		case label == "":
			return errors.New("a label is empty: there must be something before, between and after dots")
		case len(label) > MaxLabel:
			return fmt.Errorf("the label %q is %d bytes long: a label may have %d", label, len(label), MaxLabel)
		}
	}
	for _, c := range name {
		if !inName(c) {
			return fmt.Errorf("the character %q can't be in a name", c)
		}
	}
	return nil
}

// inName reports whether a character can be in a name without an escape (RFC 1035, 5.1).
func inName(c rune) bool {
	return c > ' ' && c < 0x7f && !strings.ContainsRune(`"$();@\,`, c)
}

// ParentDomain returns a name without its first label; a name of two labels or fewer is
// its own parent.
func ParentDomain(name string) string {
	_, parent, _ := strings.Cut(name, ".")
	if !strings.Contains(parent, ".") {
		return name
	}
	return parent
}
