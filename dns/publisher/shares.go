package publisher

import (
	"unique"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/tenancy"
)

// tenantID is a namespace in a form that takes little memory; its zero value, nobody, is for none.
type tenantID = unique.Handle[string]

var nobody tenantID

func tenant(namespace string) tenantID { return unique.Make(namespace) }

// shares counts the names of namespaces in a zone that the zone doesn't have yet, and keeps those that are refused because
// their namespace has too many.
type shares struct {
	limit int
	// granted has the namespace of each name that may be created and that the zone doesn't have yet, coming how many there
	// are of each namespace.
	granted map[string]tenantID
	coming  map[tenantID]int
	// waiting has the refused names of each namespace, in the order in which they came.
	waiting map[string]*queuedNames
}

// queuedNames is names in the order in which they came. Names that have left it are dropped from order later.
type queuedNames struct {
	order []string
	names map[string]struct{}
}

func newShares(limit int) *shares {
	return &shares{limit: limit, granted: map[string]tenantID{}, coming: map[tenantID]int{}, waiting: map[string]*queuedNames{}}
}

// full reports whether a namespace, of which the zone has so many names, may not have a further one.
func (s *shares) full(name, namespace string, has int) bool {
	id := tenant(namespace)
	return s.granted[name] != id && has+s.coming[id] >= s.limit
}

// grant notes who got a name. Held is true if the zone has the name. It returns the refusals of namespaces of which no
// other name was refused before.
func (s *shares) grant(name string, w wish, held bool) (first []tenancy.Refusal) {
	s.release(name)
	if !held && len(w.granted) > 0 {
		id := tenant(w.granted[0])
		s.granted[name] = id
		s.coming[id]++
	}
	for _, l := range s.waiting {
		delete(l.names, name)
	}
	for _, r := range w.refused {
		if r.Reason != tenancy.TooMany {
			continue
		}
		l := s.waiting[r.Namespace]
		if l == nil {
			l = &queuedNames{names: map[string]struct{}{}}
			s.waiting[r.Namespace] = l
			first = append(first, r)
		}
		l.add(name)
	}
	return first
}

// release notes that a name isn't about to be created any more: the zone has it, or nobody gets it.
func (s *shares) release(name string) {
	if id, known := s.granted[name]; known {
		delete(s.granted, name)
		if s.coming[id]--; s.coming[id] == 0 {
			delete(s.coming, id)
		}
	}
}

// admit removes the refused names for which there is room now, and returns them. Has returns how many names of a namespace
// the zone has.
func (s *shares) admit(has func(namespace string) int) (names []string) {
	for namespace, l := range s.waiting {
		room := s.limit - has(namespace) - s.coming[tenant(namespace)]
		for ; room > 0 && len(l.names) > 0; room-- {
			names = append(names, l.next())
		}
		if len(l.names) == 0 {
			delete(s.waiting, namespace)
		}
	}
	return names
}

// refused returns how many names are refused.
func (s *shares) refused() int {
	sum := 0
	for _, l := range s.waiting {
		sum += len(l.names)
	}
	return sum
}

func (l *queuedNames) add(name string) {
	if len(l.order) > 2*len(l.names)+64 {
		kept := make([]string, 0, len(l.names)+1)
		seen := make(map[string]struct{}, len(l.names))
		for _, n := range l.order {
			_, waits := l.names[n]
			if _, twice := seen[n]; waits && !twice {
				seen[n] = struct{}{}
				kept = append(kept, n)
			}
		}
		l.order = kept
	}
	l.names[name] = struct{}{}
	l.order = append(l.order, name)
}

// next removes the first name. There is one.
func (l *queuedNames) next() string {
	for {
		name := l.order[0]
		l.order = l.order[1:]
		if _, waits := l.names[name]; waits {
			delete(l.names, name)
			return name
		}
	}
}

// refusedBy has, by name, what each object was told that didn't get it.
type refusedBy map[string]map[dns.Object]string
