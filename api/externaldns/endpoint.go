package externaldns

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/json"
)

// Endpoint is a DNS record set: the records of one name and type, or the subset of them that a set identifier
// names.
type Endpoint struct {
	// DNSName is the name of the records.
	// +optional
	DNSName string `json:"dnsName,omitempty"`

	// Targets are the values in presentation form, such as addresses for type A and "10 mail.example.com" for
	// type MX.
	// +optional
	Targets []string `json:"targets,omitempty"`

	// RecordType is the record type in upper case, such as A or CNAME.
	// +optional
	RecordType string `json:"recordType,omitempty"`

	// SetIdentifier distinguishes record sets of one name and type, at providers that have routing policies.
	// +optional
	SetIdentifier string `json:"setIdentifier,omitempty"`

	// RecordTTL is the time to live in seconds; 0 means the provider's default.
	// +optional
	RecordTTL int64 `json:"recordTTL,omitempty"`

	// Labels are stored with the ownership of the records.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// ProviderSpecific are settings that only the provider interprets.
	// +optional
	ProviderSpecific []ProviderSpecificProperty `json:"providerSpecific,omitempty"`

	// Problem says why the endpoint could not be decoded; all other fields are then empty. It is set by
	// decoding, never read from or written to the object.
	Problem string `json:"-"`
}

// ProviderSpecificProperty is a setting that only the provider interprets.
type ProviderSpecificProperty struct {
	// Name is the name of the setting; each must be unique.
	// +optional
	Name string `json:"name,omitempty"`

	// Value is the value of the setting.
	// +optional
	Value string `json:"value,omitempty"`
}

// UnmarshalJSON fills e from data. An endpoint of the wrong shape is no error: see the Problem field.
func (e *Endpoint) UnmarshalJSON(data []byte) error {
	type plain Endpoint
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		p = plain{Problem: fmt.Sprintf("decode endpoint: %v", err)}
	}
	*e = Endpoint(p)
	return nil
}
