package resource

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/signpostd/signpost/catalog"
)

// Subject is what the resources of a name are made from.
type Subject struct {
	Name Name
	Port uint16
	// Service is nil if it was deleted.
	Service *catalog.Service
	// Profile is the ServiceProfile in force; nil for none. Only routes depend on it.
	Profile *catalog.ServiceProfile
	// Identities are those of the endpoints, if the Service asks for TLS. Only Clusters depend on them.
	Identities Identities
}

// policy returns what annotations of the Service ask for.
func (s Subject) policy() catalog.TrafficPolicy {
	if s.Service == nil || s.Service.Policy == nil {
		return catalog.TrafficPolicy{}
	}
	return *s.Service.Policy
}

// draining is the HealthStatus DRAINING.
const draining = 3

// Assignment returns the ClusterLoadAssignment with this name (§4).
func (n Namer) Assignment(asked string, s Subject, set catalog.PlacedSet) Resource {
	endpoints := make([]*catalog.PlacedEndpoint, len(set.Endpoints))
	for i := range set.Endpoints {
		endpoints[i] = &set.Endpoints[i]
	}
	slices.SortStableFunc(endpoints, compareLocalities)
	m := make(message, 0, len(asked)+64+40*len(endpoints))
	m = m.text(1, asked)
	for len(endpoints) > 0 {
		size := 1
		for size < len(endpoints) && compareLocalities(endpoints[0], endpoints[size]) == 0 {
			size++
		}
		m = n.locality(m, s, endpoints[:size])
		endpoints = endpoints[size:]
	}
	return newResource(Endpoints, asked, m)
}

// compareLocalities sorts endpoints by what makes a LocalityLbEndpoints.
func compareLocalities(a, b *catalog.PlacedEndpoint) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Region, b.Region), cmp.Compare(a.Zone, b.Zone))
}

// locality appends the endpoints of one locality. Clients reject one without a name, and skip one
// without a weight.
func (n Namer) locality(m message, s Subject, endpoints []*catalog.PlacedEndpoint) message {
	usable := uint32(0)
	for _, e := range endpoints {
		if !e.Draining {
			usable++
		}
	}
	return m.nested(2, func(m message) message {
		m = m.nested(1, func(m message) message { return m.text(1, endpoints[0].Region).text(2, endpoints[0].Zone) })
		for _, e := range endpoints {
			m = n.endpoint(m, s, e)
		}
		return m.wrapped(3, max(usable, 1)).number(5, uint64(endpoints[0].Priority))
	})
}

// endpoint appends an LbEndpoint.
func (n Namer) endpoint(m message, s Subject, e *catalog.PlacedEndpoint) message {
	return m.nested(2, func(m message) message {
		m = m.nested(1, func(m message) message {
			m = m.address(e.Addr)
			if e.Hostname != "" {
				named := s.Name
				named.Hostname = e.Hostname
				m = m.text(3, n.host(named))
			}
			if e.Additional.IsValid() {
				m = m.nested(4, func(m message) message { return m.address(e.Additional) })
			}
			return m
		})
		if e.Draining {
			m = m.number(2, draining)
		}
		if s.policy().Balancer.Stable && e.Target != nil {
			m = m.nested(3, func(m message) message {
				return m.entry(1, "envoy.lb", func(m message) message { return m.structField("hash_key", hashKey(e.Source, e.Target)) })
			})
		}
		return m
	})
}

// address appends an Address as field 1.
func (m message) address(a netip.AddrPort) message {
	return m.nested(1, func(m message) message {
		return m.nested(1, func(m message) message { return m.text(2, a.Addr().String()).number(3, uint64(a.Port())) })
	})
}

// hashKey returns the place of a workload on a hash ring, which stays when its address changes.
// Pods of several clusters may have one name.
func hashKey(from *catalog.Source, w *catalog.Target) string {
	if from == nil || from.Cluster == nil {
		return w.Key.Name
	}
	return from.Cluster.Name + "/" + w.Key.Name
}
