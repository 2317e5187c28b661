package traefikproxy

import (
	"slices"
	"strconv"
	"strings"
)

// ruleLimit limits a rule in bytes. A rule with a thousand names fits.
const ruleLimit = 64 << 10

// matchers have names of clients as values. They are in lower case, because Traefik ignores case.
var matchers = []string{"host", "hostheader", "hostsni"}

// hostsOf returns the names that a rule matches, in order: the values of the matchers Host,
// HostHeader and HostSNI. A rule is written as in
//
//	Host(`a.example.org`, `b.example.org`) && !PathPrefix("/internal")
//
// Negated names, as in !Host(`a`) or !(Host(`a`) || Host(`b`)), are left out, and so is *, which
// stands for all names. fault says what can't be parsed, or is empty. With a fault, the names found
// so far are returned too.
func hostsOf(rule string) (hosts []string, fault string) {
	if len(rule) > ruleLimit {
		return nil, "longer than " + strconv.Itoa(ruleLimit) + " bytes, so it isn't read: divide it into several rules"
	}
	s := scanner{rest: rule}
	for s.rest != "" && s.next() {
	}
	if len(s.open) > 0 {
		s.fail("a parenthesis isn't closed")
	}
	return s.hosts, s.fault
}

// scanner scans a rule once. It accepts more than Traefik does, because it doesn't check the
// operands of an operator.
type scanner struct {
	rest  string
	hosts []string
	fault string

	// open has an entry for each open parenthesis.
	open []parenthesis
	// not is true after an odd number of !, until the end of their operand. word is the last name, in
	// lower case, until its parenthesis.
	negated bool
	word    string
}

// parenthesis is the state inside of one.
type parenthesis struct {
	// not is true if the content is negated. names is true if it has the values of one of the
	// matchers.
	negated, names bool
}

// current returns the innermost open parenthesis; without any, the rule itself.
func (s *scanner) current() parenthesis {
	if len(s.open) == 0 {
		return parenthesis{}
	}
	return s.open[len(s.open)-1]
}

// fail stores the first fault.
func (s *scanner) fail(what string) {
	if s.fault == "" {
		s.fault = what + ": correct the rule, which Traefik can't read either"
	}
}

// next reads a value, a word or a sign. It returns false if the rest can't be parsed.
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
		s.negated = !s.negated
		return
	case '(':
		s.open = append(s.open, parenthesis{negated: s.current().negated != s.negated, names: slices.Contains(matchers, s.word)})
	case ')':
		if len(s.open) == 0 {
			s.fail("a parenthesis is closed that isn't open")
		} else {
			s.open = s.open[:len(s.open)-1]
		}
	case '&', '|', ',':
	default:
		s.fail("there is text outside of quotes that no rule has")
	}
	s.negated, s.word = false, ""
}

// value reads a string in backticks, taken literally, or in double quotes, with Go's escapes.
func (s *scanner) value() bool {
	quoted, err := strconv.QuotedPrefix(s.rest)
	if err != nil {
		s.fail("a quotation mark isn't closed, or there is no such escape after a backslash")
		return false
	}
	s.rest, s.negated, s.word = s.rest[len(quoted):], false, ""
	text, err := strconv.Unquote(quoted)
	if err != nil {
		s.fail("a text in quotation marks can't be read")
		return true
	}
	if in := s.current(); in.names && !in.negated {
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
