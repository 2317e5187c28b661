package subsets

//lint:file-ignore SA1019 Endpoints are deprecated, and what this package is about.

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Canonical packs and sorts subsets (spec/endpoints.md §6). Two addresses are the same if their IPs and the
// UIDs of their targets are equal, and two ports if all four fields are. Ports with the same addresses in the
// same readiness share a subset.
//
//   - An address that is both ready and not ready at a port is not ready.
//   - Of several records of an address, the first one is used.
//   - Addresses without ports, or with a port number that is not positive, stay in a subset that doesn't list
//     that port.
//   - Empty lists are nil.
func Canonical(list []corev1.EndpointSubset) []corev1.EndpointSubset {
	if packed, ok := sorted(list); ok {
		return packed
	}
	p := &packer{portIDs: map[port]int{}, classIDs: map[string]int{}}
	members := p.members(list)
	slices.SortFunc(members, compareMembers)
	packed := p.pack(p.unique(members))
	for i := range packed {
		SortByDigest(packed[i].Ports)
	}
	SortByDigest(packed)
	return packed
}

// sorted is Canonical for a list that only needs sorting, as for most Services: one subset with one port, and
// no duplicate addresses. It returns false for other lists.
func sorted(list []corev1.EndpointSubset) ([]corev1.EndpointSubset, bool) {
	ready, notReady := count(list)
	if len(list) != 1 || len(list[0].Ports) != 1 || list[0].Ports[0].Port <= 0 || ready+notReady == 0 {
		return nil, false
	}
	members := appendMembers(make([]member, 0, ready+notReady), &list[0], 0)
	slices.SortFunc(members, compareMembers)
	for i := 1; i < len(members); i++ {
		if sameAddress(members[i-1].address, members[i].address) {
			return nil, false
		}
	}
	packed := corev1.EndpointSubset{
		Ports:             slices.Clone(list[0].Ports),
		Addresses:         slices.Grow([]corev1.EndpointAddress(nil), ready),
		NotReadyAddresses: slices.Grow([]corev1.EndpointAddress(nil), notReady),
	}
	for _, m := range members {
		m.appendTo(&packed)
	}
	return []corev1.EndpointSubset{packed}, true
}

// packer packs without comparing the addresses at each port, which would be all pairs. It partitions the
// addresses into classes by the set of ports that they are at (§6.4). Two ports have the same addresses if,
// and only if, the same classes have them, because no address is twice in the classes with one readiness (see
// unique), and a class without addresses isn't counted.
type packer struct {
	ports    []corev1.EndpointPort
	portIDs  map[port]int
	classes  []class
	classIDs map[string]int
}

// port is a comparable form of EndpointPort.
type port struct {
	name           string
	number         int32
	protocol       corev1.Protocol
	appProtocol    string
	hasAppProtocol bool
}

// noPort stands for the absence of ports.
var noPort = []corev1.EndpointPort{{Port: -1}}

// class is a set of ports, as ascending indexes.
type class struct {
	ports           []int
	ready, notReady int   // number of addresses at exactly these ports
	subsets         []int // that contain the addresses
}

// member is an address of a class.
type member struct {
	address *corev1.EndpointAddress
	class   int
	index   int // position before sorting
	ready   bool
}

// members returns the addresses of all subsets.
func (p *packer) members(list []corev1.EndpointSubset) []member {
	ready, notReady := count(list)
	members := make([]member, 0, ready+notReady)
	for i := range list {
		members = appendMembers(members, &list[i], p.class(p.portSet(list[i].Ports)))
	}
	return members
}

func appendMembers(members []member, s *corev1.EndpointSubset, class int) []member {
	for i := range s.Addresses {
		members = append(members, member{&s.Addresses[i], class, len(members), true})
	}
	for i := range s.NotReadyAddresses {
		members = append(members, member{&s.NotReadyAddresses[i], class, len(members), false})
	}
	return members
}

func (m member) appendTo(s *corev1.EndpointSubset) {
	if m.ready {
		s.Addresses = append(s.Addresses, *m.address)
	} else {
		s.NotReadyAddresses = append(s.NotReadyAddresses, *m.address)
	}
}

// portSet returns the indexes of ports.
func (p *packer) portSet(ports []corev1.EndpointPort) []int {
	if len(ports) == 0 {
		ports = noPort
	}
	set := make([]int, len(ports))
	for i := range ports {
		set[i] = p.portID(&ports[i])
	}
	slices.Sort(set)
	return slices.Compact(set)
}

func (p *packer) portID(of *corev1.EndpointPort) int {
	key := port{name: of.Name, number: of.Port, protocol: of.Protocol}
	if of.AppProtocol != nil {
		key.appProtocol, key.hasAppProtocol = *of.AppProtocol, true
	}
	id, ok := p.portIDs[key]
	if !ok {
		id = len(p.ports)
		p.portIDs[key] = id
		p.ports = append(p.ports, *of)
	}
	return id
}

