package azuretest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signpostd/signpost/testkit/apitest"
)

// setKey identifies a record set in a zone.
type setKey struct{ name, recordType string }

// zone is a zone with its record sets.
type zone struct {
	kind  kind
	group string
	name  string
	apitest.History[setKey, RecordSet]
}

// AddZone adds a public zone, in a resource group.
func (s *Server) AddZone(name, group string) { s.add(public, name, group) }

// AddPrivateZone adds a private zone.
func (s *Server) AddPrivateZone(name, group string) { s.add(private, name, group) }

// add adds a zone with Azure's own record sets (dns-zones-records, "SOA records" and "NS records").
func (s *Server) add(k kind, name, group string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ttl := int64(3600)
	sets := map[setKey]*RecordSet{}
	sets[setKey{"@", "SOA"}] = &RecordSet{Name: "@", Type: "SOA", ETag: "soa", Properties: Properties{TTL: &ttl, SOA: &SOA{Host: "ns1-01.azure-dns.test.", Email: "hostmaster.test."}}}
	if k == public {
		sets[setKey{"@", "NS"}] = &RecordSet{Name: "@", Type: "NS", ETag: "ns", Properties: Properties{TTL: &ttl, NS: []NS{{"ns1-01.azure-dns.test."}, {"ns2-01.azure-dns.test."}}}}
	}
	s.zones = append(s.zones, &zone{k, group, strings.ToLower(name), apitest.NewHistory(sets)})
}

// DeleteZone deletes the zones of a name.
func (s *Server) DeleteZone(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.zones = slices.DeleteFunc(s.zones, func(z *zone) bool { return z.name == name })
}

// Set puts a record set into the zones of a name as another writer would, without validation, or removes it
// if it has no properties.
func (s *Server) Set(zoneName string, r RecordSet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, z := range s.zones {
		if z.name != zoneName {
			continue
		}
		k := setKey{strings.ToLower(r.Name), r.Type}
		if r.TTL == nil {
			z.Set(k, nil, s.Lag())
			continue
		}
		r.ETag = s.etag()
		z.Set(k, &r, s.Lag())
	}
}

// Sets returns the record sets of a zone, without Azure's own, in order.
func (s *Server) Sets(zoneName string) []RecordSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sets []RecordSet
	for _, z := range s.zones {
		if z.name != zoneName {
			continue
		}
		for _, r := range z.List(0, order) {
			if r.Type != "SOA" && !(r.Type == "NS" && r.Name == "@") {
				sets = append(sets, *r)
			}
		}
	}
	return sets
}

// Get returns a record set, or nil.
func (s *Server) Get(zoneName, name, recordType string) *RecordSet {
	for _, r := range s.Sets(zoneName) {
		if r.Name == name && r.Type == recordType {
			return &r
		}
	}
	return nil
}

// find returns a zone, or nil. Names of resources are case-insensitive.
func (s *Server) find(k kind, group, name string) *zone {
	for _, z := range s.zones {
		if z.kind == k && strings.EqualFold(z.group, group) && z.name == name {
			return z
		}
	}
	return nil
}

// etag returns a new ETag.
func (s *Server) etag() string {
	s.etags++
	return fmt.Sprintf("etag-%d", s.etags)
}

func order(a, b *RecordSet) int { return strings.Compare(a.Name+" "+a.Type, b.Name+" "+b.Type) }

func (z *zone) id() string {
	return "/subscriptions/" + Subscription + "/resourceGroups/" + z.group + "/providers/Microsoft.Network/" + z.kind.resource() + "/" + z.name
}

func (z *zone) fqdn(name string) string {
	if name == "@" {
		return z.name + "."
	}
	return name + "." + z.name + "."
}
