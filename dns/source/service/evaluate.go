package service

import (
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
)

func (s *services) evaluate(svc *service) source.Result {
	if err := s.unread(svc); err != nil {
		return source.Result{Err: err}
	}
	e := &evaluation{services: s, svc: svc, origin: s.reader.Origin(&svc.Object), findings: &source.Findings{}}
	e.outside = sync.OnceValues(e.targetsOutside)
	records, err := e.records()
	result := s.reader.Result(&svc.Object, records, err)
	result.Problems = append(result.Problems, e.problems...)
	if err == nil {
		e.addMissing(&result)
	}
	e.findings.Into(&result, e.origin.Object)
	return result
}

// unread returns an error while a Service needs nodes that have not been read. Without the right to
// read nodes, all other Services are published.
func (s *services) unread(svc *service) error {
	if s.nodes == nil || len(svc.nodeKeys()) == 0 {
		return nil
	}
	return s.reader.Waiting.For(svc.Key, s.nodes)
}

type evaluation struct {
	*services
	svc    *service
	origin source.Origin
	// outside calls targetsOutside once, because the result is the same for each name.
	outside  func() (nameTargets, error)
	problems []dns.Problem
	// findings has the lists that are too long.
	findings *source.Findings
}

// addresses returns the addresses of a field, up to the limit.
func (e *evaluation) addresses(field string, list []string) []string {
	return source.Cut(e.findings, list, source.AddressLimit, field)
}

// names returns the names of an annotation or template, up to the limit.
func (e *evaluation) names(of string, list []string) []string {
	return source.Cut(e.findings, list, source.NameLimit, of)
}

// nameTargets is the targets of a Service for one of its names. It doesn't depend on the name.
type nameTargets struct {
	// targets are the targets of the name itself.
	targets []string
	// below are the targets of names below it, by their first label.
	below map[string][]string
	// ports are published as SRV records; service is the name of the Service in them.
	ports   []nodePort
	service string
	// unknown is a name of the load balancer whose addresses have never been found, or empty. The names
	// of the Service keep the records that they have, such as those from before a restart.
	unknown string
}

func (a *nameTargets) none() bool {
	return len(a.targets)+len(a.below)+len(a.ports) == 0 && a.unknown == ""
}

func (e *evaluation) records() ([]*dns.RecordSet, error) {
	found, err := e.annotated()
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		found = e.legacy()
	}
	if found, err = e.reader.AddPairs(&e.svc.Object, e.findings, found); err != nil || !e.reader.Templates.HasNames() {
		return found, err
	}
	return e.reader.Templates.Combine(found, e.named)
}

// annotated returns the record sets of the names in annotations.
func (e *evaluation) annotated() ([]*dns.RecordSet, error) {
	if e.reader.Settings.IgnoreHostnameAnnotation {
		return nil, nil
	}
	found, err := e.recordsOf("hostname", e.svc.Annotations.Hostnames)
	if err != nil || len(e.svc.Annotations.InternalHostnames) == 0 {
		return found, err
	}
	inside, err := e.targetsInside()
	return append(found, e.recordsAt(inside, "internal-hostname", e.names("internal-hostname", e.svc.Annotations.InternalHostnames))...), err
}

// named returns the record sets of the names of --fqdn-template.
func (e *evaluation) named() ([]*dns.RecordSet, error) {
	names, err := e.reader.Templates.Names(e.svc.FullObject)
	if err != nil {
		return nil, err
	}
	return e.recordsOf("--fqdn-template", names)
}

// recordsOf returns the record sets of names for clients outside of the cluster. of is where the
// names are from.
func (e *evaluation) recordsOf(of string, names []string) ([]*dns.RecordSet, error) {
	if names = e.names(of, names); len(names) == 0 {
		return nil, nil
	}
	outside, err := e.outside()
	return e.recordsAt(outside, of, names), err
}

// podNamesLimit limits the names of pods below the names of one Service: each name has one for each
// pod with a hostname.
const podNamesLimit = 1 << 14

