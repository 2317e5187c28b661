package mirroring

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/endpointslice/util"

	slicestore "github.com/signpostd/signpost/controllers/slices"
	"github.com/signpostd/signpost/controllers/subsets"
)

// groupKey is what the endpoints of a slice have in common.
type groupKey struct {
	family discoveryv1.AddressType
	ports  slicestore.PortSet
}

// group is the content of a desired slice; it has endpoints.
type group struct {
	key       groupKey
	ports     []discoveryv1.EndpointPort
	endpoints []discoveryv1.Endpoint
	index     map[slicestore.Identity]int // of the endpoints
}

// add adds an endpoint. If an address appears as ready and as not ready, not ready wins, because it is added
// last.
func (g *group) add(e discoveryv1.Endpoint) {
	id := slicestore.IdentityOf(&e)
	if i, ok := g.index[id]; ok {
		g.endpoints[i] = e
		return
	}
	g.index[id] = len(g.endpoints)
	g.endpoints = append(g.endpoints, e)
}

// difference counts the changes of a slice's endpoints.
type difference struct{ added, updated, removed int }

// compare returns the changes that turn the endpoints of a slice into those of the group.
func (g *group) compare(s *discoveryv1.EndpointSlice) difference {
	d := difference{added: len(g.endpoints)}
	found := make([]bool, len(g.endpoints))
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		at, ok := g.index[slicestore.IdentityOf(e)]
		if !ok || found[at] {
			d.removed++
			continue
		}
		found[at] = true
		d.added--
		if !util.EndpointsEqualBeyondHash(e, &g.endpoints[at]) {
			d.updated++
		}
	}
	return d
}

// desired is the content of Endpoints in the form of slices.
type desired struct {
	max, maxSlices int

	groups []*group // in the order of the packed subsets
	byKey  map[groupKey]*group

	// invalid is the number of addresses that are no IPs; firstInvalid is the first of them.
	invalid      int
	firstInvalid string
	// overLimit is the number of addresses beyond the maximum.
	overLimit int
	// overTotal is the number of addresses beyond [maxEndpoints]. overSlices is the number of addresses that
	// would need more than maxSlices slices.
	overTotal, overSlices int
}

// maxEndpoints bounds the addresses of Endpoints, counted once for each port of their subset,
// because each port may need a slice of its own. An object of 1 MB could ask for a billion
// endpoints.
const maxEndpoints = 250_000

// desire converts subsets (spec/endpoints.md §14.3). At most maxPerSubset addresses of each are used, ready
// ones first. Addresses that need more than maxSlices slices are left out.
func desire(list []corev1.EndpointSubset, maxPerSubset, maxSlices int) *desired {
	d := &desired{max: maxPerSubset, maxSlices: maxSlices, byKey: map[groupKey]*group{}}
	list, d.overTotal = bounded(list)
	for _, s := range subsets.Canonical(list) {
		sets := portSetsOf(s.Ports)
		left := maxPerSubset
		d.add(sets, s.Addresses, true, &left)
		d.add(sets, s.NotReadyAddresses, false, &left)
	}
	return d
}

// bounded returns subsets without the addresses beyond [maxEndpoints], and the number of those. The ready
// addresses of a subset are kept first.
func bounded(list []corev1.EndpointSubset) (kept []corev1.EndpointSubset, over int) {
	kept = slices.Clone(list)
	room := maxEndpoints
	for i := range kept {
		s := &kept[i]
		ports := max(1, len(s.Ports))
		ready := min(len(s.Addresses), room/ports)
		notReady := min(len(s.NotReadyAddresses), room/ports-ready)
		over += len(s.Addresses) - ready + len(s.NotReadyAddresses) - notReady
		s.Addresses, s.NotReadyAddresses = s.Addresses[:ready], s.NotReadyAddresses[:notReady]
		room -= (ready + notReady) * ports
	}
	return kept, over
}

