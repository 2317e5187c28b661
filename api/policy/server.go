package policy

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/json"
)

// ProxyProtocolOpaque is the ProxyProtocol of a port whose protocol the proxy must not detect.
const ProxyProtocolOpaque = "opaque"

// Server selects one port of a set of workloads in its namespace and says how
// the proxy there treats connections to it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=servers,shortName=srv,scope=Namespaced
// +kubebuilder:printcolumn:name="Port",type=string,JSONPath=`.spec.port`,description="The port the Server selects"
// +kubebuilder:printcolumn:name="Protocol",type=string,JSONPath=`.spec.proxyProtocol`,description="The protocol of the port"
// +kubebuilder:printcolumn:name="Access Policy",type=string,JSONPath=`.spec.accessPolicy`,description="What happens to traffic that no policy matches"
type Server struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state.
	Spec ServerSpec `json:"spec"`
}

// ServerList is a list of Servers.
//
// +kubebuilder:object:root=true
type ServerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the Servers.
	Items []Server `json:"items"`
}

// ServerSpec is the desired state of a Server.
//
// +kubebuilder:validation:ExactlyOneOf=podSelector;externalWorkloadSelector
type ServerSpec struct {
	// PodSelector selects Pods of the namespace: nil none, empty all.
	// +optional
	PodSelector *metav1.LabelSelector `json:"podSelector,omitempty"`

	// ExternalWorkloadSelector selects ExternalWorkloads of the namespace: nil none, empty all.
	// +optional
	ExternalWorkloadSelector *metav1.LabelSelector `json:"externalWorkloadSelector,omitempty"`

	// Port is the number or the name of a port of the workload.
	Port intstr.IntOrString `json:"port"`

	// ProxyProtocol is the protocol on the port: unknown, HTTP/1, HTTP/2, gRPC, opaque, TLS. Signpost only
	// distinguishes opaque from the others.
	// +optional
	// +kubebuilder:default=unknown
	ProxyProtocol string `json:"proxyProtocol,omitempty"`

	// AccessPolicy is the policy for traffic that no other policy matches. Signpost ignores it; the policy
	// controller uses it.
	// +optional
	// +kubebuilder:default=deny
	AccessPolicy string `json:"accessPolicy,omitempty"`

	// Problem says why the spec could not be decoded; all other fields are then empty. It is set by decoding,
	// never read from or written to the object.
	Problem string `json:"-"`
}

// UnmarshalJSON fills s from data. A spec of the wrong shape is no error: see the Problem field.
func (s *ServerSpec) UnmarshalJSON(data []byte) error {
	type plain ServerSpec
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		p = plain{Problem: fmt.Sprintf("decode spec of Server: %v", err)}
	}
	*s = ServerSpec(p)
	return nil
}
