package kinds

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/signpostd/signpost/catalog"
)

// The first bytes of keys in a scope. Keys of labels start with another byte.
const (
	portSetTag = iota
	workloadPortsTag
	listenersTag
)

// portList parses an annotation that lists ports (spec/destination.md §1.1): each item is a port, a range
// LO-HI or, if named is not nil, the name of a port of the same object. Without the annotation it returns
// nil, which differs from an empty list. Objects with the same ports share the set.
func (d *fieldReader) portList(annotations map[string]string, annotation string, named func(name string) []uint16) *catalog.PortSet {
	list, ok := annotations[annotation]
	if !ok {
		return nil
	}
	var buffer [16]catalog.PortRange
	ranges := buffer[:0]
	i := 0
	for item := range catalog.PortItems(list) {
		if i == itemsLimit || len(ranges) > itemsLimit {
			d.Add(fmt.Sprintf("the list is too long; only the first %d items are used", i), "metadata.annotations[%s]", annotation)
			break
		}
		i++
		if named != nil {
			if ports := named(item); len(ports) > 0 {
				for _, port := range ports {
					ranges = append(ranges, catalog.PortRange{Low: port, High: port})
				}
				continue
			}
		}
		if r, ok := catalog.ParsePortRange(item); ok {
			ranges = append(ranges, r)
		} else {
			d.Add(d.invalidPorts(item, named != nil), "metadata.annotations[%s]", annotation)
		}
	}
	return d.portSet(catalog.NewPortSet(ranges))
}

func (d *fieldReader) invalidPorts(item string, names bool) string {
	switch {
	case d.Full():
		return ""
	case names:
		return quote(item) + " is neither a port from 0 to 65535, nor a range LO-HI of such ports, nor the name of a port"
	default:
		return quote(item) + " is neither a port from 0 to 65535 nor a range LO-HI of such ports"
	}
}

// portsNamed returns a function that finds the ports of a workload by name.
func portsNamed(list []catalog.WorkloadPort) func(name string) []uint16 {
	return func(name string) []uint16 {
		var ports []uint16
		for _, p := range list {
			if p.Name == name && name != "" {
				ports = append(ports, p.Port)
			}
		}
		return ports
	}
}

// portNamed returns a function that finds the port of a Service by name.
func portNamed(list []catalog.ServicePort) func(name string) []uint16 {
	return func(name string) []uint16 {
		for _, p := range list {
			if p.Name == name && name != "" {
				return []uint16{p.Port}
			}
		}
		return nil
	}
}

// portSet returns a shared set equal to the argument, which isn't kept.
func (d *fieldReader) portSet(set catalog.PortSet) *catalog.PortSet {
	var buffer [64]byte
	key := append(buffer[:0], portSetTag)
	for _, r := range set {
		key = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(key, r.Low), r.High)
	}
	if shared, ok := d.scope.Shared(key); ok {
		return shared.(*catalog.PortSet)
	}
	kept := slices.Clone(set)
	return d.scope.Share(key, &kept).(*catalog.PortSet)
}

// sharePorts returns a shared list equal to the argument. The pods of a workload share it.
func (d *fieldReader) sharePorts(ports []catalog.WorkloadPort) []catalog.WorkloadPort {
	if len(ports) == 0 {
		return ports
	}
	var buffer [256]byte
	key := append(buffer[:0], workloadPortsTag)
	for _, p := range ports {
		key = append(binary.AppendUvarint(key, uint64(len(p.Name))), p.Name...)
		key = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(key, p.Port), p.HostPort)
		host := p.HostIP.AsSlice()
		key = append(append(key, byte(len(host))), host...)
	}
	if shared, ok := d.scope.Shared(key); ok {
		return shared.([]catalog.WorkloadPort)
	}
	return d.scope.Share(key, ports).([]catalog.WorkloadPort)
}

// shareListeners returns a shared value equal to the argument. The proxies of a mesh share it.
func (d *fieldReader) shareListeners(l catalog.ProxyListeners) *catalog.ProxyListeners {
	var buffer [16]byte
	key := append(buffer[:0], listenersTag)
	for _, one := range []catalog.Listener{l.Inbound, l.Admin, l.Control} {
		known := byte(0)
		if one.Known {
			known = 1
		}
		key = append(binary.BigEndian.AppendUint16(key, one.Port), known)
	}
	if shared, ok := d.scope.Shared(key); ok {
		return shared.(*catalog.ProxyListeners)
	}
	return d.scope.Share(key, &l).(*catalog.ProxyListeners)
}
