package dns

// Filter selects the names to manage.
type Filter interface {
	// Match reports whether a name is selected. The name may end with a dot.
	Match(name string) bool
}

// MatchAll returns a filter that selects the names that all given filters select (spec/dns.md
// §2.4). Nil filters are ignored. Without filters, every name is selected.
func MatchAll(filters ...Filter) Filter {
	all := make(allOf, 0, len(filters))
	for _, f := range filters {
		if f != nil {
			all = append(all, f)
		}
	}
	return all
}

type allOf []Filter

// Match implements Filter.
func (all allOf) Match(name string) bool {
	for _, f := range all {
		if !f.Match(name) {
			return false
		}
	}
	return true
}
