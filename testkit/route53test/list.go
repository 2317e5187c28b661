package route53test

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The largest pages (API Reference, API_ListHostedZones and API_ListResourceRecordSets), and the most zones
// in a request for tags (API_ListTagsForResources).
const (
	zonesPage = 100
	setsPage  = 300
	tagsPage  = 10
)

type zoneInfo struct {
	ID              string `xml:"Id"`
	Name            string
	CallerReference string
	Config          struct{ PrivateZone bool }
	Count           int `xml:"ResourceRecordSetCount"`
}

type zonesAnswer struct {
	XMLName     xml.Name   `xml:"ListHostedZonesResponse"`
	Space       string     `xml:"xmlns,attr"`
	Zones       []zoneInfo `xml:"HostedZones>HostedZone"`
	Marker      string     `xml:",omitempty"`
	IsTruncated bool
	NextMarker  string `xml:",omitempty"`
	MaxItems    int
}

func (s *Server) listZones(req *request) (any, *Fault) {
	query := req.http.URL.Query()
	answer := zonesAnswer{Space: namespace, Marker: query.Get("marker"), MaxItems: zonesPage}
	rest := s.zones
	if answer.Marker != "" {
		i := slices.IndexFunc(rest, func(z *zone) bool { return z.ID == answer.Marker })
		if i < 0 {
			return nil, &Fault{Status: 400, Code: "InvalidInput", Message: "The marker is unknown."}
		}
		rest = rest[i:]
	}
	for i, z := range rest {
		if i == zonesPage {
			answer.IsTruncated, answer.NextMarker = true, z.ID
			break
		}
		info := zoneInfo{ID: "/hostedzone/" + z.ID, Name: z.Name, CallerReference: z.ID, Count: len(z.Now())}
		info.Config.PrivateZone = z.Private
		answer.Zones = append(answer.Zones, info)
	}
	return answer, nil
}

type tag struct{ Key, Value string }

type tagSet struct {
	ResourceType string
	ResourceID   string `xml:"ResourceId"`
	Tags         []tag  `xml:"Tags>Tag"`
}

type tagsAnswer struct {
	XMLName xml.Name `xml:"ListTagsForResourcesResponse"`
	Space   string   `xml:"xmlns,attr"`
	Sets    []tagSet `xml:"ResourceTagSets>ResourceTagSet"`
}

func (s *Server) listTags(req *request) (any, *Fault) {
	var asked struct {
		IDs []string `xml:"ResourceIds>ResourceId"`
	}
	if err := xml.Unmarshal(req.body, &asked); err != nil || len(asked.IDs) == 0 || len(asked.IDs) > tagsPage {
		return nil, &Fault{Status: 400, Code: "InvalidInput", Message: fmt.Sprintf("%d resource IDs: there must be 1 to %d", len(asked.IDs), tagsPage)}
	}
	answer := tagsAnswer{Space: namespace}
	for _, id := range asked.IDs {
		z := s.find(id)
		if z == nil {
			return nil, &Fault{Status: 404, Code: "NoSuchHostedZone", Message: "No hosted zone found with ID: " + id}
		}
		set := tagSet{ResourceType: "hostedzone", ResourceID: id}
		for _, k := range slices.Sorted(maps.Keys(z.Tags)) {
			set.Tags = append(set.Tags, tag{k, z.Tags[k]})
		}
		answer.Sets = append(answer.Sets, set)
	}
	return answer, nil
}

type setsAnswer struct {
	XMLName        xml.Name    `xml:"ListResourceRecordSetsResponse"`
	Space          string      `xml:"xmlns,attr"`
	Sets           []RecordSet `xml:"ResourceRecordSets>ResourceRecordSet"`
	IsTruncated    bool
	NextName       string `xml:"NextRecordName,omitempty"`
	NextType       string `xml:"NextRecordType,omitempty"`
	NextIdentifier string `xml:"NextRecordIdentifier,omitempty"`
	MaxItems       int
}

func (s *Server) listSets(req *request) (any, *Fault) {
	query := req.http.URL.Query()
	answer := setsAnswer{Space: namespace, MaxItems: setsPage}
	if text := query.Get("maxitems"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, &Fault{Status: 400, Code: "InvalidInput", Message: "maxitems must be a positive number"}
		}
		answer.MaxItems = min(n, setsPage)
	}
	start := RecordSet{Name: query.Get("name"), Type: query.Get("type"), SetIdentifier: query.Get("identifier")}
	if start.Type != "" && start.Name == "" {
		return nil, &Fault{Status: 400, Code: "InvalidInput", Message: "A type was given without a name."}
	}
	list := s.find(req.Zone).List(s.Lag(), order)
	if start.Name != "" {
		start.Name = canonical(start.Name)
		from, _ := slices.BinarySearchFunc(list, &start, order)
		list = list[from:]
	}
	for _, r := range list {
		if len(answer.Sets) == answer.MaxItems {
			answer.IsTruncated, answer.NextName, answer.NextType, answer.NextIdentifier = true, r.Name, r.Type, r.SetIdentifier
			break
		}
		answer.Sets = append(answer.Sets, *r)
	}
	return answer, nil
}

type changeInfo struct {
	ID          string `xml:"Id"`
	Status      string
	SubmittedAt time.Time
}

type changeAnswer struct {
	XMLName xml.Name
	Space   string     `xml:"xmlns,attr"`
	Info    changeInfo `xml:"ChangeInfo"`
}

func (s *Server) getChange(req *request) (any, *Fault) {
	id := req.http.URL.Path[strings.LastIndex(req.http.URL.Path, "/")+1:]
	made, known := s.changes[id]
	if !known {
		return nil, &Fault{Status: 404, Code: "NoSuchChange", Message: "Could not find resource with ID: " + id}
	}
	status := "PENDING"
	if !time.Now().Before(made.Add(s.propagation)) {
		status = "INSYNC"
	}
	answer := changeAnswer{Space: namespace, Info: changeInfo{ID: "/change/" + id, Status: status, SubmittedAt: made}}
	answer.XMLName.Local = cmp.Or(answer.XMLName.Local, "GetChangeResponse")
	return answer, nil
}
