package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// ConditionReady is the condition type that says whether a workload accepts traffic.
const ConditionReady = "Ready"

// ExternalWorkload is a machine outside the cluster that is part of the mesh.
// Services select it by its labels like a Pod.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=externalworkloads,scope=Namespaced
// +kubebuilder:printcolumn:name="Identity",type=string,JSONPath=`.spec.meshTLS.identity`,description="The TLS identity of the workload"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ExternalWorkload struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state.
	Spec ExternalWorkloadSpec `json:"spec"`

	// Status is the observed state.
	// +optional
	Status ExternalWorkloadStatus `json:"status"`
}

// ExternalWorkloadList is a list of ExternalWorkloads.
//
// +kubebuilder:object:root=true
type ExternalWorkloadList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the workloads.
	Items []ExternalWorkload `json:"items"`
}

// ExternalWorkloadSpec is the desired state of an ExternalWorkload.
type ExternalWorkloadSpec struct {
	// MeshTLS is what peers need to open TLS connections to the workload.
	MeshTLS MeshTLS `json:"meshTLS"`

	// Ports are the ports that the workload serves.
	// +optional
	Ports []Port `json:"ports,omitempty"`

	// WorkloadIPs are its addresses: at most one of each family.
	// +optional
	// +kubebuilder:validation:MaxItems=2
	WorkloadIPs []WorkloadIP `json:"workloadIPs,omitempty"`

	// Problem says why the spec could not be decoded; all other fields are then empty. It is set by decoding,
	// never read from or written to the object.
	Problem string `json:"-"`
}

// MeshTLS is the TLS identity of a workload.
type MeshTLS struct {
	// Identity is the TLS identity in its certificate: a DNS name or a SPIFFE URI.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Identity string `json:"identity"`

	// ServerName is the SNI value that its proxy expects.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName"`
}

// Port is one port that a workload serves.
type Port struct {
	// Name lets Services and Servers refer to the port. It is unique in the workload.
	// +optional
	Name string `json:"name,omitempty"`

	// Port is the port number.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`

	// Protocol is TCP, UDP or SCTP. The default is TCP.
	// +optional
	// +kubebuilder:default=TCP
	Protocol corev1.Protocol `json:"protocol,omitempty"`
}

// WorkloadIP is one address of a workload.
type WorkloadIP struct {
	// IP is the address, IPv4 or IPv6, as text.
	IP string `json:"ip"`
}

// ExternalWorkloadStatus is the observed state of an ExternalWorkload.
type ExternalWorkloadStatus struct {
	// Conditions are the conditions of the workload, by type.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`

	// Problem says why the status could not be decoded; it then has no conditions. It is set by decoding,
	// never read from or written to the object.
	Problem string `json:"-"`
}

// Condition is a condition of a workload.
type Condition struct {
	// Type is the type of the condition.
	Type string `json:"type"`

	// Status is True, False or Unknown.
	Status metav1.ConditionStatus `json:"status"`

	// LastProbeTime is when the condition was last checked.
	// +optional
	LastProbeTime *metav1.Time `json:"lastProbeTime,omitempty"`

	// LastTransitionTime is when Status last changed.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`

	// Reason is a machine-readable word for the cause of Status.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message is a human-readable explanation.
	// +optional
	Message string `json:"message,omitempty"`
}

// UnmarshalJSON fills s from data. A spec of the wrong shape is no error: see the Problem field.
func (s *ExternalWorkloadSpec) UnmarshalJSON(data []byte) error {
	type plain ExternalWorkloadSpec
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		p = plain{Problem: fmt.Sprintf("decode spec of ExternalWorkload: %v", err)}
	}
	*s = ExternalWorkloadSpec(p)
	return nil
}

// UnmarshalJSON fills s from data. A status of the wrong shape is no error: see the Problem field.
func (s *ExternalWorkloadStatus) UnmarshalJSON(data []byte) error {
	type plain ExternalWorkloadStatus
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		p = plain{Problem: fmt.Sprintf("decode status of ExternalWorkload: %v", err)}
	}
	*s = ExternalWorkloadStatus(p)
	return nil
}
