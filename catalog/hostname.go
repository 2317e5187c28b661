package catalog

import (
	"net/netip"
	"slices"
	"strings"
)

// hostname selects endpoints by name, as CoreDNS does: by their hostname or, if they have none, by their
// address with dashes, such as 10-0-0-1 or fd00--1. The empty name selects all endpoints.
type hostname struct {
	name string
	ip   netip.Addr // the address that the name stands for; may be invalid
}

func newHostname(name string) hostname {
	h := hostname{name: name}
	if name == "" {
		return h // the usual case
	}
	h.ip = DashedAddress(name)
	return h
}

// DashedAddress parses an address with dashes, such as 10-0-0-1 or fd00--1. It returns the zero Addr for any
// other name.
func DashedAddress(name string) netip.Addr {
	for _, separator := range []string{".", ":"} {
		if ip, err := netip.ParseAddr(strings.ReplaceAll(name, "-", separator)); err == nil {
			return ip
		}
	}
	return netip.Addr{}
}

// selects reports whether the name is that of an endpoint with this hostname and address.
func (h hostname) selects(hostname string, ip netip.Addr) bool {
	return h.name == "" || hostname == h.name || hostname == "" && h.ip.IsValid() && h.ip == ip
}

// maxNamed bounds the dependencies of a profile on endpoints of one hostname. Pods of one Deployment may
// share a hostname.
const maxNamed = 64

// byHostname finds the endpoint with the hostname, ready or not, in the first member with one.
func (p profileResolver) byHostname() {
	key := p.query.Service
	p.snapshot.Service = key
	p.dependOn(dependency{object: (&Service{Key: key}).ID()})
	for _, member := range p.state.services[key].members(key) {
		if member.Cluster != key.Cluster {
			p.dependOn(dependency{object: (&Cluster{Name: member.Cluster}).ID()})
		}
		p.dependOn(dependency{slicesOf: member})
		cluster, usable := p.state.clusterOf(member)
		if usable && p.byHostnameOf(member) {
			p.snapshot.Cluster = cluster
			return
		}
	}
	p.snapshot.Result = NothingFound
}

// byHostnameOf is byHostname for one member. It returns false if the member has no such endpoint. Endpoints
// of deleted workloads are ignored, because another workload may have their address.
func (p profileResolver) byHostnameOf(member ServiceKey) bool {
	for i, n := range p.state.endpointsNamed(member, newHostname(p.query.Hostname)) {
		if n.Target.Kind != "" && i < maxNamed {
			p.dependOn(dependency{object: n.Target.ID()})
		}
		if n.deleted() {
			continue
		}
		at := n.ip
		if n.workload != nil {
			if w := n.workload.workload; w.Key.Kind == Pod && len(w.IPs) > 0 && (n.Hostname != "" || !slices.Contains(w.IPs, at)) {
				at = w.IPs[0]
			}
		}
		p.endpoint(netip.AddrPortFrom(at, p.query.Port), n.workload)
		return true
	}
	return false
}

// namedEndpoint is an endpoint that was found by name, its address, and its workload, if any.
type namedEndpoint struct {
	*SliceEndpoint
	ip       netip.Addr
	workload *workloadEntry
}

// deleted reports whether the workload of the targetRef does not exist, has another UID, or has finished.
func (n namedEndpoint) deleted() bool {
	if n.Target.Kind == "" {
		return false
	}
	w := n.workload.workload
	return w == nil || w.Finished || n.TargetUID != 0 && w.UID != 0 && n.TargetUID != w.UID
}

// endpointsNamed returns the endpoints of this name, the ready ones first.
func (s *state) endpointsNamed(key ServiceKey, name hostname) []namedEndpoint {
	var ready, others []namedEndpoint
	for _, entry := range s.sortedSlices(key) {
		at := 0
		for _, subset := range entry.slice.Subsets {
			for i := range subset.Endpoints {
				e := &subset.Endpoints[i]
				found := slices.IndexFunc(e.Addresses, func(ip netip.Addr) bool { return name.selects(e.Hostname, ip) })
				switch {
				case found < 0:
				case e.NotReady:
					others = append(others, namedEndpoint{e, e.Addresses[found], entry.targets[at]})
				default:
					ready = append(ready, namedEndpoint{e, e.Addresses[found], entry.targets[at]})
				}
				at++
			}
		}
	}
	return append(ready, others...)
}
