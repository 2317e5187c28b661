package externaldns

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// LabelOwner is the label of a DNSRecord whose value is the owner of the
// record.
const LabelOwner = "externaldns.k8s.io/owner"

// ConditionReady is the type of the condition of a DNSRecord that says whether
// the record is at the provider.
const ConditionReady = "Ready"

// The reasons of [ConditionReady].
const (
	// ReasonAccepted is that of a record which is about to be written.
	ReasonAccepted = "Accepted"
	// ReasonProgrammed is that of a record which the provider has: the condition
	// is True for this one only.
	ReasonProgrammed = "Programmed"
	// ReasonFailed is that of a record which could not be written.
	ReasonFailed = "Failed"
)

// DNSRecord says that a record set at the provider belongs to an owner, which
// its label names. Signpost writes it; nobody else has to.
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

	// Status is how far it is.
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

// DNSRecordSpec is what a DNSRecord is about.
type DNSRecordSpec struct {
	// Endpoint is the record set.
	Endpoint Endpoint `json:"endpoint"`

	// Problem says why the spec could not be decoded; everything else is then
	// empty. It is set by decoding, never read from or written to the object.
	Problem string `json:"-"`
}

// DNSRecordStatus is how far a DNSRecord is.
type DNSRecordStatus struct {
	// Conditions are what is known about the record, by type.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Problem says why the status could not be decoded; it then has no
	// conditions. It is set by decoding, never read from or written to the
	// object.
	Problem string `json:"-"`
}

// UnmarshalJSON fills s from data. A spec of the wrong shape is no error: see
// the Problem field.
func (s *DNSRecordSpec) UnmarshalJSON(data []byte) error {
	type plain DNSRecordSpec
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		p = plain{Problem: fmt.Sprintf("decode spec of DNSRecord: %v", err)}
	}
	*s = DNSRecordSpec(p)
	return nil
}

// UnmarshalJSON fills s from data. A status of the wrong shape is no error: see
// the Problem field.
func (s *DNSRecordStatus) UnmarshalJSON(data []byte) error {
	type plain DNSRecordStatus
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		p = plain{Problem: fmt.Sprintf("decode status of DNSRecord: %v", err)}
	}
	*s = DNSRecordStatus(p)
	return nil
}
