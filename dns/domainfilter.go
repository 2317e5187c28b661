package dns

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// DomainFilter is the [Filter] that users configure and webhooks negotiate: lists of domains,
// or regular expressions. A nil one, and the zero value, pass every name.
type DomainFilter struct {
	include, exclude domainList
	// With one of these, the lists are empty.
	regexInclude, regexExclude *regexp.Regexp
}

// NewDomainFilter returns a filter that passes the names in one of the domains to include, or
// in any if there are none, but not in one of those to exclude. A domain is itself and all
// below; one with a dot at its beginning is only what is below (spec/dns.md §2.1). Empty
// ones don't count.
func NewDomainFilter(include, exclude []string) *DomainFilter {
	return &DomainFilter{include: newDomainList(include), exclude: newDomainList(exclude)}
}

// NewRegexFilter returns a filter that passes the names that a regular expression (RE2)
// matches, or any if it is empty, but not those that the other one matches, unless that
// is empty. They see names in Unicode and in lower case, and may match a part of
// them (spec/dns.md §2.2).
func NewRegexFilter(include, exclude string) (*DomainFilter, error) {
	var f DomainFilter
	var err error
	if f.regexInclude, err = compile("regexInclude", include); err != nil {
		return nil, err
	}
	if f.regexExclude, err = compile("regexExclude", exclude); err != nil {
		return nil, err
	}
	return &f, nil
}

func compile(key, pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("domain filter: %s %q is no regular expression: %w", key, pattern, err)
	}
	return re, nil
}

// DomainFilterConfig is a [DomainFilter] as it is configured, and its JSON form.
type DomainFilterConfig struct {
	Include      []string `json:"include,omitempty"`
	Exclude      []string `json:"exclude,omitempty"`
	RegexInclude string   `json:"regexInclude,omitempty"`
	RegexExclude string   `json:"regexExclude,omitempty"`
}

// Filter returns the filter. The lists are ignored when there is a regular expression.
func (c DomainFilterConfig) Filter() (*DomainFilter, error) {
	if c.RegexInclude != "" || c.RegexExclude != "" {
		return NewRegexFilter(c.RegexInclude, c.RegexExclude)
	}
	return NewDomainFilter(c.Include, c.Exclude), nil
}

// Configured reports whether there are names that could be kept from passing.
func (f *DomainFilter) Configured() bool {
	return f != nil && (f.isRegex() || len(f.include.names) > 0 || len(f.exclude.names) > 0)
}

func (f *DomainFilter) isRegex() bool { return f.regexInclude != nil || f.regexExclude != nil }

// Match implements [Filter].
func (f *DomainFilter) Match(name string) bool {
	if f == nil {
		return true
	}
	if f.isRegex() {
		name = Unicode(name)
		if f.regexExclude != nil && f.regexExclude.MatchString(name) {
			return false
		}
		return f.regexInclude == nil || f.regexInclude.MatchString(name)
	}
	name = Canonical(name)
	return (len(f.include.names) == 0 || f.include.match(name)) && !f.exclude.match(name)
}

// MatchParent reports whether a zone is to be looked at because a wanted domain may be
// delegated from it: the zone is above one of the domains to include, or there are none,
// and it is not excluded (spec/dns.md §2.3). Regular expressions, and domains with a dot at
// their beginning, don't count.
func (f *DomainFilter) MatchParent(zone string) bool {
	if f == nil || f.isRegex() {
		return true
	}
	zone = Canonical(zone)
	if f.exclude.match(zone) {
		return false
	}
	return len(f.include.names) == 0 || f.include.above(zone)
}

// MarshalJSON implements [json.Marshaler] (spec/dns.md §2.5). A nil filter is {}, but
// [json.Marshal] itself makes null of a nil pointer.
func (f *DomainFilter) MarshalJSON() ([]byte, error) {
	var c DomainFilterConfig
	if f != nil {
		c.Include, c.Exclude = f.include.names, f.exclude.names
		c.RegexInclude, c.RegexExclude = patternOf(f.regexInclude), patternOf(f.regexExclude)
	}
	return json.Marshal(c)
}

func patternOf(re *regexp.Regexp) string {
	if re == nil {
		return ""
	}
	return re.String()
}

// UnmarshalJSON implements [json.Unmarshaler]. It also reads the shape that ExternalDNS
// documents but doesn't use, with a list "filters". Lists beside regular expressions are an
// error, as are expressions that can't be compiled.
func (f *DomainFilter) UnmarshalJSON(data []byte) error {
	var c struct {
		DomainFilterConfig
		Filters []string `json:"filters"`
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return fmt.Errorf("domain filter: %w", err)
	}
	c.Include = append(c.Include, c.Filters...)
	if c.RegexInclude+c.RegexExclude != "" && len(c.Include)+len(c.Exclude) > 0 {
		return errors.New("domain filter: both list and regex: only one of include and exclude, regexInclude and regexExclude may be there")
	}
	decoded, err := c.Filter()
	if err != nil {
		return err
	}
	*f = *decoded
	return nil
}

// domainList is a list of domains.
type domainList struct {
	// names are sorted, in Unicode, each once.
	names []string
	tree  suffixTree[inDomain]
}

// inDomain says what of a domain is in a list.
type inDomain struct {
	// whole is the domain and all below, below is only that.
	whole, below bool
	// above is set where a whole domain is further down.
	above bool
}

func newDomainList(domains []string) domainList {
	var l domainList
	for _, domain := range domains {
		name, below := strings.CutPrefix(strings.TrimSpace(domain), ".")
		if name = Canonical(name); name == "" {
			continue
		}
		nodes := l.tree.path(name)
		last := len(nodes) - 1
		letters := Unicode(name)
		if below {
			nodes[last].value.below = true
			letters = "." + letters
		} else {
			nodes[last].value.whole = true
			for _, n := range nodes[:last] {
				n.value.above = true
			}
		}
		l.names = append(l.names, letters)
	}
	slices.Sort(l.names)
	l.names = slices.Compact(l.names)
	return l
}

// match reports whether a canonical name is in one of the domains.
func (l *domainList) match(name string) bool {
	node, rest := l.tree.step(name)
	for node != nil {
		if node.value.whole || (node.value.below && rest != "") {
			return true
		}
		node, rest = node.step(rest)
	}
	return false
}

// above reports whether one of the domains that are in the list as a whole is below a
// canonical name.
func (l *domainList) above(name string) bool {
	node, rest := &l.tree, name
	for node != nil && rest != "" {
		node, rest = node.step(rest)
	}
	return node != nil && node.value.above
}
