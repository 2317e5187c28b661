package destination

import (
	"context"
	"net/netip"
	"sync"
	"testing"

	"github.com/signpostd/signpost/catalog"
	"github.com/signpostd/signpost/internal/objectmeta"
)

// getPath is the path of the Service of most tests, web in the namespace ns, whose port 80 is named http and
// has the target port 8080.
const getPath = "web.ns.svc.mycluster.local:80"

func serviceKey(name string) catalog.ServiceKey {
	return catalog.ServiceKey{Cluster: catalog.LocalCluster, Namespace: "ns", Name: name}
}

func podKey(name string) catalog.WorkloadKey {
	return catalog.WorkloadKey{Kind: catalog.Pod, Cluster: catalog.LocalCluster, Namespace: "ns", Name: name}
}

func externalKey(name string) catalog.WorkloadKey {
	return catalog.WorkloadKey{Kind: catalog.ExternalWorkload, Cluster: catalog.LocalCluster, Namespace: "ns", Name: name}
}

func edited[T any](v *T, edits []func(*T)) *T {
	for _, edit := range edits {
		edit(v)
	}
	return v
}

func service(name string, edits ...func(*catalog.Service)) *catalog.Service {
	return edited(&catalog.Service{Key: serviceKey(name), Ports: []catalog.ServicePort{{Name: "http", Port: 80, Protocol: catalog.TCP}}}, edits)
}

// pod returns a meshed pod (E10, E11).
func pod(name string, edits ...func(*catalog.Workload)) *catalog.Workload {
	return edited(&catalog.Workload{
		Key: podKey(name), Labels: objectmeta.NewLabels(map[string]string{catalog.ControlPlaneLabel: "linkerd"}),
		Ports: []catalog.WorkloadPort{{Name: "http", Port: 8080}}, Owner: catalog.OwnerRef{Kind: "ReplicationController", Name: "rc"},
		ServiceAccount: "serviceaccount-name", Node: "n1",
		Proxy: &proxyListeners,
	}, edits)
}

// external returns an ExternalWorkload (E14, E15).
func external(name string, edits ...func(*catalog.Workload)) *catalog.Workload {
	return edited(&catalog.Workload{
		Key: externalKey(name), Ports: []catalog.WorkloadPort{{Name: "http", Port: 8080}},
		Owner:   catalog.OwnerRef{Kind: "WorkloadGroup", Name: "group"},
		MeshTLS: catalog.MeshTLS{Identity: catalog.Identity{Name: "spiffe://" + name, Form: catalog.URIIdentity}, ServerName: name + ".local"},
	}, edits)
}

func labelled(m map[string]string) func(*catalog.Workload) {
	return func(w *catalog.Workload) { w.Labels = objectmeta.NewLabels(m) }
}

func opaqueOn(list string) func(*catalog.Workload) {
	return func(w *catalog.Workload) { w.OpaquePorts = portsOf(list, w.Ports...) }
}

// at returns an endpoint of a workload, whose key is zero for an endpoint
// without targetRef.
func at(ip string, target catalog.WorkloadKey, edits ...func(*catalog.SliceEndpoint)) catalog.SliceEndpoint {
	return *edited(&catalog.SliceEndpoint{Addresses: []netip.Addr{netip.MustParseAddr(ip)}, Target: target}, edits)
}

func inZone(zone string) func(*catalog.SliceEndpoint) {
	return func(e *catalog.SliceEndpoint) { e.Zone = zone }
}

// slice returns a slice of the Service web of the family of its addresses.
func slice(name string, endpoints ...catalog.SliceEndpoint) *catalog.EndpointSlice {
	family := catalog.IPv4
	if len(endpoints) > 0 && endpoints[0].Addresses[0].Is6() {
		family = catalog.IPv6
	}
	return &catalog.EndpointSlice{
		Cluster: catalog.LocalCluster, Namespace: "ns", Name: name, Service: serviceKey("web"), AddressType: family,
		Subsets: []catalog.Subset{{Ports: []catalog.SubsetPort{{Name: "http", Port: 8080}}, Endpoints: endpoints}},
	}
}

// serving replaces the port of a slice.
func serving(port uint16, s *catalog.EndpointSlice) *catalog.EndpointSlice {
	s.Subsets[0].Ports[0].Port = port
	return s
}

// gateway makes a slice one of a mirrored Service.
func gateway(identity, remote string, s *catalog.EndpointSlice) *catalog.EndpointSlice {
	s.GatewayIdentity, s.RemoteName = identity, remote
	return s
}

func nodeIn(name, zone string) *catalog.Node {
	return &catalog.Node{Cluster: catalog.LocalCluster, Name: name, Zone: zone}
}

func opaqueServer(port uint16, selected string) *catalog.Server {
	return &catalog.Server{
		Cluster: catalog.LocalCluster, Namespace: "ns", Name: "server", PortNumber: port, Opaque: true,
		Pods: &catalog.Selector{Requirements: []catalog.Requirement{{Key: "app", Operator: catalog.In, Values: []string{selected}}}},
	}
}

// manyEndpoints returns the Service web with n endpoints in one slice.
func manyEndpoints(n int) (objects []catalog.Object, s *catalog.EndpointSlice) {
	s = slice("s")
	for i := range n {
		s.Subsets[0].Endpoints = append(s.Subsets[0].Endpoints, catalog.SliceEndpoint{
			Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})}, Target: podKey("a"),
		})
	}
	return []catalog.Object{service("web"), pod("a"), s}, s
}

// resolve returns the endpoints of the Service web, from a catalog with these objects.
func resolve(t testing.TB, q catalog.Query, objects ...catalog.Object) []catalog.Endpoint {
	t.Helper()
	snapshot := settled(t, objects...).Service(serviceKey("web"))
	defer snapshot.Release()
	return catalog.Resolve(snapshot, q).Endpoints
}

// settled returns a catalog with the objects, which only changes by putInto.
func settled(t testing.TB, objects ...catalog.Object) *catalog.Catalog {
	t.Helper()
	c := catalog.New(catalog.Options{DefaultOpaquePorts: defaultOpaque})
	for _, v := range objects {
		c.Put(v)
	}
	c.MarkSynced()
	running(t, c, func() { <-c.Synced() })
	return c
}

// putInto puts an object into a settled catalog, and waits until the old snapshot is stale.
func putInto(t testing.TB, c *catalog.Catalog, v catalog.Object, old *catalog.Snapshot) {
	t.Helper()
	c.Put(v)
	running(t, c, func() { <-old.Stale() })
}

// running runs a catalog while f does.
func running(t testing.TB, c *catalog.Catalog, f func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = c.Run(ctx) })
	f()
	cancel()
	wg.Wait()
}

// portsOf returns the ports of an annotation with a list, on a workload that declares these ports.
func portsOf(list string, declared ...catalog.WorkloadPort) *catalog.PortSet {
	var ranges []catalog.PortRange
	for item := range catalog.PortItems(list) {
		if r, ok := catalog.ParsePortRange(item); ok {
			ranges = append(ranges, r)
		}
		for _, p := range declared {
			if p.Name == item {
				ranges = append(ranges, catalog.PortRange{Low: p.Port, High: p.Port})
			}
		}
	}
	set := catalog.NewPortSet(ranges)
	return &set
}
