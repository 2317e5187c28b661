package catalog

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
)

// A set has the values of a map, whatever its size.
func TestSet(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	sets, want := map[string]set[int]{}, map[int]struct{}{}
	for i := range 20_000 {
		v := random.IntN(3 * smallSet)
		if add := random.IntN(4) > 0; add == (i/2000%2 == 0) { // grows and shrinks in turn
			addTo(sets, "k", v)
			want[v] = struct{}{}
		} else {
			removeFrom(sets, "k", v)
			delete(want, v)
		}
		got := slices.Sorted(slices.Values(valuesOf(sets, "k")))
		s, exists := sets["k"]
		if !slices.Equal(got, slices.Sorted(maps.Keys(want))) || s.len() != len(want) || exists != (len(want) > 0) {
			t.Fatalf("step %d: %v of length %d, want %d values", i, got, s.len(), len(want))
		}
	}
}

// Objects that have something in common take about as long as others: a linked cluster with 450,000 slices of
// one Service must not keep the catalog busy for minutes.
//
//	go test ./catalog -run '^$' -bench ManyObjects -benchtime 3x
func BenchmarkManyObjects(b *testing.B) {
	const n = 20_000
	ip := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}) }
	for name, object := range map[string]func(i, key int) Object{
		"slices of a Service": func(i, key int) Object {
			return &EndpointSlice{Cluster: LocalCluster, Namespace: "ns", Name: fmt.Sprint("s", i), Service: serviceKey(fmt.Sprint("web", key))}
		},
		"slices that name a pod": func(i, key int) Object {
			target := WorkloadKey{Pod, LocalCluster, "ns", fmt.Sprint("p", key)}
			return &EndpointSlice{
				Cluster: LocalCluster, Namespace: "ns", Name: fmt.Sprint("s", i), Service: serviceKey(fmt.Sprint("web", i)),
				Subsets: []Subset{{Endpoints: []SliceEndpoint{{Addresses: []netip.Addr{ip(i)}, Target: target}}}},
			}
		},
		"pods with an address": func(i, key int) Object {
			return &Workload{Key: WorkloadKey{Pod, LocalCluster, "ns", fmt.Sprint("p", i)}, IPs: []netip.Addr{ip(key)}}
		},
		"Services with a cluster IP": func(i, key int) Object {
			return &Service{Key: serviceKey(fmt.Sprint("web", i)), ClusterIPs: []netip.Addr{ip(key)}}
		},
	} {
		for kind, key := range map[string]func(i int) int{"apart": func(i int) int { return i }, "together": func(int) int { return 0 }} {
			b.Run(name+" "+kind, func(b *testing.B) {
				var objects []Object
				for i := range n {
					objects = append(objects, object(i, key(i)))
				}
				rand.Shuffle(n, func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
				for b.Loop() {
					s := newState()
					for _, v := range objects {
						s.apply(v.ID(), v)
					}
					for _, v := range objects {
						s.apply(v.ID(), nil)
					}
				}
			})
		}
	}
}
