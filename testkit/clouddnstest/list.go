package clouddnstest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const (
	// defaultPage is the default page size, and largestPage the maximum.
	defaultPage = 100
	largestPage = 1000
)

// pageSize parses maxResults.
func pageSize(r *http.Request) (int, *Fault) {
	text := r.URL.Query().Get("maxResults")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, &Fault{Status: 400, Reason: "invalidParameter", Message: "Invalid value for 'parameters.maxResults': '" + text + "'"}
	}
	return n, nil
}

// page returns the range of a page among n items, and the token of the next page: the index of its first
// item.
func page(req *request, n int) (from, to int, next string, fault *Fault) {
	size := min(max(req.PageSize, 0), largestPage)
	if size == 0 {
		size = defaultPage
	}
	if token := req.http.URL.Query().Get("pageToken"); token != "" {
		var err error
		if from, err = strconv.Atoi(token); err != nil || from < 0 {
			return 0, 0, "", &Fault{Status: 400, Reason: "invalid", Message: "Invalid value for 'parameters.pageToken': '" + token + "'"}
		}
	}
	from = min(from, n)
	if to = min(from+size, n); to < n {
		next = strconv.Itoa(to)
	}
	return from, to, next, nil
}

type zoneInfo struct {
	Kind       string    `json:"kind"`
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	DNSName    string    `json:"dnsName"`
	Visibility string    `json:"visibility"`
	Peering    *struct{} `json:"peeringConfig,omitempty"`
	Forwarding *struct{} `json:"forwardingConfig,omitempty"`
	Directory  *struct{} `json:"serviceDirectoryConfig,omitempty"`
}

type zonesAnswer struct {
	Kind  string     `json:"kind"`
	Zones []zoneInfo `json:"managedZones"`
	Next  string     `json:"nextPageToken,omitempty"`
}

// listZones answers managedZones.list (reference, managedZones).
func (s *Server) listZones(req *request) (any, *Fault) {
	from, to, next, fault := page(req, len(s.zones))
	if fault != nil {
		return nil, fault
	}
	answer := zonesAnswer{Kind: "dns#managedZonesListResponse", Next: next}
	for _, z := range s.zones[from:to] {
		info := zoneInfo{Kind: "dns#managedZone", ID: strconv.FormatUint(z.ID, 10), Name: z.Name, DNSName: z.DNSName, Visibility: "public"}
		if z.Private {
			info.Visibility = "private"
		}
		for there, field := range map[*bool]**struct{}{&z.Peering: &info.Peering, &z.Forwarding: &info.Forwarding, &z.Directory: &info.Directory} {
			if *there {
				*field = &struct{}{}
			}
		}
		answer.Zones = append(answer.Zones, info)
	}
	return answer, nil
}

type setsAnswer struct {
	Kind string       `json:"kind"`
	Sets []*RecordSet `json:"rrsets"`
	Next string       `json:"nextPageToken,omitempty"`
}

// listSets answers resourceRecordSets.list (reference, resourceRecordSets).
func (s *Server) listSets(req *request) (any, *Fault) {
	query := req.http.URL.Query()
	list := s.find(req.Zone).List(s.Lag(), order)
	if name := query.Get("name"); name != "" {
		if !strings.HasSuffix(name, ".") {
			return nil, &Fault{Status: 400, Reason: "invalid", Message: "Invalid value for 'parameters.name': '" + name + "'"}
		}
		list = slices.DeleteFunc(slices.Clone(list), func(r *RecordSet) bool {
			return r.Name != canonical(name) || query.Get("type") != "" && r.Type != query.Get("type")
		})
	} else if query.Get("type") != "" {
		return nil, &Fault{Status: 400, Reason: "required", Message: "Required parameter is missing: 'parameters.name'"}
	}
	from, to, next, fault := page(req, len(list))
	if fault != nil {
		return nil, fault
	}
	return setsAnswer{Kind: "dns#resourceRecordSetsListResponse", Sets: list[from:to], Next: next}, nil
}
