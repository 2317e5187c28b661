package resource

import "github.com/signpostd/signpost/catalog"

// xxHash is the value XX_HASH of RingHash.HashFunction, the only one that gRPC clients take.
const xxHash = 1

// balancers is the beginning of the type of a load balancing policy.
const balancers = "envoy.extensions.load_balancing_policies."

// balancer appends the policies of a LoadBalancingPolicy, of which a client takes the first one that it
// knows. The last one is what clients have without any. For gRPC clients, algorithms that choose among the
// endpoints of one zone are below wrr_locality, which respects the weights of zones.
func (m message) balancer(b catalog.Balancer, c Client) message {
	switch b.Kind {
	case catalog.LeastRequest:
		return m.inZones(c, func(m message) message { return m.policy("least_request.v3.LeastRequest", none) })
	case catalog.WeightedRoundRobin:
		return m.inZones(c, func(m message) message {
			return m.policy("client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin", none)
		})
	case catalog.SubsetOf:
		return m.inZones(c, func(m message) message {
			return m.policy("random_subsetting.v3.RandomSubsetting", func(m message) message {
				return m.wrapped(1, b.Size).nested(2, message.roundRobin)
			})
		})
	case catalog.RingHash:
		m = m.policy("ring_hash.v3.RingHash", func(m message) message { return m.number(1, xxHash) })
	case catalog.PickFirst:
		m = m.policy("pick_first.v3.PickFirst", func(m message) message { return m.flag(1, true) })
	case catalog.RoundRobin:
	}
	return m.inZones(c, none)
}

func none(m message) message { return m }

// inZones appends a policy that chooses a zone by weight, and an endpoint there by what preferred appends or
// else by round robin. Envoy rejects this policy with most others below it, so it gets those without zones.
func (m message) inZones(c Client, preferred func(message) message) message {
	if c == Envoy {
		return preferred(m).roundRobin()
	}
	return m.policy("wrr_locality.v3.WrrLocality", func(m message) message {
		return m.nested(1, func(m message) message { return preferred(m).roundRobin() })
	})
}

func (m message) roundRobin() message { return m.policy("round_robin.v3.RoundRobin", none) }

// policy appends a policy to a LoadBalancingPolicy.
func (m message) policy(name string, fill func(message) message) message {
	return m.nested(1, func(m message) message {
		return m.nested(4, func(m message) message { return m.text(1, balancers+name).any(2, balancers+name, fill) })
	})
}
