package catalog

import (
	"iter"
	"slices"

	"github.com/signpostd/signpost/internal/objectmeta"
)

// selects reports whether the Server selects the workload, for any port.
func (s *Server) selects(w *Workload) bool { return s.selector(w.Key.Kind).Matches(w.Labels) }

// affects reports whether the Server, which may be nil, makes ports of the workload opaque.
func (s *Server) affects(w *Workload) bool { return s != nil && s.Opaque && s.selects(w) }

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

// serverIndex finds the opaque Servers of one namespace that select a workload. A Server is indexed by a
// label that every workload it selects has ([Selector.pivot]). Servers without such a label are in unindexed,
// and are tried for every workload.
type serverIndex struct {
	byLabel   map[serverLabel][]*Server
	unindexed []*Server
}

type serverLabel struct {
	kind WorkloadKind
	objectmeta.Label
}

func (x *serverIndex) add(s *Server) {
	x.update(s, func(list []*Server) []*Server { return append(list, s) })
}

func (x *serverIndex) remove(s *Server) {
	x.update(s, func(list []*Server) []*Server {
		return slices.DeleteFunc(list, func(other *Server) bool { return other == s })
	})
}

func (x *serverIndex) update(s *Server, edit func([]*Server) []*Server) {
	if !s.Opaque {
		return
	}
	unindexed := false
	for _, kind := range []WorkloadKind{Pod, ExternalWorkload} {
		selector := s.selector(kind)
		if selector == nil {
			continue
		}
		pivot, ok := selector.pivot()
		if !ok {
			unindexed = true
			continue
		}
		if x.byLabel == nil {
			x.byLabel = map[serverLabel][]*Server{}
		}
		key := serverLabel{kind, pivot}
		if list := edit(x.byLabel[key]); len(list) > 0 {
			x.byLabel[key] = list
		} else {
			delete(x.byLabel, key)
		}
	}
	if unindexed {
		x.unindexed = edit(x.unindexed)
	}
}

// matching yields the opaque Servers that select the workload.
func (x *serverIndex) matching(w *Workload) iter.Seq[*Server] {
	return func(yield func(*Server) bool) {
		for _, l := range w.Labels {
			for _, s := range x.byLabel[serverLabel{w.Key.Kind, l}] {
				if s.selects(w) && !yield(s) {
					return
				}
			}
		}
		for _, s := range x.unindexed {
			if s.selects(w) && !yield(s) {
				return
			}
		}
	}
}

func (x *serverIndex) empty() bool { return len(x.byLabel) == 0 && len(x.unindexed) == 0 }
