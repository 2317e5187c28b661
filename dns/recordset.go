package dns

import (
	"maps"
	"slices"
)

// The types of record sets that Signpost knows. In this order, the parts of an ownership
// record's name are compared with types (spec/dns.md §4.2.3).
const (
	TypeA     = "A"
	TypeAAAA  = "AAAA"
	TypeCNAME = "CNAME"
	TypeNS    = "NS"
	TypeMX    = "MX"
	TypePTR   = "PTR"
	TypeSRV   = "SRV"
	TypeNAPTR = "NAPTR"
	TypeTXT   = "TXT"
	TypeDNAME = "DNAME"
)

// The labels with a fixed meaning (spec/dns.md §1.7).
const (
	// LabelOwner is the ID of the owner who manages the record set.
	LabelOwner = "owner"
	// LabelResource is the object that the record set comes from, such as
	// service/default/shop.
	LabelResource = "resource"
	// LabelOwnedRecord is on ownership records: the name of the record set that they describe.
	// It is never written into a zone.
	LabelOwnedRecord = "ownedRecord"
	// LabelDescription is the description of the service of AWS Cloud Map that the record set is
	// in: an ownership text, if it is managed (spec/dns.md §4.4). Unlike other labels, the
	// provider stores and lists it.
	LabelDescription = "aws-sd-description"
)

// The properties that are not a provider's own (spec/dns.md §1.6).
const (
	// PropertyAlias says whether a name is an alias of its target at the provider.
	PropertyAlias = "alias"
	// PropertyRecordType asks for a further record set: "ptr".
	PropertyRecordType = "record-type"
)

// StoredLabels returns those of some labels that a provider may store: [LabelDescription], or
// none.
func StoredLabels(labels map[string]string) map[string]string {
	if text, described := labels[LabelDescription]; described {
		return map[string]string{LabelDescription: text}
	}
	return nil
}

// RecordSet is all records of one name and type (RFC 9499, "RRset"). If it has a set
// identifier, it is only the part of these records that has the same one. Its JSON form is
// that of an ExternalDNS endpoint (spec/dns.md §1.1).
type RecordSet struct {
	// Name is the owner name, without a dot at its end.
	Name string `json:"dnsName,omitempty"`
	// Targets are the values in their presentation form.
	Targets []string `json:"targets,omitempty"`
	// Type is in upper case, such as AAAA.
	Type string `json:"recordType,omitempty"`
	// SetIdentifier distinguishes record sets of one name and type, at providers that have
	// routing policies.
	SetIdentifier string `json:"setIdentifier,omitempty"`
	// TTL is in seconds; zero or less means that none is asked for.
	TTL int64 `json:"recordTTL,omitempty"`
	// Labels is what the owner keeps about the record set, such as [LabelOwner]. It may be
	// nil.
	Labels map[string]string `json:"labels,omitempty"`
	// Properties are settings for the provider. Each name occurs once.
	Properties []Property `json:"providerSpecific,omitempty"`
	// Objects are the Kubernetes objects that ask for the record set.
	Objects []Object `json:"-"`
	// Invalid is true if the source knows that the record set can't be published, and has said
	// why. It stands for the fact that an object asks for the name.
	Invalid bool `json:"-"`
}

// Property is a setting of a record set that only its provider understands.
type Property struct {
	Name  string `json:"name,omitempty"`
	Value string `json:"value,omitempty"`
}

// Object is the Kubernetes object that a record set comes from.
type Object struct {
	APIVersion, Kind, Namespace, Name, UID string
	// Source is the name of the source that read it.
	Source string
}

// Key identifies a record set within a zone. Its name is canonical.
type Key struct {
	Name, Type, SetIdentifier string
}

// Key returns the key of r.
func (r *RecordSet) Key() Key {
	return Key{Name: Canonical(r.Name), Type: r.Type, SetIdentifier: r.SetIdentifier}
}

// Clone returns a copy that shares nothing with r. The labels of the copy are not nil.
func (r *RecordSet) Clone() *RecordSet {
	c := *r
	c.Targets = slices.Clone(r.Targets)
	c.Labels = maps.Clone(r.Labels)
	if c.Labels == nil {
		c.Labels = map[string]string{}
	}
	c.Properties = slices.Clone(r.Properties)
	c.Objects = slices.Clone(r.Objects)
	return &c
}

// Property returns the value of a property, and whether there is one.
func (r *RecordSet) Property(name string) (string, bool) {
	for _, p := range r.Properties {
		if p.Name == name {
			return p.Value, true
		}
	}
	return "", false
}
