package externaldns

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// The condition types of a DNSEndpoint.
const (
	// ConditionAccepted is True if every entry can be published.
	ConditionAccepted = "Accepted"
	// ConditionProgrammed is True if the zones have every record of the object.
	ConditionProgrammed = "Programmed"
)

// DNSEndpoint asks for DNS records.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=dnsendpoints,scope=Namespaced
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=https://github.com/kubernetes-sigs/external-dns/pull/2007"
type DNSEndpoint struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the wanted records.
	// +optional
	Spec DNSEndpointSpec `json:"spec"`

	// Status is the result of publishing them.
	// +optional
	Status DNSEndpointStatus `json:"status"`
}

// DNSEndpointList is a list of DNSEndpoints.
//
// +kubebuilder:object:root=true
type DNSEndpointList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the DNSEndpoints.
	Items []DNSEndpoint `json:"items"`
}

// DNSEndpointSpec is the wanted records of a DNSEndpoint.
type DNSEndpointSpec struct {
	// Endpoints are the record sets.
	// +optional
	Endpoints []*Endpoint `json:"endpoints,omitempty"`

	// Problem says why the spec could not be decoded; all other fields are then empty. It is set by decoding,
	// never read from or written to the object.
	Problem string `json:"-"`
}

// DNSEndpointStatus is the result of publishing a DNSEndpoint.
type DNSEndpointStatus struct {
	// ObservedGeneration is the generation of the object that was last read.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are the conditions of the records, by type: Accepted and Programmed.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// UnmarshalJSON fills s from data. A spec of the wrong shape is no error: see the Problem field.
func (s *DNSEndpointSpec) UnmarshalJSON(data []byte) error {
	type plain DNSEndpointSpec
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		p = plain{Problem: fmt.Sprintf("decode spec of DNSEndpoint: %v", err)}
	}
	*s = DNSEndpointSpec(p)
	return nil
}

// UnmarshalJSON fills s from data. A status of the wrong shape is read as empty, because the status is only
// ever written.
func (s *DNSEndpointStatus) UnmarshalJSON(data []byte) error {
	type plain DNSEndpointStatus
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		p = plain{}
	}
	*s = DNSEndpointStatus(p)
	return nil
}
