package service

import (
	"slices"

	"github.com/signpostd/signpost/dns/source"
)

// serviceChanged starts the lookups of names that a Service depends on.
func (s *services) serviceChanged(_, svc *service) {
	if svc == nil {
		return
	}
	for _, host := range svc.lookedUp {
		s.hosts.schedule(host)
	}
}

// sliceChanged evaluates the Services of both versions of a slice again if they are headless. A Service
// that isn't known yet is evaluated when it is.
func (s *services) sliceChanged(before, now *slice) {
	for _, sl := range []*slice{before, now} {
		if sl == nil {
			continue
		}
		if svc := s.table.Get(sl.service.Namespace, sl.service.Name); svc != nil && svc.publishesPods() {
			s.reader.Changed(svc.Key)
		}
	}
}

// podChanged evaluates the Services again that select either version of a pod and depend on its pods.
func (s *services) podChanged(before, now *pod) {
	if before != nil && now != nil && before.namespace == now.namespace && slices.Equal(before.labels, now.labels) {
		before = nil // the same Services select both
	}
	for _, p := range []*pod{before, now} {
		if p == nil {
			continue
		}
		for _, key := range source.LabelKeys(p.namespace, p.labels) {
			for _, svc := range s.table.ByIndex(bySelector, key) {
				if source.Selects(svc.selector, p.labels) {
					s.reader.Changed(svc.Key)
				}
			}
		}
	}
}
