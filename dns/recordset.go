package dns

import (
	"maps"
	"slices"
)

// Record types that Signpost knows. The parts of an ownership record's name are compared with types
// in this order (spec/dns.md §4.2.3).
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

// Labels with a fixed meaning (spec/dns.md §1.7).
const (
	// LabelOwner is the ID of the record set's owner.
	LabelOwner = "owner"
	// LabelResource is the object of the record set, such as service/default/shop.
	LabelResource = "resource"
	// LabelOwnedRecord is on ownership records: the name of the record set that they describe. It is
	// never written into a zone.
	LabelOwnedRecord = "ownedRecord"
	// LabelDescription is the description of the AWS Cloud Map service of the record set. If it is
	// managed, that is an ownership text (spec/dns.md §4.4). Unlike other labels, the provider stores
	// and lists it.
	LabelDescription = "aws-sd-description"
)

// Properties that are not specific to a provider (spec/dns.md §1.6).
const (
	// PropertyAlias says whether the provider resolves the target of the name itself.
	PropertyAlias = "alias"
	// PropertyRecordType asks for a further record set: "ptr".
	PropertyRecordType = "record-type"
)

// StoredLabels returns the labels that a provider may store: [LabelDescription], or none.
func StoredLabels(labels map[string]string) map[string]string {
	if text, described := labels[LabelDescription]; described {
		return map[string]string{LabelDescription: text}
	}
	return nil
}

// RecordSet is all records of one name and type (RFC 9499, "RRset"). With a set identifier, it is
// only the part of them with that identifier. Its JSON form is that of an ExternalDNS endpoint
// (spec/dns.md §1.1).
type RecordSet struct {
	// Name is the owner name, without a final dot.
	Name string `json:"dnsName,omitempty"`
	// Targets are the values in presentation format.
	Targets []string `json:"targets,omitempty"`
	// Type is in upper case, such as AAAA.
	Type string `json:"recordType,omitempty"`
	// SetIdentifier distinguishes record sets of one name and type, at providers with routing
	// policies.
	SetIdentifier string `json:"setIdentifier,omitempty"`
	// TTL is in seconds; zero or less means none.
	TTL int64 `json:"recordTTL,omitempty"`
	// Labels are kept by the registry, such as [LabelOwner]. They may be nil.
	Labels map[string]string `json:"labels,omitempty"`
	// Properties are settings for the provider. Each name occurs once.
	Properties []Property `json:"providerSpecific,omitempty"`
	// Objects are the Kubernetes objects that ask for the record set.
	Objects []Object `json:"-"`
	// Invalid is true if the record set can't be published, and the source has reported why. It keeps
	// the name, because an object asks for it.
	Invalid bool `json:"-"`
}

// IsOwnershipRecord reports whether the record set has [LabelOwnedRecord], which registries set on
// ownership records. It is false for nil.
func (r *RecordSet) IsOwnershipRecord() bool {
	if r == nil {
		return false
	}
	_, is := r.Labels[LabelOwnedRecord]
	return is
}

// Property is a setting of a record set for its provider.
type Property struct {
	Name  string `json:"name,omitempty"`
	Value string `json:"value,omitempty"`
}

// Object is the Kubernetes object of a record set.
type Object struct {
	APIVersion, Kind, Namespace, Name, UID string
	// Source is the name of the source that reads it.
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

// Clone returns a deep copy. Its labels are not nil.
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

// Property returns the value of a property, and whether it exists.
func (r *RecordSet) Property(name string) (string, bool) {
	for _, p := range r.Properties {
		if p.Name == name {
			return p.Value, true
		}
	}
	return "", false
}
