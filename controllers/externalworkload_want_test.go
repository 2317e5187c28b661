package controllers_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/signpostd/signpost/api/workload"
)

// The expected slices and streams for the written workloads of a Service.

// machineService is a Service that selects workloads.
type machineService struct {
	corev1.Service
	queries []machineQuery
}

// machineQuery is the query of a stream: a port, the zone of the client, and a hostname or "".
type machineQuery struct {
	port           int32
	zone, hostname string
}

// machineServices returns a Service of each kind, without a name.
func machineServices() []machineService {
	v4, v6 := corev1.IPv4Protocol, corev1.IPv6Protocol
	port := func(name string, port int32, target string) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Port: port, TargetPort: intstr.Parse(target), Protocol: corev1.ProtocolTCP}
	}
	dns := port("dns", 53, "http")
	dns.Protocol = corev1.ProtocolUDP
	all := []machineService{
		{
			Service: corev1.Service{Spec: corev1.ServiceSpec{IPFamilies: []corev1.IPFamily{v4, v6}, Ports: []corev1.ServicePort{port("http", 80, "http"), port("admin", 81, "9090"), dns}}},
			queries: []machineQuery{{port: 80, zone: "a"}, {port: 81, zone: "b"}, {port: 53}},
		},
		{
			Service: corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, IPFamilies: []corev1.IPFamily{v6, v4}, Ports: []corev1.ServicePort{port("web", 80, "8080"), port("admin", 81, "admin")}}},
			queries: []machineQuery{{port: 80, zone: "b"}, {port: 80, hostname: "vm-1"}, {port: 7070, zone: "a"}},
		},
		{
			Service: corev1.Service{Spec: corev1.ServiceSpec{IPFamilies: []corev1.IPFamily{v4}, Ports: []corev1.ServicePort{port("", 80, "http")}}},
			queries: []machineQuery{{port: 80}, {port: 80, zone: "a"}, {port: 7070}},
		},
		{
			Service: corev1.Service{Spec: corev1.ServiceSpec{IPFamilies: []corev1.IPFamily{v6}, Ports: []corev1.ServicePort{port("http", 80, "http"), port("admin", 81, "9091")}}},
			queries: []machineQuery{{port: 80, zone: "a"}, {port: 81, zone: "a"}, {port: 7070, zone: "b"}},
		},
	}
	for i := range all {
		spec := &all[i].Spec
		policy := corev1.IPFamilyPolicySingleStack
		if len(spec.IPFamilies) > 1 {
			policy = corev1.IPFamilyPolicyRequireDualStack
		}
		spec.IPFamilyPolicy = &policy
	}
	return all
}

func (s *machineService) headless() bool { return s.Spec.ClusterIP == corev1.ClusterIPNone }

// selects reports whether a version belongs to the Service, ready or not.
func (s *machineService) selects(v *workload.ExternalWorkload) bool {
	return v.Labels["app"] == s.Spec.Selector["app"]
}

// portOf returns the port of a workload that a port of the Service targets.
func (s *machineService) portOf(v *workload.ExternalWorkload, p corev1.ServicePort) (int32, bool) {
	i := slices.IndexFunc(v.Spec.Ports, func(w workload.Port) bool {
		return w.Protocol == p.Protocol && (p.TargetPort.StrVal == w.Name && p.TargetPort.Type == intstr.String || p.TargetPort.IntVal == w.Port && p.TargetPort.Type == intstr.Int)
	})
	if i < 0 {
		return 0, false
	}
	return v.Spec.Ports[i].Port, true
}

// slicePorts returns the ports of the slices that contain a version.
func (s *machineService) slicePorts(v *workload.ExternalWorkload) []string {
	var ports []string
	for _, p := range s.Spec.Ports {
		if number, ok := s.portOf(v, p); ok {
			ports = append(ports, fmt.Sprintf("%s/%s/%d", p.Name, p.Protocol, number))
		}
	}
	slices.Sort(ports)
	return ports
}

