package endpoints

import corev1 "k8s.io/api/core/v1"

// What is written on Endpoints beside the labels of the Service
// (spec/endpoints.md §2).
const (
	// ManagedByLabel is the label that says who writes the Endpoints.
	ManagedByLabel = "endpoints.kubernetes.io/managed-by"
	// ManagedBy is the value of [ManagedByLabel]. It is that of the Kubernetes
	// controller: the API server warns about the format of IPs that come from
	// anybody else, which takes it time (§10).
	ManagedBy = "endpoint-controller"
	// HeadlessLabel is on the Endpoints of Services without a cluster IP, with
	// an empty value.
	HeadlessLabel = corev1.IsHeadlessService
	// TriggerTimeAnnotation has the time of the change that led to the last
	// write, in RFC 3339 with nanoseconds.
	TriggerTimeAnnotation = corev1.EndpointsLastChangeTriggerTime
	// OverCapacityAnnotation is on Endpoints that lack addresses of the Service
	// because there are more than [Capacity].
	OverCapacityAnnotation = corev1.EndpointsOverCapacity
	// Truncated is the value of [OverCapacityAnnotation]. Older releases of
	// Kubernetes wrote "warning" instead.
	Truncated = "truncated"
)

// Capacity is how many addresses an Endpoints object may have over all of its
// subsets, ready or not (spec/endpoints.md §2).
const Capacity = 1000
