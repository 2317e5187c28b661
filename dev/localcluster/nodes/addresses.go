package nodes

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// MaxNodes is how many nodes the address plan below has room for.
const MaxNodes = 1024

// The address plan. Node i has its own pod ranges: 10.128.0.0 + i*2^13 with 8192 addresses, and
// fd00:10:128:i::/64. Nothing routes them. The node's own addresses are 172.30.0.0/16 and
// fd00:172:30::/64.
const (
	podBits = 13
	// podsPerNode leaves out the first and the last address of the range.
	podsPerNode = 1<<podBits - 2
)

var (
	firstPodV4  = netip.MustParseAddr("10.128.0.0")
	firstPodV6  = netip.MustParseAddr("fd00:10:128::")
	firstHostV4 = netip.MustParseAddr("172.30.0.0")
	firstHostV6 = netip.MustParseAddr("fd00:172:30::")
)

// addresses are the IPv4 and the IPv6 address of one pod or node.
type addresses struct{ v4, v6 netip.Addr }

// hostAddresses returns the addresses of a node.
func hostAddresses(node int) addresses {
	return addresses{v4: offsetV4(firstHostV4, node+1), v6: offsetV6(firstHostV6, 0, node+1)}
}

// podRanges returns the pod CIDRs of a node, IPv4 first.
func podRanges(node int) []string {
	v4 := netip.PrefixFrom(offsetV4(firstPodV4, node<<podBits), 32-podBits)
	v6 := netip.PrefixFrom(offsetV6(firstPodV6, node, 0), 64)
	return []string{v4.String(), v6.String()}
}

// podAddresses returns the n-th pair of a node's pod ranges; n counts from 1.
func podAddresses(node, n int) addresses {
	return addresses{v4: offsetV4(firstPodV4, node<<podBits+n), v6: offsetV6(firstPodV6, node, n)}
}

func offsetV4(base netip.Addr, n int) netip.Addr {
	raw := base.As4()
	binary.BigEndian.PutUint32(raw[:], binary.BigEndian.Uint32(raw[:])+uint32(n))
	return netip.AddrFrom4(raw)
}

func offsetV6(base netip.Addr, subnet, n int) netip.Addr {
	raw := base.As16()
	binary.BigEndian.PutUint16(raw[6:], uint16(subnet))
	binary.BigEndian.PutUint32(raw[12:], uint32(n))
	return netip.AddrFrom16(raw)
}

// pool hands out the pod addresses of one node. It goes round, so that an address comes back as
// late as possible, as a real network plug-in does. Safe for concurrent use.
type pool struct {
	node int

	mu    sync.Mutex
	last  int               // the number handed out last
	taken map[int]types.UID // number → pod
	owned map[types.UID]int // the inverse of taken
}

func newPool(node int) *pool {
	return &pool{node: node, taken: map[int]types.UID{}, owned: map[types.UID]int{}}
}

// take returns the addresses of the pod: always the same ones until give.
func (p *pool) take(pod types.UID) (addresses, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n, ok := p.owned[pod]; ok {
		return podAddresses(p.node, n), nil
	}
	if len(p.taken) == podsPerNode {
		return addresses{}, fmt.Errorf("allocate an address on node %s: all %d are taken", nodeName(p.node), podsPerNode)
	}
	for {
		p.last = p.last%podsPerNode + 1
		if _, ok := p.taken[p.last]; !ok {
			break
		}
	}
	p.taken[p.last], p.owned[pod] = pod, p.last
	return podAddresses(p.node, p.last), nil
}

// claim notes that a pod already has addr, as found after a restart of the simulator. Strange
// addresses are ignored.
func (p *pool) claim(pod types.UID, addr netip.Addr) {
	if !addr.Is4() {
		return
	}
	raw := addr.As4()
	first := offsetV4(firstPodV4, p.node<<podBits).As4()
	n := int(binary.BigEndian.Uint32(raw[:])) - int(binary.BigEndian.Uint32(first[:]))
	if n < 1 || n > podsPerNode {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.taken[n]; ok {
		return
	}
	p.taken[n], p.owned[pod] = pod, n
	p.last = max(p.last, n)
}

// give takes the addresses of the pod back.
func (p *pool) give(pod types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n, ok := p.owned[pod]; ok {
		delete(p.taken, n)
		delete(p.owned, pod)
	}
}
