package witness

import (
	"context"
	"fmt"
	"net/netip"

	corepb "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointpb "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/signpostd/signpost/dev/lab/history"
)

// assignment is the ClusterLoadAssignment that a client knows for one name.
type assignment struct {
	version   string
	addresses map[string]string // as in history.Stream.Addresses; immutable
	stream    int               // ID of the open stream in the history, for this name
}

// subscribe reads one ADS stream to its end, and reports whether it had a response. It accepts each response.
// The client keeps its assignments until a later response replaces them, on this stream or the next one.
func (s *Streams) subscribe(ctx context.Context, c *client, replica int) (responded bool) {
	stream, err := openADS(ctx, c.conns[replica], c.Call, c.Names, c.versions())
	if err != nil {
		return false
	}
	at := c.Replicas[replica].Name
	for _, name := range c.Names {
		c.assignment(name).stream = int(s.last.Add(1))
		s.recordAssignment(c, at, name, history.Stream{Event: history.StreamOpened})
	}
	for {
		r, err := read(ctx, &c.gate, stream.receive)
		if err == nil {
			err = s.take(c, at, r)
		}
		if err == nil {
			responded = true
			err = stream.acknowledge(r)
		}
		if err != nil {
			for _, name := range c.Names {
				s.recordAssignment(c, at, name, history.Stream{Event: history.StreamClosed, Problem: reason(err)})
			}
			return responded
		}
	}
}

// versions returns the versions of a client's assignments, by name.
func (c *client) versions() map[string]string {
	all := map[string]string{}
	for name, a := range c.assigned {
		if a.version != "" {
			all[name] = a.version
		}
	}
	return all
}

// assignment returns a client's assignment for a name, which is initially empty.
func (c *client) assignment(name string) *assignment {
	a := c.assigned[name]
	if a == nil {
		a = &assignment{}
		c.assigned[name] = a
	}
	return a
}

// recordAssignment records an event of one name, with the client's assignment.
func (s *Streams) recordAssignment(c *client, replica, name string, e history.Stream) {
	a := c.assigned[name]
	e.ID, e.Client, e.Replica, e.Call, e.Target = a.stream, c.number, replica, c.Call, name
	if e.Event != history.StreamClosed {
		e.Version, e.Addresses = a.version, a.addresses
	}
	s.recorder.Record(history.Entry{Stream: &e})
}

// take replaces assignments by those of a response. An error ends the stream.
func (s *Streams) take(c *client, replica string, r adsResponse) error {
	for _, resource := range r.resources {
		said := &endpointpb.ClusterLoadAssignment{}
		if err := resource.body.UnmarshalTo(said); err != nil {
			return fmt.Errorf("read a ClusterLoadAssignment: %w", err)
		}
		a := c.assigned[said.GetClusterName()]
		if a == nil {
			return fmt.Errorf("the replica has sent the ClusterLoadAssignment %.200q, to which nobody is subscribed", said.GetClusterName())
		}
		addresses, err := assignedAddresses(said)
		e := history.Stream{Event: history.StreamUpdated}
		if err != nil {
			e.Problem = cut(err.Error())
		}
		a.version, a.addresses = resource.version, addresses
		s.recordAssignment(c, replica, said.GetClusterName(), e)
	}
	return nil
}

// assignedAddresses returns the endpoint of each address of a ClusterLoadAssignment. The error is one for
// which clients would reject it.
func assignedAddresses(said *endpointpb.ClusterLoadAssignment) (all map[string]string, err error) {
	all = map[string]string{}
	for _, locality := range said.GetEndpoints() {
		if locality.GetLocality() == nil || locality.GetLoadBalancingWeight().GetValue() == 0 {
			err = fmt.Errorf("a locality has no name or no weight: %.200q", locality.GetLocality())
		}
		for _, endpoint := range locality.GetLbEndpoints() {
			if problem := addEndpoint(all, locality, endpoint); problem != nil {
				err = problem
			}
		}
	}
	return all, err
}

// addEndpoint adds the addresses of one endpoint.
func addEndpoint(all map[string]string, locality *endpointpb.LocalityLbEndpoints, e *endpointpb.LbEndpoint) error {
	text := history.AssignedEndpoint{
		Draining: e.GetHealthStatus() == corepb.HealthStatus_DRAINING,
		Region:   locality.GetLocality().GetRegion(), Zone: locality.GetLocality().GetZone(), Priority: locality.GetPriority(),
		Weight: e.GetLoadBalancingWeight().GetValue(), Hostname: e.GetEndpoint().GetHostname(),
		LocalityWeight: locality.GetLoadBalancingWeight().GetValue(),
	}
	addresses := []*corepb.Address{e.GetEndpoint().GetAddress()}
	for _, other := range e.GetEndpoint().GetAdditionalAddresses() {
		addresses = append(addresses, other.GetAddress())
	}
	for i, a := range addresses {
		at, err := socketOf(a)
		if err != nil {
			return err
		}
		if _, twice := all[at]; twice {
			return fmt.Errorf("%s is in the ClusterLoadAssignment twice", at)
		}
		all[at] = text.Text()
		if i == 0 {
			text.First = at
		}
	}
	return nil
}

// socketOf returns the address as ip:port.
func socketOf(a *corepb.Address) (string, error) {
	ip, err := netip.ParseAddr(a.GetSocketAddress().GetAddress())
	port := a.GetSocketAddress().GetPortValue()
	if err != nil || port == 0 || port > 1<<16-1 {
		return "", fmt.Errorf("%.200q is no address", a)
	}
	return netip.AddrPortFrom(ip, uint16(port)).String(), nil
}
