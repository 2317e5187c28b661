package azure

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// kind is a kind of zones. The APIs of public and private zones differ in paths, and in the case of names in
// JSON.
type kind struct {
	// zones is the name of the zones in paths and permissions, and sets that of all record sets of a zone.
	zones, sets string
	// version is the version of the API.
	version string
	private bool
}

var (
	publicZones  = kind{zones: "dnsZones", sets: "all", version: "2018-05-01"}
	privateZones = kind{zones: "privateDnsZones", sets: "ALL", version: "2024-06-01", private: true}
)

// right returns the permission for an action on record sets or zones.
func (k kind) right(what, action string) string {
	if what == "zone" {
		return "Microsoft.Network/" + k.zones + "/" + action
	}
	return "Microsoft.Network/" + k.zones + "/*/" + action
}

// spell returns an upper-case name as it begins in JSON.
func (k kind) spell(name string) string {
	if k.private {
		return strings.ToLower(name)
	}
	return name
}

// member returns the name of the property with the records of a type.
func (k kind) member(recordType string) string {
	if recordType == dns.TypeCNAME {
		return k.spell(recordType) + "Record"
	}
	return k.spell(recordType) + "Records"
}

// recordSet is a record set in a response.
type recordSet struct {
	Name       string                     `json:"name"`
	Type       string                     `json:"type"`
	ETag       string                     `json:"etag"`
	Properties map[string]json.RawMessage `json:"properties"`
}

// fields are the fields of a record in JSON. Each type has some of them.
type fields struct {
	IPv4       string   `json:"ipv4Address,omitempty"`
	IPv6       string   `json:"ipv6Address,omitempty"`
	CNAME      string   `json:"cname,omitempty"`
	NS         string   `json:"nsdname,omitempty"`
	PTR        string   `json:"ptrdname,omitempty"`
	Exchange   string   `json:"exchange,omitempty"`
	Target     string   `json:"target,omitempty"`
	Preference *int32   `json:"preference,omitempty"`
	Priority   *int32   `json:"priority,omitempty"`
	Weight     *int32   `json:"weight,omitempty"`
	Port       *int32   `json:"port,omitempty"`
	Strings    []string `json:"value,omitempty"`
}

// of returns the text and the numbers of a type.
func (f *fields) of(recordType string) (text *string, numbers []**int32) {
	switch recordType {
	case dns.TypeA:
		return &f.IPv4, nil
	case dns.TypeAAAA:
		return &f.IPv6, nil
	case dns.TypeCNAME:
		return &f.CNAME, nil
	case dns.TypeNS:
		return &f.NS, nil
	case dns.TypePTR:
		return &f.PTR, nil
	case dns.TypeMX:
		return &f.Exchange, []**int32{&f.Preference}
	case dns.TypeSRV:
		return &f.Target, []**int32{&f.Priority, &f.Weight, &f.Port}
	}
	return new(string), nil // TXT has strings only.
}

// decode returns the record set of a response. Records of unsupported types are left out.
func (k kind) decode(r *recordSet) (*stored, error) {
	s := &stored{key: newKey(r.Name, r.Type), etag: r.ETag}
	var err error
	read := func(property string, into any) {
		if text := r.Properties[property]; text != nil && err == nil {
			err = json.Unmarshal(text, into)
		}
	}
	var alias struct {
		ID string `json:"id"`
	}
	read(k.spell("TTL"), &s.ttl)
	read("metadata", &s.metadata)
	read("targetResource", &alias)
	read("isAutoRegistered", &s.registered)
	s.resource = alias.ID
	var list []*fields
	switch {
	case s.key.recordType == dns.TypeCNAME:
		list = []*fields{nil}
		read(k.member(dns.TypeCNAME), &list[0])
	case slices.Contains(publicTypes, s.key.recordType):
		read(k.member(s.key.recordType), &list)
	}
	for _, f := range list {
		if f == nil {
			continue
		}
		text, numbers := f.of(s.key.recordType)
		v := record{text: *text, strings: f.Strings}
		for _, n := range numbers {
			if *n == nil {
				*n = new(int32)
			}
			v.numbers = append(v.numbers, **n)
		}
		s.records = append(s.records, v)
	}
	return s, err
}

// encode returns the body of a request that stores a record set.
func (k kind) encode(s *stored) any {
	// An empty object deletes the existing metadata.
	metadata := map[string]string{}
	maps.Copy(metadata, s.metadata)
	properties := map[string]any{k.spell("TTL"): s.ttl, "metadata": metadata}
	var list []*fields
	for _, v := range s.records {
		f := &fields{Strings: v.strings}
		text, numbers := f.of(s.key.recordType)
		*text = v.text
		for i, n := range numbers {
			*n = &v.numbers[i]
		}
		list = append(list, f)
	}
	switch {
	case len(list) == 0:
	case s.key.recordType == dns.TypeCNAME:
		properties[k.member(dns.TypeCNAME)] = list[0]
	default:
		properties[k.member(s.key.recordType)] = list
	}
	return map[string]any{"properties": properties}
}
