package catalog

import (
	"strings"
	"time"
)

// TrafficPolicy has the settings for xDS clients from the annotations signpost.dev/… of a Service. Zero
// fields are not set.
type TrafficPolicy struct {
	Balancer Balancer
	Outliers *OutlierDetection
	// MaxRequests is the number of concurrent requests of a client.
	MaxRequests uint32
	Retry       *RetryPolicy
	Timeout     time.Duration
	// TLS is the kind of TLS between clients and the endpoints.
	TLS EndpointTLS
	// VisibleTo are the namespaces of the clients that may see the Service, separated by commas, "." for its
	// own; empty for all. It only applies if clients are authenticated.
	VisibleTo string
}

// TrafficPolicy returns the policy of a Service; the zero policy if it has none, or if s is nil.
func (s *Service) TrafficPolicy() TrafficPolicy {
	if s == nil || s.Policy == nil {
		return TrafficPolicy{}
	}
	return *s.Policy
}

// Sees reports whether clients in a namespace may see a Service of the namespace own with this VisibleTo.
func Sees(namespace, visibleTo, own string) bool {
	if visibleTo == "" {
		return true
	}
	for to := range strings.SplitSeq(visibleTo, ",") {
		if to == namespace || to == "." && own == namespace {
			return true
		}
	}
	return false
}

// EndpointTLS is the kind of TLS that xDS clients use for the endpoints of a Service, with the identities
// that they accept.
type EndpointTLS uint8

// The values of EndpointTLS.
const (
	// NoTLS leaves the choice to the client.
	NoTLS EndpointTLS = iota
	// SPIFFE accepts the SPIFFE IDs of the service accounts,
	// spiffe://TRUST-DOMAIN/ns/NAMESPACE/sa/SERVICE-ACCOUNT.
	SPIFFE
	// LinkerdTLS accepts the identities that Linkerd gives to meshed pods, which are DNS names.
	LinkerdTLS
)

// BalancerKind is a load balancing algorithm.
type BalancerKind uint8

// The algorithms.
const (
	RoundRobin BalancerKind = iota
	LeastRequest
	RingHash
	WeightedRoundRobin
	SubsetOf
	PickFirst
)

// Balancer is a load balancing algorithm with its settings.
type Balancer struct {
	Kind BalancerKind
	// Header is the request header that RingHash hashes. If it is empty, the client hashes its channel.
	Header string
	// Stable is true if RingHash places an endpoint by the name of its workload instead of its address.
	Stable bool
	// Size is the number of endpoints that each client of SubsetOf uses.
	Size uint32
}

// OutlierDetection has the conditions for which a client ejects an endpoint whose requests fail. For zero
// fields the default of the client applies.
type OutlierDetection struct {
	Interval, EjectionTime, MaxEjectionTime time.Duration
	// MaxEjected is the percentage of endpoints that may be ejected.
	MaxEjected uint32
	// SuccessRate is the distance from the mean success rate, in thousandths of the standard deviation, at
	// which an endpoint is ejected; 0 disables this detection.
	SuccessRate uint32
	// FailurePercentage is the percentage of failed requests above which an endpoint is ejected; 0 disables
	// this detection.
	FailurePercentage uint32
	// MinHosts is the number of endpoints that need MinRequests in an interval before any is ejected.
	MinHosts, MinRequests uint32
}

// RetryPolicy has the conditions for which a client retries a request.
type RetryPolicy struct {
	// On are the gRPC statuses that are retried, as xDS spells them, separated by commas.
	On    string
	Count uint32
	// Backoff and MaxBackoff are the first and the longest delay; 0 for the default of the client.
	Backoff, MaxBackoff time.Duration
}
