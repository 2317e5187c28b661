package route53test

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
)

// RecordSet is the type ResourceRecordSet of the API.
type RecordSet struct {
	Name                    string
	Type                    string
	SetIdentifier           string                `xml:",omitempty"`
	Weight                  *int64                `xml:",omitempty"`
	Region                  string                `xml:",omitempty"`
	GeoLocation             *GeoLocation          `xml:",omitempty"`
	Failover                string                `xml:",omitempty"`
	MultiValueAnswer        *bool                 `xml:",omitempty"`
	TTL                     *int64                `xml:",omitempty"`
	ResourceRecords         []Value               `xml:"ResourceRecords>ResourceRecord,omitempty"`
	AliasTarget             *AliasTarget          `xml:",omitempty"`
	HealthCheckID           string                `xml:"HealthCheckId,omitempty"`
	TrafficPolicyInstanceID string                `xml:"TrafficPolicyInstanceId,omitempty"`
	CidrRoutingConfig       *CidrRoutingConfig    `xml:",omitempty"`
	GeoProximityLocation    *GeoProximityLocation `xml:",omitempty"`
}

// Value is the type ResourceRecord of the API.
type Value struct{ Value string }

// GeoLocation is the type GeoLocation of the API.
type GeoLocation struct {
	ContinentCode   string `xml:",omitempty"`
	CountryCode     string `xml:",omitempty"`
	SubdivisionCode string `xml:",omitempty"`
}

// GeoProximityLocation is the type GeoProximityLocation of the API.
type GeoProximityLocation struct {
	AWSRegion      string       `xml:",omitempty"`
	LocalZoneGroup string       `xml:",omitempty"`
	Coordinates    *Coordinates `xml:",omitempty"`
	Bias           *int64       `xml:",omitempty"`
}

// Coordinates is the type Coordinates of the API.
type Coordinates struct{ Latitude, Longitude string }

// CidrRoutingConfig is the type CidrRoutingConfig of the API.
type CidrRoutingConfig struct {
	CollectionID string `xml:"CollectionId"`
	LocationName string
}

// AliasTarget is the type AliasTarget of the API.
type AliasTarget struct {
	HostedZoneID         string `xml:"HostedZoneId"`
	DNSName              string
	EvaluateTargetHealth bool
}

// Change is the type Change of the API: an action and a record set.
type Change struct {
	Action string
	Set    RecordSet `xml:"ResourceRecordSet"`
}

// The actions of a [Change].
const (
	Create = "CREATE"
	Delete = "DELETE"
	Upsert = "UPSERT"
)

type changeRequest struct {
	XMLName xml.Name `xml:"ChangeResourceRecordSetsRequest"`
	Changes []Change `xml:"ChangeBatch>Changes>Change"`
}

// key identifies a record set in a zone.
type key struct{ name, recordType, identifier string }

func (r *RecordSet) key() key { return key{r.Name, r.Type, r.SetIdentifier} }

// String returns the key as in messages of Route 53.
func (k key) String() string {
	text := fmt.Sprintf("[name='%s', type='%s'", k.name, k.recordType)
	if k.identifier != "" {
		text += fmt.Sprintf(", set identifier='%s'", k.identifier)
	}
	return text + "]"
}

// policy returns the routing policy of a record set; empty for simple routing.
func (r *RecordSet) policy() string {
	var found []string
	for name, has := range map[string]bool{
		"weighted": r.Weight != nil, "latency": r.Region != "", "geolocation": r.GeoLocation != nil, "failover": r.Failover != "",
		"multivalue answer": r.MultiValueAnswer != nil, "cidr": r.CidrRoutingConfig != nil, "geoproximity": r.GeoProximityLocation != nil,
	} {
		if has {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return strings.Join(found, " and ")
}

// same reports whether a DELETE of one record set matches the other: it must have all values of the record
// set.
func (r *RecordSet) same(o *RecordSet) bool {
	a, b := *r, *o
	a.ResourceRecords, b.ResourceRecords = sorted(a.ResourceRecords), sorted(b.ResourceRecords)
	x, errX := xml.Marshal(a)
	y, errY := xml.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func sorted(values []Value) []Value {
	return slices.SortedFunc(slices.Values(values), func(a, b Value) int { return cmp.Compare(a.Value, b.Value) })
}

// canonical returns a name as Route 53 returns it: in lower case, with a trailing dot, and with all bytes but
// a-z, 0-9, -, _ and . as octal escapes.
func canonical(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c == '\\' && i+3 < len(name) && isOctal(name[i+1:i+4]) {
			c = (name[i+1]-'0')<<6 | (name[i+2]-'0')<<3 | (name[i+3] - '0')
			i += 3
		}
		switch {
		case 'A' <= c && c <= 'Z':
			b.WriteByte(c + 'a' - 'A')
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	return strings.TrimSuffix(b.String(), ".") + "."
}

func isOctal(s string) bool {
	return s[0] >= '0' && s[0] <= '3' && strings.Trim(s, "01234567") == ""
}

// order is by labels from the right, then by type and identifier.
func order(a, b *RecordSet) int {
	return cmp.Or(cmp.Compare(reversed(a.Name), reversed(b.Name)), cmp.Compare(a.Type, b.Type), cmp.Compare(a.SetIdentifier, b.SetIdentifier))
}

func reversed(name string) string {
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	slices.Reverse(labels)
	return strings.Join(labels, "\x00")
}

// within reports whether a name is in a zone.
func within(name, zone string) bool { return name == zone || strings.HasSuffix(name, "."+zone) }
