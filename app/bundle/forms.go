package bundle

import (
	"bytes"
	"regexp"
	"slices"
)

// mask replaces a secret.
const mask = "***"

// secretWords are parts of secrets' names.
const secretWords = `secret|token|passw|passphrase|pwd|api[-_]?key|aes[-_]?key|account[-_]?key|access[-_]?key|private[-_]?key|shared[-_]?key|` +
	`key[-_]?data|[-_]key\b|credential|signature|authorization|cookie|connection[-_]?string|[-_]dsn\b|hmac|tsig`

// secretName matches the name of a secret.
var secretName = regexp.MustCompile(`(?i)` + secretWords + `|\bpass\b|\bdsn\b|\bsig\b|\bkey\b`)

// secretTexts match secrets by their format.
var secretTexts = []*regexp.Regexp{
	regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`),
	regexp.MustCompile(`LS0tLS1CRUdJTi[A-Za-z0-9+/=_-]*`), // PEM in base64
	regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`),
	regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`),
	regexp.MustCompile(`\b(?:gh[a-z]_|github_pat_|glpat-|xox[a-z]-|sk_live_|hvs\.|AIza|ya29\.|dop_v1_)[A-Za-z0-9_.-]{10,}`),
}

// secretRests match text whose rest after the first group is a secret.
var secretRests = []*regexp.Regexp{
	// User and password of a URL may have any characters, even unescaped ones.
	regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s"'<>\\]*@`),
	regexp.MustCompile(`((?i:authorization)\\*["']?\s*[:=]\s*\\*["'\[]?)[^\r\n"'\\\]]+`),
	regexp.MustCompile(`(\b(?i:bearer|basic|negotiate|digest|ntlm)\s+)[A-Za-z0-9+/=._~-]{8,}`),
}

// named matches a secret's name and what separates it from the value. The groups are the name with
// its quotes, and the separator.
var named = []*regexp.Regexp{
	// password: x, "api_key": "x", \"api_key\":\"x\", password = x, password => x, X-Api-Key: x
	regexp.MustCompile(`(?i)((?:[\w.-]*(?:` + secretWords + `)[\w.-]*|\b(?:pass|dsn|sig|key))\\*["']?)([ \t]*(?::=|=>|=|:)[ \t]*)`),
	// --flag x, "--flag", "x"
	regexp.MustCompile(`(?i)(--?[\w-]*(?:` + secretWords + `|\bpass\b)[\w-]*)(\\*["']?(?:[ \t]*,[ \t]*|[ \t]+))`),
	// secret "x", in the configuration of BIND
	regexp.MustCompile(`\b((?:secret|password|passphrase|token))([ \t]+)\\*["']`),
}

// harmlessName matches suffixes of names that only refer to a secret.
var harmlessName = regexp.MustCompile(`(?i)(?:file|path|dir|name|ref|refs|seconds|duration|enabled|total|reviews|expiration|volumes?|mounts?)\\*["']?$`)

// harmlessValue matches values that are no secrets.
var harmlessValue = regexp.MustCompile(`^(?:true|false|null|nil|none|yes|no|[0-9]{1,5}|\**)$`)

// maskForms masks text that looks like a secret.
func maskForms(text []byte) []byte {
	for _, form := range secretTexts {
		text = form.ReplaceAll(text, []byte(mask))
	}
	for i, form := range secretRests {
		with := "${1}" + mask
		if i == 0 {
			with += "@"
		}
		text = form.ReplaceAll(text, []byte(with))
	}
	for _, form := range named {
		text = maskNamed(text, form)
	}
	return text
}

// nameHints are parts of all names that named matches, in lower case.
var nameHints = []string{"secret", "token", "pass", "pwd", "key", "credential", "signature", "authorization", "cookie", "connection", "dsn", "hmac", "sig"}

// mayName reports whether a line may have the name of a secret. Most lines of a log have none, and
// the regular expressions take a hundred times as long.
func mayName(line []byte) bool {
	lower := bytes.ToLower(line)
	return slices.ContainsFunc(nameHints, func(hint string) bool { return bytes.Contains(lower, []byte(hint)) })
}

