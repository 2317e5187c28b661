package workload

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/api/externaldns"
)

// Numbers of the objects with names in the zone.
const (
	balancers    = 8 // lb-N: LoadBalancers with the name lb-N
	dnsEndpoints = 6 // dns-N: DNSEndpoints with one or two names
)

func balancerName(i int) string { return fmt.Sprint("lb-", i) }

// domain returns the zone without the final dot.
func (s *simulation) domain() string { return strings.TrimSuffix(s.settings.Zone, ".") }

func (s *simulation) beginNames() {
	for i := range balancers {
		s.createBalancer(i)
	}
	for i := range dnsEndpoints {
		s.createDNSEndpoint(i)
	}
}

func (s *simulation) createBalancer(i int) {
	if s.has("Service " + balancerName(i)) {
		return
	}
	service := s.newService(balancerName(i), map[string]string{"app": webName(i)})
	none := false
	service.Spec.Type, service.Spec.AllocateLoadBalancerNodePorts = corev1.ServiceTypeLoadBalancer, &none
	service.Annotations = map[string]string{hostnameAnnotation: balancerName(i) + "." + s.domain()}
	if i%3 == 1 {
		service.Annotations[ttlAnnotation] = "60"
	}
	s.create(service)
	s.after(s.between(50*time.Millisecond, 2*time.Second), func() { s.changeIngress(service) })
}

func (s *simulation) nameActions() []weighted {
	return []weighted{
		{12, func() { s.changeIngress(s.balancer()) }},
		{3, s.changeTTL},
		{3, s.recreateBalancer},
		{8, s.changeDNSEndpoint},
		{2, s.recreateDNSEndpoint},
	}
}

// balancer returns a random lb-N, or nil if that doesn't exist.
func (s *simulation) balancer() *corev1.Service {
	return find[*corev1.Service](s, "Service "+balancerName(s.rng.IntN(balancers)))
}

// changeIngress replaces the addresses of a LoadBalancer by others, by a name, or by nothing.
func (s *simulation) changeIngress(service *corev1.Service) {
	if service == nil || find[*corev1.Service](s, name(service)) != service {
		return
	}
	v4 := func() corev1.LoadBalancerIngress {
		vip := corev1.LoadBalancerIPModeVIP
		return corev1.LoadBalancerIngress{IP: fmt.Sprint("203.0.113.", 1+s.rng.IntN(200)), IPMode: &vip}
	}
	v6 := v4()
	v6.IP = fmt.Sprintf("2001:db8::%x", 1+s.rng.IntN(1000))
	service.Status.LoadBalancer.Ingress = pick(
		s,
		[]corev1.LoadBalancerIngress{v4()},
		[]corev1.LoadBalancerIngress{v4()},
		[]corev1.LoadBalancerIngress{v4(), v4()},
		[]corev1.LoadBalancerIngress{v4(), v6},
		[]corev1.LoadBalancerIngress{{Hostname: fmt.Sprintf("balancer-%d.cloud.example", s.rng.IntN(100))}},
		nil,
	)
	s.setStatus(service, "/status/loadBalancer")
}

func (s *simulation) changeTTL() {
	service := s.balancer()
	if service == nil {
		return
	}
	annotate(service, ttlAnnotation, pick(s, "", "30", "120"))
	s.set(service, "/metadata/annotations")
}

// recreateBalancer deletes a LoadBalancer and recreates it later. The person may take its name in between.
func (s *simulation) recreateBalancer() {
	i := s.rng.IntN(balancers)
	service := find[*corev1.Service](s, "Service "+balancerName(i))
	if service == nil {
		return
	}
	s.remove(service)
	s.after(s.between(2*time.Second, 12*time.Second), func() { s.createBalancer(i) })
	if s.chance(50) {
		s.after(s.between(time.Second, 4*time.Second), func() { s.take(balancerName(i)) })
	}
}

func dnsEndpointName(i int) string { return fmt.Sprint("dns-", i) }

func (s *simulation) createDNSEndpoint(i int) {
	if s.has("DNSEndpoint " + dnsEndpointName(i)) {
		return
	}
	o := s.newDNSEndpoint(dnsEndpointName(i))
	o.Spec.Endpoints = s.recordSets(i)
	s.create(o)
}

// changeDNSEndpoint replaces all record sets of a DNSEndpoint.
func (s *simulation) changeDNSEndpoint() {
	i := s.rng.IntN(dnsEndpoints)
	if o := find[*externaldns.DNSEndpoint](s, "DNSEndpoint "+dnsEndpointName(i)); o != nil {
		o.Spec.Endpoints = s.recordSets(i)
		s.set(o, "/spec")
	}
}

func (s *simulation) recreateDNSEndpoint() {
	i := s.rng.IntN(dnsEndpoints)
	if o := find[*externaldns.DNSEndpoint](s, "DNSEndpoint "+dnsEndpointName(i)); o != nil {
		s.remove(o)
		s.after(s.between(500*time.Millisecond, 8*time.Second), func() { s.createDNSEndpoint(i) })
	}
}

// recordSets returns one or two record sets for a DNSEndpoint. A CNAME has no other record at its name.
func (s *simulation) recordSets(i int) []*externaldns.Endpoint {
	at := dnsEndpointName(i) + "." + s.domain()
	ttl := pick(s, int64(0), 60, 600)
	set := func(kind string, targets ...string) *externaldns.Endpoint {
		return &externaldns.Endpoint{DNSName: at, RecordType: kind, Targets: targets, RecordTTL: ttl}
	}
	n := s.rng.IntN(200)
	a := set("A", fmt.Sprint("198.51.100.", 1+n))
	switch s.rng.IntN(6) {
	case 0:
		return []*externaldns.Endpoint{set("CNAME", fmt.Sprintf("target-%d.cloud.example", n))}
	case 1:
		return []*externaldns.Endpoint{a, set("AAAA", fmt.Sprintf("2001:db8:1::%x", 1+n))}
	case 2:
		return []*externaldns.Endpoint{a, set("TXT", fmt.Sprintf("text of %d", n))}
	case 3:
		return []*externaldns.Endpoint{a, set("MX", fmt.Sprintf("10 mail-%d.cloud.example", n))}
	case 4:
		return []*externaldns.Endpoint{set("A", a.Targets[0], fmt.Sprint("198.51.100.", 201+n%50))}
	default:
		return []*externaldns.Endpoint{a}
	}
}