// targetPort returns the port of a version for a query.
func (s *machineService) targetPort(v *workload.ExternalWorkload, q machineQuery) (int32, bool) {
	i := slices.IndexFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == q.port })
	if i < 0 {
		return q.port, len(s.slicePorts(v)) > 0
	}
	return s.portOf(v, s.Spec.Ports[i])
}

// wantAddresses returns the addresses of a stream in order: of each ready workload the last of the
// preferred family.
func (s *machineService) wantAddresses(current []*workload.ExternalWorkload, q machineQuery) []string {
	var want []string
	for _, v := range current {
		port, ok := s.targetPort(v, q)
		if !ok || !s.selects(v) || !isReady(v) || q.hostname != "" && q.hostname != v.Name {
			continue
		}
		for _, family := range []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol} {
			if ips := ipsOf(v, family); slices.Contains(s.Spec.IPFamilies, family) && len(ips) > 0 {
				want = append(want, netip.AddrPortFrom(ips[len(ips)-1], uint16(port)).String())
				break
			}
		}
	}
	slices.Sort(want)
	return slices.Compact(want)
}

// sliced returns the endpoints of a version by the address types and ports of their slices.
func (s *machineService) sliced(v *workload.ExternalWorkload) map[string]string {
	found := map[string]string{}
	if !s.selects(v) {
		return found
	}
	hostname := ""
	if s.headless() && !strings.Contains(v.Name, ".") {
		hostname = v.Name
	}
	for _, family := range s.Spec.IPFamilies {
		if ips := ipsOf(v, family); len(ips) > 0 {
			found[sliceKey(string(family), s.slicePorts(v))] = endpointText(v.Name, string(v.UID), fmt.Sprint(ips), isReady(v), v.Labels[corev1.LabelTopologyZone], hostname)
		}
	}
	return found
}

func sliceKey(family string, ports []string) string { return family + " " + strings.Join(ports, ",") }

func endpointText(name, uid, addresses string, ready bool, zone, hostname string) string {
	return fmt.Sprintf("%s %s %s ready=%v zone=%q hostname=%q", name, uid, addresses, ready, zone, hostname)
}

// wantSlices returns a line for each endpoint, and thus for each slice, because each slice has one endpoint.
func (s *machineService) wantSlices(current []*workload.ExternalWorkload) []string {
	lines := []string{}
	for _, v := range current {
		for key, endpoint := range s.sliced(v) {
			lines = append(lines, key+": "+endpoint)
		}
	}
	slices.Sort(lines)
	return lines
}

// sliceLines returns the lines of a slice, and an error if the slice is invalid by itself.
func (s *machineService) sliceLines(e *discoveryv1.EndpointSlice) (lines []string, err error) {
	ports := []string{}
	for _, p := range e.Ports {
		ports = append(ports, fmt.Sprintf("%s/%s/%d", *p.Name, *p.Protocol, *p.Port))
	}
	slices.Sort(ports)
	key := sliceKey(string(e.AddressType), ports)
	for _, p := range e.Endpoints {
		value := func(p *string) string {
			if p == nil {
				return ""
			}
			return *p
		}
		if c := p.Conditions; *c.Serving != *c.Ready || *c.Terminating || p.TargetRef.Kind != "ExternalWorkload" || p.TargetRef.Namespace != s.Namespace {
			err = fmt.Errorf("slice %s has the endpoint %v", e.Name, p)
		}
		addresses := "[" + strings.Join(p.Addresses, " ") + "]"
		lines = append(lines, key+": "+endpointText(p.TargetRef.Name, string(p.TargetRef.UID), addresses, *p.Conditions.Ready, value(p.Zone), value(p.Hostname)))
	}
	_, marked := e.Labels[corev1.IsHeadlessService]
	if owner := metav1.GetControllerOf(e); !strings.HasPrefix(e.Name, "linkerd-external-"+s.Name+"-") || owner == nil || owner.UID != s.UID || marked != s.headless() {
		err = fmt.Errorf("slice %s of service %s, owner %v, labels %v", e.Name, s.Name, owner, e.Labels)
	}
	if len(lines) == 0 {
		err = fmt.Errorf("slice %s is empty", e.Name)
	}
	slices.Sort(lines)
	return lines, err
}
