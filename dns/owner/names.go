package owner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/signpostd/signpost/dns"
)

// typeToken is replaced by the type of the record set in a prefix or suffix.
const typeToken = "%{record_type}"

// typeWords are the types that the name of an ownership record may contain, in the order in which
// they are tried, with their spelling.
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

// described is what an ownership record describes according to its name. The type is empty in the
// format without a type.
type described struct{ name, recordType string }

// pattern makes the name of an ownership record from that of a record set: lead goes before its
// first label, trail directly after it.
type pattern struct{ lead, trail string }

// names maps between record sets and the names of their ownership records (spec/dns.md §4.2.3). All
// names are canonical.
type names struct {
	prefix, suffix, wildcard string
	// templated is true if the prefix or suffix contains the type, so that it isn't written again.
	templated bool
	// current has the patterns of the current format by type. typed has those that are also read if
	// the affix is templated. untyped is the format of ExternalDNS before v0.12.
	current, typed map[string]pattern
	untyped        pattern
}

func newNames(prefix, suffix, wildcard string) (*names, error) {
	if prefix != "" && suffix != "" {
		return nil, fmt.Errorf("--txt-prefix %q and --txt-suffix %q: give only one of them", prefix, suffix)
	}
	n := &names{prefix: strings.ToLower(prefix), suffix: strings.ToLower(suffix), wildcard: strings.ToLower(wildcard)}
	if strings.ContainsFunc(prefix+suffix+wildcard, func(r rune) bool { return r > unicode.MaxASCII || unicode.IsSpace(r) }) {
		return nil, fmt.Errorf("--txt-prefix %q, --txt-suffix %q or --txt-wildcard-replacement %q: use ASCII characters without spaces", prefix, suffix, wildcard)
	}
	n.templated = strings.Contains(n.prefix+n.suffix, typeToken)
	n.untyped = n.patternOf("")
	n.current, n.typed = map[string]pattern{}, map[string]pattern{}
	for _, t := range typeWords {
		p := n.untyped
		p.lead += t.word + "-"
		if n.templated {
			n.typed[t.recordType] = p
			p = n.patternOf(t.word)
		}
		n.current[t.recordType] = p
	}
	if !valid(n.current[dns.TypeA].of("name.example")) {
		return nil, fmt.Errorf("--txt-prefix %q or --txt-suffix %q: it leads to names with an empty label, or with one of more than %d bytes", prefix, suffix, dns.MaxLabel)
	}
	return n, nil
}

// patternOf returns the pattern with a word in place of the type.
func (n *names) patternOf(word string) pattern {
	return pattern{
		lead:  strings.ReplaceAll(n.prefix, typeToken, word),
		trail: strings.ReplaceAll(n.suffix, typeToken, word),
	}
}

// of returns the name of the ownership record for a name.
func (p pattern) of(name string) string {
	head, rest, more := strings.Cut(name, ".")
	if !more {
		return p.lead + head + p.trail
	}
	return p.lead + head + p.trail + "." + rest
}

// strip is the inverse of of. It returns "" for a name that the pattern didn't make.
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

// labelsEnd returns the index where the nth label of a name ends, or -1 if it has fewer labels.
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

// ownershipRecordName returns the name of the ownership record of a record set in the current format, or ""
// if a label would be too long.
func (n *names) ownershipRecordName(name, recordType string) string {
	p, known := n.current[recordType]
	if !known {
		if p = n.patternOf(strings.ToLower(recordType)); !n.templated {
			p.lead += strings.ToLower(recordType) + "-"
		}
	}
	if made := p.of(n.plain(name)); valid(made) {
		return made
	}
	return ""
}

// withType appends the names of the ownership records that contain the type of a record set, the
// current format first.
func (n *names) withType(to []described, name, recordType string) []described {
	if m := n.ownershipRecordName(name, recordType); m != "" {
		to = append(to, described{name: m, recordType: recordType})
	}
	if p, ok := n.typed[recordType]; ok {
		if m := p.of(n.plain(name)); valid(m) {
			to = append(to, described{name: m, recordType: recordType})
		}
	}
	return to
}

// withoutType appends the name of the ownership record without a type.
func (n *names) withoutType(to []described, name string) []described {
	if m := n.untyped.of(n.plain(name)); valid(m) {
		to = append(to, described{name: m})
	}
	return to
}

// plain returns a name with its asterisk replaced, if there is a replacement.
func (n *names) plain(name string) string {
	if n.wildcard == "" || (name != "*" && !strings.HasPrefix(name, "*.")) {
		return name
	}
	return n.wildcard + name[1:]
}

// twin returns the other name with the same ownership records, or "".
func (n *names) twin(name string) string {
	if n.wildcard == "" {
		return ""
	}
	if plain := n.plain(name); plain != name {
		return plain
	}
	if rest, ok := strings.CutPrefix(name, n.wildcard); ok && (rest == "" || rest[0] == '.') {
		return "*" + rest
	}
	return ""
}

// subjects returns what an ownership record with this name may describe. There are several if two
// types lead to the same name, or if there is a wildcard.
func (n *names) subjects(ownershipName string) []described {
	if n.prefix != "" && n.suffix != "" {
		return nil
	}
	found := n.describedWithType(nil, ownershipName, n.current)
	if len(found) == 0 && n.templated {
		found = n.describedWithType(nil, ownershipName, n.typed)
	}
	if len(found) == 0 {
		found = n.describe(nil, n.untyped.strip(ownershipName), "")
	}
	return found
}

// describedWithType appends what an ownership record may describe in a format that contains the type.
func (n *names) describedWithType(to []described, ownershipName string, patterns map[string]pattern) []described {
	for _, t := range typeWords {
		to = n.describe(to, patterns[t.recordType].strip(ownershipName), t.recordType)
	}
	return to
}

func (n *names) describe(to []described, name, recordType string) []described {
	if name == "" || n.plain(name) != name {
		// With a replacement, no ownership record has an asterisk in its name.
		return to
	}
	to = append(to, described{name: name, recordType: recordType})
	if twin := n.twin(name); twin != "" {
		to = append(to, described{name: twin, recordType: recordType})
	}
	return to
}

// mayDescribe reports whether an ownership record may describe a record set of a name and type. The type
// is empty for the format without a type.
func (n *names) mayDescribe(ownershipName, name, recordType string) bool {
	return slices.Contains(n.subjects(ownershipName), described{name: name, recordType: recordType})
}

// valid reports whether all labels of a name have a valid length.
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

func checkOwner(id string) error {
	if id == "" {
		return errors.New("the owner ID is empty: give --txt-owner-id, or --registry=noop to do without ownership")
	}
	if ambiguous(id) {
		return fmt.Errorf("owner ID %q: leave out commas, quotes, backslashes and control characters, which can't be read back", id)
	}
	return nil
}
