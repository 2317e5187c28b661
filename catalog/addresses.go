package catalog

import (
	"net/netip"
	"slices"
)

// addressIndex finds what has an IP address: the Services whose cluster IP it is,
// the workloads whose own IP it is, and the pods that have a port on the host
// whose IP it is.
type addressIndex struct {
	services  map[addressKey][]ServiceKey
	workloads map[addressKey][]*workloadEntry
	hosts     map[addressKey][]*workloadEntry
}

func newAddressIndex() addressIndex {
	return addressIndex{
		services:  map[addressKey][]ServiceKey{},
		workloads: map[addressKey][]*workloadEntry{},
		hosts:     map[addressKey][]*workloadEntry{},
	}
}

// file adds v to the lists of the addresses, or takes it out of them.
func file[V comparable](m map[addressKey][]V, v V, f filing) {
	for _, ip := range f.ips {
		key := addressKey{f.cluster, ip}
		list := slices.DeleteFunc(m[key], func(other V) bool { return other == v })
		if f.add {
			list = append(list, v)
		}
		if len(list) == 0 {
			delete(m, key)
		} else {
			m[key] = list
		}
	}
}

// filing says under which addresses something is to be found, or no longer.
type filing struct {
	cluster string
	ips     []netip.Addr
	add     bool
}

// fileService updates the index, and reports the addresses as changed.
func (s *state) fileService(v *Service, add bool) {
	if v == nil {
		return
	}
	file(s.addresses.services, v.Key, filing{v.Key.Cluster, v.ClusterIPs, add})
	s.addressesChanged(v.Key.Cluster, v.ClusterIPs)
}

// fileWorkload updates the index. Who calls it reports the change.
func (s *state) fileWorkload(w *workloadEntry, add bool) {
	v := w.workload
	if v == nil {
		return
	}
	file(s.addresses.workloads, w, filing{v.Key.Cluster, v.ownIPs(), add})
	file(s.addresses.hosts, w, filing{v.Key.Cluster, v.HostIPs, add})
}

// workloadChanged reports everything as changed that can be known of a workload.
func (s *state) workloadChanged(v *Workload) {
	s.facts.changed(fact{object: v.ID()})
	s.addressesChanged(v.Key.Cluster, v.ownIPs())
	s.addressesChanged(v.Key.Cluster, v.HostIPs)
}

// ownIPs returns the addresses that the workload shares with nothing else.
func (w *Workload) ownIPs() []netip.Addr {
	if w.HostNetwork {
		return nil
	}
	return w.IPs
}

func (s *state) addressesChanged(cluster string, ips []netip.Addr) {
	for _, ip := range ips {
		s.facts.changed(fact{address: addressKey{cluster, ip}})
	}
}
