package service

import (
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

// sliceChanged evaluates the Service of a slice again if it is headless. A Service that isn't known
// yet is evaluated when it is.
func (s *services) sliceChanged(before, now *slice) {
	for _, sl := range distinct(before, now) {
		if svc := s.table.Get(sl.service.Namespace, sl.service.Name); svc != nil && svc.publishesPods() {
			s.changed(svc.Key)
		}
	}
}

// distinct returns the versions of a slice that belong to different Services.
func distinct(before, now *slice) []*slice {
	var list []*slice
	for _, sl := range []*slice{before, now} {
		if sl != nil && sl != emptySlice && (len(list) == 0 || list[0].service != sl.service) {
			list = append(list, sl)
		}
	}
	return list
}

// podChanged evaluates the Services again that select a pod, or have selected it: headless ones if
// a published field has changed, NodePort ones if a field for the choice of nodes has.
func (s *services) podChanged(before, now *pod) {
	endpoint := before.asEndpoint() != now.asEndpoint()
	backend := before.asBackend() != now.asBackend()
	concerns := func(svc *service) bool {
		return endpoint && svc.publishesPods() || backend && svc.followsPodsOfNodes()
	}
	if !endpoint && !backend {
		return
	}
	if before != nil {
		s.notifySelecting(before, concerns)
	}
	if now != nil && (before == nil || before.labels != now.labels || before.namespace != now.namespace) {
		s.notifySelecting(now, concerns)
	}
}

// notifySelecting calls changed for the Services that select a pod and meet concerns.
func (s *services) notifySelecting(p *pod, concerns func(*service) bool) {
	notify := func(label string) bool {
		for _, svc := range s.table.ByIndex(bySelector, p.namespace+label) {
			if concerns(svc) && svc.selector.selects(p) {
				s.changed(svc.Key)
			}
		}
		return true
	}
	p.eachLabel(notify)
	notify(selector(nil).indexLabel())
}

// nodeChanged evaluates all Services again that use nodes, because they may depend on whether any
// node has an external address.
func (s *services) nodeChanged(_, _ *node) {
	source.NotifyAll(s.changed, s.table.ByIndex(byNodes, anyNode))
}

// hostInUse reports whether a Service needs the addresses of a name.
func (s *services) hostInUse(host string) bool { return len(s.table.ByIndex(byHost, host)) > 0 }

// hostChanged evaluates the Services again whose load balancer has a name.
func (s *services) hostChanged(host string) {
	source.NotifyAll(s.changed, s.table.ByIndex(byHost, host))
}
