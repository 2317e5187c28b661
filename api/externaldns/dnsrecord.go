package externaldns

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// LabelOwner is the label of a DNSRecord with the owner of the record.
const LabelOwner = "externaldns.k8s.io/owner"

// ConditionReady is the condition type of a DNSRecord that says whether the provider has the record.
const ConditionReady = "Ready"

// The reasons of [ConditionReady].
const (
	// ReasonAccepted is the reason for a record that is about to be written.
	ReasonAccepted = "Accepted"
	// ReasonProgrammed is the reason for a record that the provider has. The condition is True only with this
	// reason.
	ReasonProgrammed = "Programmed"
	// ReasonFailed is the reason for a record that could not be written.
	ReasonFailed = "Failed"
)

// DNSRecord says that a record set at the provider belongs to an owner, which
// its label names. Only Signpost writes DNSRecords.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=dnsrecords,scope=Namespaced
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=https://github.com/kubernetes-sigs/external-dns/pull/5372"
// +kubebuilder:printcolumn:name="DNS Name",type=string,JSONPath=`.spec.endpoint.dnsName`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.endpoint.recordType`
// +kubebuilder:printcolumn:name="Set ID",type=string,JSONPath=`.spec.endpoint.setIdentifier`
// +kubebuilder:printcolumn:name="Targets",type=string,JSONPath=`.spec.endpoint.targets`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
type DNSRecord struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the record set.
	Spec DNSRecordSpec `json:"spec"`

	// Status is the state of the record set at the provider.
	// +optional
	Status DNSRecordStatus `json:"status"`
}

// DNSRecordList is a list of DNSRecords.
//
// +kubebuilder:object:root=true
type DNSRecordList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the DNSRecords.
	Items []DNSRecord `json:"items"`
}

// DNSRecordSpec is the record set of a DNSRecord.
type DNSRecordSpec struct {
	// Endpoint is the record set.
	Endpoint Endpoint `json:"endpoint"`

	// Problem says why the spec could not be decoded; all other fields are then empty. It is set by decoding,
	// never read from or written to the object.
	Problem string `json:"-"`
}

// DNSRecordStatus is the state of a DNSRecord at the provider.
type DNSRecordStatus struct {
	// Conditions are the conditions of the record, by type.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Problem says why the status could not be decoded; it then has no conditions. It is set by decoding,
	// never read from or written to the object.
	Problem string `json:"-"`
}

// UnmarshalJSON fills s from data. A spec of the wrong shape is no error: see the Problem field.
func (s *DNSRecordSpec) UnmarshalJSON(data []byte) error {
	type plain DNSRecordSpec
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		p = plain{Problem: fmt.Sprintf("decode spec of DNSRecord: %v", err)}
	}
	*s = DNSRecordSpec(p)
	return nil
}

// UnmarshalJSON fills s from data. A status of the wrong shape is no error: see the Problem field.
func (s *DNSRecordStatus) UnmarshalJSON(data []byte) error {
	type plain DNSRecordStatus
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		p = plain{Problem: fmt.Sprintf("decode status of DNSRecord: %v", err)}
	}
	*s = DNSRecordStatus(p)
	return nil
}
