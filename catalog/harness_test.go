package catalog

import (
	"net/netip"
	"testing"

	"go.uber.org/goleak"

	"github.com/signpostd/signpost/internal/objectmeta"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testNamespace is the namespace of objects unless a test names another one.
const testNamespace = "ns"

func serviceKey(name string) ServiceKey { return ServiceKey{LocalCluster, testNamespace, name} }

func podKey(name string) WorkloadKey { return WorkloadKey{Pod, LocalCluster, testNamespace, name} }

func externalKey(name string) WorkloadKey {
	return WorkloadKey{ExternalWorkload, LocalCluster, testNamespace, name}
}

// service returns a Service with a port named http: 80.
func service(name string, edits ...func(*Service)) *Service {
	return edited(&Service{Key: serviceKey(name), Ports: []ServicePort{{"http", 80, TCP}}}, edits)
}

// slice returns a slice of the Service that serves http on 8080.
func slice(name, service string, family AddressType, endpoints ...SliceEndpoint) *EndpointSlice {
	return &EndpointSlice{
		Cluster: LocalCluster, Namespace: testNamespace, Name: name, Service: serviceKey(service), AddressType: family,
		Subsets: []Subset{{[]SubsetPort{{"http", 8080}}, endpoints}},
	}
}

// at returns an endpoint of a workload, whose key is zero for an endpoint
// without targetRef.
func at(ip string, target WorkloadKey, edits ...func(*SliceEndpoint)) SliceEndpoint {
	return *edited(&SliceEndpoint{Addresses: []netip.Addr{netip.MustParseAddr(ip)}, Target: target}, edits)
}

func workload(key WorkloadKey, edits ...func(*Workload)) *Workload {
	return edited(&Workload{Key: key}, edits)
}

func pod(name string, edits ...func(*Workload)) *Workload { return workload(podKey(name), edits...) }

func edited[T any](v *T, edits []func(*T)) *T {
	for _, edit := range edits {
		edit(v)
	}
	return v
}

func labelled(labels ...string) func(*Workload) {
	return func(w *Workload) { w.Labels = labelsOf(labels...) }
}

// labelsOf takes pairs of keys and values.
func labelsOf(pairs ...string) objectmeta.Labels {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return objectmeta.NewLabels(m)
}

func owned(kind, name string) func(*Workload) {
	return func(w *Workload) { w.Owner = OwnerRef{kind, name} }
}

func owner(kind, name string, parent OwnerRef) *Owner {
	return &Owner{LocalCluster, testNamespace, OwnerRef{kind, name}, parent}
}

// having returns a selector for one label.
func having(key, value string) *Selector {
	return &Selector{[]Requirement{{key, In, []string{value}}}}
}

func opaqueServer(name string, port uint16, pods *Selector) *Server {
	return &Server{Cluster: LocalCluster, Namespace: testNamespace, Name: name, Pods: pods, PortNumber: port, Opaque: true}
}

func stateOf(objects ...Object) *state {
	s := newState()
	for _, v := range objects {
		s.apply(v.ID(), v)
	}
	s.applyRegions()
	return s
}

func snapshotOf(name string, objects ...Object) *Snapshot {
	return stateOf(objects...).snapshot(serviceKey(name), &Options{})
}

// show formats an endpoint set: addresses and targets.
func show(set EndpointSet) []string {
	var out []string
	for _, e := range set.Endpoints {
		target := "-"
		if e.Target != nil {
			target = e.Target.Key.Name
		}
		out = append(out, e.Addr.String()+" "+target)
	}
	return out
}

// started returns a catalog with these objects. The test calls its steps.
func started(objects ...Object) *Catalog {
	c := New(Options{})
	apply(c, objects...)
	return c
}

func apply(c *Catalog, objects ...Object) {
	for _, v := range objects {
		c.Put(v)
	}
	c.step()
}

// applyAll applies everything that was put, in as many steps as that takes.
func applyAll(c *Catalog) {
	for c.step(); len(c.state.waiting.namespaces) > 0; {
		c.step()
	}
}
