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

	// gateways are the existing Gateways of the VirtualService, and errs says why the targets of one of them
	// can't be found. unions has their targets; it is nil until resolve.
	gateways []*gateway
	errs     []error
	unions   *source.Unions
}

// targets returns the targets of a name: those of all Gateways that serve it, sorted.
func (b *binding) targets(host string) []string {
	b.resolve()
	if b.err != nil {
		return nil
	}
	var by source.ReferenceSet
	for i, g := range b.gateways {
		if !g.serves(host, b.of) {
			continue
		}
		if b.errs[i] != nil {
			b.err = fmt.Errorf("VirtualService %s: %w", b.of.Key, b.errs[i])
			return nil
		}
		by |= 1 << i
	}
	targets := b.unions.Of(by)
	if len(targets) == 0 {
		b.explain(host)
	}
	return targets
}

// resolve finds the Gateways. Once they have been read, a missing one is a problem.
func (b *binding) resolve() {
	if b.unions != nil || b.err != nil {
		return
	}
	if b.err = b.source.reader.Waiting.For(b.of.Key, b.source.gateways); b.err != nil {
		return
	}
	var targets [][]string
	for _, key := range b.of.gateways {
		switch g := b.source.gateways.Get(key.Namespace, key.Name); {
		case !b.source.reader.Settings.Includes(key.Namespace):
			b.findings.Problem("spec.gateways", key.String(), "--namespace excludes the namespace of this Gateway, so that it isn't used: add it there")
		case g == nil:
			b.findings.Problem("spec.gateways", key.String(), "there is no such Gateway: create it, or correct the name")
		default:
			found, err := b.source.addresses.Of(b.of.Key, &g.Exposure)
			b.gateways, targets, b.errs = append(b.gateways, g), append(targets, found), append(b.errs, err)
		}
	}
	b.unions = source.NewUnions(b.findings, targets)
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
