package resource

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/signpostd/signpost/xds/bootstrap"
)

// maxEstimate is how many instructions a regular expression may have that clients are sent. The rest of the limit of
// Envoy is a margin.
const maxEstimate = bootstrap.MaxProgramSize * 9 / 10

// The regular expressions that clients reject, with all routes beside them.
var (
	errRegexp      = errors.New("the pathRegex is no regular expression of RE2")
	errLargeRegexp = fmt.Errorf("the pathRegex is too large: RE2 would make more than %d instructions of it", maxEstimate)
)

// checkRegexp returns the reason why clients would reject a regular expression.
func checkRegexp(text string) error {
	re, err := syntax.Parse(text, syntax.Perl)
	if _, literal := literalPath(text); literal {
		return nil // clients get the path
	}
	switch {
	case err != nil || slices.ContainsFunc(classes.FindAllStringSubmatch(text, -1), func(m []string) bool { return !isClass(m[1] + m[2]) }):
		return errRegexp
	case instructions(re)+programOverhead > maxEstimate:
		return errLargeRegexp
	default:
		return nil
	}
}

// classes matches the classes of Unicode in a regular expression, such as \pL, \p{Greek} and \p{^Greek}.
var classes = regexp.MustCompile(`\\[pP](?:\{\^?([^}]*)\}|(.))`)

// isClass reports whether RE2 has a class of Unicode. It has categories of one and two letters and scripts; Go also has
// categories by their long names, and ignores the case of names.
func isClass(name string) bool {
	return len(name) <= 2 && unicode.Categories[name] != nil && name != "LC" && name != "Cn" || unicode.Scripts[name] != nil || name == "Any"
}

// programOverhead is the number of instructions that each program has besides.
const programOverhead = 5

// instructions estimates how many instructions RE2 makes of a part of a regular expression, and rather too many than too
// few: RE2 has one for each byte of UTF-8, and copies what is repeated. The count ends soon after maxEstimate. Too few are
// possible where Go has merged an alternative "." with classes beside it.
func instructions(re *syntax.Regexp) (n int) {
	for _, sub := range re.Sub {
		if n += instructions(sub); n > maxEstimate {
			return n
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			n += utf8.RuneLen(r)
			for other := unicode.SimpleFold(r); re.Flags&syntax.FoldCase != 0 && other != r; other = unicode.SimpleFold(other) {
				n += utf8.RuneLen(other)
			}
		}
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune) && n <= maxEstimate; i += 2 {
			n += rangeSize(re.Rune[i], re.Rune[i+1])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		n = 2 + anyUTF8
	case syntax.OpAlternate:
		n += len(re.Sub)
	case syntax.OpRepeat:
		if re.Max < 0 {
			return max(re.Min, 1)*n + 3
		}
		return 1 + re.Max*n + re.Max - re.Min
	case syntax.OpConcat:
	default: // a group, a loop, or an assertion
		n += 3
	}
	return n
}

// anyUTF8 is the number of instructions for any rune beyond ASCII.
const anyUTF8 = 6

// rangeSize returns the number of instructions for a range of runes.
func rangeSize(low, high rune) (n int) {
	if low <= utf8.RuneSelf && high == utf8.MaxRune {
		return 1 + anyUTF8
	}
	for _, last := range []rune{0x7f, 0x7ff, 0xffff, utf8.MaxRune} { // the last runes of one byte, two bytes, and so on
		if end := min(last, high); low <= end {
			from, to := utf8.AppendRune(nil, low), utf8.AppendRune(nil, end)
			n += len(to) * sequences(from, to)
			low = end + 1
		}
	}
	return n
}

// sequences returns how many products of byte ranges make up the texts between two of the same length, whose bytes
// after the first are from 0x80 to 0xbf.
func sequences(from, to []byte) (n int) {
	if len(from) <= 1 {
		return 1
	}
	if from[0] == to[0] {
		return sequences(from[1:], to[1:])
	}
	low, high := slices.Repeat([]byte{0x80}, len(from)-1), slices.Repeat([]byte{0xbf}, len(from)-1)
	whole := int(to[0]) - int(from[0]) + 1 // how many first bytes all texts follow
	if !slices.Equal(from[1:], low) {
		n, whole = n+sequences(from[1:], high), whole-1
	}
	if !slices.Equal(to[1:], high) {
		n, whole = n+sequences(low, to[1:]), whole-1
	}
	return n + min(whole, 1)
}