func (e *evaluation) recordsAt(a nameTargets, of string, names []string) []*dns.RecordSet {
	names = slices.Clone(names)
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, ".")
	}
	sets := e.origin.All(names, a.targets)
	for _, hostname := range names {
		sets = append(sets, a.srv(e.origin, hostname)...)
		if a.unknown != "" {
			kept := e.origin.RecordSet(hostname, dns.TypeCNAME, listOf(a.unknown))
			kept.Invalid = true
			sets = append(sets, kept)
		}
	}
	if len(a.below) == 0 {
		return sets
	}
	above := source.Cut(e.findings, names, max(1, podNamesLimit/len(a.below)), "names of pods below "+of)
	for label, targets := range a.below {
		below := make([]string, len(above))
		for i, hostname := range above {
			below[i] = label + "." + hostname
		}
		sets = append(sets, e.origin.All(below, targets)...)
	}
	return sets
}

// targetsOutside returns the targets for names of the annotation hostname and of templates. The
// error means that they aren't known.
func (e *evaluation) targetsOutside() (nameTargets, error) {
	svc := e.svc
	if targets := svc.Annotations.Targets; len(targets) > 0 {
		return nameTargets{targets: e.addresses("target", targets)}, nil
	}
	switch svc.of {
	case corev1.ServiceTypeLoadBalancer:
		return e.loadBalancer()
	case corev1.ServiceTypeNodePort:
		return nameTargets{targets: e.nodeTargets(), ports: svc.ports, service: svc.Key.Name}, nil
	case corev1.ServiceTypeExternalName:
		if len(svc.externalIPs) > 0 {
			return nameTargets{targets: e.addresses("spec.externalIPs", svc.externalIPs)}, nil
		}
		return nameTargets{targets: listOf(svc.externalName)}, nil
	}
	switch {
	case svc.headless:
		return e.headless()
	case e.config.PublishInternal:
		return nameTargets{targets: listOf(svc.clusterIP)}, nil
	}
	return nameTargets{}, nil
}

// targetsInside returns the targets for names of the annotation internal-hostname.
func (e *evaluation) targetsInside() (nameTargets, error) {
	virtual := e.svc.of == corev1.ServiceTypeLoadBalancer || e.svc.of == corev1.ServiceTypeClusterIP && !e.svc.headless
	if virtual && len(e.svc.Annotations.Targets) == 0 {
		return nameTargets{targets: listOf(e.svc.clusterIP)}, nil
	}
	return e.outside()
}

// loadBalancer returns the addresses and hostnames of a load balancer.
func (e *evaluation) loadBalancer() (nameTargets, error) {
	svc := e.svc
	switch {
	case len(svc.externalIPs) > 0:
		return nameTargets{targets: e.addresses("spec.externalIPs", svc.externalIPs)}, nil
	case len(svc.lookedUp) == 0:
		return nameTargets{targets: e.balancer()}, nil
	}
	a := nameTargets{targets: slices.Clone(svc.addresses)}
	for _, host := range svc.lookedUp {
		addresses, err := e.hosts.get(host)
		if err != nil && !notFound(err) {
			return nameTargets{}, err
		}
		if err != nil {
			e.problem("status.loadBalancer.ingress.hostname", host, err.Error())
		}
		if len(addresses) == 0 {
			a.unknown = host
		}
		a.targets = append(a.targets, addresses...)
	}
	a.targets = e.addresses(balancerField, a.targets)
	return a, nil
}

const balancerField = "status.loadBalancer.ingress"

// balancer returns the addresses of the load balancer, then its hostnames.
func (e *evaluation) balancer() []string {
	return e.addresses(balancerField, slices.Concat(e.svc.addresses, e.svc.hostnames))
}

// problem adds a problem of the Service. Problems with the same subject and reason are reported
// once.
func (e *evaluation) problem(subject, value, reason string) {
	for _, p := range e.problems {
		if p.Subject == subject && p.Reason == reason {
			return
		}
	}
	e.problems = append(e.problems, dns.Problem{Object: e.origin.Object, Subject: subject, Value: value, Reason: reason})
}

// listOf returns a list with a text, or nil if the text is empty.
func listOf(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
