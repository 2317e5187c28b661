package traefikproxy

import (
	"slices"
	"strconv"
	"strings"
)

// ruleLimit is how long a rule may be, in bytes. One with a thousand names is shorter.
const ruleLimit = 64 << 10

// matchers are those whose values are names that clients use, in small letters: Traefik doesn't mind
// capitals.
var matchers = []string{"host", "hostheader", "hostsni"}

// hostsOf returns the names that a rule matches, in their order: the values of the matchers Host,
// HostHeader and HostSNI. A rule is written as in
//
//	Host(`a.example.org`, `b.example.org`) && !PathPrefix("/internal")
//
// What isn't matched, as in !Host(`a`) or !(Host(`a`) || Host(`b`)), is left out, and so is *, which
// stands for all names. The fault says what can't be read, and is empty if there is nothing. The
// names that were found are returned with a fault, too.
func hostsOf(rule string) (hosts []string, fault string) {
	if len(rule) > ruleLimit {
		return nil, "longer than " + strconv.Itoa(ruleLimit) + " bytes, so it isn't read: divide it into several rules"
	}
	s := scanner{rest: rule}
	for s.rest != "" && s.next() {
	}
	if len(s.open) > 0 {
		s.wrong("a parenthesis isn't closed")
	}
	return s.hosts, s.fault
}

// scanner goes through a rule once, from its beginning to its end. It reads more than Traefik does:
// it doesn't check what is before and after an operator.
type scanner struct {
	rest  string
	hosts []string
	fault string

	// open has an entry for each parenthesis that is open.
	open []parenthesis
	// not is true after an odd number of !, until the end of what they are about, and word is the
	// name that was read last, in small letters, until its parenthesis.
	not  bool
	word string
}

// parenthesis is what is known of the inside of one.
type parenthesis struct {
	// not is true if what is inside isn't matched, and names if these are the values of one of the
	// matchers.
	not, names bool
}

// inside returns the innermost parenthesis; without any, the rule itself.
func (s *scanner) inside() parenthesis {
	if len(s.open) == 0 {
		return parenthesis{}
	}
	return s.open[len(s.open)-1]
}

// wrong notes the first fault.
func (s *scanner) wrong(what string) {
	if s.fault == "" {
		s.fault = what + ": correct the rule, which Traefik can't read either"
	}
}

// next reads a value, a word or a sign. It returns false when nothing after it can be read.
func (s *scanner) next() bool {
	c := s.rest[0]
	switch {
	case c == '`' || c == '"':
		return s.value()
	case isLetter(c):
		end := strings.IndexFunc(s.rest, func(r rune) bool { return r > 'z' || !isLetter(byte(r)) && (r < '0' || r > '9') })
		if end < 0 {
			end = len(s.rest)
		}
		s.word, s.rest = strings.ToLower(s.rest[:end]), s.rest[end:]
		return true
	}
	s.rest = s.rest[1:]
	s.sign(c)
	return true
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func (s *scanner) sign(c byte) {
	switch c {
	case ' ', '\t', '\n', '\r':
		return
	case '!':
		s.not = !s.not
		return
	case '(':
		s.open = append(s.open, parenthesis{not: s.inside().not != s.not, names: slices.Contains(matchers, s.word)})
	case ')':
		if len(s.open) == 0 {
			s.wrong("a parenthesis is closed that isn't open")
		} else {
			s.open = s.open[:len(s.open)-1]
		}
	case '&', '|', ',':
	default:
		s.wrong("there is text outside of quotes that no rule has")
	}
	s.not, s.word = false, ""
}

// value reads a text in backticks, which is as it is, or in double quotes, which is one of Go.
func (s *scanner) value() bool {
	quoted, err := strconv.QuotedPrefix(s.rest)
	if err != nil {
		s.wrong("a quotation mark isn't closed, or there is no such escape after a backslash")
		return false
	}
	s.rest, s.not, s.word = s.rest[len(quoted):], false, ""
	text, err := strconv.Unquote(quoted)
	if err != nil {
		s.wrong("a text in quotation marks can't be read")
		return true
	}
	if in := s.inside(); in.names && !in.not {
		s.add(strings.TrimSpace(text))
	}
	return true
}

// add adds a name. Two asterisks stand for any number of labels, as one does in DNS.
func (s *scanner) add(host string) {
	if strings.HasPrefix(host, "**.") {
		host = host[1:]
	}
	if host != "" && host != "*" {
		s.hosts = append(s.hosts, host)
	}
}
