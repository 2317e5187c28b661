package cloudflaretest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Page sizes (API reference, per_page of each list).
const (
	smallestPage  = 1
	recordsPage   = 100
	mostRecords   = 5_000_000
	zonesPage     = 20
	mostZones     = 50
	hostnamesPage = 20
	mostHostnames = 50
)

// page returns a page of a list.
func page[T any](req *request, list []T, usual, most int) (result, *Fault) {
	number, fault := req.number("page", 1, 1, 1<<30)
	if fault != nil {
		return result{}, fault
	}
	size, fault := req.number("per_page", usual, smallestPage, most)
	if fault != nil {
		return result{}, fault
	}
	pages := slices.Collect(slices.Chunk(list, size))
	rows := []T{}
	if number <= len(pages) {
		rows = pages[number-1]
	}
	return result{value: rows, info: &info{Page: number, PerPage: size, Count: len(rows), TotalCount: len(list), TotalPages: len(pages)}}, nil
}

// number returns a number in the query.
func (r *request) number(name string, usual, least, most int) (int, *Fault) {
	text := r.Query.Get(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, &Fault{Status: 400, Code: 6003, Message: "Invalid query parameters", Cause: fmt.Sprintf("%s must be from %d to %d", name, least, most), CauseCode: 6114}
	}
	return n, nil
}

func (s *Server) listZones(req *request) (result, *Fault) {
	var list []zoneAnswer
	for _, z := range s.zones {
		// What the credentials may not see isn't listed.
		if !s.Denied(GetZone, z.ID) {
			list = append(list, z.answer())
		}
	}
	slices.SortFunc(list, func(a, b zoneAnswer) int { return cmp.Compare(a.Name, b.Name) })
	return page(req, list, zonesPage, mostZones)
}

func (s *Server) getZone(req *request) (result, *Fault) {
	return result{value: s.find(req.Zone).answer()}, nil
}

// filters are the supported query parameters for records.
var filters = []string{"page", "per_page", "order", "direction", "name.exact", "name.endswith", "type"}

func (s *Server) listRecords(req *request) (result, *Fault) {
	for name := range req.Query {
		if !slices.Contains(filters, name) {
			return result{}, &Fault{Status: 400, Code: 1004, Message: "Invalid parameter " + name}
		}
	}
	z := s.find(req.Zone)
	exact, ending := strings.ToLower(req.Query.Get("name.exact")), strings.ToLower(req.Query.Get("name.endswith"))
	var list []*Record
	for _, r := range z.List(s.Lag(), order) {
		if (exact == "" || r.Name == exact) && strings.HasSuffix(r.Name, ending) {
			list = append(list, r)
		}
	}
	return page(req, list, recordsPage, mostRecords)
}
