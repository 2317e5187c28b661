package resource

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/signpostd/signpost/catalog"
)

const (
	connectTimeout = 5 * time.Second
	// telemetryLabels is the key of metadata from which gRPC clients take labels of metrics (gRFC A89).
	telemetryLabels = "com.google.csm.telemetry_labels"

	clusterEDS   = 3 // of DiscoveryType
	apiVersionV3 = 2 // of ApiVersion
	xxHash       = 1 // of RingHash.HashFunction, the only one that gRPC clients take
)

// Cluster returns the Cluster with this name for a client (§3.3, §8.3), and the Cluster without the
// traffic policy, for clients that have rejected the first one (§6.4).
func (n Namer) Cluster(resourceName string, s Input, c Client) (full, plain Resource) {
	m := slices.Clip(n.plain(resourceName, s, c))
	plain = n.newCluster(resourceName, s, m)
	policy := s.Service.TrafficPolicy()
	if policy.MaxRequests > 0 {
		m = m.nested(10, message{}.nested(1, message{}.wrapped(4, policy.MaxRequests)))
	}
	if policy.Outliers != nil {
		m = m.nested(19, outliers(policy.Outliers))
	}
	if policy.Balancer.Kind != catalog.RoundRobin {
		m = m.nested(41, balancer(policy.Balancer, c))
	}
	return n.newCluster(resourceName, s, m), plain
}

func (n Namer) newCluster(resourceName string, s Input, m message) Resource {
	r := newResource(Cluster, resourceName, m)
	r.References = []string{cmp.Or(n.assignmentName(s), resourceName)}
	return r
}

// assignmentName returns the name of the endpoints, if it isn't that of the Cluster.
func (n Namer) assignmentName(s Input) string {
	if !s.Name.structured {
		return ""
	}
	return n.nameOf(Endpoints, s.Name, s.Port)
}

// plain returns a Cluster that every client understands, except for TLS: a client that doesn't
// support that must not connect without it. gRPC clients always use HTTP/2.
func (n Namer) plain(resourceName string, s Input, c Client) message {
	labels := message{}.structField("service_name", s.Name.Service.Name).structField("service_namespace", s.Name.Service.Namespace)
	m := plainCluster(resourceName, n.assignmentName(s)).nested(25, message{}.entry(1, telemetryLabels, labels))
	if c != Envoy {
		return n.upstreamTLS(m, s)
	}
	if !s.speaksHTTP2() {
		return m
	}
	http2 := message{}.nested(3, message{}.nested(2, nil)) // explicit_http_config with http2_protocol_options
	return m.nested(36, message{}.text(1, httpOptions).any(2, httpOptions, http2))
}

// httpOptions is the key of the options of HTTP in a Cluster, and their type.
const httpOptions = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"

// speaksHTTP2 reports whether the name or the appProtocol of the port means HTTP/2 (§8.3).
func (s Input) speaksHTTP2() bool {
	if s.Service == nil {
		return false
	}
	return s.Service.GRPCProtocol.Has(s.Port) || slices.ContainsFunc(s.Service.Ports, func(p catalog.ServicePort) bool {
		return p.Port == s.Port && p.Protocol == catalog.TCP && (strings.HasPrefix(p.Name, "grpc") || strings.HasPrefix(p.Name, "http2"))
	})
}

// plainCluster returns a Cluster whose endpoints come over the same stream, under its own name if
// assignment is empty.
func plainCluster(name, assignment string) message {
	eds := message{}.nested(1, message{}.nested(3, nil).number(6, apiVersionV3)).text(2, assignment)
	return message{}.text(1, name).number(2, clusterEDS).nested(3, eds).duration(4, connectTimeout)
}

// outliers returns an OutlierDetection. Envoy's detection of consecutive errors is off, because gRPC
// clients have none. Like them, Envoy may always eject one endpoint.
func outliers(o *catalog.OutlierDetection) message {
	m := message{}.duration(2, o.Interval).duration(3, o.EjectionTime).wrapped(4, o.MaxEjected).nested(5, nil)
	if o.SuccessRate > 0 {
		m = m.wrapped(6, 100).wrapped(7, o.MinHosts).wrapped(8, o.MinRequests).wrapped(9, o.SuccessRate)
	} else {
		m = m.nested(6, nil)
	}
	m = m.nested(11, nil).nested(14, nil)
	if o.FailurePercentage > 0 {
		m = m.wrapped(16, o.FailurePercentage).wrapped(17, 100).wrapped(19, o.MinHosts).wrapped(20, o.MinRequests)
	} else {
		m = m.nested(17, nil)
	}
	return m.duration(21, o.MaxEjectionTime).wrapped(25, 1)
}

// balancers is the beginning of the type of a load balancing policy.
const balancers = "envoy.extensions.load_balancing_policies."

// balancer returns a LoadBalancingPolicy: a list of which a client uses the first policy that it knows.
// For gRPC clients, a policy that chooses among the endpoints of one zone is a child of wrr_locality,
// which chooses the zone by weight. Envoy rejects most policies as children of wrr_locality, so it gets
// them without.
func balancer(b catalog.Balancer, c Client) message {
	var policies, inZone message
	switch b.Kind {
	case catalog.LeastRequest:
		inZone = inZone.policy("least_request.v3.LeastRequest", nil)
	case catalog.WeightedRoundRobin:
		inZone = inZone.policy("client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin", nil)
	case catalog.SubsetOf:
		inZone = inZone.policy("random_subsetting.v3.RandomSubsetting", message{}.wrapped(1, b.Size).nested(2, message{}.roundRobin()))
	case catalog.RingHash:
		policies = policies.policy("ring_hash.v3.RingHash", message{}.number(1, xxHash))
	case catalog.PickFirst:
		policies = policies.policy("pick_first.v3.PickFirst", message{}.number(1, 1))
	case catalog.RoundRobin:
	}
	inZone = inZone.roundRobin()
	if c == Envoy {
		return append(policies, inZone...)
	}
	return policies.policy("wrr_locality.v3.WrrLocality", message{}.nested(1, inZone))
}

func (m message) roundRobin() message { return m.policy("round_robin.v3.RoundRobin", nil) }

func (m message) policy(name string, config message) message {
	return m.nested(1, message{}.nested(4, message{}.text(1, balancers+name).any(2, balancers+name, config)))
}
