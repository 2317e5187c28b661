package publisher

import (
	"fmt"
	"maps"
	"slices"
	"unique"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/tenancy"
)

// tenantID is an interned namespace; the zero value, nobody, is for none.
type tenantID = unique.Handle[string]

var nobody tenantID

func tenant(namespace string) tenantID { return unique.Make(namespace) }

// shares counts the granted new names of namespaces in a zone, and queues the names that are
// refused because their namespace has too many.
type shares struct {
	limit int
	// granted has the namespace of each name that may be created and doesn't exist yet. grantedNames
	// counts them by namespace.
	granted      map[string]tenantID
	grantedNames map[tenantID]int
	// waiting has the refused names of each namespace, oldest first.
	waiting map[string]*queuedNames
}

// queuedNames is a queue of names. Removed names are dropped from order lazily.
type queuedNames struct {
	order []string
	names map[string]struct{}
}

func newShares(limit int) *shares {
	return &shares{limit: limit, granted: map[string]tenantID{}, grantedNames: map[tenantID]int{}, waiting: map[string]*queuedNames{}}
}

// full reports whether a namespace may get no further name. has is the number of its names in the
// zone.
func (s *shares) full(name, namespace string, has int) bool {
	id := tenant(namespace)
	return s.granted[name] != id && has+s.grantedNames[id] >= s.limit
}

// grant records which namespaces got a name. held is true if the zone has the name. It returns the
// refusals of namespaces that had none before.
func (s *shares) grant(name string, w demand, held bool) (first []tenancy.Refusal) {
	s.release(name)
	if !held && len(w.granted) > 0 {
		id := tenant(w.granted[0])
		s.granted[name] = id
		s.grantedNames[id]++
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

// release forgets the grant of a name that exists now or is refused.
func (s *shares) release(name string) {
	if id, known := s.granted[name]; known {
		delete(s.granted, name)
		if s.grantedNames[id]--; s.grantedNames[id] == 0 {
			delete(s.grantedNames, id)
		}
	}
}

// admit removes and returns the refused names that are within the limit now. has returns the number
// of names of a namespace in the zone.
func (s *shares) admit(has func(namespace string) int) (names []string) {
	for namespace, l := range s.waiting {
		room := s.limit - has(namespace) - s.grantedNames[tenant(namespace)]
		for ; room > 0 && len(l.names) > 0; room-- {
			names = append(names, l.next())
		}
		if len(l.names) == 0 {
			delete(s.waiting, namespace)
		}
	}
	return names
}

// refused returns the number of refused names.
func (s *shares) refused() int {
	sum := 0
	for _, l := range s.waiting {
		sum += len(l.names)
	}
	return sum
}

// err says that names are refused, and names the first namespace of those with too many; nil if no
// name is.
func (s *shares) err() error {
	full := slices.Sorted(maps.Keys(s.waiting))
	full = slices.DeleteFunc(full, func(namespace string) bool { return len(s.waiting[namespace].names) == 0 })
	if len(full) == 0 {
		return nil
	}
	others := ""
	if len(full) > 1 {
		others = fmt.Sprintf(" (as do %d others)", len(full)-1)
	}
	return fmt.Errorf("%d names are not published, because %s%s has %d names, the limit (--max-names-per-namespace): remove names, or raise the limit",
		s.refused(), tenancy.Title(full[0]), others, s.limit)
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

// next removes the first name. The queue must not be empty.
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

// refusedBy has, for each name, the message to each object that was refused.
type refusedBy map[string]map[dns.Object]string
