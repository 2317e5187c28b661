package cloudflaretest

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/signpostd/signpost/testkit/apitest"
)

// The plans of zones.
const (
	Free       = "free"
	Pro        = "pro"
	Enterprise = "enterprise"
)

// Zone is a zone.
type Zone struct {
	ID, Name string
	// Plan is [Free], [Pro] or [Enterprise]; empty means Free.
	Plan string
	// Quota limits the number of records; zero means no limit.
	Quota int
	// Pending is true until the zone is delegated to Cloudflare.
	Pending bool
}

// Record is a record of the API.
type Record struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Name     string         `json:"name"`
	Content  string         `json:"content"`
	Priority *float64       `json:"priority,omitempty"`
	Data     *Data          `json:"data,omitempty"`
	TTL      int64          `json:"ttl"`
	Proxied  bool           `json:"proxied"`
	Proxable bool           `json:"proxiable"`
	Comment  *string        `json:"comment"`
	Tags     []string       `json:"tags"`
	Meta     map[string]any `json:"meta"`
}

// Data is the data of an SRV record.
type Data struct {
	Priority *int   `json:"priority"`
	Weight   *int   `json:"weight"`
	Port     *int   `json:"port"`
	Target   string `json:"target"`
}

// zone is a zone with its records.
type zone struct {
	Zone
	apitest.History[string, Record]
	// hostnames are custom hostnames by their IDs, and regions have the region of each name.
	hostnames map[string]*Hostname
	regions   map[string]string
}

// AddZone makes a zone. If it has no ID, it gets one.
func (s *Server) AddZone(z Zone) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if z.ID == "" {
		z.ID = s.nextID()
	}
	if z.Plan == "" {
		z.Plan = Free
	}
	s.zones = append(s.zones, &zone{Zone: z, History: apitest.NewHistory(map[string]*Record{}), hostnames: map[string]*Hostname{}, regions: map[string]string{}})
	return z.ID
}

// DeleteZone deletes a zone with its records.
func (s *Server) DeleteZone(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.zones = slices.DeleteFunc(s.zones, func(z *zone) bool { return z.ID == id })
}

// Put stores a record as another writer would, without validation. A record without an ID is new.
func (s *Server) Put(zoneID string, r Record) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.ID == "" {
		r.ID = s.nextID()
	}
	if r.TTL == 0 {
		r.TTL = 1
	}
	s.find(zoneID).Set(r.ID, &r, s.Lag())
	return r.ID
}

// Remove deletes a record as another writer would.
func (s *Server) Remove(zoneID, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.find(zoneID).Set(id, nil, s.Lag())
}

// Records returns the present records of a zone, by name, type and content.
func (s *Server) Records(zoneID string) []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Record
	for _, r := range s.find(zoneID).List(0, order) {
		list = append(list, *r)
	}
	return list
}

// Get returns the first record of a name and type in a zone, or nil.
func (s *Server) Get(zoneID, name, recordType string) *Record {
	for _, r := range s.Records(zoneID) {
		if r.Name == name && r.Type == recordType {
			return &r
		}
	}
	return nil
}

func order(a, b *Record) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Content, b.Content), cmp.Compare(a.ID, b.ID))
}

// find returns the zone with an ID, or nil.
func (s *Server) find(id string) *zone {
	for _, z := range s.zones {
		if z.ID == id {
			return z
		}
	}
	return nil
}

// zoneAnswer is a zone in the API.
type zoneAnswer struct {
	ID     string     `json:"id"`
	Name   string     `json:"name"`
	Status string     `json:"status"`
	Plan   planAnswer `json:"plan"`
}

type planAnswer struct {
	LegacyID   string `json:"legacy_id"`
	Subscribed bool   `json:"is_subscribed"`
}

func (z *zone) answer() zoneAnswer {
	status := "active"
	if z.Pending {
		status = "pending"
	}
	return zoneAnswer{ID: z.ID, Name: z.Name, Status: status, Plan: planAnswer{LegacyID: z.Plan, Subscribed: z.Plan != Free}}
}

// canonical returns the name of a record as Cloudflare stores it. A name outside the zone is relative to it.
func (z *zone) canonical(name string) string {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	switch {
	case name == "@" || name == "":
		return z.Name
	case name == z.Name || strings.HasSuffix(name, "."+z.Name):
		return name
	}
	return name + "." + z.Name
}

// copyOf returns a deep copy of a value of a type of this package.
func copyOf[T any](v T) T {
	var c T
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		panic(err) // The types of this package can be encoded.
	}
	return c
}
