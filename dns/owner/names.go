package owner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/signpostd/signpost/dns"
)

// typeToken stands for the type of a record set, in an affix.
const typeToken = "%{record_type}"

// typeWords are the types that the name of a marker may tell, in the order in which they
// are tried, and how it spells them.
var typeWords = [...]struct{ recordType, word string }{
	{dns.TypeA, "a"},
	{dns.TypeAAAA, "aaaa"},
	{dns.TypeCNAME, "cname"},
	{dns.TypeNS, "ns"},
	{dns.TypeMX, "mx"},
	{dns.TypePTR, "ptr"},
	{dns.TypeSRV, "srv"},
	{dns.TypeNAPTR, "naptr"},
	{dns.TypeTXT, "txt"},
	{dns.TypeDNAME, "dname"},
}

// subject is what the name of a marker says that it describes. The type is empty in the
// format that doesn't tell it.
type subject struct{ name, recordType string }

// pattern makes a marker's name of a record's: what comes before the first label, and
// what comes directly after it.
type pattern struct{ lead, trail string }

// names says how markers are called (spec/dns.md §4.2.3). All names are canonical.
type names struct {
	prefix, suffix, wildcard string
	// templated is true when an affix tells the type, so that nothing else has to.
	templated bool
	// current are the patterns of today's format for each type, typed those that are
	// read beside it when it is templated. untyped is that of ExternalDNS before v0.12.
	current, typed map[string]pattern
	untyped        pattern
}

func newNames(prefix, suffix, wildcard string) (*names, error) {
	if prefix != "" && suffix != "" {
		return nil, fmt.Errorf("TXT prefix %q and suffix %q: give only one of them", prefix, suffix)
	}
	n := &names{prefix: strings.ToLower(prefix), suffix: strings.ToLower(suffix), wildcard: strings.ToLower(wildcard)}
	if strings.ContainsFunc(prefix+suffix+wildcard, func(r rune) bool { return r > unicode.MaxASCII || unicode.IsSpace(r) }) {
		return nil, fmt.Errorf("TXT prefix %q, suffix %q or wildcard replacement %q: only ASCII characters other than spaces can be in names", prefix, suffix, wildcard)
	}
	n.templated = strings.Contains(n.prefix+n.suffix, typeToken)
	n.untyped = n.fill("")
	n.current, n.typed = map[string]pattern{}, map[string]pattern{}
	for _, t := range typeWords {
		p := n.untyped
		p.lead += t.word + "-"
		if n.templated {
			n.typed[t.recordType] = p
			p = n.fill(t.word)
		}
		n.current[t.recordType] = p
	}
	if !valid(n.current[dns.TypeA].of("name.example")) {
		return nil, fmt.Errorf("TXT prefix %q or suffix %q: makes names with an empty label, or one of more than %d bytes", prefix, suffix, dns.MaxLabel)
	}
	return n, nil
}

// fill returns the affixes with a word for the type.
func (n *names) fill(word string) pattern {
	return pattern{
		lead:  strings.ReplaceAll(n.prefix, typeToken, word),
		trail: strings.ReplaceAll(n.suffix, typeToken, word),
	}
}

// of returns the name of a marker.
func (p pattern) of(name string) string {
	head, rest, more := strings.Cut(name, ".")
	if !more {
		return p.lead + head + p.trail
	}
	return p.lead + head + p.trail + "." + rest
}

// strip is the reverse of of; it returns "" for a name that was not made by p.
func (p pattern) strip(name string) string {
	if p.trail == "" {
		rest, ok := strings.CutPrefix(name, p.lead)
		if !ok || strings.HasPrefix(rest, ".") {
			return ""
		}
		return rest
	}
	end := labelsEnd(name, strings.Count(p.trail, ".")+1)
	if end < 0 {
		return ""
	}
	head, ok := strings.CutSuffix(name[:end], p.trail)
	if !ok {
		return ""
	}
	if head, ok = strings.CutPrefix(head, p.lead); !ok || head == "" {
		return ""
	}
	return head + name[end:]
}

