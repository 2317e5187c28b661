package controllers_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	netpb "github.com/linkerd/linkerd2-proxy-api/go/net"
	"google.golang.org/protobuf/encoding/protojson"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// The streams and slices of a lane.

// machineStream is a stream, with the versions that it may show.
type machineStream struct {
	machineQuery
	lane     *machineLane
	state    streamState
	messages int
	window   map[*laneMachine][]*machineVersion
	cancel   context.CancelFunc
	done     chan struct{}
}

func (l *machineLane) open(ctx context.Context, client pb.DestinationClient, q machineQuery) *machineStream {
	ctx, cancel := context.WithCancel(ctx)
	s := &machineStream{machineQuery: q, lane: l, state: streamState{}, window: map[*laneMachine][]*machineVersion{}, cancel: cancel, done: make(chan struct{})}
	authority := fmt.Sprintf("%s.%s.svc.cluster.local:%d", l.service.Name, l.service.Namespace, q.port)
	if q.hostname != "" {
		authority = q.hostname + "." + authority
	}
	asked := &pb.GetDestination{Path: authority, ContextToken: fmt.Sprintf(`{"ns":%q,"nodeName":"node-%s"}`, l.service.Namespace, q.zone)}
	go func() {
		defer close(s.done)
		if err := receive(ctx, client, asked, s.received); ctx.Err() == nil {
			l.note(func() error { return fmt.Errorf("stream %s ended: %w", s, err) })
		}
	}()
	return s
}

func (s *machineStream) String() string {
	return fmt.Sprintf("%s of %s:%d from zone %q", s.hostname, s.lane.service.Name, s.port, s.zone)
}

// receive reads the messages of a stream until it ends.
func receive(ctx context.Context, client pb.DestinationClient, request *pb.GetDestination, received func(*pb.Update)) error {
	stream, err := client.Get(ctx, request)
	for err == nil {
		var u *pb.Update
		if u, err = stream.Recv(); err == nil {
			received(u)
		}
	}
	return err
}

func (s *machineStream) received(u *pb.Update) {
	s.lane.note(func() error {
		s.messages++
		if err := s.apply(u); err != nil {
			return fmt.Errorf("stream %s, message %d: %w:\n%s", s, s.messages, err, protojson.Format(u))
		}
		return nil
	})
}

// apply applies a message. It returns an error if no order of the writes under way explains the message.
func (s *machineStream) apply(u *pb.Update) error {
	switch m := u.GetUpdate().(type) {
	case *pb.Update_Add:
		return s.add(m.Add)
	case *pb.Update_Remove:
		return s.remove(m.Remove)
	case *pb.Update_NoEndpoints:
		if s.messages > 1 {
			return errors.New("no_endpoints is not the first message")
		}
		return nil
	default:
		return errors.New("it is neither add nor remove nor no_endpoints")
	}
}

func (s *machineStream) add(set *pb.WeightedAddrSet) error {
	if len(set.GetAddrs()) == 0 {
		return errors.New("an add is empty")
	}
	in := map[netip.AddrPort]bool{}
	for _, a := range set.GetAddrs() {
		at, text := addrPort(a.GetAddr()), addressText(set.GetMetricLabels(), a)
		switch {
		case in[at]:
			return fmt.Errorf("%v is in it twice", at)
		case s.state[at] == text:
			return fmt.Errorf("%v was added before", at)
		case !s.could(at, text):
			return fmt.Errorf("no version of a workload has %v", at)
		}
		in[at] = true
		s.state[at] = text
	}
	return nil
}

func (s *machineStream) remove(set *pb.AddrSet) error {
	if len(set.GetAddrs()) == 0 {
		return errors.New("a remove is empty")
	}
	for _, a := range set.GetAddrs() {
		at := addrPort(a)
		if name := s.constant(at); name != "" {
			return fmt.Errorf("%s has %v all the time", name, at)
		}
		if s.state[at] == "" {
			return fmt.Errorf("%v is removed but was not added", at)
		}
		delete(s.state, at)
	}
	return nil
}

// streamState has the addresses that a stream has received, each in the form of addressText.
type streamState map[netip.AddrPort]string

// lines returns the addresses in order.
func (k streamState) lines() string {
	var text strings.Builder
	for _, at := range slices.SortedFunc(maps.Keys(k), netip.AddrPort.Compare) {
		fmt.Fprintf(&text, "%v %s\n", at, k[at])
	}
	return text.String()
}

// addressText returns all fields of an address, and the labels of its set.
func addressText(labels map[string]string, a *pb.WeightedAddr) string {
	return protojson.Format(&pb.WeightedAddrSet{MetricLabels: labels, Addrs: []*pb.WeightedAddr{a}})
}

func addrPort(a *netpb.TcpAddress) netip.AddrPort {
	port := uint16(a.GetPort())
	switch ip := a.GetIp().GetIp().(type) {
	case *netpb.IPAddress_Ipv4:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, ip.Ipv4))), port)
	case *netpb.IPAddress_Ipv6:
		first := binary.BigEndian.AppendUint64(nil, ip.Ipv6.GetFirst())
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(binary.BigEndian.AppendUint64(first, ip.Ipv6.GetLast()))), port)
	default:
		return netip.AddrPort{}
	}
}

