package azuretest

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// usualPage is the default page size (REST reference, $top).
const usualPage = 100

// listing is the rest of a listing, as of its start.
type listing struct{ entries []any }

// pageOf returns a page of entries, with the link to the next one.
func (s *Server) pageOf(req *request, all func() []any) (answer, *Fault) {
	query := req.http.URL.Query()
	top := usualPage
	if text := query.Get("$top"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return answer{}, &Fault{Status: 400, Code: "BadRequest", Message: "The value of $top has to be a positive number."}
		}
		top = n
	}
	entries := []any(nil)
	if token := query.Get("$skiptoken"); token != "" {
		rest, known := s.listings[token]
		if !known {
			return answer{}, &Fault{Status: 400, Code: "BadRequest", Message: "The skip token is unknown."}
		}
		entries = rest.entries
	} else {
		entries = all()
	}
	top = min(top, s.page)
	body := map[string]any{"value": []any{}}
	if len(entries) > top {
		token := fmt.Sprintf("page-%d", len(s.listings)+1)
		s.listings[token] = listing{entries[top:]}
		query.Set("$skiptoken", token)
		next := url.URL{Scheme: "https", Host: req.http.Host, Path: req.http.URL.Path, RawQuery: query.Encode()}
		body["nextLink"] = next.String()
		entries = entries[:top]
	}
	if len(entries) > 0 {
		body["value"] = entries
	}
	return answer{200, body}, nil
}

// listZones lists the zones of a group.
func (s *Server) listZones(req *request) (answer, *Fault) {
	return s.pageOf(req, func() (entries []any) {
		for _, z := range s.zones {
			if z.kind != req.kind || !strings.EqualFold(z.group, req.group) {
				continue
			}
			entries = append(entries, map[string]any{
				"id": z.id(), "name": z.name, "type": "Microsoft.Network/" + z.kind.resource(), "etag": "zone", "location": "global",
				"properties": map[string]any{"numberOfRecordSets": len(z.Now())},
			})
		}
		return entries
	})
}

// listSets lists the record sets of a zone.
func (s *Server) listSets(req *request, z *zone) (answer, *Fault) {
	return s.pageOf(req, func() (entries []any) {
		for _, r := range z.List(s.Lag(), order) {
			entries = append(entries, r.wire(z))
		}
		return entries
	})
}
