package endpoints

import corev1 "k8s.io/api/core/v1"

// Labels and annotations that are written on Endpoints besides the labels of the Service (spec/endpoints.md
// §2).
const (
	// ManagedByLabel is the label for the writer of the Endpoints.
	ManagedByLabel = "endpoints.kubernetes.io/managed-by"
	// ManagedBy is the value of [ManagedByLabel]. It is the Kubernetes controller's, because the API server
	// warns any other writer about the format of IPs, which costs it time (§10).
	ManagedBy = "endpoint-controller"
	// HeadlessLabel is on the Endpoints of Services without a cluster IP. Its value is empty.
	HeadlessLabel = corev1.IsHeadlessService
	// TriggerTimeAnnotation has the time of the change that led to the last write, in RFC 3339 with
	// nanoseconds.
	TriggerTimeAnnotation = corev1.EndpointsLastChangeTriggerTime
	// OverCapacityAnnotation is on Endpoints that lack addresses because the Service has more than
	// [Capacity].
	OverCapacityAnnotation = corev1.EndpointsOverCapacity
	// Truncated is the value of [OverCapacityAnnotation]. Older releases of Kubernetes wrote "warning".
	Truncated = "truncated"
)

// Capacity is how many addresses an Endpoints object may have in all of its subsets, ready or not
// (spec/endpoints.md §2).
const Capacity = 1000