// maskNamed masks the values after names of secrets. A name and its separator are on one line; a
// value may have several lines.
func maskNamed(text []byte, form *regexp.Regexp) []byte {
	var out bytes.Buffer
	done := 0
	for done < len(text) {
		end := min(untilAny(text, done, "\n")+1, len(text))
		var at []int
		if line := text[done:end]; mayName(line) {
			at = form.FindSubmatchIndex(line)
		}
		if at == nil {
			out.Write(text[done:end])
			done = end
			continue
		}
		name, from := text[done+at[2]:done+at[3]], done+at[5]
		quote := closingQuote(name)
		value := valueAt(text, from, quote != nil, text[done+at[4]:from])
		if harmlessName.Match(name) || harmlessValue.Match(text[value.from:value.to]) {
			// The value may contain names.
			out.Write(text[done:from])
			done = from
			continue
		}
		out.Write(text[done:value.from])
		// In JSON a number and a list become strings, so that the JSON stays valid.
		if before := text[value.from-1]; before == '"' || before == '\'' {
			quote = nil
		}
		out.Write(quote)
		out.WriteString(mask)
		out.Write(quote)
		done = value.to
	}
	return out.Bytes()
}

// closingQuote returns the quote at the end of a name, with its backslashes, or nil.
func closingQuote(name []byte) []byte {
	end := len(name) - 1
	if end < 0 || name[end] != '"' && name[end] != '\'' {
		return nil
	}
	for end > 0 && name[end-1] == '\\' {
		end--
	}
	return name[end:]
}

// span is a part of a text.
type span struct{ from, to int }

// valueAt returns the value at from, behind a name and a separator. An object has no value of its
// own.
func valueAt(text []byte, from int, quotedName bool, separator []byte) span {
	at := from
	for at < len(text) && text[at] == '\\' {
		at++
	}
	switch {
	case at >= len(text):
		return span{at, at}
	case text[at] == '"' || text[at] == '\'':
		return span{at + 1, quotedEnd(text, at+1, text[at], at-from)}
	case text[from] == '{':
		return span{from, from}
	case text[from] == '[':
		return span{from + 1, untilAny(text, from, "]\r\n")}
	case text[from] == '|' || text[from] == '>':
		return span{from, blockEnd(text, from)}
	case quotedName:
		return span{from, untilAny(text, from, ",}] \t\r\n")}
	case len(separator) > 1 && bytes.ContainsAny(separator, ":=") && bytes.ContainsAny(separator, " \t"):
		// "password: two words", in YAML or a log
		return span{from, restEnd(text, from)}
	default:
		return span{from, untilAny(text, from, " \t\r\n\"'&,;)}")}
	}
}

// quotedEnd returns the end of a quoted text: its quote with as many backslashes as the opening
// one. Nested quotes have more. An unclosed text ends with its line.
func quotedEnd(text []byte, from int, quote byte, level int) int {
	backslashes := 0
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '\\':
			backslashes++
			continue
		case '\n':
			return i
		case quote:
			if backslashes%(2*(level+1)) == level {
				return i - level
			}
		}
		backslashes = 0
	}
	return len(text)
}

func untilAny(text []byte, from int, chars string) int {
	if n := bytes.IndexAny(text[from:], chars); n >= 0 {
		return from + n
	}
	return len(text)
}

// stringEnd matches the end of a JSON string.
var stringEnd = regexp.MustCompile(`\\*"[ \t]*[,}\]]`)

// restEnd returns the end of the line, or of the JSON string that contains it.
func restEnd(text []byte, from int) int {
	end := untilAny(text, from, "\r\n")
	if at := stringEnd.FindIndex(text[from:end]); at != nil {
		return from + at[0]
	}
	return end
}

// blockEnd returns the end of a YAML block that begins at from: the first line that isn't indented
// more than the line of its name.
func blockEnd(text []byte, from int) int {
	line := text[bytes.LastIndexByte(text[:from], '\n')+1:]
	indent := len(line) - len(bytes.TrimLeft(line, " "))
	end := untilAny(text, from, "\n")
	for end < len(text) {
		next := text[end+1:]
		inner := bytes.TrimLeft(next, " ")
		if len(inner) > 0 && inner[0] != '\n' && len(next)-len(inner) <= indent {
			break
		}
		end = untilAny(text, end+1, "\n")
	}
	return end
}
