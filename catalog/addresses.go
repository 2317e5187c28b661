package catalog

import (
	"net/netip"
	"slices"
)

// addressIndex finds what has an IP address: the Services with this cluster IP, the workloads
// with this IP of their own, and the pods that have a port on the host with this IP.
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

// file adds v to the lists of these addresses.
func file[V comparable](m map[addressKey][]V, v V, at addresses) {
	for _, ip := range at.ips {
		key := addressKey{at.cluster, ip}
		if !slices.Contains(m[key], v) {
			m[key] = append(m[key], v)
		}
	}
}

// unfile takes v out of the lists of these addresses.
func unfile[V comparable](m map[addressKey][]V, v V, at addresses) {
	for _, ip := range at.ips {
		key := addressKey{at.cluster, ip}
		list := slices.DeleteFunc(m[key], func(other V) bool { return other == v })
		if len(list) == 0 {
			delete(m, key)
		} else {
			m[key] = list
		}
	}
}

// addresses are addresses of one cluster.
type addresses struct {
	cluster string
	ips     []netip.Addr
}

func (s *Service) addresses() addresses { return addresses{s.Key.Cluster, s.ClusterIPs} }

// fileService adds a Service, nil for none, to the index. Like unfileService, it reports the
// addresses of the Service as changed.
func (s *state) fileService(v *Service) {
	if v == nil {
		return
	}
	file(s.addresses.services, v.Key, v.addresses())
	s.addressesChanged(v.addresses())
}

func (s *state) unfileService(v *Service) {
	if v == nil {
		return
	}
	unfile(s.addresses.services, v.Key, v.addresses())
	s.addressesChanged(v.addresses())
}

// fileWorkload adds a workload to the index. Its caller reports the change, as that of
// unfileWorkload does.
func (s *state) fileWorkload(w *workloadEntry) {
	if w.workload != nil {
		file(s.addresses.workloads, w, w.workload.addresses())
		file(s.addresses.hosts, w, w.workload.hostAddresses())
	}
}

func (s *state) unfileWorkload(w *workloadEntry) {
	if w.workload != nil {
		unfile(s.addresses.workloads, w, w.workload.addresses())
		unfile(s.addresses.hosts, w, w.workload.hostAddresses())
	}
}

// workloadChanged reports all facts about a workload as changed.
func (s *state) workloadChanged(v *Workload) {
	s.facts.changed(fact{object: v.ID()})
	s.addressesChanged(v.addresses())
	s.addressesChanged(v.hostAddresses())
}

// addresses returns the addresses that the workload shares with nothing else.
func (w *Workload) addresses() addresses {
	if w.HostNetwork {
		return addresses{}
	}
	return addresses{w.Key.Cluster, w.IPs}
}

func (w *Workload) hostAddresses() addresses { return addresses{w.Key.Cluster, w.HostIPs} }

func (s *state) addressesChanged(at addresses) {
	for _, ip := range at.ips {
		s.facts.changed(fact{address: addressKey{at.cluster, ip}})
	}
}
