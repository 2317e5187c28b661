package azure

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// api is the API for one kind of zones. The JSON of the two kinds differs in the case of names only.
type api struct {
	private bool
	// zones is the type of zones in paths and permissions, and all that of all record sets.
	zones, all string
	version    string
}

var (
	publicAPI  = api{zones: "dnsZones", all: "all", version: "2018-05-01"}
	privateAPI = api{private: true, zones: "privateDnsZones", all: "ALL", version: "2024-06-01"}
)

// zoneInfo is a zone in JSON.
type zoneInfo struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Properties struct {
		RecordSets *int64 `json:"numberOfRecordSets"`
	} `json:"properties"`
}

// zone returns a listed zone. Its version is the number of its record sets.
func (a api) zone(z *zoneInfo) dns.Zone {
	zone := dns.Zone{ID: z.ID, Name: z.Name, Private: a.private}
	if n := z.Properties.RecordSets; n != nil {
		zone.Version = strconv.FormatInt(*n, 10)
	}
	return zone
}

// recordSet is a record set in JSON. Decoding ignores the case of names.
type recordSet struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	ETag       string `json:"etag"`
	Properties struct {
		TTL        int64
		Metadata   map[string]string
		Registered bool `json:"isAutoRegistered"`
		Target     struct {
			ID string
		} `json:"targetResource"`
		ARecords, AAAARecords, MXRecords, NSRecords, PTRRecords, SRVRecords, TXTRecords []*element
		CNAMERecord                                                                     *element
	} `json:"properties"`
}

// element is a record in JSON.
type element struct {
	IPv4       string   `json:"ipv4Address,omitempty"`
	IPv6       string   `json:"ipv6Address,omitempty"`
	CNAME      string   `json:"cname,omitempty"`
	Exchange   string   `json:"exchange,omitempty"`
	NameServer string   `json:"nsdname,omitempty"`
	Pointer    string   `json:"ptrdname,omitempty"`
	Target     string   `json:"target,omitempty"`
	Preference *int32   `json:"preference,omitempty"`
	Priority   *int32   `json:"priority,omitempty"`
	Weight     *int32   `json:"weight,omitempty"`
	Port       *int32   `json:"port,omitempty"`
	Strings    []string `json:"value,omitempty"`
}

// decode returns a record set of Azure.
func decode(r *recordSet) *stored {
	p := &r.Properties
	s := &stored{key: newKey(r.Name, r.Type), etag: r.ETag, ttl: p.TTL, metadata: p.Metadata, resource: p.Target.ID, registered: p.Registered}
	elements := map[string][]*element{
		dns.TypeA: p.ARecords, dns.TypeAAAA: p.AAAARecords, dns.TypeCNAME: {p.CNAMERecord}, dns.TypeMX: p.MXRecords, dns.TypeNS: p.NSRecords,
		dns.TypePTR: p.PTRRecords, dns.TypeSRV: p.SRVRecords, dns.TypeTXT: p.TXTRecords,
	}
	for _, e := range elements[s.key.recordType] {
		if e != nil {
			s.records = append(s.records, e.record(s.key.recordType))
		}
	}
	if s.metadata == nil {
		s.metadata = map[string]string{}
	}
	return s
}

// record returns the record of an element, which has the fields of its type only.
func (e *element) record(recordType string) record {
	v := record{text: cmp.Or(e.IPv4, e.IPv6, e.CNAME, e.Exchange, e.NameServer, e.Pointer, e.Target), strings: e.Strings}
	numbers := map[string][]*int32{dns.TypeMX: {e.Preference}, dns.TypeSRV: {e.Priority, e.Weight, e.Port}}
	for _, n := range numbers[recordType] {
		v.numbers = append(v.numbers, *cmp.Or(n, new(int32)))
	}
	return v
}

// encode returns the JSON of a record set. Empty metadata deletes the existing one.
func (a api) encode(s *stored) any {
	named := func(name, rest string) string {
		if a.private {
			name = strings.ToLower(name)
		}
		return name + rest
	}
	properties := map[string]any{named("TTL", ""): s.ttl, "metadata": s.metadata}
	var elements []element
	for _, v := range s.records {
		elements = append(elements, newElement(s.key.recordType, v))
	}
	switch {
	case len(elements) == 0:
	case s.key.recordType == dns.TypeCNAME:
		properties[named(s.key.recordType, "Record")] = elements[0]
	default:
		properties[named(s.key.recordType, "Records")] = elements
	}
	return map[string]any{"properties": properties}
}

func newElement(recordType string, v record) element {
	e := element{Strings: v.strings}
	switch recordType {
	case dns.TypeA:
		e.IPv4 = v.text
	case dns.TypeAAAA:
		e.IPv6 = v.text
	case dns.TypeCNAME:
		e.CNAME = v.text
	case dns.TypeMX:
		e.Exchange, e.Preference = v.text, &v.numbers[0]
	case dns.TypeNS:
		e.NameServer = v.text
	case dns.TypePTR:
		e.Pointer = v.text
	case dns.TypeSRV:
		e.Target, e.Priority, e.Weight, e.Port = v.text, &v.numbers[0], &v.numbers[1], &v.numbers[2]
	}
	return e
}
