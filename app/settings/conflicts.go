package settings

import (
	"cmp"
	"fmt"
	"net"
)

// conflict is a pair of settings of two sections that can't have these values together.
type conflict struct {
	// paths are the settings to change, any of which resolves the conflict.
	paths  []string
	reason string
}

// conflicts returns the conflicts between sections. Each section is valid.
func (c *Config) conflicts() []conflict {
	return append(c.addressConflicts(), c.leaseConflicts()...)
}

// listener is a setting with an address that the process listens on.
type listener struct{ path, address string }

func (c *Config) listeners() []listener {
	all := []listener{{AdminAddress, c.Process.MetricsAddr}}
	if c.Process.InspectAddr != "" {
		all = append(all, listener{InspectionAddress, c.Process.InspectAddr})
	}
	if c.RunsDestination {
		all = append(all, listener{DestinationAddress, c.Destination.Addr})
	}
	if c.RunsXDS {
		all = append(all, listener{XDSAddress, c.XDS.Addr})
	}
	return all
}

func (c *Config) addressConflicts() []conflict {
	var found []conflict
	listeners := c.listeners()
	for i, later := range listeners {
		for _, first := range listeners[:i] {
			if overlap(first.address, later.address) {
				found = append(found, conflict{
					paths:  []string{later.path, first.path},
					reason: fmt.Sprintf("%s (%s) and %s (%s) are on the same port: give each its own", first.path, first.address, later.path, later.address),
				})
			}
		}
	}
	return found
}

// overlap reports whether only one of two addresses can be listened on.
func overlap(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB || portA == "0" {
		return false
	}
	return hostA == hostB || everyHost(hostA) || everyHost(hostB)
}

// everyHost reports whether a host of an address stands for all addresses of this host.
func everyHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

type roleLease struct{ section, namespace, name string }

// leases returns the Leases of the roles that write.
func (c *Config) leases() []roleLease {
	var all []roleLease
	add := func(runs bool, section string, o Leader) {
		if runs && o.Elect {
			all = append(all, roleLease{section, o.ResourceNamespace, o.ResourceName})
		}
	}
	destination := c.Destination.Leader
	destination.ResourceNamespace = cmp.Or(destination.ResourceNamespace, c.Destination.ControllerNamespace)
	add(c.DestinationWrites(), DestinationSection, destination)
	add(c.RunsControllers, ControllersSection, c.Controllers.Leader)
	add(c.RunsDNS, DNSSection, c.DNS.Leader)
	return all
}

// leaseConflicts finds roles with the same Lease, which a process can hold for one of them only.
func (c *Config) leaseConflicts() []conflict {
	var found []conflict
	leases := c.leases()
	for i, later := range leases {
		for _, first := range leases[:i] {
			if first.namespace != later.namespace || first.name != later.name {
				continue
			}
			const name, namespace = ".leaderElection.resourceName", ".leaderElection.resourceNamespace"
			found = append(found, conflict{
				paths:  []string{later.section + name, first.section + name, later.section + namespace, first.section + namespace},
				reason: fmt.Sprintf("%s and %s have the same Lease, %s/%s: give each role its own", first.section, later.section, later.namespace, later.name),
			})
		}
	}
	return found
}
