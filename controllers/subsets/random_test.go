package subsets

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// identity has the fields by which two addresses are the same (§6.2, step 1).
type identity struct {
	ip  string
	uid types.UID
}

func identify(a corev1.EndpointAddress) identity {
	if a.TargetRef == nil {
		return identity{ip: a.IP}
	}
	return identity{a.IP, a.TargetRef.UID}
}

// reference implements Canonical step by step, as in §6.2 and §6.3.
func reference(list []corev1.EndpointSubset) []corev1.EndpointSubset {
	records, pairs := pairsOf(list)
	shared := map[string]*corev1.EndpointSubset{}
	for _, at := range pairs {
		var s corev1.EndpointSubset
		var words []string
		for id, ready := range at.ready {
			words = append(words, fmt.Sprintf("%v %v", id, ready))
			if ready {
				s.Addresses = append(s.Addresses, records[id])
			} else {
				s.NotReadyAddresses = append(s.NotReadyAddresses, records[id])
			}
		}
		slices.Sort(words)
		key := strings.Join(words, "|")
		if shared[key] == nil {
			shared[key] = &s
		}
		if at.port.Port > 0 {
			shared[key].Ports = append(shared[key].Ports, at.port)
		}
	}
	var result []corev1.EndpointSubset
	for _, s := range shared {
		result = append(result, *s)
	}
	return ordered(result)
}

// addressesAt are the addresses of a port, and whether they are ready.
type addressesAt struct {
	port  corev1.EndpointPort
	ready map[identity]bool
}

// pairsOf returns the first record of each address, and the addresses of each port.
func pairsOf(list []corev1.EndpointSubset) (map[identity]corev1.EndpointAddress, map[string]*addressesAt) {
	records, pairs := map[identity]corev1.EndpointAddress{}, map[string]*addressesAt{}
	add := func(a corev1.EndpointAddress, p corev1.EndpointPort, ready bool) {
		id, key := identify(a), portText(p)
		if _, ok := records[id]; !ok {
			records[id] = a
		}
		if pairs[key] == nil {
			pairs[key] = &addressesAt{p, map[identity]bool{}}
		}
		if before, ok := pairs[key].ready[id]; ok {
			ready = ready && before
		}
		pairs[key].ready[id] = ready
	}
	for _, s := range list {
		ports := s.Ports
		if len(ports) == 0 {
			ports = []corev1.EndpointPort{{Port: -1}}
		}
		for _, p := range ports {
			for _, a := range s.Addresses {
				add(a, p, true)
			}
			for _, a := range s.NotReadyAddresses {
				add(a, p, false)
			}
		}
	}
	return records, pairs
}

func portText(p corev1.EndpointPort) string {
	app := "none"
	if p.AppProtocol != nil {
		app = fmt.Sprintf("%q", *p.AppProtocol)
	}
	return fmt.Sprintf("%q %d %q %s", p.Name, p.Port, p.Protocol, app)
}

func ordered(list []corev1.EndpointSubset) []corev1.EndpointSubset {
	byDigest := func(a, b any) int {
		x, y := digestOf(a), digestOf(b)
		return bytes.Compare(x[:], y[:])
	}
	for _, s := range list {
		slices.SortFunc(s.Addresses, addressOrder)
		slices.SortFunc(s.NotReadyAddresses, addressOrder)
		slices.SortFunc(s.Ports, func(a, b corev1.EndpointPort) int { return byDigest(a, b) })
	}
	slices.SortFunc(list, func(a, b corev1.EndpointSubset) int { return byDigest(a, b) })
	return list
}

func addressOrder(a, b corev1.EndpointAddress) int {
	key := func(a corev1.EndpointAddress) []string {
		if a.TargetRef == nil {
			return []string{a.IP, "absent"}
		}
		return []string{a.IP, "present", string(a.TargetRef.UID)}
	}
	return slices.Compare(key(a), key(b))
}

// drawSubsets draws from so few addresses and ports that they collide.
func drawSubsets(ports *rapid.Generator[corev1.EndpointPort]) *rapid.Generator[[]corev1.EndpointSubset] {
	address := rapid.Custom(func(t *rapid.T) corev1.EndpointAddress {
		text := rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "10.0.0.10", "fd00::1"}).Draw(t, "ip")
		text += rapid.SampledFrom([]string{"", "/", "/#a", "/1", "/2", "/2#b"}).Draw(t, "target")
		return readAddress(text)
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) corev1.EndpointSubset {
		return corev1.EndpointSubset{
			Addresses:         rapid.SliceOfN(address, 0, 4).Draw(t, "ready"),
			NotReadyAddresses: rapid.SliceOfN(address, 0, 4).Draw(t, "not ready"),
			Ports:             rapid.SliceOfN(ports, 0, 3).Draw(t, "ports"),
		}
	}), 0, 5)
}

func drawPort(numbers ...string) *rapid.Generator[corev1.EndpointPort] {
	return rapid.Custom(func(t *rapid.T) corev1.EndpointPort {
		p := readPort(rapid.SampledFrom(numbers).Draw(t, "port"))
		p.AppProtocol = rapid.SampledFrom([]*string{nil, nil, nil, pointer(""), pointer("http")}).Draw(t, "application protocol")
		return p
	})
}

// Packing by classes of addresses (§6.4) gives the result of §6.2, and doesn't change its argument.
func TestCanonicalMatchesReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawSubsets(drawPort("80", "81", "80/TCP", "a:80", "0", "a:0", "-1")).Draw(t, "subsets")
		before := copied(list)
		if diff := cmp.Diff(reference(list), Canonical(list)); diff != "" {
			t.Errorf("subsets (-reference +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, list); diff != "" {
			t.Errorf("argument (-before +after):\n%s", diff)
		}
	})
}

func TestCanonicalIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		once := Canonical(drawSubsets(drawPort("80", "81", "80/TCP", "a:80")).Draw(t, "subsets"))
		if diff := cmp.Diff(once, Canonical(once)); diff != "" {
			t.Errorf("subsets (-once +twice):\n%s", diff)
		}
	})
}

// Truncate fills the capacity exactly, and drops unready addresses first.
func TestTruncateFillsTheCapacity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawSubsets(drawPort("80", "81")).Draw(t, "subsets")
		capacity := rapid.IntRange(0, 12).Draw(t, "capacity")
		before := copied(list)
		got, truncated := Truncate(list, capacity)
		if diff := cmp.Diff(before, list); diff != "" {
			t.Errorf("argument (-before +after):\n%s", diff)
		}
		ready, notReady := count(list)
		gotReady, gotNotReady := count(got)
		if truncated != (ready+notReady > capacity) {
			t.Errorf("truncated: %v, with %d addresses and a capacity of %d", truncated, ready+notReady, capacity)
		}
		wantReady := min(ready, capacity)
		if gotReady != wantReady || gotNotReady != min(notReady, capacity-wantReady) {
			t.Errorf("got %d ready and %d not ready of %d and %d, with a capacity of %d", gotReady, gotNotReady, ready, notReady, capacity)
		}
	})
}
