package clouddnstest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/signpostd/signpost/testkit/apitest"
)

// Zone is a managed zone.
type Zone struct {
	// Name is the name of the resource, such as shop-test.
	Name string
	// ID is assigned by the server.
	ID uint64
	// DNSName has a trailing dot.
	DNSName string
	Private bool
	// Peering, Forwarding and Directory mark zones whose records are elsewhere: in another network, at other
	// servers, or in Service Directory.
	Peering, Forwarding, Directory bool
}

// RecordSet is a record set of the API.
type RecordSet struct {
	Kind  string   `json:"kind,omitempty"`
	Name  string   `json:"name"`
	Type  string   `json:"type"`
	TTL   int64    `json:"ttl"`
	Datas []string `json:"rrdatas,omitempty"`
	// Signatures is always empty.
	Signatures []string `json:"signatureRrdatas,omitempty"`
	// Policy is a routing policy, instead of Datas.
	Policy json.RawMessage `json:"routingPolicy,omitempty"`
}

// setKey identifies a record set in a zone.
type setKey struct{ name, recordType string }

func (r *RecordSet) key() setKey { return setKey{r.Name, r.Type} }

// same reports whether a deletion matches the existing record set, with the values in any order.
func (r *RecordSet) same(o *RecordSet) bool {
	return r.TTL == o.TTL && slices.Equal(slices.Sorted(slices.Values(r.Datas)), slices.Sorted(slices.Values(o.Datas))) && bytes.Equal(r.Policy, o.Policy)
}

func order(a, b *RecordSet) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type))
}

// canonical returns a name as the API returns it: in lower case, with a trailing dot.
func canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) + "." }

// zone is a managed zone with its record sets.
type zone struct {
	Zone
	apitest.History[setKey, RecordSet]
}

// AddZone creates a zone with Cloud DNS' own record sets.
func (s *Server) AddZone(z Zone) {
	z.DNSName = canonical(z.DNSName)
	const sixHours = 21600
	ns := &RecordSet{Name: z.DNSName, Type: "NS", TTL: sixHours, Datas: []string{"ns-cloud-a1.googledomains.com.", "ns-cloud-a2.googledomains.com."}}
	soa := &RecordSet{Name: z.DNSName, Type: "SOA", TTL: sixHours, Datas: []string{"ns-cloud-a1.googledomains.com. cloud-dns-hostmaster.google.com. 1 21600 3600 259200 300"}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if z.ID == 0 {
		z.ID = uint64(1000 + len(s.zones))
	}
	s.zones = append(s.zones, &zone{z, apitest.NewHistory(map[setKey]*RecordSet{ns.key(): ns, soa.key(): soa})})
}

// DeleteZone deletes a zone with its record sets.
func (s *Server) DeleteZone(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.zones = slices.DeleteFunc(s.zones, func(z *zone) bool { return z.Name == name })
}

// Put stores a record set as another writer would, without validation.
func (s *Server) Put(zoneName string, r RecordSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Name = canonical(r.Name)
	s.find(zoneName).Set(r.key(), &r, s.Lag())
}

// Fill stores n record sets, even beyond the default limits, which Google may raise for a project.
func (s *Server) Fill(zoneName string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	z := s.find(zoneName)
	next := maps.Clone(z.Now())
	for i := range n {
		r := &RecordSet{Name: "f" + strconv.Itoa(i) + "." + z.DNSName, Type: "A", TTL: 300, Datas: []string{"192.0.2.1"}}
		next[r.key()] = r
	}
	z.Replace(next, s.Lag())
}

// Remove removes a record set as another writer would, without validation.
func (s *Server) Remove(zoneName, name, recordType string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.find(zoneName).Set(setKey{canonical(name), recordType}, nil, s.Lag())
}

// Sets returns the record sets of a zone except the NS and SOA of its apex, in the order of a listing.
func (s *Server) Sets(zoneName string) []RecordSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	z := s.find(zoneName)
	var list []RecordSet
	for _, r := range z.List(0, order) {
		if r.Name != z.DNSName || r.Type != "NS" && r.Type != "SOA" {
			list = append(list, *r)
		}
	}
	return list
}

// Get returns the record set of a name and type in a zone, or nil.
func (s *Server) Get(zoneName, name, recordType string) *RecordSet {
	for _, r := range s.Sets(zoneName) {
		if r.Name == canonical(name) && r.Type == recordType {
			return &r
		}
	}
	return nil
}

// find returns the zone with a name or an ID, or nil.
func (s *Server) find(name string) *zone {
	for _, z := range s.zones {
		if z.Name == name || strconv.FormatUint(z.ID, 10) == name {
			return z
		}
	}
	return nil
}
