package gateway

import (
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
)

// ownersOf calls yield once for each Gateway and ListenerSet that has accepted a route, with the remarks
// about its annotations.
func (s *routes) ownersOf(r *route, yield func(of owner, about annotated)) {
	for i, p := range r.parents {
		switch {
		case i > 0 && r.parents[i-1].of == p.of: // parents are sorted
		case !p.of.listenerSet:
			if g := s.gateways.Get(p.of.namespace, p.of.name); g != nil {
				yield(p.of, g.annotated)
			}
		case s.listenerSets != nil:
			if l := s.listenerSets.Get(p.of.namespace, p.of.name); l != nil {
				yield(p.of, l.annotated)
			}
		}
	}
}

// remarks returns the remarks about annotations of a route's Gateways, because Gateways have no records and
// so no explanation of their own.
func (s *routes) remarks(r *route) []source.Skip {
	var list []source.Skip
	s.ownersOf(r, func(of owner, about annotated) {
		for _, remark := range about.remarks {
			remark.Subject = strings.TrimSpace(of.text() + " " + remark.Subject)
			list = append(list, remark)
		}
	})
	return list[:min(len(list), skipLimit)]
}

// nameless returns the skip of a route without a name. It mentions ignored names.
func (s *routes) nameless(r *route) source.Skip {
	skip := s.reader.NoHostname(&r.Object)
	s.ownersOf(r, func(of owner, about annotated) {
		if about.hostname != "" && !strings.HasSuffix(skip.Message, unreadHostname) {
			skip.Message += "; the annotation " + about.hostname + " of " + of.text() + unreadHostname
		}
	})
	return skip
}

const unreadHostname = " is not read: names are those of listeners and routes"

// wildcards returns a remark that a route whose annotation has names also publishes the wildcard of
// a listener, which matches all names below it. That is rarely intended.
func (s *routes) wildcards(r *route, records []*dns.RecordSet) []source.Skip {
	if r.declares || r.hostnamesFrom != everywhere || len(s.reader.Hosts(&r.Object)) == 0 || s.reader.Templates.HasNames() {
		return nil
	}
	i := slices.IndexFunc(records, func(set *dns.RecordSet) bool {
		wanted := func(host string) bool { return dns.Canonical(host) == set.Name }
		return strings.HasPrefix(set.Name, "*.") && !slices.ContainsFunc(s.reader.Hosts(&r.Object), wanted)
	})
	if i < 0 {
		return nil
	}
	s.wildcardsLogged.Do(func() {
		s.log.Info("Published the wildcard of a listener beside the annotation hostname; gateway-hostname-source: annotation-only prevents that",
			"source", s.kind.source(), "namespace", r.Key.Namespace, "name", r.Key.Name, "wildcard", records[i].Name)
	})
	return []source.Skip{{
		Reason: source.SkipWildcard, Subject: records[i].Name,
		Message: "a listener has this hostname, so it is published beside the names in the annotation hostname: " +
			"set the annotation gateway-hostname-source: annotation-only to have only these",
	}}
}
