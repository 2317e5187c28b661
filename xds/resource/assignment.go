package resource

import (
	"cmp"
	"net/netip"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/signpostd/signpost/catalog"
)

// Input is the input for the resources of a name.
type Input struct {
	Name Name
	Port uint16
	// Service is nil if it was deleted.
	Service *catalog.Service
	// Profile is the ServiceProfile in force; nil for none.
	Profile *catalog.ServiceProfile
	// Endpoints are all endpoints of a Service that asks for TLS. Its Cluster has their identities.
	Endpoints []catalog.PlacedEndpoint
}

const draining = 3 // of HealthStatus

// Assignment returns the ClusterLoadAssignment with this name (§4). Without endpoints, it is that of
// a name that doesn't exist, too (§5.2, §5.4).
func (n Namer) Assignment(resourceName string, s Input, set catalog.PlacedSet) Resource {
	endpoints := make([]*catalog.PlacedEndpoint, len(set.Endpoints))
	for i := range set.Endpoints {
		endpoints[i] = &set.Endpoints[i]
	}
	slices.SortStableFunc(endpoints, compareLocalities)
	m := make(message, 0, len(resourceName)+64+40*len(endpoints)).text(1, resourceName)
	for len(endpoints) > 0 {
		size := 1
		for size < len(endpoints) && compareLocalities(endpoints[0], endpoints[size]) == 0 {
			size++
		}
		of := endpoints[:size]
		m = m.with(2, func(m message) message { return n.locality(m, s, of) })
		endpoints = endpoints[size:]
	}
	return newResource(Endpoints, resourceName, m)
}

// compareLocalities orders endpoints by the LocalityLbEndpoints that they belong to.
func compareLocalities(a, b *catalog.PlacedEndpoint) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Region, b.Region), cmp.Compare(a.Zone, b.Zone))
}

// locality appends the fields of a LocalityLbEndpoints. Clients reject one without a name, and skip
// one without a weight.
func (n Namer) locality(m message, s Input, endpoints []*catalog.PlacedEndpoint) message {
	first := endpoints[0]
	m = m.nested(1, message{}.text(1, first.Region).text(2, first.Zone))
	usable := uint32(0)
	for _, e := range endpoints {
		if !e.Draining {
			usable++
		}
		m = m.with(2, func(m message) message { return n.endpoint(m, s, e) })
	}
	return m.wrapped(3, max(usable, 1)).number(5, uint64(first.Priority))
}

// endpoint appends the fields of an LbEndpoint.
func (n Namer) endpoint(m message, s Input, e *catalog.PlacedEndpoint) message {
	m = m.with(1, func(m message) message {
		m = m.address(1, e.Addr)
		if e.Hostname != "" {
			m = m.text(3, s.Name.Service.DNSName(e.Hostname, n.ClusterDomain))
		}
		if e.Additional.IsValid() {
			m = m.with(4, func(m message) message { return m.address(1, e.Additional) })
		}
		return m
	})
	if e.Draining {
		m = m.number(2, draining)
	}
	if s.Service.TrafficPolicy().Balancer.Stable && e.Target != nil {
		m = m.nested(3, message{}.entry(1, "envoy.lb", message{}.structField("hash_key", hashKey(e.Source, e.Target))))
	}
	return m
}

func (m message) address(field protowire.Number, a netip.AddrPort) message {
	return m.with(field, func(m message) message {
		return m.with(1, func(m message) message { // a SocketAddress
			return m.with(2, func(m message) message { return a.Addr().AppendTo(m) }).number(3, uint64(a.Port()))
		})
	})
}

// hashKey returns the place of a workload on a hash ring, which stays when its address changes.
func hashKey(from *catalog.Source, w *catalog.Target) string {
	if from == nil || from.Cluster == nil {
		return w.Key.Name
	}
	return from.Cluster.Name + "/" + w.Key.Name
}
