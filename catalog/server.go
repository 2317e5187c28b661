package catalog

import (
	"slices"
	"strings"
)

// checksAtOnce is the number of requirements of Servers that are checked while others wait for the lock. The
// longest labels and values take 7 ms. A tenant may have many workloads and many Servers with large selectors:
// to match all of them takes seconds.
const checksAtOnce = 16 << 10

// selects reports whether the Server selects the workload, for any port.
func (s *Server) selects(w *Workload) bool { return s.selector(w.Key.Kind).Matches(w.Labels) }

// checks returns the number of requirements that selects checks, at least 1.
func (s *Server) checks(kind WorkloadKind) int {
	selector := s.selector(kind)
	if selector == nil {
		return 1
	}
	return 1 + len(selector.Requirements)
}

func (s *Server) selector(kind WorkloadKind) *Selector {
	if kind == Pod {
		return s.Pods
	}
	return s.ExternalWorkloads
}

// appendPorts appends the ports of a workload that the Server selects. A name selects every port of that
// name.
func (s *Server) appendPorts(list []PortRange, w *Workload) []PortRange {
	if s.PortName == "" {
		return append(list, PortRange{s.PortNumber, s.PortNumber})
	}
	for _, p := range w.Ports {
		if p.Name == s.PortName {
			list = append(list, PortRange{p.Port, p.Port})
		}
	}
	return list
}

func (s *Server) compareName(name string) int { return strings.Compare(s.Name, name) }

// setServer replaces a Server and updates the selections of the workloads of its namespace. A workload without
// a computed selection is skipped, because nothing was computed from it.
func (s *state) setServer(id ID, v *Server) {
	nsKey := namespaceKey{id.Cluster, id.Namespace}
	ns := s.ensureNamespace(nsKey)
	old := s.servers[id]
	ns.servers = slices.DeleteFunc(ns.servers, func(other *Server) bool { return other == old })
	delete(s.servers, id)
	if v != nil {
		s.servers[id] = v
	}
	if v != nil && v.Opaque {
		ns.servers = append(ns.servers, v)
	}
	for _, w := range ns.workloads {
		if known := w.selected.Load(); known != nil && s.reselect(w, *known, id.Name, v) {
			s.touch(w)
		}
	}
	s.forgetNamespace(nsKey, ns)
}

// reselect puts the new version of a Server (nil if it was deleted) into the selection of a workload. It
// returns false if neither version selects the workload.
func (s *state) reselect(w *workloadEntry, known []*Server, name string, v *Server) bool {
	i, was := slices.BinarySearchFunc(known, name, (*Server).compareName)
	is := v != nil && v.Opaque && s.matches(v, w.workload)
	switch {
	case !was && !is:
		return false
	case !is:
		known = slices.Delete(slices.Clone(known), i, i+1)
	case !was:
		known = slices.Insert(slices.Clone(known), i, v)
	default:
		known = slices.Clone(known)
		known[i] = v
	}
	w.selected.Store(selection(known))
	return true
}

// matches reports whether the Server selects the workload, and counts the checks of the step.
func (s *state) matches(v *Server, w *Workload) bool {
	s.checks += v.checks(w.Key.Kind)
	return v.selects(w)
}

// selecting returns the opaque Servers that select a workload, and the number of requirements that it checked.
func (s *state) selecting(w *workloadEntry) (servers []*Server, checks int) {
	if known := w.selected.Load(); known != nil {
		return *known, 0
	}
	key := w.workload.Key
	for _, server := range s.namespace(key.Cluster, key.Namespace).servers {
		checks += server.checks(key.Kind)
		if server.selects(w.workload) {
			servers = append(servers, server)
		}
	}
	slices.SortFunc(servers, func(a, b *Server) int { return a.compareName(b.Name) })
	if !w.selected.CompareAndSwap(nil, selection(servers)) {
		servers = *w.selected.Load()
	}
	return servers, checks
}

// notSelected is the value of workloadEntry.selected for all workloads that no Server selects. Selections are
// never changed in place.
var notSelected = new([]*Server)

// selection returns the value of workloadEntry.selected for Servers.
func selection(servers []*Server) *[]*Server {
	if len(servers) == 0 {
		return notSelected
	}
	selected := servers // only this one is allocated
	return &selected
}

// forgetSelections makes outdated everything that was derived from the workloads of a cluster whose objects are
// replaced, so that no Server needs to be matched with them in that step.
func (s *state) forgetSelections(cluster string) {
	for key, ns := range s.namespaces {
		if key.cluster != cluster {
			continue
		}
		for _, w := range ns.workloads {
			if w.selected.Swap(nil) != nil {
				s.touch(w)
			}
		}
	}
}

// waitingServers has the changed Servers that are not applied yet. The namespaces take turns, so that a
// namespace that changes its Servers without end doesn't delay those of others.
type waitingServers struct {
	namespaces []namespaceKey
	changes    map[namespaceKey]map[ID]Object
}

// put makes v the version of a Server that will be applied; nil deletes it.
func (q *waitingServers) put(id ID, v Object) {
	key := namespaceKey{id.Cluster, id.Namespace}
	if q.changes[key] == nil {
		q.changes[key] = map[ID]Object{}
		q.namespaces = append(q.namespaces, key)
	}
	q.changes[key][id] = v
}

// take removes a Server of the first namespace, which is then the last one.
func (q *waitingServers) take() (ID, Object) {
	key := q.namespaces[0]
	q.namespaces = q.namespaces[1:]
	changes := q.changes[key]
	for id, v := range changes {
		delete(changes, id)
		if len(changes) == 0 {
			delete(q.changes, key)
		} else {
			q.namespaces = append(q.namespaces, key)
		}
		return id, v
	}
	return ID{}, nil
}

func (q *waitingServers) forget(cluster string) {
	q.namespaces = slices.DeleteFunc(q.namespaces, func(key namespaceKey) bool {
		if key.cluster != cluster {
			return false
		}
		delete(q.changes, key)
		return true
	})
}

// applyServers applies waiting Servers until this many requirements have been checked.
func (s *state) applyServers(checks int) {
	for s.checks = 0; len(s.waiting.namespaces) > 0 && s.checks < checks; {
		s.apply(s.waiting.take())
	}
}
