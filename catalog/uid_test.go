package catalog

import (
	"net/netip"
	"testing"
)

// An endpoint of a deleted pod with the name of an existing one is outdated: its address belongs to another
// pod or to none (Q14).
func TestEndpointOfDeletedPod(t *testing.T) {
	key := WorkloadKey{Kind: Pod, Cluster: LocalCluster, Namespace: "ns", Name: "web-0"}
	svc := &Service{Key: ServiceKey{LocalCluster, "ns", "web"}}
	for name, test := range map[string]struct {
		endpoint, pod UID
		want          int
	}{
		"same":                      {1, 1, 1},
		"other":                     {1, 2, 0},
		"slice doesn't say":         {0, 2, 1},
		"UID of the pod is unknown": {1, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(Options{})
			c.Put(svc)
			c.Put(&Workload{Key: key, UID: test.pod})
			c.Put(&EndpointSlice{
				Cluster: LocalCluster, Namespace: "ns", Name: "web-1", Service: svc.Key, AddressType: IPv4,
				Subsets: []Subset{{
					Ports:     []SubsetPort{{Port: 80}},
					Endpoints: []SliceEndpoint{{Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")}, Target: key, TargetUID: test.endpoint}},
				}},
			})
			c.step()
			s := c.Service(svc.Key)
			defer s.Release()
			if got := Resolve(s, Query{Port: 80}).Endpoints; len(got) != test.want {
				t.Errorf("%d endpoints, want %d", len(got), test.want)
			}
		})
	}
}
