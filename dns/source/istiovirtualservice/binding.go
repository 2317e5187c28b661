package istiovirtualservice

import (
	"fmt"
	"slices"

	"github.com/signpostd/signpost/dns/source"
)

// binding finds the targets of the names of one VirtualService, for one evaluation.
type binding struct {
	source   *virtualServices
	of       *virtualService
	findings *source.Findings
	// err says why no targets can be found.
	err error

	// resolved is true after gateways was filled with the existing Gateways of the VirtualService.
	resolved bool
	gateways []*gateway
	// merged caches the targets of sets of these Gateways, because many names have the same ones.
	merged map[gatewaySet][]string
}

// gatewaySet is a set of the Gateways of a VirtualService, which has at most source.ReferenceLimit.
type gatewaySet uint64

// targets returns the targets of a name: those of all Gateways that serve it, sorted.
func (b *binding) targets(host string) []string {
	b.resolve()
	if b.err != nil {
		return nil
	}
	var by gatewaySet
	for i, g := range b.gateways {
		if g.serves(host, b.of) {
			by |= 1 << i
		}
	}
	targets, known := b.merged[by]
	if !known {
		targets = b.merge(by)
		b.merged[by] = targets
	}
	if len(targets) == 0 && b.err == nil {
		b.explain(host)
	}
	return targets
}

// resolve finds the Gateways. Once they have been read, a missing one is a problem.
func (b *binding) resolve() {
	if b.resolved {
		return
	}
	b.resolved, b.merged = true, map[gatewaySet][]string{}
	if b.err = b.source.reader.Waiting.For(b.of.Key, b.source.gateways); b.err != nil {
		return
	}
	for _, key := range b.of.gateways {
		switch g := b.source.gateways.Get(key.Namespace, key.Name); {
		case !b.source.reader.Settings.Includes(key.Namespace):
			b.findings.Problem("spec.gateways", key.String(), "--namespace excludes the namespace of this Gateway, so that it isn't used: add it there")
		case g == nil:
			b.findings.Problem("spec.gateways", key.String(), "there is no such Gateway: create it, or correct the name")
		default:
			b.gateways = append(b.gateways, g)
		}
	}
}

// merge returns the targets of a set of Gateways.
func (b *binding) merge(set gatewaySet) []string {
	var all []string
	for i, g := range b.gateways {
		if set&(1<<i) == 0 {
			continue
		}
		targets, err := b.source.addresses.Of(b.of.Key, &g.Exposure)
		if err != nil {
			b.err = fmt.Errorf("VirtualService %s: %w", b.of.Key, err)
			return nil
		}
		all = append(all, targets...)
	}
	slices.Sort(all)
	return source.Cut(b.findings, slices.Compact(all), source.AddressLimit, "targets")
}

// serves reports whether a Gateway serves a name for a VirtualService: each admits the namespace of
// the other, and a server has the name or a wildcard above it.
func (g *gateway) serves(host string, v *virtualService) bool {
	if !v.exportedTo(g.key.Namespace) {
		return false
	}
	admits := func(host string) bool {
		return slices.ContainsFunc(g.hosts[host], func(namespace string) bool { return namespace == "*" || namespace == v.Key.Namespace })
	}
	if admits(host) || admits("*") {
		return true
	}
	for i := range host {
		if host[i] == '.' && admits("*"+host[i:]) {
			return true
		}
	}
	return false
}

// exportedTo reports whether the Gateways of a namespace may serve a VirtualService.
func (v *virtualService) exportedTo(namespace string) bool {
	return len(v.exportTo) == 0 || slices.Contains(v.exportTo, "*") || slices.Contains(v.exportTo, namespace)
}
