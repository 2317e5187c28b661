package destclient

import (
	"encoding/binary"
	"maps"
	"net/netip"
	"slices"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	netpb "github.com/linkerd/linkerd2-proxy-api/go/net"
	"google.golang.org/protobuf/proto"
)

// mark is the sign for a kind of change.
type mark string

const (
	added   mark = "+"
	removed mark = "-"
	changed mark = "~"
)

// change is the effect of a message on one endpoint. In a removal, endpoint is the removed one; nil
// if there was none.
type change struct {
	mark     mark
	addr     netip.AddrPort
	endpoint *pb.WeightedAddr
	// count is the number of endpoints after the change.
	count int
}

// endpointSet is the state of a stream's client. The zero value is that of a new stream.
type endpointSet struct {
	endpoints map[netip.AddrPort]*pb.WeightedAddr
	// none is the last message if that was a no_endpoints; otherwise nil.
	none *pb.NoEndpoints
	// initial is true until the first message of a stream. If that is an add, it replaces the state of
	// earlier streams.
	initial bool
}

// apply changes the set as a proxy does (spec/destination.md §B), and returns the changes.
func (s *endpointSet) apply(u *pb.Update) []change {
	if s.endpoints == nil {
		s.endpoints = map[netip.AddrPort]*pb.WeightedAddr{}
	}
	replaces := s.initial
	s.initial, s.none = false, nil
	switch m := u.GetUpdate().(type) {
	case *pb.Update_Add:
		var gone []change
		if replaces {
			gone = s.removeExcept(m.Add)
		}
		return append(gone, s.add(m.Add)...)
	case *pb.Update_Remove:
		var changes []change
		for _, a := range m.Remove.GetAddrs() {
			changes = append(changes, s.remove(AddrPort(a)))
		}
		return changes
	case *pb.Update_NoEndpoints:
		s.none = m.NoEndpoints
		return s.removeExcept(nil)
	}
	return nil
}

func (s *endpointSet) add(set *pb.WeightedAddrSet) []change {
	var changes []change
	for _, e := range set.GetAddrs() {
		addr := AddrPort(e.GetAddr())
		old, known := s.endpoints[addr]
		s.endpoints[addr] = e
		switch {
		case !known:
			changes = append(changes, change{mark: added, addr: addr, endpoint: e, count: len(s.endpoints)})
		case !proto.Equal(old, e):
			changes = append(changes, change{mark: changed, addr: addr, endpoint: e, count: len(s.endpoints)})
		}
	}
	return changes
}

func (s *endpointSet) remove(addr netip.AddrPort) change {
	e := s.endpoints[addr]
	delete(s.endpoints, addr)
	return change{mark: removed, addr: addr, endpoint: e, count: len(s.endpoints)}
}

func (s *endpointSet) removeExcept(kept *pb.WeightedAddrSet) []change {
	keep := map[netip.AddrPort]bool{}
	for _, e := range kept.GetAddrs() {
		keep[AddrPort(e.GetAddr())] = true
	}
	var changes []change
	for _, addr := range s.sorted() {
		if !keep[addr] {
			changes = append(changes, s.remove(addr))
		}
	}
	return changes
}

func (s *endpointSet) sorted() []netip.AddrPort {
	return slices.SortedFunc(maps.Keys(s.endpoints), netip.AddrPort.Compare)
}

// AddrPort returns the address in a message. It is invalid if the message has no IP.
func AddrPort(a *netpb.TcpAddress) netip.AddrPort {
	return netip.AddrPortFrom(ip(a.GetIp()), uint16(a.GetPort()))
}

func ip(a *netpb.IPAddress) netip.Addr {
	switch i := a.GetIp().(type) {
	case *netpb.IPAddress_Ipv4:
		return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, i.Ipv4)))
	case *netpb.IPAddress_Ipv6:
		b := binary.BigEndian.AppendUint64(nil, i.Ipv6.GetFirst())
		return netip.AddrFrom16([16]byte(binary.BigEndian.AppendUint64(b, i.Ipv6.GetLast())))
	}
	return netip.Addr{}
}

// updateAddrs returns the addresses in a message, in order.
func updateAddrs(u *pb.Update) []string {
	names := []string{}
	for _, e := range u.GetAdd().GetAddrs() {
		names = append(names, AddrPort(e.GetAddr()).String())
	}
	for _, a := range u.GetRemove().GetAddrs() {
		names = append(names, AddrPort(a).String())
	}
	return names
}
