package gateway

import (
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
)

// remarksOf returns the remarks about the annotations of a Gateway or ListenerSet.
func (s *routes) remarksOf(of owner) []source.Skip {
	if of.listenerSet {
		if l := s.listenerSets.Get(of.namespace, of.name); l != nil {
			return l.remarks
		}
	} else if g := s.gateways.Get(of.namespace, of.name); g != nil {
		return g.remarks
	}
	return nil
}

// remarks returns the remarks about annotations of a route's Gateways, because Gateways have no records and
// so no explanation of their own.
func (s *routes) remarks(r *route) []source.Skip {
	var list []source.Skip
	for _, of := range r.owners() {
		for _, remark := range s.remarksOf(of) {
			remark.Subject = strings.TrimSpace(of.text() + " " + remark.Subject)
			list = append(list, remark)
		}
	}
	return list[:min(len(list), skipLimit)]
}

// nameless returns the skip of a route without a name. It mentions the first ignored name.
func (s *routes) nameless(r *route) source.Skip {
	skip := s.reader.NoHostname(&r.Object)
	for _, of := range r.owners() {
		for _, remark := range s.remarksOf(of) {
			if remark.Reason == source.SkipUnreadAnnotation && strings.HasSuffix(remark.Subject, "/"+source.AnnotationHostname) {
				skip.Message += "; the annotation " + remark.Subject + " of " + of.text() + " is not read: names are those of listeners and routes"
				return skip
			}
		}
	}
	return skip
}

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
		s.reader.Log.Info("Published the wildcard of a listener beside the annotation hostname; gateway-hostname-source: annotation-only prevents that",
			"source", s.kind.source(), "namespace", r.Key.Namespace, "name", r.Key.Name, "wildcard", records[i].Name)
	})
	return []source.Skip{{
		Reason: source.SkipWildcard, Subject: records[i].Name,
		Message: "a listener has this hostname, so it is published beside the names in the annotation hostname: " +
			"set the annotation gateway-hostname-source: annotation-only to have only these",
	}}
}
