package externaldns

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/json"
)

// Endpoint is a DNS record set: the records of one name and type, or the part
// of them that a set identifier names.
type Endpoint struct {
	// DNSName is the name of the records.
	// +optional
	DNSName string `json:"dnsName,omitempty"`

	// Targets are their values in presentation form, such as addresses for type
	// A and "10 mail.example.com" for type MX.
	// +optional
	Targets []string `json:"targets,omitempty"`

	// RecordType is their type in upper case, such as A or CNAME.
	// +optional
	RecordType string `json:"recordType,omitempty"`

	// SetIdentifier tells apart record sets of one name and type, at providers
	// that have routing policies.
	// +optional
	SetIdentifier string `json:"setIdentifier,omitempty"`

	// RecordTTL is the time to live in seconds; 0 leaves it to the provider.
	// +optional
	RecordTTL int64 `json:"recordTTL,omitempty"`

	// Labels are kept with the ownership of the records.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// ProviderSpecific are settings that only the provider understands.
	// +optional
	ProviderSpecific []ProviderSpecificProperty `json:"providerSpecific,omitempty"`

	// Problem says why the endpoint could not be decoded; everything else is
	// then empty. It is set by decoding, never read from or written to the
	// object.
	Problem string `json:"-"`
}

// ProviderSpecificProperty is a setting that only the provider understands.
type ProviderSpecificProperty struct {
	// Name is the name of the setting; each is there once.
	// +optional
	Name string `json:"name,omitempty"`

	// Value is its value.
	// +optional
	Value string `json:"value,omitempty"`
}

// UnmarshalJSON fills e from data. An endpoint of the wrong shape is no error:
// see the Problem field.
func (e *Endpoint) UnmarshalJSON(data []byte) error {
	type plain Endpoint
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		p = plain{Problem: fmt.Sprintf("decode endpoint: %v", err)}
	}
	*e = Endpoint(p)
	return nil
}
