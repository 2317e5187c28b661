package watched

import (
	"fmt"
	"net/netip"
	"slices"

	netutils "k8s.io/utils/net"

	"github.com/signpostd/signpost/kube"
)

// Address parses an address. It returns false for an invalid text, and for an address that the API server
// allows in no endpoint, because it would refuse the whole object.
func Address(text string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return a, false
	}
	a = a.Unmap()
	return a, !a.IsUnspecified() && !a.IsLoopback() && !a.IsLinkLocalUnicast() && !a.IsLinkLocalMulticast()
}

// usableIP reports whether a pod's IP may be in an endpoint. IPs of old objects may have leading zeros.
func usableIP(text string) bool {
	a, ok := Address(text)
	if ok || a.IsValid() {
		return ok
	}
	ip := netutils.ParseIPSloppy(text)
	if ip == nil {
		return false
	}
	_, ok = Address(ip.String())
	return ok
}

// maxNamedPorts is how many named ports of a pod are kept, of containers and of sidecars. Pods in use have a
// few. Each port of each Service that has a name as its target is looked for among them.
const maxNamedPorts = 512

// limited cuts the pod's lists to what endpoints may need, and reports the rest.
func (p *Pod) limited() (*Pod, []kube.Problem) {
	problems := p.dropUnusableIPs()
	for _, list := range []struct {
		ports *[]ContainerPort
		field string
	}{{&p.Ports, "spec.containers"}, {&p.SidecarPorts, "spec.initContainers"}} {
		if n := len(*list.ports); n > maxNamedPorts {
			*list.ports = slices.Clone((*list.ports)[:maxNamedPorts])
			problems = append(problems, kube.Problem{Field: list.field, Reason: fmt.Sprintf(
				"there are %d ports with names, and only the first %d can be targets of Services by their names", n, maxNamedPorts,
			)})
		}
	}
	return p, problems
}

// dropUnusableIPs removes the IPs from a pod that no endpoint can have, and reports them.
func (p *Pod) dropUnusableIPs() []kube.Problem {
	var problems []kube.Problem
	if p.IP != "" && !usableIP(p.IP) {
		problems = append(problems, unusable("status.podIP", p.IP))
		p.IP = ""
	}
	if len(problems) == 0 && !slices.ContainsFunc(p.IPs, func(other string) bool { return other != p.IP }) {
		return nil
	}
	for i, ip := range p.IPs {
		if !usableIP(ip) {
			problems = append(problems, unusable(fmt.Sprintf("status.podIPs[%d].ip", i), ip))
		}
	}
	p.IPs = slices.DeleteFunc(p.IPs, func(ip string) bool { return !usableIP(ip) })
	return problems
}

func unusable(field, ip string) kube.Problem {
	return kube.Problem{Field: field, Reason: fmt.Sprintf("%q can't be the address of an endpoint, and is left out of Endpoints and EndpointSlices; "+
		"it must be neither unspecified, loopback nor link-local", ip)}
}