// class returns the index of the class with a set of ports.
func (p *packer) class(ports []int) int {
	key := keyOf(ports)
	id, ok := p.classIDs[key]
	if !ok {
		id = len(p.classes)
		p.classIDs[key] = id
		p.classes = append(p.classes, class{ports: ports})
	}
	return id
}

// keyOf encodes a list of indexes as a map key.
func keyOf(indexes []int) string {
	key := make([]byte, 0, 4*len(indexes))
	for _, i := range indexes {
		key = binary.BigEndian.AppendUint32(key, uint32(i))
	}
	return string(key)
}

// compareMembers orders addresses as §6.3 does. Records of one address are ordered by index, so that sorting
// is stable.
func compareMembers(a, b member) int {
	if c := strings.Compare(a.address.IP, b.address.IP); c != 0 {
		return c
	}
	x, y := a.address.TargetRef, b.address.TargetRef
	switch {
	case x == nil && y != nil:
		return -1
	case x != nil && y == nil:
		return 1
	case x != nil && x.UID != y.UID:
		return strings.Compare(string(x.UID), string(y.UID))
	}
	return cmp.Compare(a.index, b.index)
}

func sameAddress(a, b *corev1.EndpointAddress) bool {
	return a.IP == b.IP && uid(a) == uid(b)
}

func uid(a *corev1.EndpointAddress) types.UID {
	if a.TargetRef == nil {
		return ""
	}
	return a.TargetRef.UID
}

// unique leaves one member per address, or two if the address is ready at some ports and not at others, and
// counts them in their classes. The members must be sorted, so that those of one address are adjacent.
func (p *packer) unique(sorted []member) []member {
	kept := sorted[:0]
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sameAddress(sorted[0].address, sorted[n].address) {
			n++
		}
		if n == 1 {
			kept = append(kept, sorted[0])
		} else {
			kept = append(kept, p.merge(sorted[:n])...)
		}
		sorted = sorted[n:]
	}
	for _, m := range kept {
		p.count(m)
	}
	return kept
}

func (p *packer) count(m member) {
	if m.ready {
		p.classes[m.class].ready++
	} else {
		p.classes[m.class].notReady++
	}
}

// merge merges the members of one address into one or two (see unique).
func (p *packer) merge(same []member) []member {
	readyAt := map[int]bool{}
	for _, m := range same {
		for _, port := range p.classes[m.class].ports {
			before, known := readyAt[port]
			readyAt[port] = m.ready && (before || !known)
		}
	}
	var ready, notReady []int
	for _, port := range slices.Sorted(maps.Keys(readyAt)) {
		if readyAt[port] {
			ready = append(ready, port)
		} else {
			notReady = append(notReady, port)
		}
	}
	first := slices.MinFunc(same, func(a, b member) int { return cmp.Compare(a.index, b.index) })
	var merged []member
	if len(ready) > 0 {
		merged = append(merged, member{first.address, p.class(ready), first.index, true})
	}
	if len(notReady) > 0 {
		merged = append(merged, member{first.address, p.class(notReady), first.index, false})
	}
	return merged
}

// pack returns the subsets of members, with addresses in the order of members.
func (p *packer) pack(members []member) []corev1.EndpointSubset {
	packed := p.share()
	for _, m := range members {
		for _, i := range p.classes[m.class].subsets {
			m.appendTo(&packed[i])
		}
	}
	return packed
}

// share returns a subset for each set of ports that are in the same classes, with room for the addresses, and
// enters it in the classes.
func (p *packer) share() []corev1.EndpointSubset {
	var packed []corev1.EndpointSubset
	byClasses := map[string]int{}
	for port, in := range p.classesByPort() {
		if len(in) == 0 {
			continue
		}
		key := keyOf(in)
		i, ok := byClasses[key]
		if !ok {
			i = len(packed)
			byClasses[key] = i
			packed = append(packed, p.subset(in, i))
		}
		if p.ports[port].Port > 0 {
			packed[i].Ports = append(packed[i].Ports, p.ports[port])
		}
	}
	return packed
}

// classesByPort returns for each port the classes that contain it and have addresses.
func (p *packer) classesByPort() [][]int {
	in := make([][]int, len(p.ports))
	for i, c := range p.classes {
		if c.ready+c.notReady == 0 {
			continue
		}
		for _, port := range c.ports {
			in[port] = append(in[port], i)
		}
	}
	return in
}

// subset returns a subset with room for the addresses of classes, and enters its index in them.
func (p *packer) subset(classes []int, index int) corev1.EndpointSubset {
	var ready, notReady int
	for _, i := range classes {
		c := &p.classes[i]
		c.subsets = append(c.subsets, index)
		ready += c.ready
		notReady += c.notReady
	}
	var s corev1.EndpointSubset
	s.Addresses = slices.Grow(s.Addresses, ready)
	s.NotReadyAddresses = slices.Grow(s.NotReadyAddresses, notReady)
	return s
}
