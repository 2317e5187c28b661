package catalog

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
