package service

import (
	"fmt"
	"maps"
	"slices"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
)

// nodeTargets returns the addresses of the nodes that serve a NodePort Service.
func (e *evaluation) nodeTargets() []string {
	nodes := e.nodes.List
	if e.svc.local {
		nodes = e.nodesWithPods
	}
	var all source.NodeAddresses
	for _, n := range nodes() {
		if n.unschedulable && e.reader.Settings.ExcludeUnschedulable {
			continue
		}
		all.External = append(all.External, n.addresses.External...)
		all.Internal = append(all.Internal, n.addresses.Internal...)
	}
	return sorted(slices.Clone(e.accessible(all)))
}

// accessible returns the addresses that the annotation access asks for. For other values, and
// without the annotation, these are the external ones if there are any.
func (e *evaluation) accessible(a source.NodeAddresses) []string {
	switch access := e.svc.Annotations.Access; {
	case access == "private":
		return a.Internal
	case access == "public", len(a.External) > 0:
		return e.reader.Settings.Public(a)
	default:
		return a.Internal
	}
}

// nodesWithPods returns the nodes with pods of the Service. Only pods of the best tier count.
func (e *evaluation) nodesWithPods() []*node {
	best := runningNotReady
	on := map[string]*node{}
	for _, p := range e.pods.ByIndex(byNamespace, e.svc.Key.Namespace) {
		if p.tier < best || !source.Selects(e.svc.selector, p.labels) {
			continue
		}
		if p.tier > best {
			best = p.tier
			clear(on)
		}
		if n := e.nodes.Get("", p.node); n != nil {
			on[p.node] = n
		}
	}
	return slices.Collect(maps.Values(on))
}

// srv returns the record sets for the ports of a Service on the nodes, one per protocol (RFC 2782).
func (a nameTargets) srv(o source.Origin, hostname string) []*dns.RecordSet {
	var protocols []string
	targets := map[string][]string{}
	for _, port := range a.ports {
		if !slices.Contains(protocols, port.protocol) {
			protocols = append(protocols, port.protocol)
		}
		targets[port.protocol] = append(targets[port.protocol], fmt.Sprintf("0 50 %d %s.", port.number, hostname))
	}
	sets := make([]*dns.RecordSet, len(protocols))
	for i, protocol := range protocols {
		sets[i] = o.RecordSet("_"+a.service+"._"+protocol+"."+hostname, dns.TypeSRV, targets[protocol])
	}
	return sets
}
