package cloudflaretest

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Hostname is a custom hostname.
type Hostname struct {
	ID       string `json:"id"`
	Hostname string `json:"hostname"`
	Origin   string `json:"custom_origin_server"`
	SSL      SSL    `json:"ssl"`
}

// SSL is the requested certificate of a custom hostname.
type SSL struct {
	Type         string `json:"type"`
	Method       string `json:"method"`
	BundleMethod string `json:"bundle_method"`
	Authority    string `json:"certificate_authority,omitempty"`
	Settings     struct {
		MinTLS string `json:"min_tls_version"`
	} `json:"settings"`
}

// PutHostname stores a custom hostname as another writer would.
func (s *Server) PutHostname(zoneID string, h Hostname) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.ID = s.nextID()
	s.find(zoneID).hostnames[h.ID] = &h
}

// Hostnames returns the custom hostnames of a zone, by name.
func (s *Server) Hostnames(zoneID string) []Hostname {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(zoneID).sortedHostnames()
}

// PutRegion sets the region of a name as another writer would.
func (s *Server) PutRegion(zoneID, name, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.find(zoneID).regions[name] = key
}

// Regions returns the regions of names of a zone.
func (s *Server) Regions(zoneID string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.find(zoneID).regions)
}

func (z *zone) sortedHostnames() []Hostname {
	var list []Hostname
	for _, h := range z.hostnames {
		list = append(list, *h)
	}
	slices.SortFunc(list, func(a, b Hostname) int { return cmp.Compare(a.Hostname, b.Hostname) })
	return list
}

func (s *Server) listHostnames(req *request) (result, *Fault) {
	list := s.find(req.Zone).sortedHostnames()
	if origin := req.Query.Get("custom_origin_server"); origin != "" {
		list = slices.DeleteFunc(list, func(h Hostname) bool { return h.Origin != origin })
	}
	return page(req, list, hostnamesPage, mostHostnames)
}

// reserved are domains that custom hostnames must not be below
// (cloudflare-for-platforms/cloudflare-for-saas/reference/status-codes/custom-hostnames).
var reserved = []string{"example.com", "example.net", "example.org", "test", "example", "invalid", "localhost"}

func (s *Server) createHostname(req *request) (result, *Fault) {
	var h Hostname
	if err := json.Unmarshal(req.body, &h); err != nil {
		return result{}, &Fault{Status: 400, Code: 1400, Message: "Unable to decode the JSON request body. Check your input and try again."}
	}
	z := s.find(req.Zone)
	if !validName(h.Hostname) || !strings.Contains(h.Hostname, ".") {
		return result{}, &Fault{Status: 400, Code: 1407, Message: "Invalid custom hostname."}
	}
	for _, name := range reserved {
		if h.Hostname == name || strings.HasSuffix(h.Hostname, "."+name) {
			return result{}, &Fault{Status: 400, Code: 1411, Message: "Custom hostnames ending in " + name + " are prohibited."}
		}
	}
	for _, o := range z.hostnames {
		if o.Hostname == h.Hostname {
			return result{}, &Fault{Status: http.StatusConflict, Code: 1406, Message: "Duplicate custom hostname found."}
		}
	}
	if h.Origin != "" && !z.serves(h.Origin) {
		return result{}, &Fault{Status: 400, Code: 1416, Message: "The custom origin server must be a record of the zone."}
	}
	if h.SSL.Type != "dv" || !slices.Contains([]string{"http", "txt", "email"}, h.SSL.Method) {
		return result{}, &Fault{Status: 400, Code: 1434, Message: "Invalid validation method or type."}
	}
	h.ID = s.nextID()
	z.hostnames[h.ID] = &h
	return result{status: http.StatusCreated, value: h}, nil
}

// serves reports whether a name has a record that can be an origin.
func (z *zone) serves(name string) bool {
	for _, r := range z.Now() {
		if r.Name == name && r.Proxable {
			return true
		}
	}
	return false
}

func (s *Server) deleteHostname(req *request) (result, *Fault) {
	z := s.find(req.Zone)
	if z.hostnames[req.id] == nil {
		return result{}, &Fault{Status: 404, Code: 1436, Message: "The custom hostname was not found."}
	}
	delete(z.hostnames, req.id)
	return result{value: map[string]string{"id": req.id}, bare: true}, nil
}

// regionAnswer is the region of a name in the API.
type regionAnswer struct {
	Hostname string `json:"hostname"`
	Key      string `json:"region_key"`
	Routing  string `json:"routing"`
}

// knownRegions are some of the regions (data-localization/region-support).
var knownRegions = []string{"ca", "eu", "in", "us"}

func (s *Server) listRegions(req *request) (result, *Fault) {
	list := []regionAnswer{}
	z := s.find(req.Zone)
	for _, name := range slices.Sorted(maps.Keys(z.regions)) {
		list = append(list, regionAnswer{name, z.regions[name], "dns"})
	}
	return result{value: list}, nil
}

func (s *Server) readRegion(req *request) (regionAnswer, *Fault) {
	var r regionAnswer
	if err := json.Unmarshal(req.body, &r); err != nil || !slices.Contains(knownRegions, r.Key) {
		return r, &Fault{Status: 400, Code: 1001, Message: "The region key is unknown."}
	}
	return r, nil
}

func (s *Server) createRegion(req *request) (result, *Fault) {
	r, fault := s.readRegion(req)
	if fault != nil {
		return result{}, fault
	}
	z := s.find(req.Zone)
	switch {
	case z.canonical(r.Hostname) != r.Hostname:
		return result{}, &Fault{Status: 400, Code: 1002, Message: "The hostname is not in the zone."}
	case z.regions[r.Hostname] != "":
		return result{}, &Fault{Status: http.StatusConflict, Code: 1003, Message: "The hostname has a region already."}
	}
	z.regions[r.Hostname], r.Routing = r.Key, "dns"
	return result{value: r}, nil
}

func (s *Server) editRegion(req *request) (result, *Fault) {
	r, fault := s.readRegion(req)
	if fault != nil {
		return result{}, fault
	}
	z := s.find(req.Zone)
	if z.regions[req.id] == "" {
		return result{}, &Fault{Status: 404, Code: 1004, Message: "The hostname has no region."}
	}
	z.regions[req.id] = r.Key
	return result{value: regionAnswer{req.id, r.Key, "dns"}}, nil
}

func (s *Server) deleteRegion(req *request) (result, *Fault) {
	z := s.find(req.Zone)
	if z.regions[req.id] == "" {
		return result{}, &Fault{Status: 404, Code: 1004, Message: "The hostname has no region."}
	}
	delete(z.regions, req.id)
	return result{}, nil
}
