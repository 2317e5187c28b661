package catalog

import "net/netip"

// addressIndex maps an IP address to the Services with this cluster IP, the workloads with this IP, and the
// pods with a hostPort on the host with this IP.
type addressIndex struct {
	services  map[addressKey]set[ServiceKey]
	workloads map[addressKey]set[*workloadEntry]
	hosts     map[addressKey]set[*workloadEntry]
}

func newAddressIndex() addressIndex {
	return addressIndex{
		services:  map[addressKey]set[ServiceKey]{},
		workloads: map[addressKey]set[*workloadEntry]{},
		hosts:     map[addressKey]set[*workloadEntry]{},
	}
}

func addAt[V comparable](m map[addressKey]set[V], v V, at addresses) {
	for _, ip := range at.ips {
		addTo(m, addressKey{at.cluster, ip}, v)
	}
}

func removeAt[V comparable](m map[addressKey]set[V], v V, at addresses) {
	for _, ip := range at.ips {
		removeFrom(m, addressKey{at.cluster, ip}, v)
	}
}

// addresses are addresses of one cluster.
type addresses struct {
	cluster string
	ips     []netip.Addr
}

func (s *Service) addresses() addresses { return addresses{s.Key.Cluster, s.ClusterIPs} }

// indexService adds a Service, which may be nil, to the index. It and unindexService report the addresses of
// the Service as changed.
func (s *state) indexService(v *Service) {
	if v == nil {
		return
	}
	addAt(s.addresses.services, v.Key, v.addresses())
	s.addressesChanged(v.addresses())
}

func (s *state) unindexService(v *Service) {
	if v == nil {
		return
	}
	removeAt(s.addresses.services, v.Key, v.addresses())
	s.addressesChanged(v.addresses())
}

// indexWorkload adds a workload to the index. Callers of it and of unindexWorkload report the change.
func (s *state) indexWorkload(w *workloadEntry) {
	if w.workload != nil {
		addAt(s.addresses.workloads, w, w.workload.addresses())
		addAt(s.addresses.hosts, w, w.workload.hostAddresses())
	}
}

func (s *state) unindexWorkload(w *workloadEntry) {
	if w.workload != nil {
		removeAt(s.addresses.workloads, w, w.workload.addresses())
		removeAt(s.addresses.hosts, w, w.workload.hostAddresses())
	}
}

// workloadChanged reports a workload and its addresses as changed.
func (s *state) workloadChanged(v *Workload) {
	s.dependencies.changed(dependency{object: v.ID()})
	s.addressesChanged(v.addresses())
	s.addressesChanged(v.hostAddresses())
}

// addresses returns the IPs of the workload, without those of its host.
func (w *Workload) addresses() addresses {
	if w.HostNetwork {
		return addresses{}
	}
	return addresses{w.Key.Cluster, w.IPs}
}

func (w *Workload) hostAddresses() addresses { return addresses{w.Key.Cluster, w.HostIPs} }

func (s *state) addressesChanged(at addresses) {
	for _, ip := range at.ips {
		s.dependencies.changed(dependency{address: addressKey{at.cluster, ip}})
	}
}
