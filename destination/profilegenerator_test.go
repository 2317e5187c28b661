package destination

import (
	"net/netip"
	"time"

	"github.com/signpostd/signpost/catalog"
)

// profileGenerator draws the objects and queries of TestProfileModel from small pools, so that names, IPs and
// host ports are reused.
type profileGenerator struct{ generator }

var (
	profilePoolIPs      = []string{"10.0.0.1", "10.0.0.1", "10.0.0.2", "fd00::1"}
	profilePoolServices = []string{"web", "db"}
	profilePoolCluster  = []string{"10.96.0.1", "10.96.0.1", "fd00::96", "10.0.0.2"}
	profilePoolPorts    = []uint16{80, 80, 3306, 9999}
	profilePoolLists    = []string{"", "80", "http", "80-4000", "nonsense"}
)

// event changes one object at random and returns its name and its new value,
// which is nil for a deletion.
func (w *profileGenerator) event() (catalog.ID, catalog.Object) {
	return w.change(w.object())
}

func (w *profileGenerator) object() catalog.Object {
	switch n := w.IntN(100); {
	case n < 40:
		return w.workload()
	case n < 58:
		return w.service()
	case n < 72:
		return w.profile()
	case n < 84:
		return w.slice()
	case n < 95:
		return w.server()
	default:
		return w.owner()
	}
}

func (w *profileGenerator) ips(pool []string) []netip.Addr {
	var list []netip.Addr
	for range 1 + w.IntN(2) {
		list = append(list, netip.MustParseAddr(pick(&w.generator, pool)))
	}
	return list
}

// list draws an opaque-ports annotation, or none.
func (w *profileGenerator) list() *catalog.PortSet {
	if w.chance(60) {
		return nil
	}
	return portsOf(pick(&w.generator, profilePoolLists), catalog.WorkloadPort{Name: "http", Port: pick(&w.generator, profilePoolPorts)})
}

func (w *profileGenerator) service() *catalog.Service {
	s := &catalog.Service{
		Key:         catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "ns", Name: pick(&w.generator, profilePoolServices)},
		OpaquePorts: w.list(), ExternalName: w.chance(10), Ports: []catalog.ServicePort{{Name: "http", Port: 80, Protocol: catalog.TCP}},
	}
	if w.chance(70) {
		s.ClusterIPs = w.ips(profilePoolCluster)
	}
	if w.chance(30) {
		s.Ports[0].Port = 3306
	}
	return s
}

func (w *profileGenerator) profile() *catalog.ServiceProfile {
	sp := &catalog.ServiceProfile{
		Cluster: catalog.LocalCluster, Namespace: pick(&w.generator, []string{"ns", "client"}),
		Name: pick(&w.generator, profilePoolServices) + ".ns.svc.cluster.local",
	}
	for range w.IntN(3) {
		sp.Routes = append(sp.Routes, catalog.Route{Name: pick(&w.generator, []string{"a", "b"}), Condition: &catalog.RequestMatch{Method: pick(&w.generator, []string{"GET", "PUT", ""})}})
	}
	if w.chance(20) {
		sp.DstOverrides = []catalog.WeightedDst{{Authority: "db", MilliWeight: int64(w.IntN(3))}}
	}
	return sp
}

func (w *profileGenerator) workload() *catalog.Workload {
	w.created++
	v := w.generator.workload()
	v.Created = time.Unix(w.created/3, 0)
	v.OpaquePorts, v.IPs, v.Ports = w.list(), w.ips(profilePoolIPs), nil
	for range w.IntN(3) {
		v.Ports = append(v.Ports, catalog.WorkloadPort{Name: "http", Port: pick(&w.generator, profilePoolPorts)})
	}
	if v.Key.Kind == catalog.ExternalWorkload {
		return v
	}
	switch n := w.IntN(10); {
	case n < 7:
		v.Running = true
	case n < 9:
		v.Finished = true
	}
	v.Terminating, v.HostNetwork = w.chance(20), w.chance(15)
	if len(v.Ports) > 0 && w.chance(50) {
		v.HostIPs, v.Ports[0].HostPort = w.ips(profilePoolIPs), pick(&w.generator, profilePoolPorts)
	}
	return v
}

// slice draws a slice with endpoints of the queried hostname.
func (w *profileGenerator) slice() *catalog.EndpointSlice {
	s := &catalog.EndpointSlice{
		Cluster: catalog.LocalCluster, Namespace: "ns", Name: pick(&w.generator, poolSlices),
		Service: catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "ns", Name: pick(&w.generator, profilePoolServices)},
		Subsets: []catalog.Subset{{Ports: []catalog.SubsetPort{{Name: "http", Port: 80}}}},
	}
	for range w.IntN(3) {
		e := catalog.SliceEndpoint{Addresses: w.ips(profilePoolIPs), NotReady: w.chance(30), Hostname: pick(&w.generator, []string{"", "a", "a"})}
		if w.chance(80) {
			e.Target = w.workloadKey()
		}
		s.Subsets[0].Endpoints = append(s.Subsets[0].Endpoints, e)
	}
	return s
}

func (w *profileGenerator) server() *catalog.Server {
	s := w.generator.server()
	if s.PortName == "" {
		s.PortNumber = pick(&w.generator, profilePoolPorts)
	}
	return s
}

func (w *profileGenerator) query() catalog.ProfileQuery {
	q := catalog.ProfileQuery{
		Cluster: catalog.LocalCluster, Port: pick(&w.generator, profilePoolPorts), ClusterDomain: "cluster.local", ClientNamespace: pick(&w.generator, []string{"", "client", "ns"}),
	}
	switch n := w.IntN(10); {
	case n < 5:
		q.IP = netip.MustParseAddr(pick(&w.generator, append(profilePoolCluster, profilePoolIPs...)))
		return q
	case n < 7:
		q.Hostname = "a"
	}
	q.Service = catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "ns", Name: pick(&w.generator, profilePoolServices)}
	return q
}
