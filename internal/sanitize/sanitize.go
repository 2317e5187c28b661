// Package sanitize shortens and quotes untrusted text for messages: gRPC statuses, errors, Events and log
// lines. Text of a client, a tenant or a server may be megabytes long, and may have line breaks and control
// characters.
//
// All packages that show such text use it.
//
// # Concurrency
//
// The functions are pure.
package sanitize

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// maxText is the limit for a text in bytes: more than the name and port of any Service.
const maxText = 160

// Quote returns the text as a quoted Go string. A long text is truncated, and its length appended.
func Quote(text string) string {
	if len(text) <= maxText {
		return strconv.Quote(text)
	}
	return fmt.Sprintf("%s… (%d bytes)", strconv.Quote(text[:maxText]), len(text))
}

// Cut returns the text. A long text is truncated, and its length appended. Cut is for attributes of log
// lines, which the log quotes itself.
func Cut(text string) string { return CutTo(text, maxText) }

// CutTo is Cut with another limit in bytes, such as for errors of a server.
func CutTo(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:most], ""), len(text))
}

// Shorten returns the text as UTF-8, truncated to most bytes including a mark.
func Shorten(text string, most int) string {
	const mark = "…"
	if len(text) <= most {
		return strings.ToValidUTF8(text, "\ufffd")
	}
	return strings.ToValidUTF8(text[:most-len(mark)], "") + mark
}

// Name returns a short text unchanged if it only has letters, digits and the other characters of DNS names,
// and quotes any other text.
func Name(text string) string {
	if text == "" || len(text) > maxText || strings.ContainsFunc(text, unusual) {
		return Quote(text)
	}
	return text
}

// maxLine is the limit for a line in bytes.
const maxLine = 400

// Text returns a sentence, such as an error, as one line without control characters. A long one is truncated.
func Text(text string) string { return Line(text, maxLine) }

// Line is Text with another limit in bytes.
func Line(text string, most int) string {
	end := ""
	if len(text) > most {
		text, end = text[:most], "…"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "")) + end
}

// List returns the texts of the first elements of a list for a sentence, and the number of the
// others, such as "a, b and 3 more".
func List[T any](list []T, most int, text func(T) string) string {
	var shown []string
	for _, e := range list[:min(len(list), most)] {
		shown = append(shown, text(e))
	}
	joined := strings.Join(shown, ", ")
	if more := len(list) - most; more > 0 {
		joined += fmt.Sprintf(" and %d more", more)
	}
	return joined
}

// unusual reports whether a character can't be in a DNS name.
func unusual(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	default:
		return !strings.ContainsRune("-._*", r)
	}
}
