package route53test

import (
	"slices"
	"strings"

	"github.com/signpostd/signpost/testkit/apitest"
)

// Zone is a hosted zone.
type Zone struct {
	// ID has no prefix. Name has a trailing dot.
	ID, Name string
	Private  bool
	Tags     map[string]string
}

// zone is a hosted zone with its record sets.
type zone struct {
	Zone
	apitest.History[key, RecordSet]
}

// AddZone creates a zone with Route 53's own record sets.
func (s *Server) AddZone(z Zone) {
	z.Name = canonical(z.Name)
	day := int64(172800)
	ns := &RecordSet{Name: z.Name, Type: "NS", TTL: &day, ResourceRecords: []Value{{"ns-1.awsdns-01.org."}, {"ns-2.awsdns-02.co.uk."}}}
	soa := &RecordSet{Name: z.Name, Type: "SOA", TTL: &day, ResourceRecords: []Value{{"ns-1.awsdns-01.org. awsdns-hostmaster.amazon.com. 1 7200 900 1209600 86400"}}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.zones = append(s.zones, &zone{z, apitest.NewHistory(map[key]*RecordSet{ns.key(): ns, soa.key(): soa})})
}

// DeleteZone deletes a zone with its record sets.
func (s *Server) DeleteZone(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.zones = slices.DeleteFunc(s.zones, func(z *zone) bool { return z.ID == id })
}

// Put stores a record set as another writer would, without validation.
func (s *Server) Put(zoneID string, r RecordSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Name = canonical(r.Name)
	s.find(zoneID).Set(r.key(), &r, s.Lag())
}

// Remove deletes a record set without a set identifier as another writer would.
func (s *Server) Remove(zoneID, name, recordType string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := RecordSet{Name: canonical(name), Type: recordType}
	s.find(zoneID).Set(r.key(), nil, s.Lag())
}

// Sets returns the record sets of a zone except the NS and SOA of its apex, in the order of a listing.
func (s *Server) Sets(zoneID string) []RecordSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	z := s.find(zoneID)
	var list []RecordSet
	for _, r := range z.List(0, order) {
		if r.Name != z.Name || r.Type != "NS" && r.Type != "SOA" {
			list = append(list, *r)
		}
	}
	return list
}

// Get returns the first record set of a name and type in a zone, or nil.
func (s *Server) Get(zoneID, name, recordType string) *RecordSet {
	for _, r := range s.Sets(zoneID) {
		if r.Name == canonical(name) && r.Type == recordType {
			return &r
		}
	}
	return nil
}

// find returns the zone with an ID, or nil.
func (s *Server) find(id string) *zone {
	id = strings.TrimPrefix(id, "/hostedzone/")
	for _, z := range s.zones {
		if z.ID == id {
			return z
		}
	}
	return nil
}
