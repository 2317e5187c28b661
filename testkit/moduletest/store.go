package moduletest

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/signpostd/signpost/dns"
)

// Record is a record of a [Store]. Its data is in the form of zone files (RFC 1035, 5.1), except for texts,
// which are unquoted.
type Record struct {
	ID int
	// Name is relative to the zone; @ is the apex.
	Name, Type, Data string
	TTL              int64
}

// Store has the zones of a server.
type Store struct {
	mu    sync.Mutex
	zones map[string][]Record
	last  int
}

// NewStore returns a store without zones.
func NewStore() *Store { return &Store{zones: map[string][]Record{}} }

// AddZone adds an empty zone, whose name has no trailing dot.
func (s *Store) AddZone(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.zones[name] = nil
}

// Zones returns the names of the zones, sorted.
func (s *Store) Zones() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for name := range s.zones {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Has reports whether a zone exists.
func (s *Store) Has(zone string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.zones[zone]
	return ok
}

// List returns the records of a zone, in the order of creation.
func (s *Store) List(zone string) []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.zones[zone])
}

// Size returns the number of records of a zone.
func (s *Store) Size(zone string) int { return len(s.List(zone)) }

// Set returns the records of a name and type.
func (s *Store) Set(zone, name, recordType string) []Record {
	return slices.DeleteFunc(s.List(zone), func(r Record) bool { return r.Name != name || r.Type != recordType })
}

// Add adds a record, and returns its ID. The error says why the zone can't have it.
func (s *Store) Add(zone string, r Record) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(zone, r)
}

func (s *Store) add(zone string, r Record) (int, error) {
	if err := check(r); err != nil {
		return 0, err
	}
	for _, other := range s.zones[zone] {
		switch {
		case other.Name != r.Name:
		case other.Type == r.Type && other.Data == r.Data:
			return 0, fmt.Errorf("%s %s %q exists", r.Name, r.Type, r.Data)
		case other.Type == dns.TypeCNAME || r.Type == dns.TypeCNAME:
			return 0, fmt.Errorf("%s %s: a CNAME can't be beside %s", r.Name, r.Type, other.Type)
		}
	}
	s.last++
	r.ID = s.last
	s.zones[zone] = append(s.zones[zone], r)
	return r.ID, nil
}

// Delete deletes a record, and reports whether it existed.
func (s *Store) Delete(zone string, id int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.zones[zone])
	s.zones[zone] = slices.DeleteFunc(s.zones[zone], func(r Record) bool { return r.ID == id })
	return len(s.zones[zone]) < before
}

// Replace replaces record sets, all of them or none. The records of each have one name and one type; a set
// without records is deleted.
func (s *Store) Replace(zone string, sets []Set) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := slices.Clone(s.zones[zone])
	for _, set := range sets {
		s.zones[zone] = slices.DeleteFunc(s.zones[zone], func(r Record) bool { return r.Name == set.Name && r.Type == set.Type })
	}
	for _, set := range sets {
		for _, r := range set.Records {
			r.Name, r.Type = set.Name, set.Type
			if _, err := s.add(zone, r); err != nil {
				s.zones[zone] = before
				return err
			}
		}
	}
	return nil
}

// Set is the records of one name and type.
type Set struct {
	Name, Type string
	Records    []Record
}

// check validates a record on its own.
func check(r Record) error {
	switch r.Type {
	case dns.TypeA, dns.TypeAAAA:
		addr, err := netip.ParseAddr(r.Data)
		if err != nil || addr.Is4() != (r.Type == dns.TypeA) {
			return fmt.Errorf("%s %s: %q isn't such an address", r.Name, r.Type, r.Data)
		}
	case dns.TypeCNAME, dns.TypeNS, dns.TypePTR, dns.TypeDNAME, dns.TypeMX, dns.TypeSRV:
		fields := strings.Fields(r.Data)
		numbers := map[string]int{dns.TypeMX: 1, dns.TypeSRV: 3}[r.Type]
		if len(fields) != numbers+1 || !strings.HasSuffix(r.Data, ".") {
			return fmt.Errorf("%s %s: %q isn't %d numbers and a name with a dot at its end", r.Name, r.Type, r.Data, numbers)
		}
	}
	if r.Name == "@" && (r.Type == dns.TypeCNAME || r.Type == dns.TypeDNAME) {
		return fmt.Errorf("%s can't be at the apex", r.Type)
	}
	return checkName(r.Name)
}

func checkName(name string) error {
	if name == "" || name != strings.ToLower(name) {
		return fmt.Errorf("the name %q is empty, or has capitals", name)
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return fmt.Errorf("the name %q has a label that is empty or too long", name)
		}
	}
	return nil
}
