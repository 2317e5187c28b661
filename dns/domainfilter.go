package dns

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// DomainFilter is the [Filter] that users configure and webhook providers negotiate: lists of
// domains, or regular expressions. A nil filter, and the zero value, select every name.
type DomainFilter struct {
	include, exclude domainList
	// If one of these is set, the lists are empty.
	regexInclude, regexExclude *regexp.Regexp
}

// NewDomainFilter returns a filter that selects the names in one of the included domains and in
// none of the excluded ones. If include is empty, every name is included. A domain contains its own
// name and all names below it. A domain that begins with a dot contains only the names below it
// (spec/dns.md §2.1). Empty domains are ignored.
func NewDomainFilter(include, exclude []string) *DomainFilter {
	return &DomainFilter{include: newDomainList(include), exclude: newDomainList(exclude)}
}

// NewRegexFilter returns a filter that selects the names that match the regular expression (RE2)
// include and don't match exclude. An empty include matches every name, an empty exclude none.
// Names are matched in Unicode and lower case. A partial match is enough (spec/dns.md §2.2).
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
		return nil, fmt.Errorf("domain filter: %s %q is not a valid regular expression: %w", key, pattern, err)
	}
	return re, nil
}

// DomainFilterConfig is the configuration of a [DomainFilter], and its JSON form.
type DomainFilterConfig struct {
	Include      []string `json:"include,omitempty"`
	Exclude      []string `json:"exclude,omitempty"`
	RegexInclude string   `json:"regexInclude,omitempty"`
	RegexExclude string   `json:"regexExclude,omitempty"`
}

// Filter returns the filter. If there is a regular expression, the lists are ignored.
func (c DomainFilterConfig) Filter() (*DomainFilter, error) {
	if c.RegexInclude != "" || c.RegexExclude != "" {
		return NewRegexFilter(c.RegexInclude, c.RegexExclude)
	}
	return NewDomainFilter(c.Include, c.Exclude), nil
}

// Configured reports whether the filter can reject a name at all.
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

// Rejecter returns the flag that excludes a name; empty if the name is selected.
func (f *DomainFilter) Rejecter(name string) string {
	switch {
	case f.Match(name):
		return ""
	case f.isRegex() && f.regexExclude != nil && f.regexExclude.MatchString(Unicode(name)):
		return "--regex-domain-exclusion"
	case f.isRegex():
		return "--regex-domain-filter"
	case f.exclude.match(Canonical(name)):
		return "--exclude-domains"
	default:
		return "--domain-filter"
	}
}

// MatchParent reports whether a zone must be read because a wanted domain may be delegated from it
// (spec/dns.md §2.3): the zone isn't excluded, and it is above an included domain, or no domain is
// given. Regular expressions, and domains that begin with a dot, are not considered.
func (f *DomainFilter) MatchParent(zone string) bool {
	if f == nil || f.isRegex() {
		return true
	}
	zone = Canonical(zone)
	if f.exclude.match(zone) {
		return false
	}
	return len(f.include.names) == 0 || f.include.domains[zone].above
}

// MarshalJSON implements [json.Marshaler] (spec/dns.md §2.5). For a nil filter it returns {}, but
// [json.Marshal] doesn't call it for a nil pointer and writes null.
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

// UnmarshalJSON implements [json.Unmarshaler]. It also accepts a list "filters", a form that
// ExternalDNS documents but doesn't use. Lists beside regular expressions, and invalid expressions,
// are errors.
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
		return errors.New("domain filter: both list and regex: give either include and exclude, or regexInclude and regexExclude")
	}
	decoded, err := c.Filter()
	if err != nil {
		return err
	}
	*f = *decoded
	return nil
}

type domainList struct {
	// names are in Unicode and sorted, without duplicates.
	names []string
	// domains has the domains and all names above them.
	domains map[string]inDomain
}

// inDomain says how a list contains a name.
type inDomain struct {
	// whole is true if the list has the domain with all names below it, below if it has only the names
	// below it.
	whole, below bool
	// above is true if a whole domain of the list is below this name.
	above bool
}

func newDomainList(domains []string) domainList {
	l := domainList{domains: map[string]inDomain{}}
	for _, domain := range domains {
		name, below := strings.CutPrefix(strings.TrimSpace(domain), ".")
		if name = Canonical(name); name == "" {
			continue
		}
		d, letters := l.domains[name], Unicode(name)
		d.whole, d.below = d.whole || !below, d.below || below
		l.domains[name] = d
		if below {
			letters = "." + letters
		}
		for at := name; at != "" && !below; {
			_, at, _ = strings.Cut(at, ".")
			d := l.domains[at]
			d.above = true
			l.domains[at] = d
		}
		l.names = append(l.names, letters)
	}
	slices.Sort(l.names)
	l.names = slices.Compact(l.names)
	return l
}

// match reports whether a canonical name is in one of the domains.
func (l *domainList) match(name string) bool {
	for at := name; at != ""; _, at, _ = strings.Cut(at, ".") {
		if d := l.domains[at]; d.whole || d.below && at != name {
			return true
		}
	}
	return false
}
