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

// Sizes in instructions of RE2.
const (
	maxEstimate     = bootstrap.MaxProgramSize * 9 / 10 // the limit of Envoy, with a margin
	programOverhead = 5                                 // each program has these
	anyUTF8         = 6                                 // for a rune beyond ASCII
)

// The errors of regular expressions for which clients would reject all routes of the resource.
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

// classes matches the classes of Unicode in a regular expression, such as \pL, \p{Greek} and
// \p{^Greek}.
var classes = regexp.MustCompile(`\\[pP](?:\{\^?([^}]*)\}|(.))`)

// isClass reports whether RE2 has a class of Unicode. RE2 has scripts, and categories by one or two
// letters. Go also has categories by their long names, and ignores the case of names.
func isClass(name string) bool {
	return len(name) <= 2 && unicode.Categories[name] != nil && name != "LC" && name != "Cn" || unicode.Scripts[name] != nil || name == "Any"
}

// instructions estimates the number of instructions for a part of a regular expression. It is rather
// too high: RE2 has an instruction for each byte of UTF-8, and copies repetitions. It may be too low
// where Go has merged alternatives that are classes or ".". The count ends soon after maxEstimate.
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

// rangeSize returns the number of instructions for a range of runes, at most: those of n bytes are
// up to 2n-1 products of ranges of bytes, and one if they differ in the last byte only.
func rangeSize(low, high rune) (n int) {
	if low <= utf8.RuneSelf && high == utf8.MaxRune {
		return 1 + anyUTF8
	}
	for i, last := range []rune{0x7f, 0x7ff, 0xffff, utf8.MaxRune} { // the last runes of one byte, two bytes, and so on
		if end := min(last, high); low <= end {
			products := 2*i + 1
			if low>>6 == end>>6 {
				products = 1
			}
			n, low = n+(i+1)*products, last+1
		}
	}
	return n
}
