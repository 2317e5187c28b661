package linkerd

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServiceProfile says how clients treat requests to one service: which routes
// it has, what may be retried, and where its traffic goes instead. Its name is
// the full DNS name of the service.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=serviceprofiles,shortName=sp,scope=Namespaced
type ServiceProfile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state.
	// +optional
	Spec ServiceProfileSpec `json:"spec"`
}

// ServiceProfileList is a list of ServiceProfiles.
//
// +kubebuilder:object:root=true
type ServiceProfileList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the profiles.
	Items []ServiceProfile `json:"items"`
}

// ServiceProfileSpec is the desired state of a ServiceProfile.
type ServiceProfileSpec struct {
	// Routes are tried in order; the first whose condition holds is the route of a request.
	// +optional
	Routes []Route `json:"routes,omitempty"`

	// RetryBudget bounds the retries sent to the service.
	// +optional
	RetryBudget *RetryBudget `json:"retryBudget,omitempty"`

	// DstOverrides split the traffic of the service over other destinations.
	// +optional
	DstOverrides []WeightedDst `json:"dstOverrides,omitempty"`

	// OpaquePorts are ports whose protocol is not detected. The annotation on the Service decides; this field
	// is read for completeness. A list of port numbers and a map keyed by them are both accepted.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	OpaquePorts []string `json:"opaquePorts,omitempty"`

	// Problem says why the spec could not be decoded; all other fields are then empty. It is set by decoding,
	// never read from or written to the object.
	Problem string `json:"-"`
}

// Route is one kind of request to the service.
type Route struct {
	// Name is the value of the route label in metrics.
	Name string `json:"name"`

	// Condition selects the requests of this route; nil is not valid.
	Condition *RequestMatch `json:"condition"`

	// ResponseClasses distinguish failures from successes. The first match decides.
	// +optional
	ResponseClasses []ResponseClass `json:"responseClasses,omitempty"`

	// IsRetryable is true if a failed request may be sent again.
	// +optional
	IsRetryable bool `json:"isRetryable,omitempty"`

	// Timeout bounds the wait for a response, including retries: a Go duration such as "300ms". Empty means
	// no limit.
	// +optional
	Timeout string `json:"timeout,omitempty"`
}

// RequestMatch is a condition on requests. Fields that are set must all hold; a condition without any field,
// or with a nil child, is invalid.
type RequestMatch struct {
	// All holds when each of its conditions does.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	All []*RequestMatch `json:"all,omitempty"`

	// Any holds when at least one of its conditions does.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Any []*RequestMatch `json:"any,omitempty"`

	// Not holds if its condition does not. A list is accepted too: none of its conditions may hold.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Not *RequestMatch `json:"not,omitempty"`

	// PathRegex is a regular expression that matches the whole path.
	// +optional
	PathRegex string `json:"pathRegex,omitempty"`

	// Method is the HTTP method.
	// +optional
	Method string `json:"method,omitempty"`
}

// ResponseClass classifies the responses that match a condition.
type ResponseClass struct {
	// Condition selects the responses of this class; nil is not valid.
	Condition *ResponseMatch `json:"condition"`

	// IsFailure counts them as failures.
	// +optional
	IsFailure bool `json:"isFailure,omitempty"`
}

// ResponseMatch is a condition on responses. Fields that are set must all hold; a condition without any
// field, or with a nil child, is invalid.
type ResponseMatch struct {
	// All holds when each of its conditions does.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	All []*ResponseMatch `json:"all,omitempty"`

	// Any holds when at least one of its conditions does.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Any []*ResponseMatch `json:"any,omitempty"`

	// Not holds if its condition does not. A list is accepted too: none of its conditions may hold.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Not *ResponseMatch `json:"not,omitempty"`

	// Status is the range of the HTTP status.
	// +optional
	Status *Range `json:"status,omitempty"`
}

// Range is a range of HTTP statuses, both ends included.
type Range struct {
	// Min is the lowest status; 0 means no lower end.
	// +optional
	Min int64 `json:"min,omitempty"`

	// Max is the highest status; 0 means no upper end.
	// +optional
	Max int64 `json:"max,omitempty"`
}

// RetryBudget bounds retries relative to original requests.
type RetryBudget struct {
	// RetryRatio is how many retries each original request allows.
	RetryRatio float64 `json:"retryRatio"`

	// MinRetriesPerSecond are always allowed.
	MinRetriesPerSecond int64 `json:"minRetriesPerSecond"`

	// TTL is how long a request counts for the ratio: a Go duration.
	TTL string `json:"ttl"`
}

// WeightedDst is a destination and its share of the traffic.
type WeightedDst struct {
	// Authority is the name of the destination, with or without a port.
	// +optional
	Authority string `json:"authority,omitempty"`

	// Weight is the share, relative to the sum of all weights.
	// +optional
	Weight resource.Quantity `json:"weight"`
}
