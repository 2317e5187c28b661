package dns

// ZoneFinder finds the zone that a name belongs in. Make one with [NewZoneFinder].
type ZoneFinder struct {
	tree suffixTree[[]Zone]
}

// NewZoneFinder returns a finder for some zones. A zone without a name has every name.
func NewZoneFinder(zones []Zone) *ZoneFinder {
	var f ZoneFinder
	for _, z := range zones {
		nodes := f.tree.path(Canonical(z.Name))
		last := nodes[len(nodes)-1]
		last.value = append(last.value, z)
	}
	return &f
}

// Find returns the zone with the longest name that a name is equal to or below, and whether
// there is one; of several with this name, the first (spec/dns.md §2.8).
func (f *ZoneFinder) Find(name string) (Zone, bool) {
	if zones := f.FindAll(name); len(zones) > 0 {
		return zones[0], true
	}
	return Zone{}, false
}

// FindAll is Find for all zones with that name, such as a public and a private one, in the
// order in which they were given. The slice must not be changed.
func (f *ZoneFinder) FindAll(name string) []Zone {
	found := f.tree.value
	for node, rest := f.tree.step(Canonical(name)); node != nil; node, rest = node.step(rest) {
		if len(node.value) > 0 {
			found = node.value
		}
	}
	return found
}