// tcpAddress undoes addrPort.
func tcpAddress(at netip.AddrPort) *netpb.TcpAddress {
	ip := &netpb.IPAddress{}
	if at.Addr().Is4() {
		ip.Ip = &netpb.IPAddress_Ipv4{Ipv4: binary.BigEndian.Uint32(at.Addr().AsSlice())}
	} else {
		b := at.Addr().AsSlice()
		ip.Ip = &netpb.IPAddress_Ipv6{Ipv6: &netpb.IPv6{First: binary.BigEndian.Uint64(b), Last: binary.BigEndian.Uint64(b[8:])}}
	}
	return &netpb.TcpAddress{Ip: ip, Port: uint32(at.Port())}
}

// could reports whether a slice made from one version, with the same or a later version of that workload,
// gives an address this text.
func (s *machineStream) could(at netip.AddrPort, text string) bool {
	for _, versions := range s.window {
		for i, sliced := range versions {
			if !slices.Contains(s.lane.service.addresses(sliced, s.machineQuery), at) {
				continue
			}
			for _, v := range versions[i:] {
				if !v.gone && v.life == sliced.life && s.lane.service.text(s.machineQuery, at, sliced.zone(), v) == text {
					return true
				}
			}
		}
	}
	return false
}

// constant returns the name of a workload of which all versions have the address.
func (s *machineStream) constant(at netip.AddrPort) string {
	for m, versions := range s.window {
		if len(versions) > 0 && !slices.ContainsFunc(versions, func(v *machineVersion) bool {
			has, ok := s.lane.service.preferred(v, s.machineQuery)
			return !ok || has != at
		}) {
			return m.name
		}
	}
	return ""
}

// differs describes the difference between the written and the observed state. The caller holds the lock.
func (l *machineLane) differs() string {
	var current []*machineVersion
	for _, m := range l.machines {
		if v := m.last(); v != nil {
			current = append(current, v)
		}
	}
	got, err := l.sliceLines()
	if diff := gocmp.Diff(l.service.wantSlices(current), got); diff != "" || err != nil {
		return fmt.Sprintf("slices (%v, -want +got):\n%s", err, diff)
	}
	for _, s := range l.streams {
		if want := l.service.wantState(current, s.machineQuery); !maps.Equal(want, s.state) || s.messages == 0 {
			return fmt.Sprintf("stream %s, after %d messages (-want +got):\n%s", s, s.messages, gocmp.Diff(want.lines(), s.state.lines()))
		}
	}
	return ""
}

// sliceLines returns the lines of all slices of the lane. When the lane is idle, no two slices have the same
// key.
func (l *machineLane) sliceLines() ([]string, error) {
	var all []string
	about := map[string]string{}
	for name, e := range l.slices {
		lines, err := l.service.sliceLines(e)
		if err != nil {
			return nil, err
		}
		key, _, _ := strings.Cut(lines[0], ": ")
		if about[key] != "" {
			return nil, fmt.Errorf("%s and %s both have %s", about[key], name, key)
		}
		about[key] = name
		all = append(all, lines...)
	}
	slices.Sort(all)
	return all, nil
}

// wrote handles an event of a slice.
func (l *machineLane) wrote(kind watch.EventType, e *discoveryv1.EndpointSlice) {
	l.note(func() error {
		old := l.slices[e.Name]
		l.sliceWrites++
		if kind == watch.Deleted {
			delete(l.slices, e.Name)
			return nil
		}
		l.slices[e.Name] = e
		lines, err := l.service.sliceLines(e)
		if err != nil || old == nil {
			return err
		}
		if before, _ := l.service.sliceLines(old); slices.Equal(before, lines) {
			return fmt.Errorf("needless write of slice %s:\n%s", e.Name, gocmp.Diff(old, e))
		}
		return nil
	})
}

// watchSlices passes the events of slices to their lanes until the watch ends.
func watchSlices(w watch.Interface, lanes map[string]*machineLane) error {
	defer w.Stop()
	for event := range w.ResultChan() {
		e, ok := event.Object.(*discoveryv1.EndpointSlice)
		if !ok {
			return fmt.Errorf("the watch of slices sent %v", event.Object)
		}
		l := lanes[e.Labels[discoveryv1.LabelServiceName]]
		if l == nil {
			return fmt.Errorf("slice %s is of service %s, which the test didn't create", e.Name, e.Labels[discoveryv1.LabelServiceName])
		}
		l.wrote(event.Type, e)
	}
	return nil
}

// settle forgets the versions that can no longer be observed; the lane must be idle. Everything then shows
// the last version. If no earlier version looks the same, except those just before it, all earlier versions
// have been observed, too. settle reports whether that is so for the slices.
func (l *machineLane) settle() bool {
	quiet := true
	for _, m := range l.machines {
		sliced := func(v *machineVersion) string { return fmt.Sprint(l.service.sliced(v)) }
		if isNew(m.window, sliced) {
			m.window = m.window[max(0, len(m.window)-1):]
		} else {
			quiet = false
		}
		for _, s := range l.streams {
			if w := s.window[m]; isNew(w, sliced) && isNew(w, func(v *machineVersion) string { return l.service.seenAs(v, s.machineQuery) }) {
				s.window[m] = w[max(0, len(w)-1):]
			}
		}
	}
	return quiet
}

// isNew reports whether no version looks like the last one, except those just before it.
func isNew(versions []*machineVersion, look func(*machineVersion) string) bool {
	if len(versions) < 2 {
		return true
	}
	last := look(versions[len(versions)-1])
	changed := false
	for _, v := range slices.Backward(versions) {
		same := look(v) == last
		if same && changed {
			return false
		}
		changed = changed || !same
	}
	return true
}
