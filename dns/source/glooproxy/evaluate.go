package glooproxy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
)

func (s *proxies) evaluate(p *proxy) source.Result {
	findings := p.findings.Copy()
	records, err := s.records(findings, p)
	result := s.reader.Result(&p.Object, records, err)
	findings.Into(&result, s.reader.Ref(&p.Object))
	return result
}

// records returns the record sets of a Proxy (spec/dns.md §6.11).
func (s *proxies) records(findings *source.Findings, p *proxy) ([]*dns.RecordSet, error) {
	if err := s.reader.Waiting.For(p.Key, s.dependencies()...); err != nil {
		return nil, err
	}
	targets, err := s.targets(p)
	if err != nil {
		return nil, err
	}
	targets = source.Cut(findings, targets, source.AddressLimit, "targets")
	var records []*dns.RecordSet
	for _, h := range p.hosts {
		origin, err := s.origin(findings, p, h)
		if err != nil {
			return nil, err
		}
		records = append(records, origin.All(h.domains, targets)...)
	}
	if records, err = s.reader.AddPairs(&p.Object, findings, records); err != nil {
		return nil, err
	}
	records, err = s.reader.AddNames(&p.Object, findings, records, targets)
	if err == nil && len(records) == 0 {
		explain(findings, p, targets)
	}
	return records, err
}

// explain says why a Proxy has no records.
func explain(findings *source.Findings, p *proxy, targets []string) {
	switch {
	case p.compressed:
		findings.Skip(source.SkipNotPublished, "spec.compressedSpec", "Gloo has compressed the Proxy, so that its domains can't be read: turn off the compression of Proxies in Gloo")
	case len(p.hosts) == 0:
		findings.Skip(source.SkipNoHostname, "spec.listeners",
			`no virtual host of an HTTP or aggregate listener has a domain ("*" is no name): name one in a VirtualService`)
	case len(targets) == 0:
		findings.Skip(source.SkipNoTarget, p.hosts[0].domains[0], fmt.Sprintf(
			"the Service %s is not of type LoadBalancer, or its load balancer has no address yet: wait, or set the annotation target of the Proxy, or ingress of a Gateway", p.Key,
		))
	default:
		findings.Skip(source.SkipNoTarget, p.hosts[0].domains[0], "no record can be made of its domains and targets")
	}
}

// origin returns the common part of a virtual host's records, from the annotations of its
// VirtualServices, of which the last one counts.
func (s *proxies) origin(findings *source.Findings, p *proxy, h virtualHost) (source.Origin, error) {
	origin := s.reader.Origin(&p.Object)
	origin.TTL = 0
	merged := map[string]string{}
	for _, key := range h.virtualServices {
		v := s.virtualServices.Get(key.Namespace, key.Name)
		if v == nil {
			return origin, fmt.Errorf("virtual hosts of Proxy %s: there is no VirtualService %s, of which Gloo has made a virtual host: "+
				"wait until Gloo has read that it is gone, or create it", p.Key, key)
		}
		maps.Copy(merged, v.annotations)
	}
	read := s.reader.Settings.ReadAnnotations(merged)
	for _, problem := range read.Problems {
		findings.Problem(problem.Subject+" of VirtualService "+h.virtualServices[len(h.virtualServices)-1].String(), problem.Value, problem.Reason)
	}
	origin.TTL, origin.SetIdentifier, origin.Properties = read.TTL, read.SetIdentifier, read.Properties
	return origin, nil
}

func (s *proxies) targets(p *proxy) ([]string, error) {
	if len(p.Annotations.Targets) > 0 {
		return p.Annotations.Targets, nil
	}
	targets, err := s.ofGateways(p)
	if err != nil || len(targets) > 0 {
		return targets, err
	}
	svc := s.services.Get(p.Key.Namespace, p.Key.Name)
	switch {
	case svc == nil:
		return nil, fmt.Errorf("targets of Proxy %s: there is no Service with its name: create it, or set the annotation target", p.Key)
	case !svc.LoadBalancer:
		return nil, nil
	}
	return svc.Addresses, nil
}

// ofGateways returns the addresses of the Ingresses of a Proxy's Gateways, sorted.
func (s *proxies) ofGateways(p *proxy) ([]string, error) {
	var targets []string
	for _, key := range p.gateways {
		g := s.gateways.Get(key.Namespace, key.Name)
		if g == nil {
			return nil, fmt.Errorf("targets of Proxy %s: there is no Gateway %s, of which Gloo has made a listener: "+
				"wait until Gloo has read that it is gone, or create it", p.Key, key)
		}
		if g.ingress == "" {
			continue
		}
		named, err := source.IngressKey(g.ingress, key.Namespace, "Gateway "+key.String())
		if err != nil {
			return nil, err
		}
		ingress := s.ingresses.Get(named.Namespace, named.Name)
		if ingress == nil {
			return nil, fmt.Errorf("targets of Gateway %s: there is no Ingress %s: create it, or change the annotation ingress", key, named)
		}
		targets = append(targets, ingress.Addresses...)
	}
	slices.Sort(targets)
	return slices.Compact(targets), nil
}
