package azuretest

import "strings"

// kind is one of the two services.
type kind bool

const (
	public  kind = false
	private kind = true
)

// resource returns the name of the service's zones in IDs and types.
func (k kind) resource() string {
	if k == private {
		return "privateDnsZones"
	}
	return "dnszones"
}

// RecordSet is a record set, with the properties of either service.
type RecordSet struct {
	// Name is relative to the zone; the apex is @. Type is such as A.
	Name, Type string
	ETag       string
	Properties
}

// Properties are the properties of a record set, in the JSON of Azure DNS (REST reference, record-sets).
type Properties struct {
	TTL            *int64            `json:"TTL,omitempty"`
	Metadata       map[string]string `json:"metadata,omitempty"`
	FQDN           string            `json:"fqdn,omitempty"`
	State          string            `json:"provisioningState,omitempty"`
	TargetResource *Resource         `json:"targetResource,omitempty"`
	Registered     bool              `json:"isAutoRegistered,omitempty"`
	A              []A               `json:"ARecords,omitempty"`
	AAAA           []AAAA            `json:"AAAARecords,omitempty"`
	CAA            []CAA             `json:"caaRecords,omitempty"`
	CNAME          *CNAME            `json:"CNAMERecord,omitempty"`
	MX             []MX              `json:"MXRecords,omitempty"`
	NS             []NS              `json:"NSRecords,omitempty"`
	PTR            []PTR             `json:"PTRRecords,omitempty"`
	SOA            *SOA              `json:"SOARecord,omitempty"`
	SRV            []SRV             `json:"SRVRecords,omitempty"`
	TXT            []TXT             `json:"TXTRecords,omitempty"`
}

// privateProperties are Properties in the JSON of Azure Private DNS.
type privateProperties struct {
	TTL            *int64            `json:"ttl,omitempty"`
	Metadata       map[string]string `json:"metadata,omitempty"`
	FQDN           string            `json:"fqdn,omitempty"`
	State          string            `json:"provisioningState,omitempty"`
	TargetResource *Resource         `json:"targetResource,omitempty"`
	Registered     bool              `json:"isAutoRegistered"`
	A              []A               `json:"aRecords,omitempty"`
	AAAA           []AAAA            `json:"aaaaRecords,omitempty"`
	CAA            []CAA             `json:"caaRecords,omitempty"`
	CNAME          *CNAME            `json:"cnameRecord,omitempty"`
	MX             []MX              `json:"mxRecords,omitempty"`
	NS             []NS              `json:"nsRecords,omitempty"`
	PTR            []PTR             `json:"ptrRecords,omitempty"`
	SOA            *SOA              `json:"soaRecord,omitempty"`
	SRV            []SRV             `json:"srvRecords,omitempty"`
	TXT            []TXT             `json:"txtRecords,omitempty"`
}

// Resource is the target of an alias record set.
type Resource struct {
	ID string `json:"id"`
}

// A is an A record.
type A struct {
	Address string `json:"ipv4Address"`
}

// AAAA is an AAAA record.
type AAAA struct {
	Address string `json:"ipv6Address"`
}

// CAA is a CAA record.
type CAA struct {
	Flags int    `json:"flags"`
	Tag   string `json:"tag"`
	Value string `json:"value"`
}

// CNAME is a CNAME record.
type CNAME struct {
	Name string `json:"cname"`
}

// MX is an MX record.
type MX struct {
	Preference int    `json:"preference"`
	Exchange   string `json:"exchange"`
}

// NS is an NS record.
type NS struct {
	Name string `json:"nsdname"`
}

// PTR is a PTR record.
type PTR struct {
	Name string `json:"ptrdname"`
}

// SOA is the SOA record.
type SOA struct {
	Host  string `json:"host"`
	Email string `json:"email"`
}

// SRV is an SRV record.
type SRV struct {
	Priority int    `json:"priority"`
	Weight   int    `json:"weight"`
	Port     int    `json:"port"`
	Target   string `json:"target"`
}

// TXT is a TXT record.
type TXT struct {
	Strings []string `json:"value"`
}

// wire is a record set in JSON.
type wire struct {
	ID         string `json:"id,omitempty"`
	Name       string `json:"name,omitempty"`
	Type       string `json:"type,omitempty"`
	ETag       string `json:"etag,omitempty"`
	Properties any    `json:"properties"`
}

func (r *RecordSet) wire(z *zone) wire {
	p := r.Properties
	p.FQDN = z.fqdn(r.Name)
	w := wire{ID: z.id() + "/" + r.Type + "/" + r.Name, Name: r.Name, Type: "Microsoft.Network/" + z.kind.resource() + "/" + r.Type, ETag: r.ETag, Properties: p}
	if z.kind == private {
		w.Properties = privateProperties(p)
	} else {
		p.State = "Succeeded"
		w.Properties = p
	}
	return w
}

// Texts returns the records of a TXT record set, each with its strings joined.
func (p *Properties) Texts() []string {
	var texts []string
	for _, t := range p.TXT {
		texts = append(texts, strings.Join(t.Strings, ""))
	}
	return texts
}
