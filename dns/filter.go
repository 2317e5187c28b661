package dns

// Filter says which names are to be managed.
type Filter interface {
	// Match reports whether a name passes, with or without a dot at its end.
	Match(name string) bool
}

// MatchAll returns a filter that passes the names that pass all of some. Those that are nil
// count for nothing; without any, all names pass (spec/dns.md §2.4).
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