// labelsEnd returns where the nth label of a name ends; -1 if it has fewer.
func labelsEnd(name string, n int) int {
	end := -1
	for range n {
		if end == len(name) {
			return -1
		}
		if dot := strings.IndexByte(name[end+1:], '.'); dot < 0 {
			end = len(name)
		} else {
			end += 1 + dot
		}
	}
	return end
}

// marker returns the name of the marker of a record set in today's format, or "" if
// there can't be one: a label would be too long.
func (n *names) marker(name, recordType string) string {
	p, known := n.current[recordType]
	if !known {
		if p = n.fill(strings.ToLower(recordType)); !n.templated {
			p.lead += strings.ToLower(recordType) + "-"
		}
	}
	if made := p.of(n.plain(name)); valid(made) {
		return made
	}
	return ""
}

// told adds the names of the markers that tell the type of a record set, and what they
// tell; that of today's format is the first one.
func (n *names) told(to []subject, name, recordType string) []subject {
	if m := n.marker(name, recordType); m != "" {
		to = append(to, subject{name: m, recordType: recordType})
	}
	if p, ok := n.typed[recordType]; ok {
		if m := p.of(n.plain(name)); valid(m) {
			to = append(to, subject{name: m, recordType: recordType})
		}
	}
	return to
}

// untold adds the name of the marker that doesn't tell a type.
func (n *names) untold(to []subject, name string) []subject {
	if m := n.untyped.of(n.plain(name)); valid(m) {
		to = append(to, subject{name: m})
	}
	return to
}

// plain returns a name with its asterisk replaced, if that is to be.
func (n *names) plain(name string) string {
	if n.wildcard == "" || (name != "*" && !strings.HasPrefix(name, "*.")) {
		return name
	}
	return n.wildcard + name[1:]
}

// subjects returns what a marker of this name describes. It is more than one if there is
// an affix that two types can make of two names, or a wildcard.
func (n *names) subjects(marker string) []subject {
	if n.prefix != "" && n.suffix != "" {
		return nil
	}
	found := n.tellers(nil, marker, n.current)
	if len(found) == 0 && n.templated {
		found = n.tellers(nil, marker, n.typed)
	}
	if len(found) == 0 {
		found = n.describe(nil, n.untyped.strip(marker), "")
	}
	return found
}

// tellers adds what a marker describes in a format that tells the type.
func (n *names) tellers(to []subject, marker string, patterns map[string]pattern) []subject {
	for _, t := range typeWords {
		to = n.describe(to, patterns[t.recordType].strip(marker), t.recordType)
	}
	return to
}

func (n *names) describe(to []subject, name, recordType string) []subject {
	if name == "" || n.plain(name) != name {
		// No marker has an asterisk when there is something to write for it.
		return to
	}
	to = append(to, subject{name: name, recordType: recordType})
	if rest, ok := strings.CutPrefix(name, n.wildcard); ok && n.wildcard != "" && (rest == "" || rest[0] == '.') {
		to = append(to, subject{name: "*" + rest, recordType: recordType})
	}
	return to
}

// tells reports whether a marker describes record sets of a name and type; the type is
// empty for the format that doesn't tell it.
func (n *names) tells(marker, name, recordType string) bool {
	return slices.Contains(n.subjects(marker), subject{name: name, recordType: recordType})
}

// valid reports whether a name has only labels of a valid length.
func valid(name string) bool {
	if len(name) > dns.MaxName {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > dns.MaxLabel {
			return false
		}
	}
	return true
}

// checkOwner says what is wrong with an owner ID.
func checkOwner(id string) error {
	if id == "" {
		return errors.New("owner ID: must not be empty; without ownership the registry is noop")
	}
	if strings.ContainsAny(id, `,"`) {
		return fmt.Errorf("owner ID %q: a comma or a quote can't be read back", id)
	}
	return nil
}
