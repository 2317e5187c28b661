package resource

import "github.com/signpostd/signpost/catalog"

// xxHash is the value XX_HASH of RingHash.HashFunction, the only one that gRPC clients take.
const xxHash = 1

// balancers is the beginning of the type of a load balancing policy.
const balancers = "envoy.extensions.load_balancing_policies."

// balancer returns a LoadBalancingPolicy, of whose policies a client takes the first one that it
// knows. The last one is what clients have without any. For gRPC clients, algorithms that choose
// among the endpoints of one zone are below wrr_locality, which chooses the zone by weight. Envoy
// rejects wrr_locality with most others below it, so Envoy gets those without zones.
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

// policy appends a policy to a LoadBalancingPolicy.
func (m message) policy(name string, config message) message {
	return m.nested(1, message{}.nested(4, message{}.text(1, balancers+name).any(2, balancers+name, config)))
}