// add adds addresses of a subset, at most left, and reduces left by their number.
func (d *desired) add(sets []portSet, list []corev1.EndpointAddress, ready bool, left *int) {
	for i := range list {
		ip, ok := subsets.ParseIP(list[i].IP)
		if !ok {
			if d.invalid++; d.invalid == 1 {
				d.firstInvalid = list[i].IP
			}
			continue
		}
		if *left == 0 || !d.hasRoom(sets, familyOf(ip)) {
			d.overLimit++
			continue
		}
		if !d.hasSlices(sets, familyOf(ip)) {
			d.overSlices++
			continue
		}
		*left--
		for _, set := range sets {
			d.group(set, familyOf(ip)).add(endpointOf(&list[i], ip, ready))
		}
	}
}

// hasRoom reports whether an address fits into its groups. It always does, unless several subsets have a
// group in common, which requires that [portSetsOf] split their ports.
func (d *desired) hasRoom(sets []portSet, family discoveryv1.AddressType) bool {
	return !slices.ContainsFunc(sets, func(set portSet) bool {
		g := d.byKey[groupKey{family, set.key}]
		return g != nil && len(g.endpoints) >= d.max
	})
}

// hasSlices reports whether the groups of an address exist, or don't exceed the number of slices.
func (d *desired) hasSlices(sets []portSet, family discoveryv1.AddressType) bool {
	more := 0
	for _, set := range sets {
		if d.byKey[groupKey{family, set.key}] == nil {
			more++
		}
	}
	return len(d.groups)+more <= d.maxSlices
}

func (d *desired) group(set portSet, family discoveryv1.AddressType) *group {
	key := groupKey{family, set.key}
	g := d.byKey[key]
	if g == nil {
		g = &group{key: key, ports: set.ports, index: map[slicestore.Identity]int{}}
		d.byKey[key] = g
		d.groups = append(d.groups, g)
	}
	return g
}

func endpointOf(a *corev1.EndpointAddress, ip netip.Addr, ready bool) discoveryv1.Endpoint {
	e := discoveryv1.Endpoint{
		Addresses:  []string{ip.String()},
		Conditions: discoveryv1.EndpointConditions{Ready: &ready},
		NodeName:   a.NodeName,
		TargetRef:  a.TargetRef,
	}
	if a.Hostname != "" {
		e.Hostname = &a.Hostname
	}
	return e
}

func familyOf(ip netip.Addr) discoveryv1.AddressType {
	if ip.Is4() {
		return discoveryv1.AddressTypeIPv4
	}
	return discoveryv1.AddressTypeIPv6
}

// portSet is a set of ports as slices have them.
type portSet struct {
	key   slicestore.PortSet
	ports []discoveryv1.EndpointPort
}

// portSetsOf returns the ports of a subset, usually as one set. Endpoints may have two ports of the same name
// and slices may not, so the second port goes into another set.
func portSetsOf(ports []corev1.EndpointPort) []portSet {
	var lists [][]discoveryv1.EndpointPort
	seen := map[string]int{}
	for i := range ports {
		p := &ports[i]
		n := seen[p.Name]
		seen[p.Name]++
		if n == len(lists) {
			lists = append(lists, nil)
		}
		protocol := cmp.Or(p.Protocol, corev1.ProtocolTCP)
		lists[n] = append(lists[n], discoveryv1.EndpointPort{
			Name: &p.Name, Port: &p.Port, Protocol: &protocol, AppProtocol: p.AppProtocol,
		})
	}
	if len(lists) == 0 {
		lists = [][]discoveryv1.EndpointPort{{}}
	}
	sets := make([]portSet, len(lists))
	for i, list := range lists {
		sets[i] = portSet{key: slicestore.PortSetOf(list), ports: list}
	}
	return sets
}

func keyOfSlice(s *discoveryv1.EndpointSlice) groupKey {
	return groupKey{s.AddressType, slicestore.PortSetOf(s.Ports)}
}
